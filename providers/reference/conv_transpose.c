// SPDX-License-Identifier: Apache-2.0
//
// ConvTranspose as the sum that Conv's gradient is: input i meets output i * stride - pad +
// k * dilation through tap k. A work item sums a piece of one output row in double, running
// along input rows; weights and one image are decoded before.
#include "direct_conv.h"
#include "operators.h"

static int32_t read_list(const ref_prepare *p, const char *name, int64_t count, int64_t *out) {
  const ref_attribute *attribute = ref_attr(p->kernel, name);
  if (attribute != NULL && attribute->count != count)
    return ref_refuse(p, "attribute %s: expected %lld entries, found %lld", name,
                      (long long)count, (long long)attribute->count);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = attribute != NULL ? attribute->ints[i] : 0;
    if (out[i] < 0 || out[i] > INT32_MAX)
      return ref_refuse(p, "attribute %s: entry %lld is %lld", name, (long long)i,
                        (long long)out[i]);
  }
  return OPS_OK;
}

// Output size, from pads or from output_shape, which then decides the pads.
static int32_t size_output(const ref_prepare *p, ref_window *w) {
  enum { NOTSET, SAME_UPPER, SAME_LOWER, VALID, WORDS };
  static const char *const words[WORDS] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  int32_t word = 0;
  RETURN_IF_ERROR(ref_attr_choose(p, "auto_pad", words, WORDS, "NOTSET", &word));
  int upper = word == SAME_UPPER, lower = word == SAME_LOWER, valid = word == VALID;
  const ref_attribute *shape = ref_attr(p->kernel, "output_shape");
  int64_t extra[OPS_MAX_RANK], wanted[OPS_MAX_RANK];
  RETURN_IF_ERROR(read_list(p, "output_padding", w->rank, extra));
  // output_shape may carry batch and channels in front.
  int64_t lead = shape != NULL && shape->count == w->rank + 2 ? 2 : 0;
  if (shape != NULL && lead == 0)
    RETURN_IF_ERROR(read_list(p, "output_shape", w->rank, wanted));
  for (int32_t i = 0; i < w->rank; ++i) {
    if (valid) w->begin[i] = w->end[i] = 0;
    int64_t full =
        (w->in[i] - 1) * w->stride[i] + extra[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
    if (shape != NULL || upper || lower) {
      w->out[i] = shape == NULL ? w->in[i] * w->stride[i]
                  : lead != 0   ? shape->ints[2 + i]
                                : wanted[i];
      int64_t total = full - w->out[i];
      if (total < 0) total = 0;
      w->begin[i] = upper ? total / 2 : total - total / 2;
      w->end[i] = total - w->begin[i];
    } else {
      w->out[i] = full - w->begin[i] - w->end[i];
    }
    if (w->out[i] < 0 || w->out[i] > (int64_t)1 << 40)
      return ref_refuse(p, "spatial dimension %d of the output would be %lld", i,
                        (long long)w->out[i]);
  }
  return OPS_OK;
}

static int32_t read_shapes(ref_prepare *p, ref_conv_state *s) {
  const ref_shape *w = &p->inputs[1];
  RETURN_IF_ERROR(ref_conv_read_input(p, s));
  if (s->groups < 1 || s->channels % s->groups != 0)
    return ref_refuse(p, "attribute group: expected a divisor of %lld channels, found %lld",
                      (long long)s->channels, (long long)s->groups);
  if (w->dims[0] != s->channels)
    return ref_refuse(p, "input W: dimension 0 is %lld, expected %lld, the channels of X",
                      (long long)w->dims[0], (long long)s->channels);
  s->group_channels = s->channels / s->groups;
  s->group_filters = w->dims[1];
  if (__builtin_mul_overflow(s->group_filters, s->groups, &s->filters))
    return ref_refuse(p, "the output has too many channels");
  return ref_conv_check_bias(p, s);
}

static int32_t prepare(ref_prepare *p) {
  ref_conv_state *s = p->state;
  ref_window *w = &s->window;
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(read_shapes(p, s));
  RETURN_IF_ERROR(ref_window_read(p, x->rank - 2, x->dims + 2, p->inputs[1].dims + 2, w));
  RETURN_IF_ERROR(size_output(p, w));
  return ref_conv_finish_prepare(p, s);
}

// Index of the input row that reaches output row `row` through `tap`; -1 if none does.
static int64_t input_row(const ref_window *w, int64_t row, int64_t tap) {
  int64_t index = 0, scale = 1;
  for (int32_t d = w->rank - 2; d >= 0; --d) {
    int64_t at = row % w->out[d] + w->begin[d] - tap % w->kernel[d] * w->dilation[d];
    if (at < 0 || at % w->stride[d] != 0 || at / w->stride[d] >= w->in[d]) return -1;
    index += at / w->stride[d] * scale;
    scale *= w->in[d];
    row /= w->out[d];
    tap /= w->kernel[d];
  }
  return index;
}

// Adds what one tap contributes to outputs [start, start + count) of a row.
static void add_tap(const ref_window *w, const double *x, double weight, int64_t k,
                    int64_t start, int64_t count, double *sums) {
  int32_t d = w->rank - 1;
  int64_t stride = w->stride[d], shift = k * w->dilation[d] - w->begin[d] - start;
  // Input i lands at i * stride + shift, which must lie in [0, count).
  int64_t low = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  int64_t high = count <= shift ? 0 : (count - 1 - shift) / stride + 1;
  if (high > w->in[d]) high = w->in[d];
  for (int64_t i = low; i < high; ++i) sums[i * stride + shift] += weight * x[i];
}

static void run_item(const ref_conv_job *job, int64_t number) {
  const ref_conv_state *s = job->s;
  const ref_window *w = &s->window;
  int32_t last = w->rank - 1;
  int64_t start = number % job->pieces * REF_CONV_PIECE;
  int64_t row = number / job->pieces % s->out_rows;
  int64_t filter = number / job->pieces / s->out_rows;
  int64_t group = filter / s->group_filters, local = filter % s->group_filters;
  int64_t count = w->out[last] - start < REF_CONV_PIECE ? w->out[last] - start : REF_CONV_PIECE;
  double sums[REF_CONV_PIECE];
  double bias = ref_conv_bias(job, filter);
  for (int64_t i = 0; i < count; ++i) sums[i] = 0;
  for (int64_t tap = 0; tap < s->taps / w->kernel[last]; ++tap) {
    int64_t from = input_row(w, row, tap);
    if (from < 0) continue;
    for (int64_t c = 0; c < s->group_channels; ++c) {
      int64_t channel = group * s->group_channels + c;
      const double *x = job->image + channel * s->in_size + from * w->in[last];
      const double *weight =
          job->weights + (channel * s->group_filters + local) * s->taps + tap * w->kernel[last];
      for (int64_t k = 0; k < w->kernel[last]; ++k)
        add_tap(w, x, weight[k], k, start, count, sums);
    }
  }
  for (int64_t i = 0; i < count; ++i) sums[i] += bias;
  ref_store(job->y, ref_conv_offset(job, job->y, filter, row, start),
            job->y->strides[job->y->rank - 1], count, sums);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; ++i) run_item(context, i);
}

static int32_t execute(ref_run *run) {
  const ref_conv_state *s = run->state;
  return ref_conv_run(run, s->filters * s->out_rows, body);
}

const ref_op ref_conv_transpose = {sizeof(ref_conv_state), prepare, execute, NULL, NULL};

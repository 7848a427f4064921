// SPDX-License-Identifier: Apache-2.0
//
// ConvInteger and QLinearConv: sums of (x - zero point) * (w - zero point) in 64-bit integers.
// ConvInteger gives them modulo 2^32; QLinearConv adds the bias, scales in double, rounds half
// to even, adds the zero point and saturates. Padding counts as the zero point of x.
#include <math.h>
#include <string.h>

#include "dense.h"
#include "operators.h"
#include "quantized.h"
#include "window.h"

// Where the inputs of either operator are.
typedef struct layout {
  uint64_t w, x_zero, w_zero;
  int32_t quantized;
} layout;

enum { X, Q_X_SCALE = 1, Q_W_SCALE = 4, Q_Y_SCALE = 6, Q_Y_ZERO = 7, Q_BIAS = 8 };
static const layout integer_layout = {1, 2, 3, 0}, quantized_layout = {3, 2, 5, 1};

typedef struct conv_state {
  ref_window window;
  int64_t batch, channels, filters, groups;
  int64_t taps, positions, image, rows;  // rows: output positions without the last dimension
  uint64_t x_at, w_at, sums_at;
} conv_state;

static int32_t check_per_filter(const ref_prepare *p, uint64_t input, int64_t filters) {
  if (!ref_has(p, input)) return OPS_OK;
  const ref_shape *shape = &p->inputs[input];
  int64_t count = ref_count(shape->dims, shape->rank);
  if (shape->rank > 1 || (count != 1 && count != filters))
    return ref_refuse(p, "input %s: expected one number or %lld, one per filter",
                      ref_input_name(p->kernel, input), (long long)filters);
  return OPS_OK;
}

static int32_t check_parameters(const ref_prepare *p, const layout *l, int64_t filters) {
  RETURN_IF_ERROR(ref_need_one(p, l->x_zero));
  RETURN_IF_ERROR(check_per_filter(p, l->w_zero, filters));
  if (!l->quantized) return OPS_OK;
  RETURN_IF_ERROR(ref_need_one(p, Q_X_SCALE));
  RETURN_IF_ERROR(ref_need_one(p, Q_Y_SCALE));
  RETURN_IF_ERROR(ref_need_one(p, Q_Y_ZERO));
  RETURN_IF_ERROR(check_per_filter(p, Q_W_SCALE, filters));
  if (ref_has(p, Q_BIAS) &&
      (p->inputs[Q_BIAS].rank != 1 || p->inputs[Q_BIAS].dims[0] != filters))
    return ref_refuse(p, "input B: expected the shape [%lld]", (long long)filters);
  return OPS_OK;
}

static int32_t read_shapes(const ref_prepare *p, const layout *l, conv_state *s) {
  const ref_shape *x = &p->inputs[X], *w = &p->inputs[l->w];
  RETURN_IF_ERROR(ref_need_rank(p, X, 3, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, l->w, x->rank, x->rank));
  s->batch = x->dims[0];
  s->channels = x->dims[1];
  s->filters = w->dims[0];
  s->groups = ref_attr_int(p->kernel, "group", 1);
  if (s->groups < 1 || s->channels % s->groups != 0 || s->filters % s->groups != 0 ||
      w->dims[1] != s->channels / s->groups)
    return ref_refuse(p,
                      "attribute group: %lld does not fit %lld channels and weights of "
                      "[%lld, %lld]",
                      (long long)s->groups, (long long)s->channels, (long long)s->filters,
                      (long long)w->dims[1]);
  RETURN_IF_ERROR(ref_window_read(p, x->rank - 2, x->dims + 2, w->dims + 2, &s->window));
  return ref_window_slide(p, 0, &s->window);
}

static int32_t prepare(ref_prepare *p) {
  const layout *l = p->kernel->op->family;
  conv_state *s = p->state;
  RETURN_IF_ERROR(read_shapes(p, l, s));
  RETURN_IF_ERROR(check_parameters(p, l, s->filters));
  const ref_window *w = &s->window;
  s->taps = ref_count(w->kernel, w->rank);
  s->positions = ref_count(w->out, w->rank);
  s->rows = ref_count(w->out, w->rank - 1);
  s->image = ref_count(w->in, w->rank);
  int64_t sums[3] = {s->batch, s->filters, s->positions};
  s->x_at = ref_reserve_input(p, X);
  s->w_at = ref_reserve_input(p, l->w);
  s->sums_at = ref_reserve_reals(p, ref_count(sums, 3));
  return ref_window_set_output(p, s->batch, s->filters, w);
}

typedef struct conv_job {
  const ref_run *run;
  const conv_state *s;
  const layout *l;
  const int64_t *x, *w;  // without their zero points
} conv_job;

static void add_row(const ref_window *w, const int64_t *x, const int64_t *weights,
                    int64_t *sums) {
  int32_t last = w->rank - 1;
  for (int64_t k = 0; k < w->kernel[last]; ++k) {
    int64_t low, high, at = k * w->dilation[last] - w->begin[last];
    ref_window_range(w, last, k, &low, &high);
    for (int64_t o = low; o < high; ++o) sums[o] += weights[k] * x[o * w->stride[last] + at];
  }
}

static void sum_filter(const conv_job *job, int64_t n, int64_t m, int64_t *sums) {
  const conv_state *s = job->s;
  const ref_window *w = &s->window;
  int64_t width = w->out[w->rank - 1], kernel = w->kernel[w->rank - 1];
  int64_t channels = s->channels / s->groups, group = m / (s->filters / s->groups);
  memset(sums, 0, sizeof *sums * (size_t)s->positions);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t *image = job->x + (n * s->channels + group * channels + c) * s->image;
    const int64_t *weights = job->w + (m * channels + c) * s->taps;
    for (int64_t row = 0; row < s->rows; ++row)
      for (int64_t tap = 0; tap < s->taps / kernel; ++tap) {
        int64_t from = ref_window_input_row(w, row, tap);
        if (from >= 0)
          add_row(w, image + from * w->in[w->rank - 1], weights + tap * kernel,
                  sums + row * width);
      }
  }
}

// A parameter that is one number or one per filter.
static double per_filter(const ref_run *run, uint64_t input, int64_t m, double otherwise) {
  if (!ref_given(run, input)) return otherwise;
  const ref_view *view = &run->inputs[input];
  return ref_at(view, view->count == 1 ? 0 : m * view->strides[0]);
}

static void quantize(const ref_run *run, int64_t m, int64_t n, int64_t *sums) {
  const ref_view *y = &run->outputs[0];
  int is_signed = y->element->kind == REF_SIGNED;
  double high = is_signed ? 127 : 255, low = is_signed ? -128 : 0;
  double scale = per_filter(run, Q_X_SCALE, 0, 1) * per_filter(run, Q_W_SCALE, m, 1);
  double bias = per_filter(run, Q_BIAS, m, 0), zero = per_filter(run, Q_Y_ZERO, 0, 0);
  double shift = ref_tie_shift(run);
  for (int64_t i = 0; i < n; ++i) {
    double value =
        rint(((double)sums[i] + bias) * scale / per_filter(run, Q_Y_SCALE, 0, 1) + shift) +
        zero;
    sums[i] = ref_truncate(value > high ? high : value < low ? low : value);
  }
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const conv_job *job = context;
  const conv_state *s = job->s;
  const ref_view *y = &job->run->outputs[0];
  int64_t width = s->window.out[s->window.rank - 1];
  for (int64_t item = begin; item < end; ++item) {
    int64_t *sums = ref_ints(job->run, s->sums_at) + item * s->positions;
    sum_filter(job, item / s->filters, item % s->filters, sums);
    if (job->l->quantized) quantize(job->run, item % s->filters, s->positions, sums);
    for (int64_t row = 0; row < s->rows; ++row)
      ref_store_int(y, ref_offset_of(y, (item * s->rows + row) * width),
                    y->strides[y->rank - 1], width, sums + row * width);
  }
}

static int32_t execute(ref_run *run) {
  const conv_state *s = run->state;
  const layout *l = run->kernel->op->family;
  if (run->outputs[0].count == 0) return OPS_OK;
  int64_t *x = ref_ints(run, s->x_at), *w = ref_ints(run, s->w_at);
  ref_read_ints(&run->inputs[X], x);
  ref_read_ints(&run->inputs[l->w], w);
  int64_t zero = (int64_t)per_filter(run, l->x_zero, 0, 0);
  for (int64_t i = 0; i < run->inputs[X].count; ++i) x[i] -= zero;
  int64_t size = s->channels / s->groups * s->taps;
  for (int64_t i = 0; i < s->filters * size; ++i)
    w[i] -= (int64_t)per_filter(run, l->w_zero, i / size, 0);
  conv_job job = {run, s, l, x, w};
  ref_parallel(run, s->batch * s->filters, 1, body, &job);
  return OPS_OK;
}

const ref_op ref_conv_integer = {sizeof(conv_state), prepare, execute, &integer_layout, NULL};
const ref_op ref_qlinear_conv = {sizeof(conv_state), prepare, execute, &quantized_layout, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// DeformConv (Dai et al., https://arxiv.org/abs/1703.06211, with the mask of 1811.11168): a
// convolution whose taps read at shifted positions, by linear interpolation in any number of
// dimensions. What lies outside the image counts as zero.
#include <math.h>

#include "dense.h"
#include "operators.h"
#include "window.h"

enum { X, W, OFFSET, B, MASK };

typedef struct deform_state {
  ref_window window;
  int64_t batch, channels, filters, groups, offset_groups;
  int64_t taps, positions, image;  // of one channel
  uint64_t x_at, w_at, samples_at;
} deform_state;

static int32_t read_groups(const ref_prepare *p, deform_state *s) {
  const ref_shape *x = &p->inputs[X], *w = &p->inputs[W];
  s->batch = x->dims[0];
  s->channels = x->dims[1];
  s->filters = w->dims[0];
  s->groups = ref_attr_int(p->kernel, "group", 1);
  s->offset_groups = ref_attr_int(p->kernel, "offset_group", 1);
  if (s->groups < 1 || s->channels % s->groups != 0 || s->filters % s->groups != 0 ||
      w->dims[1] != s->channels / s->groups)
    return ref_refuse(p,
                      "attribute group: %lld does not fit %lld channels and weights of "
                      "[%lld, %lld]",
                      (long long)s->groups, (long long)s->channels, (long long)s->filters,
                      (long long)w->dims[1]);
  if (s->offset_groups < 1 || s->channels % s->offset_groups != 0)
    return ref_refuse(p, "attribute offset_group: expected a divisor of %lld, found %lld",
                      (long long)s->channels, (long long)s->offset_groups);
  return OPS_OK;
}

// Offsets and mask: [batch, offset groups * taps * each, output…].
static int32_t check_field(const ref_prepare *p, uint64_t input, const deform_state *s,
                           int64_t each) {
  if (!ref_has(p, input)) return OPS_OK;
  int64_t wanted[OPS_MAX_RANK] = {s->batch, s->offset_groups * s->taps * each};
  for (int32_t i = 0; i < s->window.rank; ++i) wanted[2 + i] = s->window.out[i];
  return ref_need_dims(p, input, s->window.rank + 2, wanted);
}

static int32_t prepare(ref_prepare *p) {
  deform_state *s = p->state;
  const ref_shape *x = &p->inputs[X];
  RETURN_IF_ERROR(ref_need_rank(p, X, 3, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, W, x->rank, x->rank));
  RETURN_IF_ERROR(
      ref_window_read(p, x->rank - 2, x->dims + 2, p->inputs[W].dims + 2, &s->window));
  RETURN_IF_ERROR(ref_window_slide(p, 0, &s->window));
  RETURN_IF_ERROR(read_groups(p, s));
  s->taps = ref_count(s->window.kernel, s->window.rank);
  s->positions = ref_count(s->window.out, s->window.rank);
  s->image = ref_count(s->window.in, s->window.rank);
  if (s->taps < 0 || s->taps > (int64_t)1 << 40 || s->positions < 0 || s->image < 0)
    return ref_refuse(p, "the shapes are too large");
  RETURN_IF_ERROR(check_field(p, OFFSET, s, s->window.rank));
  RETURN_IF_ERROR(check_field(p, MASK, s, 1));
  if (ref_has(p, B) && (p->inputs[B].rank != 1 || p->inputs[B].dims[0] != s->filters))
    return ref_refuse(p, "input B: expected the shape [%lld]", (long long)s->filters);
  int64_t samples[3] = {s->batch * s->positions, s->channels, s->taps};
  s->x_at = ref_reserve_input(p, X);
  s->w_at = ref_reserve_input(p, W);
  s->samples_at = ref_reserve_reals(p, ref_count(samples, 3));
  return ref_window_set_output(p, s->batch, s->filters, &s->window);
}

typedef struct deform_job {
  const ref_run *run;
  const deform_state *s;
  const double *x, *w;
  double *samples;  // for each batch entry and position: [channels, taps]
} deform_job;

// One channel's value at a fractional position.
static double interpolate(const ref_window *w, const double *image, const double *at) {
  double sum = 0;
  for (uint32_t corner = 0; corner < 1u << w->rank; ++corner) {
    double weight = 1;
    int64_t index = 0;
    for (int32_t d = 0; d < w->rank && weight != 0; ++d) {
      double low = floor(at[d]), side = corner >> d & 1;
      double place = low + side;
      weight *= side != 0 ? at[d] - low : 1 - (at[d] - low);
      if (!(place >= 0 && place < (double)w->in[d])) weight = 0;
      if (weight != 0) index = index * w->in[d] + (int64_t)place;
    }
    if (weight != 0) sum += weight * image[index];
  }
  return sum;
}

// A number of a field at channel `row` and an output position.
static double field_at(const ref_view *field, const ref_window *w, int64_t n, int64_t row,
                       int64_t position) {
  int64_t at = n * field->strides[0] + row * field->strides[1];
  for (int32_t d = w->rank - 1; d >= 0; --d) {
    at += position % w->out[d] * field->strides[2 + d];
    position /= w->out[d];
  }
  return ref_at(field, at);
}

static void tap_position(const deform_job *job, int64_t n, int64_t group, int64_t tap,
                         int64_t position, double *at) {
  const ref_window *w = &job->s->window;
  int64_t row = (group * job->s->taps + tap) * w->rank, rest = position, k = tap;
  for (int32_t d = w->rank - 1; d >= 0; --d) {
    at[d] = (double)(rest % w->out[d] * w->stride[d] - w->begin[d] +
                     k % w->kernel[d] * w->dilation[d]) +
            field_at(&job->run->inputs[OFFSET], w, n, row + d, position);
    rest /= w->out[d];
    k /= w->kernel[d];
  }
}

static void sample(const deform_job *job, int64_t n, int64_t position, double *samples) {
  const deform_state *s = job->s;
  int64_t per_group = s->channels / s->offset_groups;
  for (int64_t group = 0; group < s->offset_groups; ++group)
    for (int64_t tap = 0; tap < s->taps; ++tap) {
      double at[OPS_MAX_RANK], mask = 1;
      tap_position(job, n, group, tap, position, at);
      if (ref_given(job->run, MASK))
        mask =
            field_at(&job->run->inputs[MASK], &s->window, n, group * s->taps + tap, position);
      for (int64_t c = group * per_group; c < (group + 1) * per_group; ++c)
        samples[c * s->taps + tap] =
            mask * interpolate(&s->window, job->x + (n * s->channels + c) * s->image, at);
    }
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const deform_job *job = context;
  const deform_state *s = job->s;
  const ref_view *y = &job->run->outputs[0], *bias = &job->run->inputs[B];
  int64_t size = s->channels / s->groups * s->taps;
  for (int64_t item = begin; item < end; ++item) {
    int64_t n = item / s->positions, position = item % s->positions;
    double *samples = job->samples + item * s->channels * s->taps;
    sample(job, n, position, samples);
    for (int64_t m = 0; m < s->filters; ++m) {
      double sum = ref_given(job->run, B) ? ref_at(bias, m * bias->strides[0]) : 0;
      const double *own = samples + m / (s->filters / s->groups) * size;
      for (int64_t i = 0; i < size; ++i) sum += job->w[m * size + i] * own[i];
      ref_store(y, ref_offset_of(y, (n * s->filters + m) * s->positions + position), 1, 1,
                &sum);
    }
  }
}

static int32_t execute(ref_run *run) {
  const deform_state *s = run->state;
  deform_job job = {run, s, ref_input_reals(run, X, s->x_at), ref_input_reals(run, W, s->w_at),
                    ref_reals(run, s->samples_at)};
  if (run->outputs[0].count > 0) ref_parallel(run, s->batch * s->positions, 1, body, &job);
  return OPS_OK;
}

const ref_op ref_deform_conv = {sizeof(deform_state), prepare, execute, NULL, NULL};

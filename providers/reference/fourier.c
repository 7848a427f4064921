// SPDX-License-Identifier: Apache-2.0
//
// DFT and STFT by the definition: sums over all samples with exact angles (k n mod N, from a
// table that is symmetric in its octants), so the error does not grow with N beyond that of one
// sum. Quadratic in N.
#include <math.h>
#include <string.h>

#include "dense.h"
#include "operators.h"
#include "traverse.h"

#define PI 3.14159265358979323846

typedef struct transform {
  int64_t n;        // length
  int64_t in, out;  // samples that are read, numbers that are written
  int32_t inverse, real_in, real_out;
} transform;

// Cosine and sine of 2 pi k / n, exact at multiples of an eighth where they can be.
static void turn(int64_t k, int64_t n, double *c, double *s) {
  double eighth = 8 * (double)k / (double)n;  // in [0, 8)
  int octant = (int)eighth & 7;
  // The angle to the nearest axis, in (-1, 1] eighths, as an exact fraction where possible.
  int axis = (octant + 1) / 2 & 3;
  double rest = (8 * (double)k - 2 * (double)axis * (double)n) / (double)n;
  if (octant == 7) rest = (8 * (double)k - 8 * (double)n) / (double)n;
  double angle = rest * (PI / 4), x = cos(angle), y = sin(angle);
  const double cosines[4] = {x, -y, -x, y}, sines[4] = {y, x, -y, -x};
  *c = cosines[axis];
  *s = sines[axis];
}

// The table: n cosines, then n sines.
static void fill_table(int64_t n, double *table) {
  for (int64_t k = 0; k < n; ++k) turn(k, n, &table[k], &table[n + k]);
}

// Full spectrum value k of a one-sided one.
static void one_sided(const transform *t, const double *x, int64_t k, double *re, double *im) {
  int64_t mirror = k <= t->n - k ? k : t->n - k;
  *re = mirror < t->in ? x[2 * mirror] : 0;
  *im = mirror < t->in ? (mirror == k ? x[2 * k + 1] : -x[2 * mirror + 1]) : 0;
  if (k == 0 || 2 * k == t->n) *im = 0;
}

// x: pairs of real and imaginary parts; out: pairs, or reals.
static void run_transform(const transform *t, const double *table, const double *x,
                          double *out) {
  int64_t terms = t->real_out ? t->n : t->in < t->n ? t->in : t->n;
  double sign = t->inverse ? 1 : -1;
  for (int64_t k = 0; k < t->out; ++k) {
    double re = 0, im = 0;
    for (int64_t i = 0, angle = 0; i < terms; ++i) {
      double a = x[2 * i], b = x[2 * i + 1];
      if (t->real_out) one_sided(t, x, i, &a, &b);
      double c = table[angle], s = sign * table[t->n + angle];
      re += a * c - b * s;
      im += a * s + b * c;
      angle += k;
      if (angle >= t->n) angle -= t->n;
    }
    double scale = t->inverse ? 1 / (double)t->n : 1;
    if (t->real_out) {
      out[k] = re * scale;
    } else {
      out[2 * k] = re * scale;
      out[2 * k + 1] = im * scale;
    }
  }
}

// ---- DFT
// -------------------------------------------------------------------------------------

typedef struct dft_state {
  transform t;
  int32_t axis;
  uint64_t table_at, x_at, y_at;
} dft_state;

static int32_t read_axis(const ref_prepare *p, dft_state *s) {
  int32_t rank = p->inputs[0].rank;
  int64_t axis = p->kernel->opset < 20 ? ref_attr_int(p->kernel, "axis", 1) : -2;
  if (ref_has(p, 2)) RETURN_IF_ERROR(ref_scalar(p, 2, &axis));
  RETURN_IF_ERROR(ref_axis(p, axis, rank, &s->axis));
  if (s->axis == rank - 1)
    return ref_refuse(p, "axis %lld is the one of real and imaginary parts", (long long)axis);
  return OPS_OK;
}

static int32_t read_length(const ref_prepare *p, dft_state *s) {
  int64_t n = p->inputs[0].dims[s->axis];
  s->t.in = n;
  if (s->t.real_out) n = 2 * (n - 1);
  if (ref_has(p, 1)) RETURN_IF_ERROR(ref_scalar(p, 1, &n));
  if (n < 1 || n > (int64_t)1 << 40)
    return ref_refuse(p, "input dft_length: expected at least 1, found %lld", (long long)n);
  s->t.n = n;
  s->t.out = n;
  return OPS_OK;
}

static int32_t prepare_dft(ref_prepare *p) {
  dft_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  int onesided = ref_attr_int(p->kernel, "onesided", 0) != 0;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_small(p, 0));
  s->t.inverse = ref_attr_int(p->kernel, "inverse", 0) != 0;
  s->t.real_in = x->dims[x->rank - 1] == 1;
  s->t.real_out = onesided && s->t.inverse;
  if (!s->t.real_in && x->dims[x->rank - 1] != 2)
    return ref_refuse(p, "input input: the last dimension is %lld, expected 1 or 2",
                      (long long)x->dims[x->rank - 1]);
  if (onesided && s->t.real_in == s->t.inverse)
    return ref_refuse(p, "attribute onesided: expected a %s input",
                      s->t.inverse ? "complex" : "real");
  RETURN_IF_ERROR(read_axis(p, s));
  RETURN_IF_ERROR(read_length(p, s));
  if (onesided && !s->t.inverse) s->t.out = s->t.n / 2 + 1;
  s->table_at = ref_reserve_reals(p, 2 * s->t.n);
  s->x_at = ref_reserve_reals(p, 2 * s->t.in);
  s->y_at = ref_reserve_reals(p, 2 * s->t.out);
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[s->axis] = s->t.out;
  dims[x->rank - 1] = s->t.real_out ? 1 : 2;
  return ref_set_shape(p, 0, x->rank, dims);
}

static void dft_line(const ref_run *run, const int64_t *index) {
  const dft_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t from = ref_dot(index, x->strides, x->rank), to = ref_dot(index, y->strides, y->rank);
  double *in = ref_reals(run, s->x_at), *out = ref_reals(run, s->y_at);
  int32_t last = x->rank - 1;
  for (int64_t i = 0; i < s->t.in; ++i) {
    in[2 * i + 1] = 0;
    ref_load(x, from + i * x->strides[s->axis], x->strides[last], s->t.real_in ? 1 : 2,
             &in[2 * i]);
  }
  run_transform(&s->t, ref_reals(run, s->table_at), in, out);
  int64_t width = s->t.real_out ? 1 : 2;
  for (int64_t k = 0; k < s->t.out; ++k)
    ref_store(y, to + k * y->strides[s->axis], y->strides[last], width, &out[width * k]);
}

static int32_t execute_dft(ref_run *run) {
  const dft_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  int64_t dims[OPS_MAX_RANK], index[OPS_MAX_RANK] = {0};
  if (run->outputs[0].count == 0) return OPS_OK;
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[s->axis] = dims[x->rank - 1] = 1;
  fill_table(s->t.n, ref_reals(run, s->table_at));
  do dft_line(run, index);
  while (ref_count_up(index, dims, x->rank));
  return OPS_OK;
}

const ref_op ref_dft = {sizeof(dft_state), prepare_dft, execute_dft, NULL, NULL};

// ---- STFT
// ------------------------------------------------------------------------------------

enum { SIGNAL, STEP, WINDOW, LENGTH };

typedef struct stft_state {
  transform t;
  int64_t step, frames;
  uint64_t table_at, x_at, y_at;
} stft_state;

static int32_t read_frames(const ref_prepare *p, stft_state *s) {
  int64_t signal = p->inputs[SIGNAL].dims[1], length = signal;
  RETURN_IF_ERROR(ref_scalar(p, STEP, &s->step));
  if (ref_has(p, WINDOW)) {
    RETURN_IF_ERROR(ref_need_rank(p, WINDOW, 1, 1));
    length = p->inputs[WINDOW].dims[0];
  }
  if (ref_has(p, LENGTH)) RETURN_IF_ERROR(ref_scalar(p, LENGTH, &length));
  if (ref_has(p, WINDOW) && length != p->inputs[WINDOW].dims[0])
    return ref_refuse(p, "input window: expected %lld numbers as frame_length says, found %lld",
                      (long long)length, (long long)p->inputs[WINDOW].dims[0]);
  if (s->step < 1 || length < 1 || length > signal)
    return ref_refuse(p,
                      "inputs frame_step and frame_length: a step of %lld and frames of %lld "
                      "do not fit a signal of %lld",
                      (long long)s->step, (long long)length, (long long)signal);
  s->frames = (signal - length) / s->step + 1;
  s->t.n = s->t.in = s->t.out = length;
  return OPS_OK;
}

static int32_t prepare_stft(ref_prepare *p) {
  stft_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, SIGNAL, 3, 3));
  RETURN_IF_ERROR(ref_need_small(p, SIGNAL));
  int onesided = ref_attr_int(p->kernel, "onesided", 1) != 0;
  int64_t parts = p->inputs[SIGNAL].dims[2];
  s->t.real_in = parts == 1;
  if ((parts != 1 && parts != 2) || (onesided && parts == 2))
    return ref_refuse(p, "input signal: the last dimension is %lld, expected 1%s",
                      (long long)parts, onesided ? " for a one-sided result" : " or 2");
  RETURN_IF_ERROR(read_frames(p, s));
  if (onesided) s->t.out = s->t.n / 2 + 1;
  s->table_at = ref_reserve_reals(p, 2 * s->t.n);
  s->x_at = ref_reserve_reals(p, 2 * s->t.n);
  s->y_at = ref_reserve_reals(p, 2 * s->t.n);
  return ref_set_shape(p, 0, 4, (int64_t[]){p->inputs[SIGNAL].dims[0], s->frames, s->t.out, 2});
}

static void stft_frame(const ref_run *run, int64_t b, int64_t frame) {
  const stft_state *s = run->state;
  const ref_view *x = &run->inputs[SIGNAL], *y = &run->outputs[0], *w = &run->inputs[WINDOW];
  double *in = ref_reals(run, s->x_at), *out = ref_reals(run, s->y_at);
  int64_t from = b * x->strides[0] + frame * s->step * x->strides[1];
  for (int64_t i = 0; i < s->t.n; ++i) {
    double weight = ref_given(run, WINDOW) ? ref_at(w, i * w->strides[0]) : 1;
    in[2 * i + 1] = 0;
    ref_load(x, from + i * x->strides[1], x->strides[2], s->t.real_in ? 1 : 2, &in[2 * i]);
    in[2 * i] *= weight;
    in[2 * i + 1] *= weight;
  }
  run_transform(&s->t, ref_reals(run, s->table_at), in, out);
  for (int64_t k = 0; k < s->t.out; ++k)
    ref_store(y, b * y->strides[0] + frame * y->strides[1] + k * y->strides[2], y->strides[3],
              2, &out[2 * k]);
}

static int32_t execute_stft(ref_run *run) {
  const stft_state *s = run->state;
  if (run->outputs[0].count == 0) return OPS_OK;
  fill_table(s->t.n, ref_reals(run, s->table_at));
  for (int64_t b = 0; b < run->inputs[SIGNAL].dims[0]; ++b)
    for (int64_t frame = 0; frame < s->frames; ++frame) stft_frame(run, b, frame);
  return OPS_OK;
}

const ref_op ref_stft = {sizeof(stft_state), prepare_stft, execute_stft, NULL, NULL};

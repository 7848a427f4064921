// SPDX-License-Identifier: Apache-2.0
//
// GridSample over any number of spatial dimensions: every output is a weighted sum over the
// product of a few taps per dimension (1 nearest, 2 linear, 4 cubic with a = -0.75).
//
// Positions are brought into the image first (border: clamped, reflection: folded), then taps
// that fall outside are. Complex numbers are sampled by parts, strings only by mode nearest.
#include <math.h>

#include "dense.h"
#include "operators.h"
#include "traverse.h"

#define MAX_TAPS 4
enum { NEAREST, LINEAR, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sample_state {
  int32_t mode, padding, align;
  int32_t spatial;
  int32_t taps;
} sample_state;

static int32_t choose(const ref_prepare *p, const char *attribute, const char *usual,
                      const char *const *names, const int32_t *values, int32_t *out) {
  for (int i = 0; names[i] != NULL; ++i)
    if (ref_attr_is(p->kernel, attribute, names[i], usual)) {
      *out = values[i];
      return OPS_OK;
    }
  return ref_refuse(p, "attribute %s: the value is not one of those that are defined",
                    attribute);
}

static int32_t read_options(const ref_prepare *p, sample_state *s) {
  static const char *const modes[] = {"nearest", "linear",  "bilinear",
                                      "cubic",   "bicubic", NULL};
  static const int32_t mode_values[] = {NEAREST, LINEAR, LINEAR, CUBIC, CUBIC};
  static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
  static const int32_t padding_values[] = {ZEROS, BORDER, REFLECTION};
  static const int32_t taps[] = {1, 2, 4};
  RETURN_IF_ERROR(choose(p, "mode", "linear", modes, mode_values, &s->mode));
  RETURN_IF_ERROR(choose(p, "padding_mode", "zeros", paddings, padding_values, &s->padding));
  s->align = ref_attr_int(p->kernel, "align_corners", 0) != 0;
  s->taps = taps[s->mode];
  if (p->inputs[0].type == OPS_TYPE_STRING && s->mode != NEAREST)
    return ref_refuse(p, "attribute mode: strings can only be sampled by nearest");
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  sample_state *s = p->state;
  const ref_shape *x = &p->inputs[0], *grid = &p->inputs[1];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, OPS_MAX_RANK - 1));
  RETURN_IF_ERROR(ref_need_rank(p, 1, x->rank, x->rank));
  s->spatial = x->rank - 2;
  if (grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != s->spatial)
    return ref_refuse(p, "input grid: expected the shape [%lld, …, %d]", (long long)x->dims[0],
                      s->spatial);
  int64_t dims[OPS_MAX_RANK] = {x->dims[0], x->dims[1]};
  for (int32_t i = 0; i < s->spatial; ++i) {
    dims[2 + i] = grid->dims[1 + i];
    if (x->dims[2 + i] == 0) return ref_refuse(p, "input X has an empty image");
  }
  RETURN_IF_ERROR(read_options(p, s));
  return ref_set_shape(p, 0, x->rank, dims);
}

// Folds a position between the borders of an image of `n`.
static double reflect(double at, double n, int align) {
  double low = align ? 0 : -0.5, high = align ? n - 1 : n - 0.5, range = high - low;
  if (range <= 0 || !isfinite(at)) return 0;
  double rest = fmod(fabs(at - low), 2 * range);
  return rest <= range ? low + rest : high - (rest - range);
}

static double clamp(double at, double n) {
  return at > n - 1 ? n - 1 : at > 0 ? at : 0;
}

// Where a tap reads: an index, or -1 for zero.
static int64_t tap_index(const sample_state *s, double at, double n) {
  if (at >= 0 && at <= n - 1) return (int64_t)at;
  if (s->padding == ZEROS) return -1;
  return (int64_t)(s->padding == BORDER ? clamp(at, n) : clamp(reflect(at, n, s->align), n));
}

static void cubic_weights(double x, double *w) {
  const double a = -0.75;
  double far = x + 1, back = 1 - x, farther = 2 - x;
  w[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
  w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
  w[2] = ((a + 2) * back - (a + 3)) * back * back + 1;
  w[3] = ((a * farther - 5 * a) * farther + 8 * a) * farther - 4 * a;
}

// The taps of one dimension of size `n` for a normalised coordinate.
static void find_taps(const sample_state *s, double coordinate, double n, int64_t *index,
                      double *weight) {
  double at = s->align ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  double low = s->align ? 0 : -0.5, high = s->align ? n - 1 : n - 0.5;
  if (s->mode == NEAREST) at = rint(at);
  if (!(at >= low && at <= high)) {
    if (s->padding == BORDER) at = clamp(at, n);
    if (s->padding == REFLECTION) at = reflect(at, n, s->align);
  }
  double base = floor(at), rest = at - base;
  if (s->mode == NEAREST) weight[0] = 1;
  if (s->mode == LINEAR) weight[0] = 1 - rest, weight[1] = rest;
  if (s->mode == CUBIC) cubic_weights(rest, weight);
  if (s->mode == CUBIC) base -= 1;
  for (int32_t i = 0; i < s->taps; ++i) {
    index[i] = tap_index(s, base + i, n);
    if (!isfinite(at)) index[i] = -1, weight[i] = 0;
  }
}

typedef struct sample_job {
  const ref_run *run;
  const sample_state *s;
  ref_view x, y;
  int64_t parts;
} sample_job;

typedef struct taps {
  int64_t index[OPS_MAX_RANK][MAX_TAPS];
  double weight[OPS_MAX_RANK][MAX_TAPS];
} taps;

// Sum over dimension `d` and those after it, from offset `at`.
static double sum_taps(const sample_job *job, const taps *t, int32_t d, int64_t at) {
  if (d == job->s->spatial) return ref_at(&job->x, at);
  double sum = 0;
  for (int32_t i = 0; i < job->s->taps; ++i)
    if (t->index[d][i] >= 0)
      sum += t->weight[d][i] *
             sum_taps(job, t, d + 1, at + t->index[d][i] * job->x.strides[2 + d]);
  return sum;
}

// Nearest moves the element as it is; outside it leaves the zero that was put there before.
static int32_t move_nearest(const sample_job *job, const taps *t, int64_t from, int64_t to) {
  for (int32_t d = 0; d < job->s->spatial; ++d) {
    if (t->index[d][0] < 0) return OPS_OK;
    from += t->index[d][0] * job->run->inputs[0].strides[2 + d];
  }
  return ref_move(&job->run->outputs[0], to, 1, &job->run->inputs[0], from, 1, 1,
                  job->run->error);
}

static void locate(const sample_job *job, const int64_t *index, taps *t) {
  const ref_view *grid = &job->run->inputs[1];
  int32_t spatial = job->s->spatial;
  int64_t at = index[0] * grid->strides[0];
  for (int32_t d = 0; d < spatial; ++d) at += index[1 + d] * grid->strides[1 + d];
  for (int32_t d = 0; d < spatial; ++d)
    find_taps(job->s, ref_at(grid, at + (spatial - 1 - d) * grid->strides[grid->rank - 1]),
              (double)job->x.dims[2 + d], t->index[d], t->weight[d]);
}

// All channels at one position; index: [n, position…].
static int32_t sample(const sample_job *job, const int64_t *index) {
  const ref_run *run = job->run;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  taps t;
  locate(job, index, &t);
  int64_t to = index[0] * y->strides[0], from = index[0] * x->strides[0];
  for (int32_t d = 0; d < job->s->spatial; ++d) to += index[1 + d] * y->strides[2 + d];
  for (int64_t c = 0; c < y->dims[1]; ++c, to += y->strides[1], from += x->strides[1]) {
    if (job->s->mode == NEAREST) {
      RETURN_IF_ERROR(move_nearest(job, &t, from, to));
      continue;
    }
    for (int64_t part = 0; part < job->parts; ++part) {
      double value = sum_taps(job, &t, 0, from * job->parts + part);
      if (y->type == OPS_TYPE_BOOL) value = value != 0;
      ref_store(&job->y, to * job->parts + part, 1, 1, &value);
    }
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const sample_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  sample_job job = {run, s, ref_parts(&run->inputs[0]), ref_parts(y), 1};
  if (y->count == 0) return OPS_OK;
  if (run->inputs[0].element->kind == REF_COMPLEX) job.parts = 2;
  if (s->mode == NEAREST) RETURN_IF_ERROR(ref_clear(y, run->error));
  int64_t dims[OPS_MAX_RANK], index[OPS_MAX_RANK] = {0};
  dims[0] = y->dims[0];
  for (int32_t d = 0; d < s->spatial; ++d) dims[1 + d] = y->dims[2 + d];
  do RETURN_IF_ERROR(sample(&job, index));
  while (ref_count_up(index, dims, s->spatial + 1));
  return OPS_OK;
}

const ref_op ref_grid_sample = {sizeof(sample_state), prepare, execute, NULL, NULL};

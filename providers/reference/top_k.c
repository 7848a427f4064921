// SPDX-License-Identifier: Apache-2.0
//
// TopK along an axis: sorted by value, equal values by index. NaN counts as the largest value.
// The positions of a line are sorted in the workspace by merging, which is stable. k is an
// attribute up to opset 9, an input from 10 on.
#include <math.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

typedef struct top_state {
  int32_t axis;
  int32_t smallest;
} top_state;

static int32_t prepare(ref_prepare *p) {
  top_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  int64_t k = ref_attr_int(p->kernel, "k", -1), count = 1, dims[OPS_MAX_RANK];
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", -1), x->rank, &s->axis));
  if (ref_has(p, 1)) RETURN_IF_ERROR(ref_contents(p, 1, &k, 1, &count));
  int64_t n = x->dims[s->axis];
  if (count != 1 || k < 0 || k > n)
    return ref_refuse(p, "input K: expected one number of 0 to %lld, found %lld", (long long)n,
                      (long long)k);
  s->smallest = ref_attr_int(p->kernel, "largest", 1) == 0;
  memcpy(dims, x->dims, sizeof dims);
  dims[s->axis] = k;
  ref_reserve_reals(p, n);  // two lists of positions
  ref_reserve_reals(p, n);
  RETURN_IF_ERROR(ref_set_shape(p, 1, x->rank, dims));
  return ref_set_shape(p, 0, x->rank, dims);
}

typedef struct top_job {
  const ref_run *run;
  const ref_view *x;
  int64_t base, step;
  int32_t smallest;
} top_job;

// Whether position `a` must not come after `b`, for a before b in the line.
static int in_order(const top_job *job, int64_t a, int64_t b) {
  int64_t at_a = job->base + a * job->step, at_b = job->base + b * job->step;
  const ref_view *x = job->x;
  int order;
  if (ref_is_integer(x)) {
    int64_t u = ref_int_at(x, at_a), v = ref_int_at(x, at_b);
    order = x->element->kind == REF_UNSIGNED
                ? ((uint64_t)u > (uint64_t)v) - ((uint64_t)u < (uint64_t)v)
                : (u > v) - (u < v);
  } else {
    double u = ref_at(x, at_a), v = ref_at(x, at_b);
    order = isnan(u) || isnan(v) ? (isnan(u) != 0) - (isnan(v) != 0) : (u > v) - (u < v);
  }
  return job->smallest ? order <= 0 : order >= 0;
}

static void merge(const top_job *job, const int64_t *from, int64_t *to, int64_t low,
                  int64_t mid, int64_t high) {
  int64_t i = low, j = mid;
  for (int64_t k = low; k < high; ++k)
    to[k] = i < mid && (j == high || in_order(job, from[i], from[j])) ? from[i++] : from[j++];
}

static const int64_t *sort(const top_job *job, int64_t n, int64_t *list, int64_t *other) {
  for (int64_t i = 0; i < n; ++i) list[i] = i;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t low = 0; low < n; low += 2 * width) {
      int64_t mid = low + width < n ? low + width : n;
      int64_t high = mid + width < n ? mid + width : n;
      merge(job, list, other, low, mid, high);
    }
    int64_t *swap = list;
    list = other;
    other = swap;
  }
  return list;
}

static int32_t run_line(void *context, const int64_t *offsets) {
  top_job *job = context;
  const ref_run *run = job->run;
  const top_state *s = run->state;
  const ref_view *values = &run->outputs[0], *indices = &run->outputs[1];
  int64_t n = job->x->dims[s->axis];
  int64_t *list = run->workspace;
  job->base = offsets[0];
  const int64_t *sorted = sort(job, n, list, list + (n + 7) / 8 * 8);
  for (int64_t i = 0; i < values->dims[s->axis]; ++i) {
    RETURN_IF_ERROR(ref_move(values, offsets[1] + i * values->strides[s->axis], 1, job->x,
                             job->base + sorted[i] * job->step, 1, 1, run->error));
    if (ref_wanted(run, 1))
      ref_store_int(indices, offsets[2] + i * indices->strides[s->axis], 1, 1, &sorted[i]);
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const top_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  if (run->outputs[0].count == 0) return OPS_OK;
  top_job job = {run, x, 0, x->strides[s->axis], s->smallest};
  const ref_view *views[] = {x, &run->outputs[0], &run->outputs[1]};
  return ref_each_line(views, ref_wanted(run, 1) ? 3 : 2, s->axis, run_line, &job);
}

const ref_op ref_top_k = {sizeof(top_state), prepare, execute, NULL, NULL};

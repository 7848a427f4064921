// SPDX-License-Identifier: Apache-2.0
//
// ArgMax and ArgMin: the first position of the extreme value along an axis, or with
// select_last_index the last. As in numpy, NaN is the extreme of a line that has one.
#include <math.h>

#include "operators.h"
#include "traverse.h"

typedef struct arg_state {
  int32_t axis;
  int32_t keep;
  int32_t last;
} arg_state;

static int32_t prepare(ref_prepare *p) {
  arg_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 0), x->rank, &s->axis));
  s->keep = ref_attr_int(p->kernel, "keepdims", 1) != 0;
  s->last = ref_attr_int(p->kernel, "select_last_index", 0) != 0;
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (i != s->axis)
      dims[rank++] = x->dims[i];
    else if (s->keep)
      dims[rank++] = 1;
  }
  if (x->dims[s->axis] == 0 && ref_count(dims, rank) != 0)
    return ref_refuse(p, "input data: dimension %d is empty and has no extreme", s->axis);
  return ref_set_shape(p, 0, rank, dims);
}

typedef struct arg_job {
  const ref_view *x, *y;
  const arg_state *s;
  int minimum;
} arg_job;

// Whether the value at `i` comes before the best so far.
static int beats(const arg_job *job, int64_t best, int64_t i) {
  const ref_view *x = job->x;
  int order;
  if (ref_is_integer(x)) {
    int64_t a = ref_int_at(x, i), b = ref_int_at(x, best);
    order = x->element->kind == REF_UNSIGNED
                ? ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b)
                : (a > b) - (a < b);
  } else {
    double a = ref_at(x, i), b = ref_at(x, best);
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || job->s->last);
    order = (a > b) - (a < b);
  }
  if (order == 0) return job->s->last;
  return job->minimum ? order < 0 : order > 0;
}

static int32_t run_line(void *context, const int64_t *offsets) {
  const arg_job *job = context;
  int64_t step = job->x->strides[job->s->axis], best = 0;
  for (int64_t i = 1; i < job->x->dims[job->s->axis]; ++i)
    if (beats(job, offsets[0] + best * step, offsets[0] + i * step)) best = i;
  ref_store_int(job->y, offsets[1], 1, 1, &best);
  return OPS_OK;
}

static int32_t execute(ref_run *run, int minimum) {
  const arg_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  ref_view y = s->keep ? run->outputs[0] : ref_with_axis(&run->outputs[0], s->axis);
  if (y.count == 0) return OPS_OK;
  arg_job job = {x, &y, s, minimum};
  return ref_each_line((const ref_view *[]){x, &y}, 2, s->axis, run_line, &job);
}

static int32_t execute_max(ref_run *run) {
  return execute(run, 0);
}

static int32_t execute_min(ref_run *run) {
  return execute(run, 1);
}

const ref_op ref_arg_max = {sizeof(arg_state), prepare, execute_max, NULL, NULL};
const ref_op ref_arg_min = {sizeof(arg_state), prepare, execute_min, NULL, NULL};

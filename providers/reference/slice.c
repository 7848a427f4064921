// SPDX-License-Identifier: Apache-2.0
//
// Slice: starts, ends, axes, steps as attributes up to opset 9 (no steps), as inputs from 10
// on. Starts and ends are clamped as ONNX Slice-13 says: with a negative step a start below 0
// becomes 0, where numpy would select nothing.
#include "operators.h"
#include "traverse.h"

typedef struct slice_state {
  int64_t start[OPS_MAX_RANK];
  int64_t step[OPS_MAX_RANK];
} slice_state;

typedef struct slice_lists {
  int64_t starts[OPS_MAX_RANK], ends[OPS_MAX_RANK], axes[OPS_MAX_RANK], steps[OPS_MAX_RANK];
  int64_t count;
} slice_lists;

// One list, from its input or its attribute; *out_count is -1 if it is not given.
static int32_t read_list(const ref_prepare *p, uint64_t input, const char *name, int64_t *out,
                         int64_t *out_count) {
  const ref_attribute *attribute = ref_attr(p->kernel, name);
  *out_count = -1;
  if (ref_has(p, input)) return ref_contents(p, input, out, OPS_MAX_RANK, out_count);
  if (attribute == NULL) return OPS_OK;
  if (attribute->count > OPS_MAX_RANK)
    return ref_refuse(p, "attribute %s has more than %d entries", name, OPS_MAX_RANK);
  *out_count = attribute->count;
  for (int64_t i = 0; i < attribute->count; ++i) out[i] = attribute->ints[i];
  return OPS_OK;
}

static int32_t read_lists(const ref_prepare *p, slice_lists *l) {
  int64_t ends, axes, steps;
  RETURN_IF_ERROR(read_list(p, 1, "starts", l->starts, &l->count));
  RETURN_IF_ERROR(read_list(p, 2, "ends", l->ends, &ends));
  RETURN_IF_ERROR(read_list(p, 3, "axes", l->axes, &axes));
  RETURN_IF_ERROR(read_list(p, 4, "steps", l->steps, &steps));
  if (l->count < 0 || ends != l->count || (axes >= 0 && axes != l->count) ||
      (steps >= 0 && steps != l->count))
    return ref_refuse(p,
                      "starts, ends, axes and steps must have the same number of entries, "
                      "found %lld, %lld, %lld and %lld (-1: not given)",
                      (long long)l->count, (long long)ends, (long long)axes, (long long)steps);
  for (int64_t i = 0; i < l->count; ++i) {
    if (axes < 0) l->axes[i] = i;
    if (steps < 0) l->steps[i] = 1;
  }
  return OPS_OK;
}

static int64_t clamp(int64_t value, int64_t dim, int64_t low, int64_t high) {
  if (value < 0) value += dim;
  return value < low ? low : value > high ? high : value;
}

static int32_t prepare(ref_prepare *p) {
  slice_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  slice_lists l;
  RETURN_IF_ERROR(read_lists(p, &l));
  for (int32_t i = 0; i < x->rank; ++i) s->step[i] = 1;
  RETURN_IF_ERROR(ref_same_shape(p, 0, 0));
  uint64_t seen = 0;
  for (int64_t i = 0; i < l.count; ++i) {
    int32_t axis;
    RETURN_IF_ERROR(ref_axis(p, l.axes[i], x->rank, &axis));
    int64_t dim = x->dims[axis], step = l.steps[i];
    if (step == 0) return ref_refuse(p, "input steps: entry %lld is 0", (long long)i);
    if (seen >> axis & 1) return ref_refuse(p, "input axes: axis %d is given twice", axis);
    seen |= (uint64_t)1 << axis;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
    int64_t start = clamp(l.starts[i], dim, 0, high);
    int64_t end = clamp(l.ends[i], dim, low, high);
    int64_t span = step > 0 ? end - start : start - end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    s->start[axis] = start;
    s->step[axis] = step;
    p->outputs[0].dims[axis] =
        span <= 0 || dim == 0 ? 0 : (int64_t)(((uint64_t)span - 1) / stride) + 1;
    if (p->outputs[0].dims[axis] <= 1) s->step[axis] = 1;
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const slice_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  int64_t strides[OPS_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i) strides[i] = x->strides[i] * s->step[i];
  int64_t offset = ref_dot(s->start, x->strides, x->rank);
  return ref_move_block((ref_block){y, 0, y->strides}, (ref_block){x, offset, strides}, y->rank,
                        y->dims, run->error);
}

const ref_op ref_slice = {sizeof(slice_state), prepare, execute, NULL, NULL};

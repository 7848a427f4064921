// SPDX-License-Identifier: Apache-2.0
//
// Operators that give the same elements a new shape: Identity, Dropout in inference, Reshape,
// Flatten, Squeeze, Unsqueeze. Each has its own prepare; execute copies in row-major order.
#include <string.h>

#include "operators.h"

static int32_t prepare_identity(ref_prepare *p) {
  return ref_same_shape(p, 0, 0);
}

static int32_t prepare_flatten(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  int64_t axis = ref_attr_int(p->kernel, "axis", 1);
  if (axis < -x->rank || axis > x->rank)
    return ref_refuse(p, "attribute axis: expected a number in [-%d, %d], found %lld", x->rank,
                      x->rank, (long long)axis);
  if (axis < 0) axis += x->rank;
  int64_t dims[2] = {ref_count(x->dims, (int32_t)axis),
                     ref_count(x->dims + axis, x->rank - (int32_t)axis)};
  if (dims[0] < 0 || dims[1] < 0) return ref_refuse(p, "the shape is too large to flatten");
  return ref_set_shape(p, 0, 2, dims);
}

static int32_t prepare_squeeze(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  int32_t axes[OPS_MAX_RANK], count;
  int given;
  RETURN_IF_ERROR(ref_axes(p, 1, x->rank, axes, &count, &given));
  uint64_t drop = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (x->dims[axes[i]] != 1)
      return ref_refuse(p, "input data: dimension %d is %lld, expected 1 to squeeze it",
                        axes[i], (long long)x->dims[axes[i]]);
    drop |= (uint64_t)1 << axes[i];
  }
  for (int32_t i = 0; !given && i < x->rank; ++i)
    if (x->dims[i] == 1) drop |= (uint64_t)1 << i;
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; ++i)
    if (!(drop >> i & 1)) dims[rank++] = x->dims[i];
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t prepare_unsqueeze(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  const ref_attribute *attribute = ref_attr(p->kernel, "axes");
  int64_t wanted[OPS_MAX_RANK], more = attribute != NULL ? attribute->count : 0;
  if (ref_has(p, 1)) RETURN_IF_ERROR(ref_contents(p, 1, wanted, OPS_MAX_RANK, &more));
  if (x->rank + more > OPS_MAX_RANK)
    return ref_refuse(p, "the output would have rank %lld, at most %d is possible",
                      (long long)(x->rank + more), OPS_MAX_RANK);
  int32_t rank = x->rank + (int32_t)more, axes[OPS_MAX_RANK], count;
  int given;
  RETURN_IF_ERROR(ref_axes(p, 1, rank, axes, &count, &given));
  if (!given) return ref_refuse(p, "input axes: expected axes to insert, found none");
  uint64_t added = 0;
  for (int32_t i = 0; i < count; ++i) added |= (uint64_t)1 << axes[i];
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0, from = 0; i < rank; ++i) dims[i] = added >> i & 1 ? 1 : x->dims[from++];
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t fill_in_dims(ref_prepare *p, int64_t *dims, int32_t rank) {
  const ref_shape *x = &p->inputs[0];
  int keep_zero = ref_attr_int(p->kernel, "allowzero", 0) != 0;
  int32_t open = -1;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] == 0 && !keep_zero) {
      if (i >= x->rank)
        return ref_refuse(p, "input shape: entry %d is 0, but input data has rank %d", i,
                          x->rank);
      dims[i] = x->dims[i];
    } else if (dims[i] == -1) {
      if (open >= 0) return ref_refuse(p, "input shape: -1 is given twice");
      open = i;
    } else if (dims[i] < 0) {
      return ref_refuse(p, "input shape: entry %d is %lld, expected -1 or more", i,
                        (long long)dims[i]);
    }
  }
  int64_t elements = ref_count(x->dims, x->rank);
  if (open >= 0) {
    dims[open] = 1;
    int64_t others = ref_count(dims, rank);
    if (others <= 0 || elements % others != 0)
      return ref_refuse(p, "input shape: %lld elements do not divide into parts of %lld",
                        (long long)elements, (long long)others);
    dims[open] = elements / others;
  }
  if (ref_count(dims, rank) != elements)
    return ref_refuse(p, "input shape: expected room for %lld elements, found %lld",
                      (long long)elements, (long long)ref_count(dims, rank));
  return OPS_OK;
}

// The new shape: an input from opset 5 on, an attribute before.
static int32_t read_target(const ref_prepare *p, int64_t *dims, int64_t *out_rank) {
  if (p->kernel->opset >= 5) return ref_contents(p, 1, dims, OPS_MAX_RANK, out_rank);
  const int64_t *given = ref_attr_ints(p->kernel, "shape", out_rank);
  if (ref_attr(p->kernel, "shape") == NULL) return ref_refuse(p, "attribute shape is missing");
  if (*out_rank > OPS_MAX_RANK)
    return ref_refuse(p, "attribute shape has %lld entries, at most %d are possible",
                      (long long)*out_rank, OPS_MAX_RANK);
  for (int64_t i = 0; i < *out_rank; ++i) dims[i] = given[i];
  return OPS_OK;
}

static int32_t prepare_reshape(ref_prepare *p) {
  int64_t dims[OPS_MAX_RANK], rank;
  RETURN_IF_ERROR(read_target(p, dims, &rank));
  RETURN_IF_ERROR(fill_in_dims(p, dims, (int32_t)rank));
  return ref_set_shape(p, 0, (int32_t)rank, dims);
}

int32_t ref_copy_elements(ref_run *run, const ref_view *from, const ref_view *to) {
  if (to->count == 0) return OPS_OK;
  if (ref_is_contiguous(from) && ref_is_contiguous(to))
    return ref_move(to, 0, 1, from, 0, 1, to->count, run->error);
  ref_walk_operand at;
  memcpy(at.strides, from->strides, sizeof at.strides);
  ref_walk walk;
  ref_walk_init(&walk, from->rank, from->dims, &at, 1);
  int64_t position = 0, step = ref_walk_step(&walk, 0);
  do {
    for (int64_t i = 0; i < walk.row; ++i, ++position)
      RETURN_IF_ERROR(ref_move(to, ref_offset_of(to, position), 1, from, at.offset + i * step,
                               1, 1, run->error));
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  return ref_copy_elements(run, &run->inputs[0], &run->outputs[0]);
}

const ref_op ref_identity = {0, prepare_identity, execute, NULL, NULL};
const ref_op ref_flatten = {0, prepare_flatten, execute, NULL, NULL};
const ref_op ref_squeeze = {0, prepare_squeeze, execute, NULL, NULL};
const ref_op ref_unsqueeze = {0, prepare_unsqueeze, execute, NULL, NULL};
const ref_op ref_reshape = {0, prepare_reshape, execute, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Expand and Tile: the input repeated.
#include "operators.h"
#include "traverse.h"

static int32_t prepare_expand(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  int64_t shape[OPS_MAX_RANK], count, dims[OPS_MAX_RANK];
  RETURN_IF_ERROR(ref_contents(p, 1, shape, OPS_MAX_RANK, &count));
  int32_t given = (int32_t)count, rank = x->rank > given ? x->rank : given;
  for (int32_t i = 0; i < rank; ++i) {
    int32_t ix = i - (rank - x->rank), is = i - (rank - given);
    int64_t a = ix < 0 ? 1 : x->dims[ix], b = is < 0 ? 1 : shape[is];
    if (b < 0 || (a != b && a != 1 && b != 1))
      return ref_refuse(p, "input shape: entry %d is %lld, expected 1 or %lld", is,
                        (long long)b, (long long)a);
    dims[i] = a == 1 ? b : a;
  }
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t execute_expand(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t strides[OPS_MAX_RANK];
  if (y->count == 0) return OPS_OK;
  ref_broadcast_strides(x, y->rank, strides);
  return ref_move_block((ref_block){y, 0, y->strides}, (ref_block){x, 0, strides}, y->rank,
                        y->dims, run->error);
}

static int32_t prepare_tile(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  int64_t repeats[OPS_MAX_RANK], count;
  RETURN_IF_ERROR(ref_contents(p, 1, repeats, OPS_MAX_RANK, &count));
  if (count != x->rank)
    return ref_refuse(p, "input repeats: expected %d entries, one per dimension, found %lld",
                      x->rank, (long long)count);
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i)
    if (repeats[i] < 0 || __builtin_mul_overflow(x->dims[i], repeats[i], &dims[i]))
      return ref_refuse(p, "input repeats: entry %d is %lld", i, (long long)repeats[i]);
  return ref_set_shape(p, 0, x->rank, dims);
}

// Opset 1: the number of copies along one axis, both scalars of the input's type.
static int32_t prepare_tile_axis(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  int64_t tiles, given, count[2];
  int32_t axis;
  RETURN_IF_ERROR(ref_whole_contents(p, 1, &tiles, 1, &count[0]));
  RETURN_IF_ERROR(ref_whole_contents(p, 2, &given, 1, &count[1]));
  if (count[0] != 1 || count[1] != 1)
    return ref_refuse(p, "inputs tiles and axis: expected one number each, found %lld and %lld",
                      (long long)count[0], (long long)count[1]);
  RETURN_IF_ERROR(ref_axis(p, given, x->rank, &axis));
  RETURN_IF_ERROR(ref_same_shape(p, 0, 0));
  if (tiles < 0 || __builtin_mul_overflow(x->dims[axis], tiles, &p->outputs[0].dims[axis]))
    return ref_refuse(p, "input tiles is %lld", (long long)tiles);
  return OPS_OK;
}

static int32_t execute_tile(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t copies[OPS_MAX_RANK], strides[OPS_MAX_RANK], index[OPS_MAX_RANK] = {0};
  if (y->count == 0) return OPS_OK;
  for (int32_t i = 0; i < x->rank; ++i) {
    copies[i] = y->dims[i] / x->dims[i];
    strides[i] = x->dims[i] * y->strides[i];
  }
  do
    RETURN_IF_ERROR(ref_move_block((ref_block){y, ref_dot(index, strides, y->rank), y->strides},
                                   (ref_block){x, 0, x->strides}, x->rank, x->dims,
                                   run->error));
  while (ref_count_up(index, copies, y->rank));
  return OPS_OK;
}

const ref_op ref_expand = {0, prepare_expand, execute_expand, NULL, NULL};
const ref_op ref_tile = {0, prepare_tile, execute_tile, NULL, NULL};
const ref_op ref_tile_axis = {0, prepare_tile_axis, execute_tile, NULL, NULL};

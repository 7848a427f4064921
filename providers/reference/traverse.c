// SPDX-License-Identifier: Apache-2.0
#include "traverse.h"

#include <string.h>

int32_t ref_move_block(ref_block to, ref_block from, int32_t rank, const int64_t *dims,
                       ops_error *error) {
  // What lies in a sequence or an optional need not be what the model declares.
  if (from.view->element != to.view->element)
    return ref_error(error, OPS_ERROR_INVALID_ARGUMENT, "an element is of type %s, expected %s",
                     from.view->element->name, to.view->element->name);
  if (ref_count(dims, rank) <= 0) return OPS_OK;
  ref_walk_operand at[2];
  if (rank > 0) {
    memcpy(at[0].strides, to.strides, sizeof(int64_t) * (size_t)rank);
    memcpy(at[1].strides, from.strides, sizeof(int64_t) * (size_t)rank);
  }
  ref_walk walk;
  ref_walk_init(&walk, rank, dims, at, 2);
  do {
    int32_t status =
        ref_move(to.view, to.offset + at[0].offset, ref_walk_step(&walk, 0), from.view,
                 from.offset + at[1].offset, ref_walk_step(&walk, 1), walk.row, error);
    if (status != OPS_OK) return status;
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

int ref_count_up(int64_t *index, const int64_t *dims, int32_t rank) {
  for (int32_t i = rank - 1; i >= 0; --i) {
    if (++index[i] < dims[i]) return 1;
    index[i] = 0;
  }
  return 0;
}

int64_t ref_dot(const int64_t *index, const int64_t *strides, int32_t rank) {
  int64_t offset = 0;
  for (int32_t i = 0; i < rank; ++i) offset += index[i] * strides[i];
  return offset;
}

int32_t ref_each_line(const ref_view *const *views, int32_t view_count, int32_t axis,
                      ref_line_body body, void *context) {
  int64_t dims[OPS_MAX_RANK], index[OPS_MAX_RANK] = {0}, offsets[REF_LINE_VIEWS];
  int32_t rank = views[0]->rank;
  for (int32_t i = 0; i < rank; ++i) dims[i] = i == axis ? 1 : views[0]->dims[i];
  if (ref_count(dims, rank) == 0) return OPS_OK;
  do {
    for (int32_t k = 0; k < view_count; ++k)
      offsets[k] = ref_dot(index, views[k]->strides, rank);
    RETURN_IF_ERROR(body(context, offsets));
  } while (ref_count_up(index, dims, rank));
  return OPS_OK;
}

ref_view ref_with_axis(const ref_view *view, int32_t axis) {
  ref_view out = *view;
  for (int32_t i = view->rank; i > axis; --i) {
    out.dims[i] = view->dims[i - 1];
    out.strides[i] = view->strides[i - 1];
  }
  out.dims[axis] = 1;
  out.strides[axis] = 0;
  out.rank = view->rank + 1;
  return out;
}

ref_view ref_part_of(const ref_view *view, int32_t axis, int64_t index) {
  ref_view out = *view;
  out.rank = view->rank - 1;
  out.origin += index * view->strides[axis];
  for (int32_t i = axis; i < out.rank; ++i) {
    out.dims[i] = view->dims[i + 1];
    out.strides[i] = view->strides[i + 1];
  }
  out.count = ref_count(out.dims, out.rank);
  return out;
}

int32_t ref_check_indices(ref_run *run, uint64_t input, int64_t limit) {
  const ref_view *indices = &run->inputs[input];
  for (int64_t i = 0; i < indices->count; ++i) {
    int64_t index = ref_int_at(indices, ref_offset_of(indices, i));
    if (index < -limit || index >= limit)
      return ref_refuse(run,
                        "input %s: element %lld is %lld, expected a number in [-%lld, %lld)",
                        ref_input_name(run->kernel, input), (long long)i, (long long)index,
                        (long long)limit, (long long)limit);
  }
  return OPS_OK;
}

int64_t ref_index_at(const ref_view *indices, int64_t offset, int64_t limit) {
  int64_t index = ref_int_at(indices, offset);
  return index < 0 ? index + limit : index;
}

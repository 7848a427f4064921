// SPDX-License-Identifier: Apache-2.0
//
// Ways through tensors that operators share: blocks that are moved, lines along one axis, plain
// counting through a shape.
#ifndef REFERENCE_TRAVERSE_H_
#define REFERENCE_TRAVERSE_H_

#include "kernel.h"

// One side of a block move: a view, where the block starts in it, the block's strides in it.
typedef struct ref_block {
  const ref_view *view;
  int64_t offset;
  const int64_t *strides;
} ref_block;

// Copies a block of `rank` dims, which may be empty. Fails if the element types differ.
int32_t ref_move_block(ref_block to, ref_block from, int32_t rank, const int64_t *dims,
                       ops_error *error);

// Counts `index` up through the row-major positions of `dims`; 0 after the last, when all
// entries are zero again.
int ref_count_up(int64_t *index, const int64_t *dims, int32_t rank);

// Offset of an index under strides.
int64_t ref_dot(const int64_t *index, const int64_t *strides, int32_t rank);

// Calls `body` for every line along `axis` of the first view with the offset of the line's
// first element in each view. The views' dims agree except along the axis.
#define REF_LINE_VIEWS 3
typedef int32_t (*ref_line_body)(void *context, const int64_t *offsets);
int32_t ref_each_line(const ref_view *const *views, int32_t view_count, int32_t axis,
                      ref_line_body body, void *context);

// `view` with a dimension of size 1 put in before `axis`.
ref_view ref_with_axis(const ref_view *view, int32_t axis);

// The part of `view` at `index` of dimension `axis`, which is dropped.
ref_view ref_part_of(const ref_view *view, int32_t axis, int64_t index);

// Checks that integers of `indices` lie in [-limit, limit). OPS_OK, or INVALID_ARGUMENT naming
// the input.
int32_t ref_check_indices(ref_run *run, uint64_t input, int64_t limit);

// Index `position` of an int view, brought into [0, limit).
int64_t ref_index_at(const ref_view *indices, int64_t offset, int64_t limit);

#endif  // REFERENCE_TRAVERSE_H_

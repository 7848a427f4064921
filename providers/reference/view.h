// SPDX-License-Identifier: Apache-2.0
//
// A tensor as kernels see it: element type, dims, element strides, first element. Tensors of
// strings, which live in host values, look the same and can be moved but not computed with.
#ifndef REFERENCE_VIEW_H_
#define REFERENCE_VIEW_H_

#include "element.h"

typedef struct ref_view {
  void *data;        // NULL: absent, empty, or a host value
  ops_value *value;  // strings, sequences, optionals
  const ops_value_api *values;
  const ref_element *element;
  int32_t present;
  int32_t type;
  int32_t rank;
  int64_t origin;  // index of element (0, 0, …) counted from `data`
  int64_t count;   // of elements
  int64_t dims[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK];
} ref_view;

// INVALID_ARGUMENT if the argument is none that a kernel of this provider can read.
int32_t ref_view_init(ref_view *view, const ops_arg *arg, const ops_value_api *values);

// A contiguous view of memory or, with data NULL, of shape alone.
void ref_view_of(ref_view *view, void *data, int32_t type, int32_t rank, const int64_t *dims);

int ref_is_integer(const ref_view *view);  // also bool
int ref_is_contiguous(const ref_view *view);

// Rows of a view; `first` counts elements from the origin.
void ref_load(const ref_view *view, int64_t first, int64_t step, int64_t n, double *out);
void ref_store(const ref_view *view, int64_t first, int64_t step, int64_t n, const double *in);
void ref_load_int(const ref_view *view, int64_t first, int64_t step, int64_t n, int64_t *out);
void ref_store_int(const ref_view *view, int64_t first, int64_t step, int64_t n,
                   const int64_t *in);
double ref_at(const ref_view *view, int64_t first);
int64_t ref_int_at(const ref_view *view, int64_t first);

// Copies a row between views of the same type, strings included. Only strings can fail.
int32_t ref_move(const ref_view *to, int64_t to_first, int64_t to_step, const ref_view *from,
                 int64_t from_first, int64_t from_step, int64_t n, ops_error *error);

// Offset from the origin of the element with the given row-major position.
int64_t ref_offset_of(const ref_view *view, int64_t position);

// ---- Shapes --------------------------------------------------------------------------------

int64_t ref_count(const int64_t *dims, int32_t rank);  // -1 if it exceeds INT64_MAX
void ref_row_major(const int64_t *dims, int32_t rank, int64_t *out_strides);

// Strides of `view` seen in a shape of `rank` dims, right-aligned; 0 where it is broadcast.
void ref_broadcast_strides(const ref_view *view, int32_t rank, int64_t *out_strides);
// The same where the last dimension of the view is followed by `trailing` more of the shape.
void ref_broadcast_strides_before(const ref_view *view, int32_t trailing, int32_t rank,
                                  int64_t *out_strides);

// ---- Walks ---------------------------------------------------------------------------------

// Visits a shape row by row, keeping one offset for each of some operands. Adjacent dimensions
// are merged where all operands allow it.
typedef struct ref_walk_operand {
  int64_t strides[OPS_MAX_RANK];
  int64_t offset;
} ref_walk_operand;

typedef struct ref_walk {
  int32_t rank;
  int32_t operand_count;
  int64_t row;  // elements of a row; the steps are operands[k].strides[rank - 1]
  int64_t dims[OPS_MAX_RANK];
  int64_t index[OPS_MAX_RANK];
  ref_walk_operand *operands;
} ref_walk;

// The operands' strides are set before. The shape must not be empty.
void ref_walk_init(ref_walk *walk, int32_t rank, const int64_t *dims,
                   ref_walk_operand *operands, int32_t operand_count);
int ref_walk_next(ref_walk *walk);  // 0 when all rows have been visited
int64_t ref_walk_step(const ref_walk *walk, int32_t operand);

// Decodes the part of a view whose leading index is in [from, from + count), in row-major
// order.
void ref_decode_part(const ref_view *view, int64_t from, int64_t count, double *out);

#endif  // REFERENCE_VIEW_H_

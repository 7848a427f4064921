// SPDX-License-Identifier: Apache-2.0
//
// MatMul: numpy's rules. A vector is a row on the left, a column on the right; leading
// dimensions broadcast.
#include "operators.h"
#include "product.h"

typedef struct matrix_shape {
  int64_t rows, columns;
  int32_t batch_rank;  // leading dimensions
} matrix_shape;

static matrix_shape shape_of(const int64_t *dims, int32_t rank, int is_left) {
  if (rank == 1) return is_left ? (matrix_shape){1, dims[0], 0} : (matrix_shape){dims[0], 1, 0};
  return (matrix_shape){dims[rank - 2], dims[rank - 1], rank - 2};
}

static int32_t broadcast_batch(ref_prepare *p, const matrix_shape *a, const matrix_shape *b,
                               int64_t *dims, int32_t *out_rank) {
  int32_t rank = a->batch_rank > b->batch_rank ? a->batch_rank : b->batch_rank;
  for (int32_t i = 0; i < rank; ++i) {
    int32_t ia = i - (rank - a->batch_rank), ib = i - (rank - b->batch_rank);
    int64_t da = ia < 0 ? 1 : p->inputs[0].dims[ia], db = ib < 0 ? 1 : p->inputs[1].dims[ib];
    if (da != db && da != 1 && db != 1)
      return ref_refuse(p, "leading dimensions %lld of A and %lld of B do not broadcast",
                        (long long)da, (long long)db);
    dims[i] = da == 1 ? db : da;
  }
  *out_rank = rank;
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, 1, OPS_MAX_RANK));
  matrix_shape a = shape_of(p->inputs[0].dims, p->inputs[0].rank, 1);
  matrix_shape b = shape_of(p->inputs[1].dims, p->inputs[1].rank, 0);
  if (a.columns != b.rows)
    return ref_refuse(p, "input B: expected %lld rows, the columns of A, found %lld",
                      (long long)a.columns, (long long)b.rows);
  int64_t dims[OPS_MAX_RANK + 2];
  int32_t rank = 0;
  RETURN_IF_ERROR(broadcast_batch(p, &a, &b, dims, &rank));
  if (p->inputs[0].rank > 1) dims[rank++] = a.rows;
  if (p->inputs[1].rank > 1) dims[rank++] = b.columns;
  return ref_set_shape(p, 0, rank, dims);
}

static ref_matrix matrix_of(const ref_view *view, int is_left) {
  const int64_t *strides = view->strides;
  if (view->rank > 1)
    return (ref_matrix){view, strides[view->rank - 2], strides[view->rank - 1]};
  return is_left ? (ref_matrix){view, 0, strides[0]} : (ref_matrix){view, strides[0], 0};
}

// Offset of batch `i`, counted over the leading dimensions of the output, in an operand.
static int64_t batch_offset(const ref_view *y, int32_t batch_rank, const ref_view *view,
                            int32_t own_rank, int64_t i) {
  int64_t offset = 0;
  for (int32_t d = batch_rank - 1; d >= 0; --d) {
    int32_t own = d - (batch_rank - own_rank);
    if (own >= 0 && view->dims[own] != 1) offset += i % y->dims[d] * view->strides[own];
    i /= y->dims[d];
  }
  return offset;
}

static int32_t leading(const ref_view *view) {
  return view->rank > 2 ? view->rank - 2 : 0;
}

static void locate(const ref_product *p, int64_t i, int64_t *a, int64_t *b, int64_t *y) {
  int32_t la = leading(p->a.view), lb = leading(p->b.view);
  int32_t rank = la > lb ? la : lb;
  *a = batch_offset(p->y.view, rank, p->a.view, la, i);
  *b = batch_offset(p->y.view, rank, p->b.view, lb, i);
  *y = batch_offset(p->y.view, rank, p->y.view, rank, i);
}

static int32_t execute(ref_run *run) {
  const ref_view *a = &run->inputs[0], *b = &run->inputs[1], *y = &run->outputs[0];
  matrix_shape sa = shape_of(a->dims, a->rank, 1), sb = shape_of(b->dims, b->rank, 0);
  ref_product product = {.a = matrix_of(a, 1),
                         .b = matrix_of(b, 0),
                         .y = {y, 0, 0},
                         .m = sa.rows,
                         .n = sb.columns,
                         .k = sa.columns,
                         .alpha = 1,
                         .batch = 1,
                         .locate = locate};
  int32_t next = y->rank - 1;
  if (b->rank > 1) product.y.column = y->strides[next--];
  if (a->rank > 1) product.y.row = y->strides[next--];
  for (; next >= 0; --next) product.batch *= y->dims[next];
  ref_product_run(run, &product);
  return OPS_OK;
}

const ref_op ref_matmul = {0, prepare, execute, NULL, NULL};

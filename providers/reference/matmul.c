// SPDX-License-Identifier: Apache-2.0
//
// MatMul: numpy's rules. A vector is a row on the left, a column on the right; leading
// dimensions broadcast.
//
// FusedMatMul multiplies by alpha and sees its factors in another order of dimensions first:
// transBatch moves dimension 0 behind the leading ones, [M, batch…, K] to [batch…, M, K]; then
// trans swaps the last two. A vector has nothing to move.
#include "operators.h"
#include "product.h"

typedef struct matrix_shape {
  int64_t rows, columns;
} matrix_shape;

static matrix_shape shape_of(const int64_t *dims, int32_t rank, int is_left) {
  if (rank == 1) return is_left ? (matrix_shape){1, dims[0]} : (matrix_shape){dims[0], 1};
  return (matrix_shape){dims[rank - 2], dims[rank - 1]};
}

static int32_t broadcast_batch(ref_prepare *p, const ref_shape *a, const ref_shape *b,
                               int64_t *dims, int32_t *out_rank) {
  int32_t own_a = a->rank > 2 ? a->rank - 2 : 0, own_b = b->rank > 2 ? b->rank - 2 : 0;
  int32_t rank = own_a > own_b ? own_a : own_b;
  for (int32_t i = 0; i < rank; ++i) {
    int32_t ia = i - (rank - own_a), ib = i - (rank - own_b);
    int64_t da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b->dims[ib];
    if (da != db && da != 1 && db != 1)
      return ref_refuse(p, "leading dimensions %lld of A and %lld of B do not broadcast",
                        (long long)da, (long long)db);
    dims[i] = da == 1 ? db : da;
  }
  *out_rank = rank;
  return OPS_OK;
}

typedef struct fused_state {
  double alpha;
  int32_t order[2][OPS_MAX_RANK];  // dimension i of a factor is this one of its input
} fused_state;

static void read_order(const ref_prepare *p, uint64_t input, const char *batch,
                       const char *last, int32_t *order) {
  int32_t rank = p->inputs[input].rank;
  for (int32_t i = 0; i < rank; ++i) order[i] = i;
  if (rank < 2) return;
  if (ref_attr_int(p->kernel, batch, 0) != 0) {
    for (int32_t i = 0; i < rank - 2; ++i) order[i] = i + 1;
    order[rank - 2] = 0;
  }
  if (ref_attr_int(p->kernel, last, 0) == 0) return;
  int32_t held = order[rank - 2];
  order[rank - 2] = order[rank - 1];
  order[rank - 1] = held;
}

static void permute(const int64_t *from, const int32_t *order, int32_t rank, int64_t *to) {
  for (int32_t i = 0; i < rank; ++i) to[i] = from[order[i]];
}

static int32_t prepare_factors(ref_prepare *p, const ref_shape *left, const ref_shape *right) {
  matrix_shape a = shape_of(left->dims, left->rank, 1);
  matrix_shape b = shape_of(right->dims, right->rank, 0);
  if (a.columns != b.rows)
    return ref_refuse(p, "input B: expected %lld rows, the columns of A, found %lld",
                      (long long)a.columns, (long long)b.rows);
  int64_t dims[OPS_MAX_RANK + 2];
  int32_t rank = 0;
  RETURN_IF_ERROR(broadcast_batch(p, left, right, dims, &rank));
  if (left->rank > 1) dims[rank++] = a.rows;
  if (right->rank > 1) dims[rank++] = b.columns;
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t prepare(ref_prepare *p) {
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, 1, OPS_MAX_RANK));
  return prepare_factors(p, &p->inputs[0], &p->inputs[1]);
}

static int32_t prepare_fused(ref_prepare *p) {
  static const char *const names[2][2] = {{"transBatchA", "transA"}, {"transBatchB", "transB"}};
  fused_state *s = p->state;
  ref_shape factors[2];
  s->alpha = ref_attr_float(p->kernel, "alpha", 1);
  for (uint64_t i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(ref_need_rank(p, i, 1, OPS_MAX_RANK));
    factors[i] = p->inputs[i];
    read_order(p, i, names[i][0], names[i][1], s->order[i]);
    permute(p->inputs[i].dims, s->order[i], factors[i].rank, factors[i].dims);
  }
  return prepare_factors(p, &factors[0], &factors[1]);
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

static void run_factors(const ref_run *run, const ref_view *a, const ref_view *b,
                        double alpha) {
  const ref_view *y = &run->outputs[0];
  matrix_shape sa = shape_of(a->dims, a->rank, 1), sb = shape_of(b->dims, b->rank, 0);
  ref_product product = {.a = matrix_of(a, 1),
                         .b = matrix_of(b, 0),
                         .y = {y, 0, 0},
                         .m = sa.rows,
                         .n = sb.columns,
                         .k = sa.columns,
                         .alpha = alpha,
                         .batch = 1,
                         .locate = locate};
  int32_t next = y->rank - 1;
  if (b->rank > 1) product.y.column = y->strides[next--];
  if (a->rank > 1) product.y.row = y->strides[next--];
  for (; next >= 0; --next) product.batch *= y->dims[next];
  ref_product_run(run, &product);
}

static int32_t execute(ref_run *run) {
  run_factors(run, &run->inputs[0], &run->inputs[1], 1);
  return OPS_OK;
}

static int32_t execute_fused(ref_run *run) {
  const fused_state *s = run->state;
  ref_view factors[2];
  for (int i = 0; i < 2; ++i) {
    const ref_view *input = &run->inputs[i];
    factors[i] = *input;
    permute(input->dims, s->order[i], input->rank, factors[i].dims);
    permute(input->strides, s->order[i], input->rank, factors[i].strides);
  }
  run_factors(run, &factors[0], &factors[1], s->alpha);
  return OPS_OK;
}

const ref_op ref_matmul = {0, prepare, execute, NULL, NULL};
const ref_op ref_fused_matmul = {sizeof(fused_state), prepare_fused, execute_fused, NULL, NULL};

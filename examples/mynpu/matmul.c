// SPDX-License-Identifier: Apache-2.0
//
// MatMul with numpy's rules: vectors become matrices of one row or column, leading dimensions
// are batches and broadcast. Rows of the product are spread over the device's cores.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "npu.h"

// One operand as a batch of matrices: what is in front of the last two dimensions is the batch.
typedef struct operand {
  int32_t batch_rank;
  int64_t rows, columns;
} operand;

static operand as_matrices(const ops_type_info *type, int32_t vector_is_row) {
  if (type->rank == 1)
    return vector_is_row ? (operand){0, 1, type->dims[0]} : (operand){0, type->dims[0], 1};
  return (operand){type->rank - 2, type->dims[type->rank - 2], type->dims[type->rank - 1]};
}

// Strides of the batch dimensions, in elements of the operand.
static void batch_strides(const ops_type_info *type, operand o, const npu_matmul *m,
                          int64_t *strides) {
  int64_t own[OPS_MAX_RANK];
  ops_strides_contiguous(o.batch_rank, type->dims, own);
  for (int32_t i = 0; i < o.batch_rank; ++i) own[i] *= o.rows * o.columns;
  ops_broadcast_strides(o.batch_rank, type->dims, own, m->batch_rank, m->batch_dims, strides);
}

static int32_t prepare(const ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  (void)kernel;
  npu_matmul *m = &prepared->matmul;
  const ops_type_info *a = ops_request_input(request, 0)->type;
  const ops_type_info *b = ops_request_input(request, 1)->type;
  if (a->rank < 1 || b->rank < 1)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "MatMul: inputs of rank %d and %d, expected at least 1", a->rank,
                         b->rank);
  const operand left = as_matrices(a, 1), right = as_matrices(b, 0);
  m->m = left.rows;
  m->k = left.columns;
  m->n = right.columns;
  m->batch_rank =
      ops_broadcast_dims(left.batch_rank, a->dims, right.batch_rank, b->dims, m->batch_dims);
  if (left.columns != right.rows || m->batch_rank < 0)
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "MatMul: A has %lld columns, B %lld rows, expected the same number and "
        "batch dimensions that broadcast",
        (long long)left.columns, (long long)right.rows);
  batch_strides(a, left, m, m->batch_strides[0]);
  batch_strides(b, right, m, m->batch_strides[1]);
  int64_t dims[OPS_MAX_RANK + 2];
  int32_t rank = m->batch_rank;
  memcpy(dims, m->batch_dims, (size_t)rank * sizeof *dims);
  if (a->rank > 1) dims[rank++] = m->m;
  if (b->rank > 1) dims[rank++] = m->n;
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, rank, dims);
  return OPS_OK;
}

typedef struct work {
  const npu_matmul *m;
  const float *a, *b;
  float *y;
} work;

// Where batch `index` begins in both operands.
static void batch_offsets(const npu_matmul *m, int64_t index, int64_t *a, int64_t *b) {
  *a = *b = 0;
  for (int32_t i = m->batch_rank - 1; i >= 0; --i) {
    const int64_t at = index % m->batch_dims[i];
    index /= m->batch_dims[i];
    *a += at * m->batch_strides[0][i];
    *b += at * m->batch_strides[1][i];
  }
}

static void run_rows(void *context, int64_t begin, int64_t end, int32_t worker) {
  const work *w = context;
  const npu_matmul *m = w->m;
  (void)worker;
  for (int64_t row = begin; row < end; ++row) {
    int64_t a_at, b_at;
    batch_offsets(m, row / m->m, &a_at, &b_at);
    const float *a = w->a + a_at + row % m->m * m->k, *b = w->b + b_at;
    float *y = w->y + row * m->n;
    for (int64_t j = 0; j < m->n; ++j) y[j] = 0;
    for (int64_t k = 0; k < m->k; ++k, b += m->n)
      for (int64_t j = 0; j < m->n; ++j) y[j] += a[k] * b[j];
  }
}

static void run(const ops_prepared *prepared, ops_instance *instance,
                void *const args[kMaxArgs]) {
  const npu_matmul *m = &prepared->matmul;
  work w = {m, args[0], args[1], args[2]};
  int64_t rows = m->n ? m->m : 0;
  for (int32_t i = 0; i < m->batch_rank; ++i) rows *= m->batch_dims[i];
  instance->api->parallel_for(instance->host, rows, 1, run_rows, &w);
}

const npu_op npu_op_matmul = {.name = "MatMul", .prepare = prepare, .run = run};

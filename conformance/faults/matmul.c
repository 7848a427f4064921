// SPDX-License-Identifier: Apache-2.0
//
// MatMul: the last two dimensions multiply, the others broadcast; a vector is a row on the left
// and a column on the right.
#include <ops_support/error.h>
#include <ops_support/half.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "faulty.h"

static int32_t refuse(const ops_type_info *a, const ops_type_info *b, ops_error *error) {
  return ops_error_set(
      error, OPS_ERROR_INVALID_ARGUMENT,
      "MatMul: expected the last dimension of A to equal the last but one of B "
      "and the others to broadcast, found ranks %d and %d that do not fit",
      a->rank, b->rank);
}

// The strides of a batch in matrices: row-major over its own dimensions, 0 where it is
// stretched.
static void batch_strides(int32_t rank, const int64_t *dims, int32_t out_rank,
                          int64_t *out_strides) {
  int64_t stride = 1;
  for (int32_t i = 0; i < out_rank; ++i) out_strides[i] = 0;
  for (int32_t i = rank; i-- > 0;) {
    out_strides[out_rank - rank + i] = dims[i] == 1 ? 0 : stride;
    stride *= dims[i];
  }
}

static void state_output(ops_prepare_reply *reply, const ops_type_info *a,
                         const ops_type_info *b) {
  const ops_prepared *prepared = reply->prepared;
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = prepared->batch_rank;
  memcpy(dims, prepared->batch_dims, sizeof dims);
  if (a->rank > 1) dims[rank++] = prepared->rows;
  if (b->rank > 1) dims[rank++] = prepared->columns;
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, rank, dims);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *a = ops_request_input(request, 0)->type;
  const ops_type_info *b = ops_request_input(request, 1)->type;
  int64_t batch[OPS_MAX_RANK];
  if (a->rank < 1 || b->rank < 1) return refuse(a, b, error);
  const int32_t a_batch = a->rank > 2 ? a->rank - 2 : 0,
                b_batch = b->rank > 2 ? b->rank - 2 : 0;
  const int32_t rank = ops_broadcast_dims(a_batch, a->dims, b_batch, b->dims, batch);
  const int64_t depth = a->dims[a->rank - 1];
  const int64_t b_depth = b->rank > 1 ? b->dims[b->rank - 2] : b->dims[0];
  if (rank < 0 || depth != b_depth) return refuse(a, b, error);
  OPS_RETURN_IF_ERROR(faulty_begin_prepare(kernel, reply, error));
  ops_prepared *prepared = reply->prepared;
  prepared->rows = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  prepared->depth = depth;
  prepared->columns = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  prepared->batch_rank = rank;
  prepared->count = 1;  // of matrices
  for (int32_t i = 0; i < rank; ++i) prepared->count *= prepared->batch_dims[i] = batch[i];
  batch_strides(a_batch, a->dims, rank, prepared->left_strides);
  batch_strides(b_batch, b->dims, rank, prepared->right_strides);
  state_output(reply, a, b);
  return OPS_OK;
}

static void multiply(const ops_prepared *prepared, const float *a, const float *b, float *y) {
  const int narrow = prepared->fault == FAULT_MATMUL_FLOAT16;
  for (int64_t i = 0; i < prepared->rows; ++i) {
    for (int64_t j = 0; j < prepared->columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < prepared->depth; ++k) {
        sum += a[i * prepared->depth + k] * b[k * prepared->columns + j];
        if (narrow) sum = ops_half_to_float(ops_half_from_float(sum));
      }
      y[i * prepared->columns + j] = sum;
    }
  }
}

// The matrix that batch number `index` of the output takes from one side.
static int64_t matrix_of(const ops_prepared *prepared, int64_t index, const int64_t *strides) {
  int64_t matrix = 0;
  for (int32_t i = prepared->batch_rank; i-- > 0;) {
    matrix += index % prepared->batch_dims[i] * strides[i];
    index /= prepared->batch_dims[i];
  }
  return matrix;
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)stream, (void)error;
  const float *a = ops_tensor_data(&request->inputs[0].tensor);
  const float *b = ops_tensor_data(&request->inputs[1].tensor);
  float *y = ops_tensor_data(&request->outputs[0].tensor);
  const int64_t rows = prepared->rows, columns = prepared->columns, depth = prepared->depth;
  for (int64_t m = 0; m < prepared->count; ++m) {
    multiply(prepared, a + matrix_of(prepared, m, prepared->left_strides) * rows * depth,
             b + matrix_of(prepared, m, prepared->right_strides) * depth * columns,
             y + m * rows * columns);
  }
  return OPS_OK;
}

const ops_kernel_api faulty_matmul = {.struct_size = sizeof(ops_kernel_api),
                                      .create = faulty_create,
                                      .destroy = faulty_destroy,
                                      .prepare = prepare,
                                      .prepared_destroy = faulty_prepared_destroy,
                                      .execute = execute};

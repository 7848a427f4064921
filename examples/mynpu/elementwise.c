// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators with broadcasting. The innermost dimension is a run with constant
// steps; the outer ones are counted like an odometer. An input with the shape of the output may
// be overwritten: every element is read before it is written.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>

#include "npu.h"

static float relu(float a, float b) {
  (void)b;
  return a < 0 ? 0 : a;  // NaN stays
}

static float add(float a, float b) {
  return a + b;
}

static float subtract(float a, float b) {
  return a - b;
}

static float multiply(float a, float b) {
  return a * b;
}

static void input_strides(const ops_type_info *type, npu_elementwise *e, int64_t *strides) {
  int64_t own[OPS_MAX_RANK];
  ops_strides_contiguous(type->rank, type->dims, own);
  ops_broadcast_strides(type->rank, type->dims, own, e->rank, e->dims, strides);
}

static int32_t prepare(const ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  npu_elementwise *e = &prepared->elementwise;
  const ops_type_info *a = ops_request_input(request, 0)->type;
  const ops_type_info *b = ops_request_input(request, request->input_count - 1)->type;
  e->function = kernel->op->function;
  e->rank = ops_broadcast_dims(a->rank, a->dims, b->rank, b->dims, e->dims);
  if (e->rank < 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%s: the shapes of the inputs (ranks %d and %d) do not broadcast",
                         kernel->op->name, a->rank, b->rank);
  input_strides(a, e, e->strides[0]);
  input_strides(b, e, e->strides[1]);
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, e->rank, e->dims);
  return OPS_OK;
}

static void run(const ops_prepared *prepared, ops_instance *instance,
                void *const args[kMaxArgs]) {
  const npu_elementwise *e = &prepared->elementwise;
  const int32_t outer = e->rank > 0 ? e->rank - 1 : 0;
  const int64_t length = e->rank > 0 ? e->dims[outer] : 1;
  const int64_t a_step = e->rank > 0 ? e->strides[0][outer] : 0;
  const int64_t b_step = e->rank > 0 ? e->strides[1][outer] : 0;
  const float *a = args[0], *b = args[prepared->input_count - 1];
  float *y = args[prepared->input_count];
  int64_t index[OPS_MAX_RANK] = {0}, a_at = 0, b_at = 0, runs = 1;
  (void)instance;
  for (int32_t i = 0; i < outer; ++i) runs *= e->dims[i];
  for (int64_t r = 0; r < (length ? runs : 0); ++r, y += length) {
    for (int64_t i = 0; i < length; ++i)
      y[i] = e->function(a[a_at + i * a_step], b[b_at + i * b_step]);
    for (int32_t i = outer - 1; i >= 0; --i) {
      a_at += e->strides[0][i];
      b_at += e->strides[1][i];
      if (++index[i] < e->dims[i]) break;
      a_at -= e->strides[0][i] * e->dims[i];
      b_at -= e->strides[1][i] * e->dims[i];
      index[i] = 0;
    }
  }
}

const npu_op npu_op_relu = {.name = "Relu", .function = relu, .prepare = prepare, .run = run};
const npu_op npu_op_add = {.name = "Add", .function = add, .prepare = prepare, .run = run};
const npu_op npu_op_sub = {.name = "Sub", .function = subtract, .prepare = prepare, .run = run};
const npu_op npu_op_mul = {.name = "Mul", .function = multiply, .prepare = prepare, .run = run};

// SPDX-License-Identifier: Apache-2.0
//
// Softmax along one axis: subtract the largest, exponentiate, divide by the sum.
#include <math.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>

#include "faulty.h"

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  int64_t axis = kernel->axis < 0 ? kernel->axis + x->rank : kernel->axis;
  if (axis < 0 || axis >= x->rank) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "Softmax: expected an axis in [-%d, %d), found %lld", x->rank, x->rank,
                         (long long)kernel->axis);
  }
  if (kernel->fault == FAULT_SOFTMAX_AXIS) axis = (axis + 1) % x->rank;
  OPS_RETURN_IF_ERROR(faulty_begin_prepare(kernel, reply, error));
  ops_prepared *prepared = reply->prepared;
  prepared->outer = prepared->inner = 1;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (i < axis) prepared->outer *= x->dims[i];
    if (i > axis) prepared->inner *= x->dims[i];
  }
  prepared->n = x->dims[axis];
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, x->rank, x->dims);
  return OPS_OK;
}

static void normalise(const float *x, float *y, int64_t n, int64_t stride) {
  float largest = -INFINITY;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) largest = fmaxf(largest, x[i * stride]);
  for (int64_t i = 0; i < n; ++i) {
    y[i * stride] = (float)exp((double)x[i * stride] - largest);
    sum += y[i * stride];
  }
  for (int64_t i = 0; i < n; ++i) y[i * stride] = (float)(y[i * stride] / sum);
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)stream, (void)error;
  const float *x = ops_tensor_data(&request->inputs[0].tensor);
  float *y = ops_tensor_data(&request->outputs[0].tensor);
  const int64_t step = prepared->n * prepared->inner;
  for (int64_t o = 0; o < prepared->outer; ++o) {
    for (int64_t i = 0; i < prepared->inner; ++i) {
      normalise(x + o * step + i, y + o * step + i, prepared->n, prepared->inner);
    }
  }
  return OPS_OK;
}

const ops_kernel_api faulty_softmax = {.struct_size = sizeof(ops_kernel_api),
                                       .create = faulty_create,
                                       .destroy = faulty_destroy,
                                       .prepare = prepare,
                                       .prepared_destroy = faulty_prepared_destroy,
                                       .execute = execute};

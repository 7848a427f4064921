// SPDX-License-Identifier: Apache-2.0
//
// Products by cuBLASLt and convolutions by cuDNN as work of a queue; see driver.h. A library is
// opened when the first plan asks for it. One that cannot be opened stays so: own kernels do
// its work.
#include <ops_support/error.h>
#include <pthread.h>
#include <stdlib.h>

#include "blas.h"
#include "dnn.h"
#include "driver.h"

typedef enum state { kUntried, kOpen, kAbsent } state;

struct cuda_calls {
  pthread_mutex_t lock;
  const char *place;
  state blas_state, dnn_state;
  cuda_blas blas;
  cuda_dnn *dnn;
};

struct gpu_call {
  gpu_context *context;
  cuda_matmul_plan *product;  // or
  cuda_conv_plan *convolution;
};

cuda_calls *cuda_calls_create(const char *place) {
  cuda_calls *calls = calloc(1, sizeof *calls);
  if (!calls) return NULL;
  calls->place = place;
  pthread_mutex_init(&calls->lock, NULL);
  return calls;
}

void cuda_calls_destroy(cuda_calls *calls) {
  if (!calls) return;
  if (calls->blas_state == kOpen) cuda_blas_close(&calls->blas);
  cuda_dnn_close(calls->dnn);
  pthread_mutex_destroy(&calls->lock);
  free(calls);
}

// Whatever a library refuses is left to own kernels.
static int32_t as_unsupported(int32_t status, ops_error *error) {
  if (status == OPS_OK || status == OPS_ERROR_OUT_OF_MEMORY || status == OPS_ERROR_DEVICE_LOST)
    return status;
  if (error) error->code = OPS_ERROR_UNSUPPORTED, error->cause = 0;
  return OPS_ERROR_UNSUPPORTED;
}

// The context is current.
static int32_t need_blas(gpu_context *context, ops_error *error) {
  cuda_calls *calls = context->calls;
  int32_t status = OPS_OK;
  pthread_mutex_lock(&calls->lock);
  if (calls->blas_state == kUntried) {
    status = cuda_blas_open(calls->place, context->api->version, &calls->blas, error);
    calls->blas_state = status == OPS_OK ? kOpen : kAbsent;
  } else if (calls->blas_state == kAbsent) {
    status = ops_error_set(error, OPS_ERROR_UNSUPPORTED, "cuBLAS could not be opened");
  }
  pthread_mutex_unlock(&calls->lock);
  return status;
}

static int32_t need_dnn(gpu_context *context, ops_error *error) {
  cuda_calls *calls = context->calls;
  int32_t status = OPS_OK;
  pthread_mutex_lock(&calls->lock);
  if (calls->dnn_state == kUntried) {
    status = cuda_dnn_open(calls->place, &calls->dnn, error);
    calls->dnn_state = status == OPS_OK ? kOpen : kAbsent;
  } else if (calls->dnn_state == kAbsent) {
    status = ops_error_set(error, OPS_ERROR_UNSUPPORTED, "cuDNN could not be opened");
  }
  pthread_mutex_unlock(&calls->lock);
  return status;
}

static gpu_call *make_call(gpu_context *context, ops_error *error) {
  gpu_call *call = calloc(1, sizeof *call);
  if (call)
    call->context = context;
  else
    ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a plan");
  return call;
}

int32_t cuda_product_plan(gpu_context *context, const gpu_product *product,
                          uint64_t workspace_limit, gpu_call **out_call,
                          uint64_t *out_workspace, ops_error *error) {
  gpu_call *call = make_call(context, error);
  if (!call) return OPS_ERROR_OUT_OF_MEMORY;
  int32_t status = cuda_enter(context, "plan of a product", error);
  if (status == OPS_OK) {
    status = need_blas(context, error);
    if (status == OPS_OK)
      status = cuda_matmul_plan_create(&context->calls->blas, product, workspace_limit,
                                       &call->product, error);
    cuda_leave(context, CUDA_SUCCESS, "plan of a product", NULL);
  }
  if (status != OPS_OK) {
    free(call);
    return as_unsupported(status, error);
  }
  *out_call = call;
  *out_workspace = cuda_matmul_plan_workspace(call->product);
  return OPS_OK;
}

int32_t cuda_convolution_plan(gpu_context *context, const gpu_convolution *convolution,
                              uint64_t workspace_limit, gpu_call **out_call,
                              uint64_t *out_workspace, ops_error *error) {
  gpu_call *call = make_call(context, error);
  if (!call) return OPS_ERROR_OUT_OF_MEMORY;
  int32_t status = cuda_enter(context, "plan of a convolution", error);
  if (status == OPS_OK) {
    status = need_dnn(context, error);
    if (status == OPS_OK)
      status = cuda_conv_plan_create(context->calls->dnn, convolution, workspace_limit,
                                     &call->convolution, error);
    cuda_leave(context, CUDA_SUCCESS, "plan of a convolution", NULL);
  }
  if (status != OPS_OK) {
    free(call);
    return as_unsupported(status, error);
  }
  *out_call = call;
  *out_workspace = cuda_conv_plan_workspace(call->convolution);
  return OPS_OK;
}

void cuda_call_destroy(gpu_call *call) {
  if (!call) return;
  const int32_t entered = cuda_enter(call->context, "plan", NULL) == OPS_OK;
  if (call->product) cuda_matmul_plan_destroy(call->product);
  if (call->convolution) cuda_conv_plan_destroy(call->convolution);
  if (entered) cuda_leave(call->context, CUDA_SUCCESS, "plan", NULL);
  free(call);
}

static CUdeviceptr place(const gpu_place *at) {
  return cuda_address(at->memory) + at->offset;
}

int32_t cuda_call_run(gpu_queue *queue, const gpu_call *call, const gpu_call_places *at,
                      ops_error *error) {
  const CUstream stream = cuda_queue_stream(queue);
  OPS_RETURN_IF_ERROR(cuda_enter(call->context, "work of a library", error));
  const int32_t status =
      call->product
          ? cuda_matmul_plan_run(call->product, stream, 1, place(&at->a), place(&at->b), 0,
                                 place(&at->c), place(&at->workspace), error)
          : cuda_conv_plan_run(call->convolution, stream, place(&at->a), place(&at->b),
                               place(&at->c), place(&at->workspace), error);
  cuda_leave(call->context, CUDA_SUCCESS, "work of a library", NULL);
  return status;
}

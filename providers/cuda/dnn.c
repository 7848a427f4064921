// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by cuDNN, see dnn.h. One handle, whose stream changes from call to call, so a
// lock keeps choosing the stream and enqueuing together.
#include "dnn.h"

#include <cudnn.h>
#include <ops/types.h>
#include <ops_support/error.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "library.h"

// X(function, symbol)
#define CUDA_DNN_LIST(X)                                                              \
  X(cudnnCreate, "cudnnCreate")                                                       \
  X(cudnnDestroy, "cudnnDestroy")                                                     \
  X(cudnnGetVersion, "cudnnGetVersion")                                               \
  X(cudnnGetErrorString, "cudnnGetErrorString")                                       \
  X(cudnnSetStream, "cudnnSetStream")                                                 \
  X(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor")                       \
  X(cudnnDestroyTensorDescriptor, "cudnnDestroyTensorDescriptor")                     \
  X(cudnnSetTensorNdDescriptor, "cudnnSetTensorNdDescriptor")                         \
  X(cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor")                       \
  X(cudnnDestroyFilterDescriptor, "cudnnDestroyFilterDescriptor")                     \
  X(cudnnSetFilterNdDescriptor, "cudnnSetFilterNdDescriptor")                         \
  X(cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor")             \
  X(cudnnDestroyConvolutionDescriptor, "cudnnDestroyConvolutionDescriptor")           \
  X(cudnnSetConvolutionNdDescriptor, "cudnnSetConvolutionNdDescriptor")               \
  X(cudnnSetConvolutionGroupCount, "cudnnSetConvolutionGroupCount")                   \
  X(cudnnSetConvolutionMathType, "cudnnSetConvolutionMathType")                       \
  X(cudnnGetConvolutionForwardAlgorithm_v7, "cudnnGetConvolutionForwardAlgorithm_v7") \
  X(cudnnConvolutionForward, "cudnnConvolutionForward")

typedef struct dnn_api {
  CUDA_DNN_LIST(CUDA_SYMBOL_FIELD)
} dnn_api;

#define ROW(function, symbol) {symbol, offsetof(dnn_api, function)},
static const cuda_symbol kSymbols[] = {CUDA_DNN_LIST(ROW)};
static const char *const kSonames[] = {"libcudnn.so.9", NULL};
static const cuda_library_def kLibrary = {
    .title = "cuDNN",
    .sonames = kSonames,
    .symbols = kSymbols,
    .symbol_count = sizeof kSymbols / sizeof kSymbols[0],
};

struct cuda_dnn {
  dnn_api api;
  cuda_library library;
  cudnnHandle_t handle;
  pthread_mutex_t lock;
};

struct cuda_conv_plan {
  cuda_dnn *dnn;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t conv;
  cudnnConvolutionFwdAlgo_t algorithm;
  uint64_t workspace;
  int32_t is_double;
};

typedef struct type_row {
  int32_t type;
  cudnnDataType_t data, compute;
} type_row;

static const type_row kTypes[] = {
    {OPS_TYPE_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT},
    {OPS_TYPE_DOUBLE, CUDNN_DATA_DOUBLE, CUDNN_DATA_DOUBLE},
    {OPS_TYPE_FLOAT16, CUDNN_DATA_HALF, CUDNN_DATA_FLOAT},
    {OPS_TYPE_BFLOAT16, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT},
};

static int32_t check(const dnn_api *api, cudnnStatus_t result, const char *what,
                     ops_error *error) {
  if (result == CUDNN_STATUS_SUCCESS) return OPS_OK;
  const int group = (int)result / 1000;  // 3: not supported, 4: internal
  const int32_t status = group == CUDNN_STATUS_NOT_SUPPORTED / 1000 ? OPS_ERROR_UNSUPPORTED
                         : result == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                                 result == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
                             ? OPS_ERROR_OUT_OF_MEMORY
                             : OPS_ERROR_INTERNAL;
  ops_error_set(error, status, "%s: cuDNN answers %s", what, api->cudnnGetErrorString(result));
  if (error) error->vendor_code = (int64_t)result;
  return status;
}

int32_t cuda_dnn_open(const char *place, cuda_dnn **out_dnn, ops_error *error) {
  cuda_dnn *dnn = calloc(1, sizeof *dnn);
  if (!dnn) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for cuDNN");
  int32_t status = cuda_library_open(&kLibrary, place, &dnn->library, error);
  if (status == OPS_OK) status = cuda_library_fill(&kLibrary, &dnn->library, &dnn->api, error);
  if (status == OPS_OK)
    status = check(&dnn->api, dnn->api.cudnnCreate(&dnn->handle), "cudnnCreate", error);
  if (status != OPS_OK) {
    cuda_library_close(&dnn->library);
    free(dnn);
    return status;
  }
  pthread_mutex_init(&dnn->lock, NULL);
  *out_dnn = dnn;
  return OPS_OK;
}

void cuda_dnn_close(cuda_dnn *dnn) {
  if (!dnn) return;
  dnn->api.cudnnDestroy(dnn->handle);
  cuda_library_close(&dnn->library);
  pthread_mutex_destroy(&dnn->lock);
  free(dnn);
}

uint64_t cuda_dnn_version(const cuda_dnn *dnn) {
  return dnn->api.cudnnGetVersion();
}

// cuDNN counts in int, with two leading dimensions and at least two spatial ones.
enum { kMaxDims = 2 + kGpuMaxSpatial, kMinSpatial = 2 };

typedef struct shape {
  int count;
  int x[kMaxDims], y[kMaxDims], w[kMaxDims];
  int pad[kGpuMaxSpatial], stride[kGpuMaxSpatial], dilation[kGpuMaxSpatial];
} shape;

static int32_t put(int *target, int64_t value) {
  *target = (int)value;
  return value >= 0 && value <= INT32_MAX;
}

// An axis in front of a single spatial one has size 1 throughout.
static int32_t fill_shape(const gpu_convolution *c, shape *s) {
  const int spatial = c->spatial < kMinSpatial ? kMinSpatial : c->spatial;
  const int lead = spatial - c->spatial;
  int32_t fits = put(&s->x[0], c->batch) && put(&s->x[1], c->in_channels) &&
                 put(&s->y[0], c->batch) && put(&s->y[1], c->out_channels) &&
                 put(&s->w[0], c->out_channels) && put(&s->w[1], c->in_channels / c->group);
  s->count = 2 + spatial;
  for (int i = 0; i < lead; ++i) {
    s->x[2 + i] = s->y[2 + i] = s->w[2 + i] = s->stride[i] = s->dilation[i] = 1;
    s->pad[i] = 0;
  }
  for (int i = 0; i < c->spatial; ++i)
    fits = fits && put(&s->x[2 + lead + i], c->in[i]) && put(&s->y[2 + lead + i], c->out[i]) &&
           put(&s->w[2 + lead + i], c->kernel[i]) && put(&s->pad[lead + i], c->pad[i]) &&
           put(&s->stride[lead + i], c->stride[i]) &&
           put(&s->dilation[lead + i], c->dilation[i]);
  return fits;
}

static int32_t fill_strides(int count, const int *dims, int *strides) {
  int64_t stride = 1;
  for (int i = count - 1; i >= 0; --i) {
    if (!put(&strides[i], stride)) return 0;
    stride *= dims[i];
  }
  return stride <= INT32_MAX;
}

static int32_t make_tensor(const dnn_api *api, cudnnDataType_t data, int count, const int *dims,
                           cudnnTensorDescriptor_t *out, ops_error *error) {
  int strides[kMaxDims];
  if (!fill_strides(count, dims, strides))
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "more elements than cuDNN counts");
  OPS_RETURN_IF_ERROR(
      check(api, api->cudnnCreateTensorDescriptor(out), "cudnnCreateTensorDescriptor", error));
  return check(api, api->cudnnSetTensorNdDescriptor(*out, data, count, dims, strides),
               "cudnnSetTensorNdDescriptor", error);
}

static int32_t make_filter(cuda_conv_plan *plan, const type_row *row, const shape *s,
                           ops_error *error) {
  const dnn_api *api = &plan->dnn->api;
  OPS_RETURN_IF_ERROR(check(api, api->cudnnCreateFilterDescriptor(&plan->w),
                            "cudnnCreateFilterDescriptor", error));
  return check(
      api,
      api->cudnnSetFilterNdDescriptor(plan->w, row->data, CUDNN_TENSOR_NCHW, s->count, s->w),
      "cudnnSetFilterNdDescriptor", error);
}

// FMA_MATH keeps float out of the tensor cores; halves lose nothing there.
static int32_t make_conv(cuda_conv_plan *plan, const gpu_convolution *c, const type_row *row,
                         const shape *s, ops_error *error) {
  const dnn_api *api = &plan->dnn->api;
  const cudnnMathType_t math =
      row->type == OPS_TYPE_FLOAT && !c->tf32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
  OPS_RETURN_IF_ERROR(check(api, api->cudnnCreateConvolutionDescriptor(&plan->conv),
                            "cudnnCreateConvolutionDescriptor", error));
  OPS_RETURN_IF_ERROR(check(
      api,
      api->cudnnSetConvolutionNdDescriptor(plan->conv, s->count - 2, s->pad, s->stride,
                                           s->dilation, CUDNN_CROSS_CORRELATION, row->compute),
      "cudnnSetConvolutionNdDescriptor", error));
  OPS_RETURN_IF_ERROR(check(api, api->cudnnSetConvolutionGroupCount(plan->conv, (int)c->group),
                            "cudnnSetConvolutionGroupCount", error));
  return check(api, api->cudnnSetConvolutionMathType(plan->conv, math),
               "cudnnSetConvolutionMathType", error);
}

// Products by transformed inputs round otherwise than the definition says that it does: left
// out.
static int32_t is_direct(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
}

// The first of the library's proposals, best first, that is repeatable, direct and small
// enough.
static int32_t choose(cuda_conv_plan *plan, uint64_t limit, ops_error *error) {
  const dnn_api *api = &plan->dnn->api;
  cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
  int count = 0;
  pthread_mutex_lock(&plan->dnn->lock);
  const cudnnStatus_t result = api->cudnnGetConvolutionForwardAlgorithm_v7(
      plan->dnn->handle, plan->x, plan->w, plan->conv, plan->y,
      CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found);
  pthread_mutex_unlock(&plan->dnn->lock);
  OPS_RETURN_IF_ERROR(check(api, result, "cudnnGetConvolutionForwardAlgorithm_v7", error));
  for (int i = 0; i < count; ++i) {
    if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].memory > limit ||
        found[i].determinism != CUDNN_DETERMINISTIC || !is_direct(found[i].algo))
      continue;
    plan->algorithm = found[i].algo;
    plan->workspace = found[i].memory;
    return check(api, api->cudnnSetConvolutionMathType(plan->conv, found[i].mathType),
                 "cudnnSetConvolutionMathType", error);
  }
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "cuDNN has no repeatable algorithm for a convolution");
}

static const type_row *find_type(int32_t type) {
  for (size_t i = 0; i < sizeof kTypes / sizeof kTypes[0]; ++i)
    if (kTypes[i].type == type) return &kTypes[i];
  return NULL;
}

static int32_t make_plan(cuda_conv_plan *plan, const gpu_convolution *conv, uint64_t limit,
                         ops_error *error) {
  const dnn_api *api = &plan->dnn->api;
  const type_row *row = find_type(conv->type);
  shape s;
  if (!row || conv->spatial < 1 || conv->spatial > kGpuMaxSpatial || conv->group < 1 ||
      conv->group > INT32_MAX || !fill_shape(conv, &s))
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "this convolution is not one for cuDNN");
  plan->is_double = row->type == OPS_TYPE_DOUBLE;
  OPS_RETURN_IF_ERROR(make_tensor(api, row->data, s.count, s.x, &plan->x, error));
  OPS_RETURN_IF_ERROR(make_tensor(api, row->data, s.count, s.y, &plan->y, error));
  OPS_RETURN_IF_ERROR(make_filter(plan, row, &s, error));
  OPS_RETURN_IF_ERROR(make_conv(plan, conv, row, &s, error));
  return choose(plan, limit, error);
}

int32_t cuda_conv_plan_create(cuda_dnn *dnn, const gpu_convolution *conv,
                              uint64_t workspace_limit, cuda_conv_plan **out_plan,
                              ops_error *error) {
  cuda_conv_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a plan");
  plan->dnn = dnn;
  const int32_t status = make_plan(plan, conv, workspace_limit, error);
  if (status == OPS_OK)
    *out_plan = plan;
  else
    cuda_conv_plan_destroy(plan);
  return status;
}

void cuda_conv_plan_destroy(cuda_conv_plan *plan) {
  if (!plan) return;
  const dnn_api *api = &plan->dnn->api;
  if (plan->conv) api->cudnnDestroyConvolutionDescriptor(plan->conv);
  if (plan->w) api->cudnnDestroyFilterDescriptor(plan->w);
  if (plan->y) api->cudnnDestroyTensorDescriptor(plan->y);
  if (plan->x) api->cudnnDestroyTensorDescriptor(plan->x);
  free(plan);
}

uint64_t cuda_conv_plan_workspace(const cuda_conv_plan *plan) {
  return plan->workspace;
}

int32_t cuda_conv_plan_run(const cuda_conv_plan *plan, CUstream stream, CUdeviceptr x,
                           CUdeviceptr w, CUdeviceptr y, CUdeviceptr workspace,
                           ops_error *error) {
  const float one32 = 1, zero32 = 0;
  const double one64 = 1, zero64 = 0;
  const void *one = plan->is_double ? (const void *)&one64 : &one32;
  const void *zero = plan->is_double ? (const void *)&zero64 : &zero32;
  cuda_dnn *dnn = plan->dnn;
  pthread_mutex_lock(&dnn->lock);
  cudnnStatus_t result = dnn->api.cudnnSetStream(dnn->handle, (cudaStream_t)stream);
  if (result == CUDNN_STATUS_SUCCESS)
    result = dnn->api.cudnnConvolutionForward(
        dnn->handle, one, plan->x, (const void *)(uintptr_t)x, plan->w,
        (const void *)(uintptr_t)w, plan->conv, plan->algorithm, (void *)(uintptr_t)workspace,
        plan->workspace, zero, plan->y, (void *)(uintptr_t)y);
  pthread_mutex_unlock(&dnn->lock);
  return check(&dnn->api, result, "cudnnConvolutionForward", error);
}

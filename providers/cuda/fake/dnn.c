// SPDX-License-Identifier: Apache-2.0
//
// A test double of cuDNN: forward convolutions by their definition, enqueued on the fake
// driver.
//   FAKE_DNN_NONE=1   every algorithm gives other bits each time
#include <cuda.h>
#include <cudnn.h>
#include <ops_support/half.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { kMaxDims = 5, kMaxSpatial = 3 };

struct cudnnContext {
  cudaStream_t stream;
};

typedef struct tensor {
  cudnnDataType_t type;
  int count;
  int dims[kMaxDims];
} tensor;

typedef struct window {
  int count, group;
  int pad[kMaxSpatial], stride[kMaxSpatial], dilation[kMaxSpatial];
  cudnnMathType_t math;
} window;

size_t cudnnGetVersion(void) {
  return 91300;
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *out) {
  *out = calloc(1, sizeof **out);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  free(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

#define DESCRIPTOR(Name, type)                                        \
  cudnnStatus_t cudnnCreate##Name(cudnn##Name##_t *out) {             \
    *out = calloc(1, sizeof(type));                                   \
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR; \
  }                                                                   \
  cudnnStatus_t cudnnDestroy##Name(cudnn##Name##_t descriptor) {      \
    free(descriptor);                                                 \
    return CUDNN_STATUS_SUCCESS;                                      \
  }
DESCRIPTOR(TensorDescriptor, tensor)
DESCRIPTOR(FilterDescriptor, tensor)
DESCRIPTOR(ConvolutionDescriptor, window)

static cudnnStatus_t set(tensor *t, cudnnDataType_t type, int count, const int dims[]) {
  if (count < 4 || count > kMaxDims) return CUDNN_STATUS_BAD_PARAM;
  t->type = type;
  t->count = count;
  memcpy(t->dims, dims, (size_t)count * sizeof *dims);
  return CUDNN_STATUS_SUCCESS;
}

// Dense, row-major tensors alone.
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor,
                                         cudnnDataType_t type, int count, const int dims[],
                                         const int strides[]) {
  int expected = 1;
  for (int i = count - 1; i >= 0; --i) {
    if (strides[i] != expected) return CUDNN_STATUS_NOT_SUPPORTED;
    expected *= dims[i];
  }
  return set((tensor *)descriptor, type, count, dims);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor,
                                         cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int count, const int dims[]) {
  if (format != CUDNN_TENSOR_NCHW) return CUDNN_STATUS_NOT_SUPPORTED;
  return set((tensor *)descriptor, type, count, dims);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor,
                                              int count, const int pad[], const int stride[],
                                              const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  window *w = (window *)descriptor;
  if (count < 2 || count > kMaxSpatial || mode != CUDNN_CROSS_CORRELATION ||
      (compute != CUDNN_DATA_FLOAT && compute != CUDNN_DATA_DOUBLE))
    return CUDNN_STATUS_BAD_PARAM;
  w->count = count;
  w->group = 1;
  memcpy(w->pad, pad, (size_t)count * sizeof *pad);
  memcpy(w->stride, stride, (size_t)count * sizeof *stride);
  memcpy(w->dilation, dilation, (size_t)count * sizeof *dilation);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor,
                                            int group) {
  ((window *)descriptor)->group = group;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math) {
  ((window *)descriptor)->math = math;
  return CUDNN_STATUS_SUCCESS;
}

// Winograd is always proposed first: who wants sums as they are defined must look further.
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int wanted,
    int *out_count, cudnnConvolutionFwdAlgoPerf_t *out) {
  static const cudnnConvolutionFwdAlgo_t kAlgorithms[] = {
      CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
  (void)handle, (void)x, (void)w, (void)y;
  *out_count = wanted < 3 ? wanted : 3;
  for (int i = 0; i < *out_count; ++i) {
    memset(&out[i], 0, sizeof out[i]);
    out[i].algo = kAlgorithms[i];
    out[i].memory = i == 1 ? 1 << 20 : 0;
    out[i].mathType = ((const window *)conv)->math;
    out[i].determinism =
        getenv("FAKE_DNN_NONE") ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
  }
  return CUDNN_STATUS_SUCCESS;
}

typedef struct job {
  tensor x, w, y;
  window window;
  const void *from, *weights;
  void *to;
} job;

static double load(cudnnDataType_t type, const void *from, long at) {
  switch ((int)type) {
    case CUDNN_DATA_DOUBLE:
      return ((const double *)from)[at];
    case CUDNN_DATA_HALF:
      return (double)ops_half_to_float(((const uint16_t *)from)[at]);
    case CUDNN_DATA_BFLOAT16:
      return (double)ops_bfloat16_to_float(((const uint16_t *)from)[at]);
    default:
      return (double)((const float *)from)[at];
  }
}

static void store(cudnnDataType_t type, void *to, long at, double value) {
  switch ((int)type) {
    case CUDNN_DATA_DOUBLE:
      ((double *)to)[at] = value;
      break;
    case CUDNN_DATA_HALF:
      ((uint16_t *)to)[at] = ops_half_from_float((float)value);
      break;
    case CUDNN_DATA_BFLOAT16:
      ((uint16_t *)to)[at] = ops_bfloat16_from_float((float)value);
      break;
    default:
      ((float *)to)[at] = (float)value;
  }
}

// The element of `x` that tap `tap` of output place `place` reads; -1: padding.
static long source(const job *j, const int *place, const int *tap, int image, int channel) {
  long at = (long)image * j->x.dims[1] + channel;
  for (int i = 0; i < j->window.count; ++i) {
    const int where =
        place[i] * j->window.stride[i] - j->window.pad[i] + tap[i] * j->window.dilation[i];
    if (where < 0 || where >= j->x.dims[2 + i]) return -1;
    at = at * j->x.dims[2 + i] + where;
  }
  return at;
}

static long unravel(long index, const tensor *t, int *out) {
  for (int i = t->count - 1; i >= 2; --i) {
    out[i - 2] = (int)(index % t->dims[i]);
    index /= t->dims[i];
  }
  return index;
}

static long volume(const tensor *t, int from) {
  long size = 1;
  for (int i = from; i < t->count; ++i) size *= t->dims[i];
  return size;
}

static void run(void *data) {
  const job *j = data;
  const int filters = j->w.dims[0] / j->window.group, channels = j->w.dims[1];
  const long taps = volume(&j->w, 2), all = volume(&j->y, 0);
  for (long o = 0; o < all; ++o) {
    int place[kMaxSpatial], tap[kMaxSpatial];
    const long outer = unravel(o, &j->y, place);
    const int image = (int)(outer / j->y.dims[1]), filter = (int)(outer % j->y.dims[1]);
    double sum = 0;
    for (int c = 0; c < channels; ++c)
      for (long t = 0; t < taps; ++t) {
        unravel(t, &j->w, tap);
        const long at = source(j, place, tap, image, filter / filters * channels + c);
        if (at >= 0)
          sum += load(j->x.type, j->from, at) *
                 load(j->w.type, j->weights, ((long)filter * channels + c) * taps + t);
      }
    store(j->y.type, j->to, o, sum);
  }
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x, const void *from,
                                      const cudnnFilterDescriptor_t w, const void *weights,
                                      const cudnnConvolutionDescriptor_t conv,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
                                      size_t workspace_size, const void *beta,
                                      const cudnnTensorDescriptor_t y, void *to) {
  const job j = {*(const tensor *)x,
                 *(const tensor *)w,
                 *(const tensor *)y,
                 *(const window *)conv,
                 from,
                 weights,
                 to};
  const int is_double = j.y.type == CUDNN_DATA_DOUBLE;
  const double scale = is_double ? *(const double *)alpha : (double)*(const float *)alpha;
  const double keep = is_double ? *(const double *)beta : (double)*(const float *)beta;
  if (scale != 1 || keep != 0 || j.x.type != j.y.type || j.w.type != j.y.type ||
      j.x.dims[1] != j.w.dims[1] * j.window.group || (workspace_size && !workspace) ||
      algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD)
    return CUDNN_STATUS_BAD_PARAM;
  return fake_enqueue((CUstream)handle->stream, run, &j, sizeof j) == CUDA_SUCCESS
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_EXECUTION_FAILED;
}

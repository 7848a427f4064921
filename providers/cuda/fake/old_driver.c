// SPDX-License-Identifier: Apache-2.0
//
// A driver of years ago: it has not got most functions that the provider calls.
#include <cuda.h>

CUresult cuInit(unsigned flags) {
  (void)flags;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *out) {
  *out = 9020;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char **out) {
  (void)code;
  *out = "";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char **out) {
  return cuGetErrorName(code, out);
}

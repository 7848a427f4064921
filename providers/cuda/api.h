// SPDX-License-Identifier: Apache-2.0
//
// The functions of the CUDA driver that the provider calls, and what their failures mean here.
#ifndef PROVIDERS_CUDA_API_H_
#define PROVIDERS_CUDA_API_H_

#include <cuda.h>

#include "library.h"

// The oldest driver: streams' own allocation, graphs whose nodes can be changed, sm_90.
#define CUDA_OLDEST_DRIVER 12000

// X(function as the header names it, symbol). The first three tell the version of any driver.
#define CUDA_API_LIST(X)                                       \
  X(cuDriverGetVersion, "cuDriverGetVersion")                  \
  X(cuGetErrorName, "cuGetErrorName")                          \
  X(cuGetErrorString, "cuGetErrorString")                      \
  X(cuInit, "cuInit")                                          \
  X(cuDeviceGetCount, "cuDeviceGetCount")                      \
  X(cuDeviceGet, "cuDeviceGet")                                \
  X(cuDeviceGetName, "cuDeviceGetName")                        \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute")              \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                   \
  X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer")            \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")      \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2") \
  X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2")     \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2")                   \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2")                     \
  X(cuMemAlloc, "cuMemAlloc_v2")                               \
  X(cuMemFree, "cuMemFree_v2")                                 \
  X(cuMemHostAlloc, "cuMemHostAlloc")                          \
  X(cuMemFreeHost, "cuMemFreeHost")                            \
  X(cuMemAllocAsync, "cuMemAllocAsync")                        \
  X(cuMemFreeAsync, "cuMemFreeAsync")                          \
  X(cuMemGetInfo, "cuMemGetInfo_v2")                           \
  X(cuMemcpyAsync, "cuMemcpyAsync")                            \
  X(cuMemsetD8Async, "cuMemsetD8Async")                        \
  X(cuStreamCreate, "cuStreamCreate")                          \
  X(cuStreamDestroy, "cuStreamDestroy_v2")                     \
  X(cuStreamSynchronize, "cuStreamSynchronize")                \
  X(cuStreamQuery, "cuStreamQuery")                            \
  X(cuStreamWaitEvent, "cuStreamWaitEvent")                    \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2")           \
  X(cuStreamEndCapture, "cuStreamEndCapture")                  \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags")         \
  X(cuGraphExecUpdate, "cuGraphExecUpdate_v2")                 \
  X(cuGraphLaunch, "cuGraphLaunch")                            \
  X(cuGraphDestroy, "cuGraphDestroy")                          \
  X(cuGraphExecDestroy, "cuGraphExecDestroy")                  \
  X(cuEventCreate, "cuEventCreate")                            \
  X(cuEventDestroy, "cuEventDestroy_v2")                       \
  X(cuEventRecord, "cuEventRecord")                            \
  X(cuEventQuery, "cuEventQuery")                              \
  X(cuEventSynchronize, "cuEventSynchronize")                  \
  X(cuEventElapsedTime, "cuEventElapsedTime")                  \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx")                  \
  X(cuModuleUnload, "cuModuleUnload")                          \
  X(cuModuleGetFunction, "cuModuleGetFunction")                \
  X(cuFuncSetAttribute, "cuFuncSetAttribute")                  \
  X(cuFuncGetAttribute, "cuFuncGetAttribute")                  \
  X(cuLaunchKernel, "cuLaunchKernel")

typedef struct cuda_api {
  CUDA_API_LIST(CUDA_SYMBOL_FIELD)
} cuda_api;

extern const cuda_library_def cuda_api_library;

// Opens the driver (`place` as in cuda_library_open), initialises it and asks for its version.
// "driver too old or missing: need …, found …": NOT_FOUND with LIBRARY_MISSING or
// NO_SUCH_DEVICE, UNSUPPORTED_VERSION with DRIVER_TOO_OLD.
int32_t cuda_api_open(const char *place, cuda_api *out_api, cuda_library *out_library,
                      int32_t *out_version, ops_error *error);

// OPS_OK for CUDA_SUCCESS. Else fills `error`: status and cause as the table in api.c says, the
// driver's number as vendor code, and a message of `what` failed, the driver's name for it and
// its text.
int32_t cuda_check(const cuda_api *api, CUresult result, const char *what, ops_error *error);

// Whether a failure is of the whole context: no later call on it will succeed.
int32_t cuda_is_fatal(CUresult result);

#endif  // PROVIDERS_CUDA_API_H_

// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by cuDNN: a plan for one shape, which then runs on any stream. Built without
// cuDNN's headers, opening says that it is missing.
#ifndef PROVIDERS_CUDA_DNN_H_
#define PROVIDERS_CUDA_DNN_H_

#include <cuda.h>
#include <ops/status.h>

#include "../gpu/driver.h"

typedef struct cuda_dnn cuda_dnn;
typedef struct cuda_conv_plan cuda_conv_plan;

// The context of the device is current. Errors of cuda_library_open; INTERNAL if cuDNN does not
// start.
int32_t cuda_dnn_open(const char *place, cuda_dnn **out_dnn, ops_error *error);
void cuda_dnn_close(cuda_dnn *dnn);              // accepts NULL
uint64_t cuda_dnn_version(const cuda_dnn *dnn);  // 91300: 9.13.0

// UNSUPPORTED if cuDNN has no repeatable algorithm within `workspace_limit` bytes, or a size
// does not fit: own kernels are then used. The caller destroys the plan.
int32_t cuda_conv_plan_create(cuda_dnn *dnn, const gpu_convolution *conv,
                              uint64_t workspace_limit, cuda_conv_plan **out_plan,
                              ops_error *error);
void cuda_conv_plan_destroy(cuda_conv_plan *plan);  // accepts NULL
uint64_t cuda_conv_plan_workspace(const cuda_conv_plan *plan);

// Enqueues the convolution; thread-safe. `workspace` has the plan's size, aligned to 256 bytes.
int32_t cuda_conv_plan_run(const cuda_conv_plan *plan, CUstream stream, CUdeviceptr x,
                           CUdeviceptr w, CUdeviceptr y, CUdeviceptr workspace,
                           ops_error *error);

#endif  // PROVIDERS_CUDA_DNN_H_

// SPDX-License-Identifier: Apache-2.0
//
// Parameters of quantised tensors: real = (n - zero point) * scale. A zero point that is left
// out is 0. They are inputs, mostly constants, but are read with each run.
#ifndef CPU_QUANTIZED_H_
#define CPU_QUANTIZED_H_

#include "cpu.h"

// INVALID_ARGUMENT if the input is there and is not one number.
int32_t cpu_quantized_need_one(const ops_kernel *kernel, const ops_prepare_request *request,
                               uint64_t input, ops_error *error);

// The number that an input holds; `otherwise` if it is absent.
double cpu_quantized_scale(const ops_execute_request *request, uint64_t input,
                           double otherwise);
// Of int8 or uint8; 0 if it is absent.
int32_t cpu_quantized_zero(const ops_execute_request *request, uint64_t input);

// Number `index` of the type int8 or uint8.
static inline int32_t cpu_quantized_at(const void *data, int32_t type, int64_t index) {
  return type == OPS_TYPE_INT8 ? ((const int8_t *)data)[index] : ((const uint8_t *)data)[index];
}

// Sizes of pieces of a workspace: adds `size` bytes, aligned to 64, and says where they begin.
// Returns 0 on overflow.
int cpu_workspace_add(uint64_t *total, uint64_t size, uint64_t *out_offset);
// States the workspace. OUT_OF_MEMORY if `fits` is 0.
int32_t cpu_workspace_state(const ops_kernel *kernel, int fits, uint64_t total,
                            ops_prepare_reply *reply, ops_error *error);

#endif  // CPU_QUANTIZED_H_

// SPDX-License-Identifier: Apache-2.0
//
// Parameters of quantised tensors, and workspaces of several pieces. See quantized.h.
#include "quantized.h"

#include <ops_support/checked.h>

int32_t cpu_quantized_need_one(const ops_kernel *kernel, const ops_prepare_request *request,
                               uint64_t input, ops_error *error) {
  cpu_shape shape;
  if (input >= request->input_count || !ops_request_input(request, input)) return OPS_OK;
  cpu_input_shape(request, input, &shape);
  if (cpu_count(&shape) == 1) return OPS_OK;
  return cpu_invalid(kernel, error, "input %llu must be one number, found %lld",
                     (unsigned long long)input, (long long)cpu_count(&shape));
}

double cpu_quantized_scale(const ops_execute_request *request, uint64_t input,
                           double otherwise) {
  const float *scale = cpu_in_data(request, input);
  return scale ? (double)*scale : otherwise;
}

int32_t cpu_quantized_zero(const ops_execute_request *request, uint64_t input) {
  const ops_tensor *zero = cpu_in(request, input);
  return zero ? cpu_quantized_at(ops_tensor_data(zero), zero->type, 0) : 0;
}

int cpu_workspace_add(uint64_t *total, uint64_t size, uint64_t *out_offset) {
  *out_offset = *total;
  return ops_checked_add(*total, size, total) && ops_checked_align(*total, 64, total);
}

int32_t cpu_workspace_state(const ops_kernel *kernel, int fits, uint64_t total,
                            ops_prepare_reply *reply, ops_error *error) {
  if (!fits)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%.*s: the workspace is too large",
                         OPS_STR_FMT(kernel->def->op));
  reply->workspace_size = total;
  reply->workspace_alignment = 64;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// In place of dnn.c where cuDNN's headers are missing: opening says so.
#include <ops_support/error.h>

#include "dnn.h"

int32_t cuda_dnn_open(const char *place, cuda_dnn **out_dnn, ops_error *error) {
  (void)place, (void)out_dnn;
  return ops_error_set_cause(
      error, OPS_ERROR_NOT_FOUND, OPS_CAUSE_LIBRARY_MISSING,
      "cuDNN is missing: its headers were not there when the provider was "
      "built");
}

// Never called: there is no object to call them with.
void cuda_dnn_close(cuda_dnn *dnn) {
  (void)dnn;
}

uint64_t cuda_dnn_version(const cuda_dnn *dnn) {
  (void)dnn;
  return 0;
}

int32_t cuda_conv_plan_create(cuda_dnn *dnn, const gpu_convolution *conv,
                              uint64_t workspace_limit, cuda_conv_plan **out_plan,
                              ops_error *error) {
  (void)conv, (void)workspace_limit;
  *out_plan = NULL;
  return cuda_dnn_open(NULL, &dnn, error);
}

void cuda_conv_plan_destroy(cuda_conv_plan *plan) {
  (void)plan;
}

uint64_t cuda_conv_plan_workspace(const cuda_conv_plan *plan) {
  (void)plan;
  return 0;
}

int32_t cuda_conv_plan_run(const cuda_conv_plan *plan, CUstream stream, CUdeviceptr x,
                           CUdeviceptr w, CUdeviceptr y, CUdeviceptr workspace,
                           ops_error *error) {
  (void)plan, (void)stream, (void)x, (void)w, (void)y, (void)workspace;
  cuda_dnn *none = NULL;
  return cuda_dnn_open(NULL, &none, error);
}

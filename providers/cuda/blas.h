// SPDX-License-Identifier: Apache-2.0
//
// Matrix products by cuBLASLt: a plan for one shape, which then runs on any stream.
#ifndef PROVIDERS_CUDA_BLAS_H_
#define PROVIDERS_CUDA_BLAS_H_

#include <cublasLt.h>
#include <cuda.h>

#include "../gpu/driver.h"
#include "library.h"

// X(function, symbol)
#define CUDA_BLAS_LIST(X)                                                         \
  X(cublasLtCreate, "cublasLtCreate")                                             \
  X(cublasLtDestroy, "cublasLtDestroy")                                           \
  X(cublasLtGetVersion, "cublasLtGetVersion")                                     \
  X(cublasLtGetStatusName, "cublasLtGetStatusName")                               \
  X(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate")                         \
  X(cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy")                       \
  X(cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute")             \
  X(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate")                     \
  X(cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy")                   \
  X(cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute")         \
  X(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate")             \
  X(cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy")           \
  X(cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute") \
  X(cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic")             \
  X(cublasLtMatmul, "cublasLtMatmul")

typedef struct cuda_blas {
  CUDA_BLAS_LIST(CUDA_SYMBOL_FIELD)
  cuda_library library;
  cublasLtHandle_t handle;
} cuda_blas;

typedef struct cuda_matmul_plan cuda_matmul_plan;

// The context of the device is current. Errors of cuda_library_open; INTERNAL if cuBLAS does
// not start.
int32_t cuda_blas_open(const char *place, int32_t driver, cuda_blas *out_blas,
                       ops_error *error);
void cuda_blas_close(cuda_blas *blas);  // accepts one that is not open

// UNSUPPORTED if cuBLAS has no algorithm within `workspace_limit` bytes: own kernels are then
// used. The caller destroys the plan.
int32_t cuda_matmul_plan_create(const cuda_blas *blas, const gpu_product *product,
                                uint64_t workspace_limit, cuda_matmul_plan **out_plan,
                                ops_error *error);
void cuda_matmul_plan_destroy(cuda_matmul_plan *plan);  // accepts NULL
uint64_t cuda_matmul_plan_workspace(const cuda_matmul_plan *plan);

// Enqueues C = alpha op(A) op(B) + beta C; thread-safe. alpha and beta are read before it
// returns. `workspace` has the plan's size and an alignment of 256 bytes.
int32_t cuda_matmul_plan_run(const cuda_matmul_plan *plan, CUstream stream, double alpha,
                             CUdeviceptr a, CUdeviceptr b, double beta, CUdeviceptr c,
                             CUdeviceptr workspace, ops_error *error);

#endif  // PROVIDERS_CUDA_BLAS_H_

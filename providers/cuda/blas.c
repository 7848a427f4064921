// SPDX-License-Identifier: Apache-2.0
//
// Matrix products by cuBLASLt, see blas.h. The library counts columns first: a row-major C = A
// B is its C' = B' A', so both factors change places and every matrix keeps its bytes.
#include "blas.h"

#include <ops/types.h>
#include <ops_support/error.h>
#include <stddef.h>
#include <stdlib.h>

#define ROW(function, symbol) {symbol, offsetof(cuda_blas, function)},
static const cuda_symbol kSymbols[] = {CUDA_BLAS_LIST(ROW)};
static const char *const kSonames[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
enum { kNewestMajor = 13 };

typedef struct type_row {
  int32_t type;
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
} type_row;

static const type_row kTypes[] = {
    {OPS_TYPE_FLOAT, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {OPS_TYPE_DOUBLE, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
    {OPS_TYPE_FLOAT16, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {OPS_TYPE_BFLOAT16, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
};

struct cuda_matmul_plan {
  const cuda_blas *blas;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t first, second, result;  // as the library names them
  cublasLtMatmulAlgo_t algorithm;
  uint64_t workspace;
  int32_t is_double;
};

static int32_t check(const cuda_blas *blas, cublasStatus_t result, const char *what,
                     ops_error *error) {
  if (result == CUBLAS_STATUS_SUCCESS) return OPS_OK;
  const int32_t status = result == CUBLAS_STATUS_ALLOC_FAILED    ? OPS_ERROR_OUT_OF_MEMORY
                         : result == CUBLAS_STATUS_NOT_SUPPORTED ? OPS_ERROR_UNSUPPORTED
                                                                 : OPS_ERROR_INTERNAL;
  ops_error_set(error, status, "%s: cuBLAS answers %s", what,
                blas->cublasLtGetStatusName(result));
  if (error) error->vendor_code = (int64_t)result;
  return status;
}

int32_t cuda_blas_open(const char *place, int32_t driver, cuda_blas *out_blas,
                       ops_error *error) {
  const int32_t behind = kNewestMajor - driver / 1000;
  const cuda_library_def def = {
      .title = "cuBLAS",
      .sonames = kSonames + (behind > 0 ? behind : 0),
      .symbols = kSymbols,
      .symbol_count = sizeof kSymbols / sizeof kSymbols[0],
  };
  cuda_library library;
  OPS_RETURN_IF_ERROR(cuda_library_open(&def, place, &library, error));
  int32_t status = cuda_library_fill(&def, &library, out_blas, error);
  if (status == OPS_OK)
    status =
        check(out_blas, out_blas->cublasLtCreate(&out_blas->handle), "cublasLtCreate", error);
  if (status == OPS_OK)
    out_blas->library = library;
  else
    cuda_library_close(&library);
  return status;
}

void cuda_blas_close(cuda_blas *blas) {
  if (!blas->library.handle) return;
  blas->cublasLtDestroy(blas->handle);
  cuda_library_close(&blas->library);
}

// A matrix whose stored rows have `columns` elements, as the library sees it.
static int32_t make_layout(const cuda_blas *blas, const gpu_product *product,
                           cudaDataType_t data, int64_t rows, int64_t columns, int64_t stride,
                           cublasLtMatrixLayout_t *out, ops_error *error) {
  const int32_t batch = (int32_t)product->batch;
  OPS_RETURN_IF_ERROR(check(
      blas,
      blas->cublasLtMatrixLayoutCreate(out, data, (uint64_t)columns, (uint64_t)rows, columns),
      "cublasLtMatrixLayoutCreate", error));
  OPS_RETURN_IF_ERROR(check(blas,
                            blas->cublasLtMatrixLayoutSetAttribute(
                                *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
                            "batch count", error));
  return check(blas,
               blas->cublasLtMatrixLayoutSetAttribute(
                   *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
               "batch stride", error);
}

static int32_t make_layouts(cuda_matmul_plan *plan, const gpu_product *p, cudaDataType_t data,
                            ops_error *error) {
  const int64_t a_rows = p->transpose_a ? p->k : p->m, a_columns = p->transpose_a ? p->m : p->k;
  const int64_t b_rows = p->transpose_b ? p->n : p->k, b_columns = p->transpose_b ? p->k : p->n;
  OPS_RETURN_IF_ERROR(
      make_layout(plan->blas, p, data, b_rows, b_columns, p->stride_b, &plan->first, error));
  OPS_RETURN_IF_ERROR(
      make_layout(plan->blas, p, data, a_rows, a_columns, p->stride_a, &plan->second, error));
  return make_layout(plan->blas, p, data, p->m, p->n, p->stride_c, &plan->result, error);
}

static int32_t make_product(cuda_matmul_plan *plan, const gpu_product *p, const type_row *row,
                            ops_error *error) {
  const cuda_blas *blas = plan->blas;
  const int32_t first = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int32_t second = p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasComputeType_t compute =
      p->tf32 && row->type == OPS_TYPE_FLOAT ? CUBLAS_COMPUTE_32F_FAST_TF32 : row->compute;
  OPS_RETURN_IF_ERROR(check(blas,
                            blas->cublasLtMatmulDescCreate(&plan->product, compute, row->scale),
                            "cublasLtMatmulDescCreate", error));
  OPS_RETURN_IF_ERROR(
      check(blas,
            blas->cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSA,
                                                 &first, sizeof first),
            "transposition", error));
  return check(blas,
               blas->cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSB,
                                                    &second, sizeof second),
               "transposition", error);
}

// Takes the library's first proposal. Sums whose order depends on which block ends first are
// refused: the same inputs give the same bits.
static int32_t choose(cuda_matmul_plan *plan, uint64_t limit, ops_error *error) {
  const cuda_blas *blas = plan->blas;
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE |
                              CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
                              CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  cublasLtMatmulPreference_t preference = NULL;
  cublasLtMatmulHeuristicResult_t found = {0};
  int count = 0;
  cublasStatus_t result = blas->cublasLtMatmulPreferenceCreate(&preference);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = blas->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = blas->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = blas->cublasLtMatmulAlgoGetHeuristic(blas->handle, plan->product, plan->first,
                                                  plan->second, plan->result, plan->result,
                                                  preference, 1, &found, &count);
  if (preference) blas->cublasLtMatmulPreferenceDestroy(preference);
  if (result == CUBLAS_STATUS_SUCCESS && count == 0) result = CUBLAS_STATUS_NOT_SUPPORTED;
  if (result == CUBLAS_STATUS_SUCCESS) result = found.state;
  plan->algorithm = found.algo;
  plan->workspace = found.workspaceSize;
  return check(blas, result, "no algorithm for a matrix product", error);
}

static const type_row *find_type(int32_t type) {
  for (size_t i = 0; i < sizeof kTypes / sizeof kTypes[0]; ++i)
    if (kTypes[i].type == type) return &kTypes[i];
  return NULL;
}

int32_t cuda_matmul_plan_create(const cuda_blas *blas, const gpu_product *product,
                                uint64_t workspace_limit, cuda_matmul_plan **out_plan,
                                ops_error *error) {
  const type_row *row = find_type(product->type);
  if (!row || product->m < 1 || product->n < 1 || product->k < 1 || product->batch < 1 ||
      product->batch > INT32_MAX)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "a product of type %d, %lld x %lld x %lld, is not one for cuBLAS",
                         product->type, (long long)product->m, (long long)product->n,
                         (long long)product->k);
  cuda_matmul_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a plan");
  plan->blas = blas;
  plan->is_double = row->type == OPS_TYPE_DOUBLE;
  int32_t status = make_product(plan, product, row, error);
  if (status == OPS_OK) status = make_layouts(plan, product, row->data, error);
  if (status == OPS_OK) status = choose(plan, workspace_limit, error);
  if (status == OPS_OK)
    *out_plan = plan;
  else
    cuda_matmul_plan_destroy(plan);
  return status;
}

void cuda_matmul_plan_destroy(cuda_matmul_plan *plan) {
  if (!plan) return;
  const cuda_blas *blas = plan->blas;
  cublasLtMatrixLayout_t layouts[] = {plan->first, plan->second, plan->result};
  for (size_t i = 0; i < 3; ++i)
    if (layouts[i]) blas->cublasLtMatrixLayoutDestroy(layouts[i]);
  if (plan->product) blas->cublasLtMatmulDescDestroy(plan->product);
  free(plan);
}

uint64_t cuda_matmul_plan_workspace(const cuda_matmul_plan *plan) {
  return plan->workspace;
}

int32_t cuda_matmul_plan_run(const cuda_matmul_plan *plan, CUstream stream, double alpha,
                             CUdeviceptr a, CUdeviceptr b, double beta, CUdeviceptr c,
                             CUdeviceptr workspace, ops_error *error) {
  const float alpha32 = (float)alpha, beta32 = (float)beta;
  const void *scale = plan->is_double ? (const void *)&alpha : &alpha32;
  const void *keep = plan->is_double ? (const void *)&beta : &beta32;
  const cuda_blas *blas = plan->blas;
  const cublasStatus_t result = blas->cublasLtMatmul(
      blas->handle, plan->product, scale, (const void *)(uintptr_t)b, plan->first,
      (const void *)(uintptr_t)a, plan->second, keep, (const void *)(uintptr_t)c, plan->result,
      (void *)(uintptr_t)c, plan->result, &plan->algorithm, (void *)(uintptr_t)workspace,
      plan->workspace, (cudaStream_t)stream);
  return check(blas, result, "cublasLtMatmul", error);
}

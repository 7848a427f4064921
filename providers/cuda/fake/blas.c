// SPDX-License-Identifier: Apache-2.0
//
// A test double of cuBLASLt: products by their definition, columns first, enqueued on the fake
// driver. It refuses what the library refuses: a workspace beyond the limit that was stated.
//   FAKE_BLAS_NONE=1   there is an algorithm for nothing
#include <cublasLt.h>
#include <cuda.h>
#include <ops_support/half.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

typedef struct layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t ld, stride;
  int32_t batch;
} layout;

typedef struct product {
  int32_t transpose[2];
  cudaDataType_t scale;
} product;

struct cublasLtContext {
  int unused;
};

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) {
  *out = calloc(1, sizeof(struct cublasLtContext));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  free(handle);
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) {
  return 130000;
}

const char *cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                               : "CUBLAS_STATUS";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  const int is_double = compute == CUBLAS_COMPUTE_64F;
  product *p = calloc(1, sizeof *p);
  if (!p || is_double != (scale == CUDA_R_64F)) return CUBLAS_STATUS_INVALID_VALUE;
  p->scale = scale;
  *out = (cublasLtMatmulDesc_t)p;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  free(desc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t size) {
  product *p = (product *)desc;
  if (size != sizeof(int32_t) ||
      (name != CUBLASLT_MATMUL_DESC_TRANSA && name != CUBLASLT_MATMUL_DESC_TRANSB))
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&p->transpose[name == CUBLASLT_MATMUL_DESC_TRANSB], value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  layout *l = calloc(1, sizeof *l);
  if (!l || ld < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
  *l = (layout){type, rows, columns, ld, 0, 1};
  *out = (cublasLtMatrixLayout_t)l;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t desc) {
  free(desc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t desc,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t size) {
  layout *l = (layout *)desc;
  if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof l->batch)
    memcpy(&l->batch, value, size);
  else if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof l->stride)
    memcpy(&l->stride, value, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  *out = calloc(1, sizeof(uint64_t));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  free(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void *value, size_t size) {
  if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) memcpy(preference, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

static uint64_t outer(const layout *l, int32_t transposed) {
  return transposed ? l->columns : l->rows;
}

// Whether op(A) op(B) is what the result's layout says.
static int fits(const product *p, const layout *a, const layout *b, const layout *c) {
  return a->type == b->type && b->type == c->type && outer(a, p->transpose[0]) == c->rows &&
         outer(b, !p->transpose[1]) == c->columns &&
         outer(a, !p->transpose[0]) == outer(b, p->transpose[1]) && a->batch == b->batch &&
         b->batch == c->batch;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t out[],
    int *out_count) {
  uint64_t limit;
  (void)handle, (void)d;
  memcpy(&limit, preference, sizeof limit);
  *out_count = 0;
  if (!fits((product *)desc, (layout *)a, (layout *)b, (layout *)c))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (getenv("FAKE_BLAS_NONE") || wanted < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  memset(out, 0, sizeof *out);
  out->workspaceSize = limit < 256 ? 0 : 256;
  *out_count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

typedef struct job {
  product product;
  layout a, b, c;
  double alpha, beta;
  const char *from_a, *from_b;
  char *to;
} job;

static double load(cudaDataType_t type, const char *base, int64_t at) {
  uint16_t half;
  memcpy(&half, base + 2 * at, sizeof half);
  switch (type) {
    case CUDA_R_32F:
      return (double)((const float *)(const void *)base)[at];
    case CUDA_R_64F:
      return ((const double *)(const void *)base)[at];
    case CUDA_R_16F:
      return (double)ops_half_to_float(half);
    default:
      return (double)ops_bfloat16_to_float(half);
  }
}

static void store(cudaDataType_t type, char *base, int64_t at, double value) {
  uint16_t half = 0;
  switch (type) {
    case CUDA_R_32F:
      ((float *)(void *)base)[at] = (float)value;
      return;
    case CUDA_R_64F:
      ((double *)(void *)base)[at] = value;
      return;
    case CUDA_R_16F:
      half = ops_half_from_float((float)value);
      break;
    default:
      half = ops_bfloat16_from_float((float)value);
      break;
  }
  memcpy(base + 2 * at, &half, sizeof half);
}

static double element(const layout *l, const char *base, int32_t transposed, uint64_t row,
                      uint64_t column, int32_t batch) {
  const int64_t at = transposed ? (int64_t)column + (int64_t)row * l->ld
                                : (int64_t)row + (int64_t)column * l->ld;
  return load(l->type, base, at + batch * l->stride);
}

static void run(void *data) {
  const job *j = data;
  const uint64_t depth = outer(&j->a, !j->product.transpose[0]);
  for (int32_t batch = 0; batch < j->c.batch; ++batch)
    for (uint64_t column = 0; column < j->c.columns; ++column)
      for (uint64_t row = 0; row < j->c.rows; ++row) {
        const int64_t at = (int64_t)row + (int64_t)column * j->c.ld + batch * j->c.stride;
        double sum = 0;
        for (uint64_t k = 0; k < depth; ++k)
          sum += element(&j->a, j->from_a, j->product.transpose[0], row, k, batch) *
                 element(&j->b, j->from_b, j->product.transpose[1], k, column, batch);
        const double old = j->beta != 0 ? j->beta * load(j->c.type, j->to, at) : 0;
        store(j->c.type, j->to, at, j->alpha * sum + old);
      }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_size, cudaStream_t stream) {
  (void)handle, (void)d_layout, (void)algo;
  job j = {*(product *)desc,
           *(layout *)a_layout,
           *(layout *)b_layout,
           *(layout *)c_layout,
           0,
           0,
           a,
           b,
           d};
  if (!fits(&j.product, &j.a, &j.b, &j.c) || c != d || (workspace_size && !workspace) ||
      ((uintptr_t)workspace & 15))
    return CUBLAS_STATUS_INVALID_VALUE;
  j.alpha = load(j.product.scale, alpha, 0);
  j.beta = load(j.product.scale, beta, 0);
  return fake_enqueue((CUstream)stream, run, &j, sizeof j) == CUDA_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

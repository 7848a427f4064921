// SPDX-License-Identifier: Apache-2.0
//
// Batched products of float matrices, and what follows them on each element:
//
//   Y[batch] = function(A[batch] x B[batch] + bias + residual)
//
// B is read where it lies, so that constant weights need no second copy and no time when a
// model is loaded. One row of A streams through B once. More rows meet panels of B that each
// worker packs on the way, which costs it a few percent of the products with 32 rows, and less
// with more. Sums run in float along the depth; the bits do not depend on the number of
// workers.
#ifndef CPU_MULTIPLY_H_
#define CPU_MULTIPLY_H_

#include "cpu.h"

typedef struct cpu_multiply {
  // The caller's. Strides of batches are in elements, 0 to broadcast.
  int64_t m, n, k;
  int32_t a_transposed;  // stored [k, m]; only without batch dimensions
  int32_t b_transposed;  // stored [n, k]
  int32_t batch_rank;
  int64_t batch_dims[OPS_MAX_RANK], a_strides[OPS_MAX_RANK], b_strides[OPS_MAX_RANK];
  // What cpu_multiply_prepare adds.
  int64_t batches;
  int64_t columns, panels;  // of an item of work, and items of a row of blocks
  int64_t rows, chunks;     // likewise of rows
  int64_t depth;            // of a packed panel
  int64_t pack_size;        // floats of a worker's panel
} cpu_multiply;

typedef struct cpu_multiply_args {
  const float *a, *b;
  const float *bias;      // [n] or NULL
  const float *residual;  // as Y and apart from it, or NULL
  float *y;
  int32_t function;  // CPU_UNARY_…, negative: none
  const float *p;    // its parameters
  void *workspace;
} cpu_multiply_args;

// Completes the plan and states its workspace and implementation. OUT_OF_MEMORY if the
// workspace would be too large to count.
int32_t cpu_multiply_prepare(const ops_device *device, cpu_multiply *multiply,
                             ops_prepare_reply *reply, ops_error *error);
void cpu_multiply_run(const ops_device *device, const cpu_multiply *multiply,
                      const cpu_multiply_args *args);

#endif  // CPU_MULTIPLY_H_

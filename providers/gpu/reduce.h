// SPDX-License-Identifier: Apache-2.0
//
// The reductions: X(symbol, 1 if integers are reduced in double). The symbol is the operator's
// name without Reduce.
#ifndef GPU_REDUCE_H_
#define GPU_REDUCE_H_

#include "lines.h"

#define GPU_REDUCE_LIST(X) \
  X(Sum, 0)                \
  X(Mean, 1)               \
  X(Max, 0)                \
  X(Min, 0)                \
  X(Prod, 0)               \
  X(L1, 0)                 \
  X(L2, 1)                 \
  X(LogSum, 1)             \
  X(LogSumExp, 1)          \
  X(SumSquare, 0)          \
  X(ArgMax, 0)             \
  X(ArgMin, 0)

typedef struct gpu_reduce {
  gpu_op base;
  const char *name;
  int32_t is_real;
} gpu_reduce;

// A node's attributes.
typedef struct gpu_reduction {
  const gpu_reduce *row;
  int32_t keep, noop, last;
  gpu_axes axes;  // of ArgMax and ArgMin its one axis
} gpu_reduction;

#define X(symbol, is_real) extern const gpu_reduce gpu_reduce_##symbol;
GPU_REDUCE_LIST(X)
#undef X

static inline int32_t gpu_reduce_is_arg(const gpu_reduce *row) {
  return row == &gpu_reduce_ArgMax || row == &gpu_reduce_ArgMin;
}

void gpu_reduce_claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_claim *claim);
int32_t gpu_reduce_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                         ops_error *error);
void gpu_reduce_plan(const ops_kernel *kernel, gpu_plan *plan);
// Likewise, over a set of axes that the caller knows.
void gpu_reduce_plan_axes(const gpu_reduction *reduction, gpu_plan *plan, uint64_t reduced);

#endif  // GPU_REDUCE_H_

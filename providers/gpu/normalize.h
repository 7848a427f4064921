// SPDX-License-Identifier: Apache-2.0
//
// Normalisations over lines: X(symbol, 1 if the mean is taken off, its plan).
#ifndef GPU_NORMALIZE_H_
#define GPU_NORMALIZE_H_

#include "lines.h"

#define GPU_NORMALIZE_LIST(X)                         \
  X(LayerNormalization, 1, plan_layer)                \
  X(RMSNormalization, 0, plan_layer)                  \
  X(InstanceNormalization, 1, plan_instance)          \
  X(GroupNormalization, 1, plan_group)                \
  X(MeanVarianceNormalization, 1, plan_mean_variance) \
  X(LpNormalization, 0, plan_lp)

typedef struct gpu_normalization gpu_normalization;

typedef struct gpu_normalize {
  gpu_op base;
  const char *name;
  int32_t is_centered;
  void (*plan)(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan);
} gpu_normalize;

#define X(symbol, ...) extern const gpu_normalize gpu_normalize_##symbol;
GPU_NORMALIZE_LIST(X)
#undef X

#endif  // GPU_NORMALIZE_H_

// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#define POOLED (FLOATS | BIT(INT8) | BIT(UINT8))
#define POOL(op, since, context, types) \
  ROW(op, since, 0, context, INPUTS(IN("X", types)), OUTPUTS(IN("Y", types)))

#define GPU_POOL_ROWS                                                                   \
  ROW("MaxPool", 1, 7, gpu_pool, INPUTS(IN("X", FLOATS)), OUTPUTS(IN("Y", FLOATS))),    \
      ROW("MaxPool", 8, 0, gpu_pool, INPUTS(IN("X", POOLED)),                           \
          OUTPUTS(IN("Y", POOLED), ARG("Indices", "I", BIT(INT64), OPS_ARG_OPTIONAL))), \
      POOL("AveragePool", 1, gpu_pool, FLOATS), POOL("LpPool", 2, gpu_pool, FLOATS),    \
      POOL("GlobalMaxPool", 1, gpu_global_pool, FLOATS),                                \
      POOL("GlobalAveragePool", 1, gpu_global_pool, FLOATS),                            \
      POOL("GlobalLpPool", 2, gpu_global_pool, FLOATS)

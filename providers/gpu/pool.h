// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_POOL_H_
#define GPU_POOL_H_

#include "gpu.h"

// The families find their member by the definition's operator.
extern const gpu_op gpu_pool, gpu_global_pool;
extern const gpu_source gpu_pool_source;

#endif  // GPU_POOL_H_

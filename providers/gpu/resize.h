// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_RESIZE_H_
#define GPU_RESIZE_H_

#include "gpu.h"

extern const gpu_op gpu_resize;  // Upsample, too
extern const gpu_source gpu_resize_source;

#endif  // GPU_RESIZE_H_

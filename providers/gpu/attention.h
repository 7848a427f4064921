// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_ATTENTION_H_
#define GPU_ATTENTION_H_

#include "gpu.h"

extern const gpu_op gpu_attention;
extern const gpu_source gpu_attention_source;

#endif  // GPU_ATTENTION_H_

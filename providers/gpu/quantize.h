// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_QUANTIZE_H_
#define GPU_QUANTIZE_H_

#include "gpu.h"

extern const gpu_op gpu_quantize, gpu_dequantize, gpu_dynamic_quantize;
extern const gpu_source gpu_quantize_source;

#endif  // GPU_QUANTIZE_H_

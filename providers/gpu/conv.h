// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_CONV_H_
#define GPU_CONV_H_

#include "product.h"
#include "slide.h"

extern const gpu_op gpu_conv, gpu_conv_transpose, gpu_conv_integer, gpu_qlinear_conv;
extern const gpu_source gpu_conv_source;

#endif  // GPU_CONV_H_

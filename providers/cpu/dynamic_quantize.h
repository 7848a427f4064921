// SPDX-License-Identifier: Apache-2.0
//
// Quantisation to uint8 over a tensor's own range, computed in float as the function of
// DynamicQuantizeLinear says.
#ifndef CPU_DYNAMIC_QUANTIZE_H_
#define CPU_DYNAMIC_QUANTIZE_H_

#include "cpu.h"

void cpu_dynamic_quantize(const ops_device *device, const float *x, int64_t count, uint8_t *y,
                          float *out_scale, uint8_t *out_zero);

#endif  // CPU_DYNAMIC_QUANTIZE_H_

// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: tensors of 8-bit integers with scale and zero point around an operator.
#ifndef RT_PASSES_QUANTIZED_H_
#define RT_PASSES_QUANTIZED_H_

#include "passes/pass.h"

// A DequantizeLinear or QuantizeLinear: q integer, real = (q − zero)·scale. Scale and zero
// point are constants.
typedef struct rt_quantized {
  rt_node *node;  // NULL: there is none
  rt_value *q;    // input of DequantizeLinear, output of QuantizeLinear
  rt_value *scale;
  rt_value *zero;  // NULL: 0 of uint8
  int64_t scales;  // 1, or one for each element along `axis`
  int32_t axis;    // where there are several
} rt_quantized;

// The DequantizeLinear that makes `value`.
rt_quantized rt_quantized_source(const rt_value *value);
// The QuantizeLinear that alone reads output 0 of `node`.
rt_quantized rt_quantized_target(const rt_node *node);
// 1 if both have one scale and one zero point, and these are equal constants.
int rt_quantized_equal(const rt_quantized *a, const rt_quantized *b);
// The zero point as an operand: the own one, or a new constant 0 of the type of q.
int32_t rt_quantized_zero(const rt_quantized *x, rt_value **out_zero, ops_error *error);

#endif  // RT_PASSES_QUANTIZED_H_

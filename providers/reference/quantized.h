// SPDX-License-Identifier: Apache-2.0
//
// Quantisation of tensors by one scale and one zero point: real = (n - zero) * scale, and back
// n = saturate(rint(real / scale) + zero), ties to even before the zero point is added (as
// ONNX's QuantizeLinear). Scale and zero point are inputs of one number; a zero point that is
// left out is 0.
#ifndef REFERENCE_QUANTIZED_H_
#define REFERENCE_QUANTIZED_H_

#include "kernel.h"

typedef struct ref_quantizer {
  double scale, zero;
  double low, high;  // of the integer type
  double tie_shift;  // see ref_tie_shift
} ref_quantizer;

// Refuses an input that is there and is not one number.
int32_t ref_need_one(const ref_prepare *prepare, uint64_t input);

// The contents of an input of one number; `otherwise` if it is absent.
double ref_one(const ref_run *run, uint64_t input, double otherwise);

// A quantiser of the integer type of `element`.
ref_quantizer ref_quantizer_read(const ref_run *run, uint64_t scale, uint64_t zero,
                                 const ref_element *element);

// The quantisation to uint8 that covers the range of a tensor, computed in float
// (DynamicQuantizeLinear).
typedef struct ref_dynamic_scale {
  float scale;
  double zero;
  double tie_shift;  // the caller's; 0 else
} ref_dynamic_scale;

ref_dynamic_scale ref_dynamic_scale_of(const ref_view *view);
double ref_dynamic_quantize(const ref_dynamic_scale *scale, double real);

double ref_quantize(const ref_quantizer *quantizer, double real);
// Of the real number numerator / denominator, with one division: ties are found exactly.
double ref_quantize_ratio(const ref_quantizer *quantizer, double numerator, double denominator);
double ref_dequantize(const ref_quantizer *quantizer, double number);

#endif  // REFERENCE_QUANTIZED_H_

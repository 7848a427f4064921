// SPDX-License-Identifier: Apache-2.0
//
// See quantized.h.
#include "quantized.h"

#include <math.h>

int32_t ref_need_one(const ref_prepare *p, uint64_t input) {
  if (!ref_has(p, input) || ref_count(p->inputs[input].dims, p->inputs[input].rank) == 1)
    return OPS_OK;
  return ref_refuse(p, "input %s: expected one number", ref_input_name(p->kernel, input));
}

double ref_one(const ref_run *run, uint64_t input, double otherwise) {
  return ref_given(run, input) ? ref_at(&run->inputs[input], 0) : otherwise;
}

ref_quantizer ref_quantizer_read(const ref_run *run, uint64_t scale, uint64_t zero,
                                 const ref_element *element) {
  const int is_signed = element->kind == REF_SIGNED;
  const double high = ldexp(1, element->bits - is_signed) - 1;
  return (ref_quantizer){.scale = ref_one(run, scale, 1),
                         .zero = ref_one(run, zero, 0),
                         .low = is_signed ? -high - 1 : 0,
                         .high = high,
                         .tie_shift = ref_tie_shift(run)};
}

double ref_quantize_ratio(const ref_quantizer *q, double numerator, double denominator) {
  const double value = rint(numerator / (denominator * q->scale) + q->tie_shift) + q->zero;
  return value > q->high ? q->high : value < q->low ? q->low : value;
}

double ref_quantize(const ref_quantizer *q, double real) {
  return ref_quantize_ratio(q, real, 1);
}

double ref_dequantize(const ref_quantizer *q, double number) {
  return (number - q->zero) * q->scale;
}

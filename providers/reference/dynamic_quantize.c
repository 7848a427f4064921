// SPDX-License-Identifier: Apache-2.0
//
// DynamicQuantizeLinear: the scale of 8 bits from the range of the input, which is widened to
// hold 0. Its function body computes in float, which decides ties; so does this.
#include <math.h>

#include "operators.h"
#include "quantized.h"

static int32_t prepare(ref_prepare *p) {
  RETURN_IF_ERROR(ref_set_shape(p, 1, 0, NULL));
  RETURN_IF_ERROR(ref_set_shape(p, 2, 0, NULL));
  return ref_same_shape(p, 0, 0);
}

static double bounded(float value) {
  return value > 255 ? 255 : value > 0 ? value : 0;
}

ref_dynamic_scale ref_dynamic_scale_of(const ref_view *x) {
  float low = 0, high = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    float value = (float)ref_at(x, ref_offset_of(x, i));
    low = fminf(low, value);
    high = fmaxf(high, value);
  }
  float scale = (high - low) / 255;
  return (ref_dynamic_scale){scale, scale > 0 ? rint(bounded((0 - low) / scale)) : 0, 0};
}

double ref_dynamic_quantize(const ref_dynamic_scale *s, double x) {
  float quotient = s->scale > 0 ? (float)x / s->scale : 0;
  return bounded((float)(rint((double)quotient + s->tie_shift) + s->zero));
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  ref_dynamic_scale s = ref_dynamic_scale_of(x);
  s.tie_shift = ref_tie_shift(run);
  double scale = s.scale, zero = s.zero;
  if (ref_wanted(run, 1)) ref_store(&run->outputs[1], 0, 1, 1, &scale);
  if (ref_wanted(run, 2)) ref_store(&run->outputs[2], 0, 1, 1, &zero);
  for (int64_t i = 0; ref_wanted(run, 0) && i < x->count; ++i) {
    double value = ref_dynamic_quantize(&s, ref_at(x, ref_offset_of(x, i)));
    ref_store(y, ref_offset_of(y, i), 1, 1, &value);
  }
  return OPS_OK;
}

const ref_op ref_dynamic_quantize_linear = {0, prepare, execute, NULL, NULL};

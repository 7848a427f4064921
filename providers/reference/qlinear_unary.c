// SPDX-License-Identifier: Apache-2.0
//
// QLinearLeakyRelu, QLinearSigmoid: a function of the real values of a quantised tensor,
// quantised again. As there are 256 different elements at most, the function is tabulated.
#include <math.h>

#include "microsoft_operators.h"
#include "quantized.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

typedef struct unary_row {
  double (*function)(double x, double alpha);
} unary_row;

static double leaky_relu(double x, double alpha) {
  return x < 0 ? alpha * x : x;
}

static double sigmoid(double x, double alpha) {
  (void)alpha;
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static int32_t prepare(ref_prepare *p) {
  double *alpha = p->state;
  *alpha = ref_attr_float(p->kernel, "alpha", 0.01f);
  for (uint64_t i = X_SCALE; i <= Y_ZERO; ++i) RETURN_IF_ERROR(ref_need_one(p, i));
  return ref_same_shape(p, 0, X);
}

static int32_t execute(ref_run *run) {
  const unary_row *row = run->kernel->op->family;
  const double *alpha = run->state;
  const ref_view *x = &run->inputs[X], *y = &run->outputs[0];
  const ref_quantizer from = ref_quantizer_read(run, X_SCALE, X_ZERO, x->element);
  const ref_quantizer to = ref_quantizer_read(run, Y_SCALE, Y_ZERO, y->element);
  double table[256];
  for (int i = 0; i < 256; ++i)
    table[i] = ref_quantize(&to, row->function(ref_dequantize(&from, from.low + i), *alpha));
  for (int64_t i = 0; i < x->count; ++i) {
    const int64_t index = ref_int_at(x, ref_offset_of(x, i)) - (int64_t)from.low;
    ref_store(y, ref_offset_of(y, i), 1, 1, &table[index]);
  }
  return OPS_OK;
}

static const unary_row leaky_relu_row = {leaky_relu}, sigmoid_row = {sigmoid};
const ref_op ref_qlinear_leaky_relu = {sizeof(double), prepare, execute, &leaky_relu_row, NULL};
const ref_op ref_qlinear_sigmoid = {sizeof(double), prepare, execute, &sigmoid_row, NULL};

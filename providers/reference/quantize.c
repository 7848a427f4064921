// SPDX-License-Identifier: Apache-2.0
//
// QuantizeLinear: saturate(round(x / scale) + zero point), rounding half to even, and
// DequantizeLinear: (x - zero point) * scale. Scale and zero point are one number, one per
// position of an axis, or (opset 21) one per block along it. Into floating-point types the
// quotient is rounded by the type itself. The specification names the precision of the division
// (attribute precision, else the type of the scale): the quotient is rounded to it first, which
// decides ties.
#include <math.h>

#include "operators.h"
#include "traverse.h"

enum { X, SCALE, ZERO_POINT };
enum { PER_TENSOR, PER_AXIS, PER_BLOCK };

typedef struct quantize_state {
  int32_t form;
  int32_t axis;
  int32_t saturate;
  int32_t precision;  // type of the quotient; 0: double
  int64_t block;
} quantize_state;

static int32_t read_blocks(ref_prepare *p, quantize_state *s) {
  const ref_shape *x = &p->inputs[X];
  int64_t wanted[OPS_MAX_RANK];
  RETURN_IF_ERROR(ref_need_rank(p, SCALE, x->rank, x->rank));
  if (s->block < 1) return ref_refuse(p, "attribute block_size: expected at least 1");
  for (int32_t i = 0; i < x->rank; ++i)
    wanted[i] = i == s->axis ? (x->dims[i] + s->block - 1) / s->block : x->dims[i];
  return ref_need_dims(p, SCALE, x->rank, wanted);
}

static int32_t read_form(ref_prepare *p) {
  quantize_state *s = p->state;
  const ref_shape *x = &p->inputs[X], *scale = &p->inputs[SCALE];
  int64_t axis = ref_attr_int(p->kernel, "axis", 1);
  s->block = ref_attr_int(p->kernel, "block_size", 0);
  s->saturate = ref_attr_int(p->kernel, "saturate", 1) != 0;
  s->form = s->block != 0                                                  ? PER_BLOCK
            : scale->rank == 0 || ref_count(scale->dims, scale->rank) == 1 ? PER_TENSOR
                                                                           : PER_AXIS;
  if (s->form != PER_TENSOR) RETURN_IF_ERROR(ref_axis(p, axis, x->rank, &s->axis));
  if (s->form == PER_BLOCK) RETURN_IF_ERROR(read_blocks(p, s));
  if (s->form == PER_AXIS && (scale->rank != 1 || scale->dims[0] != x->dims[s->axis]))
    return ref_refuse(p,
                      "input %s: expected a scalar or %lld numbers, one per position of axis "
                      "%d",
                      ref_input_name(p->kernel, SCALE), (long long)x->dims[s->axis], s->axis);
  if (ref_has(p, ZERO_POINT)) {
    const ref_shape *zero = &p->inputs[ZERO_POINT];
    int same = zero->rank == scale->rank;
    for (int32_t i = 0; same && i < zero->rank; ++i) same = zero->dims[i] == scale->dims[i];
    if (!same && ref_count(zero->dims, zero->rank) != 1)
      return ref_refuse(p, "input %s: expected the shape of the scale",
                        ref_input_name(p->kernel, ZERO_POINT));
  }
  return ref_same_shape(p, 0, X);
}

static int32_t prepare_quantize(ref_prepare *p) {
  int64_t type = ref_attr_int(p->kernel, "output_dtype", 0);
  if (type <= 0 || type >= OPS_TYPE_COUNT) type = OPS_TYPE_UINT8;
  if (ref_has(p, ZERO_POINT)) type = p->inputs[ZERO_POINT].type;
  if (ref_element_of((int32_t)type) == NULL || ref_element_of((int32_t)type)->store == NULL)
    return ref_refuse(p, "attribute output_dtype: %lld is no type to quantize to",
                      (long long)type);
  p->outputs[0].type = (int32_t)type;
  quantize_state *s = p->state;
  int64_t precision = ref_attr_int(p->kernel, "precision", 0);
  if (precision <= 0) precision = p->inputs[SCALE].type;
  int is_real = precision == OPS_TYPE_FLOAT || precision == OPS_TYPE_FLOAT16 ||
                precision == OPS_TYPE_BFLOAT16;
  s->precision = is_real ? (int32_t)precision : 0;
  return read_form(p);
}

static int32_t prepare_dequantize(ref_prepare *p) {
  int64_t type = ref_attr_int(p->kernel, "output_dtype", 0);
  if (type <= 0) type = p->inputs[SCALE].type;
  if (type != OPS_TYPE_FLOAT && type != OPS_TYPE_FLOAT16 && type != OPS_TYPE_BFLOAT16)
    return ref_refuse(p,
                      "attribute output_dtype: expected float, float16 or bfloat16, found "
                      "type %lld",
                      (long long)type);
  p->outputs[0].type = (int32_t)type;
  return read_form(p);
}

static double parameter(const ref_run *run, uint64_t input, const int64_t *index,
                        double otherwise) {
  const quantize_state *s = run->state;
  if (!ref_given(run, input)) return otherwise;
  const ref_view *view = &run->inputs[input];
  if (view->count == 1) return ref_at(view, 0);
  if (s->form == PER_AXIS) return ref_at(view, index[s->axis] * view->strides[0]);
  int64_t offset = ref_dot(index, view->strides, view->rank);
  int64_t at = index[s->axis];
  return ref_at(view, offset + (at / s->block - at) * view->strides[s->axis]);
}

static double round_to(int32_t type, double value) {
  uint32_t bits;
  const ref_element *element = ref_element_of(type);
  if (element == NULL) return value;
  element->store(&bits, 0, 1, 1, &value);
  element->load(&bits, 0, 1, 1, &value);
  return value;
}

static void quantize_element(const ref_run *run, const int64_t *index, int64_t to, double x) {
  const quantize_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  double value = round_to(s->precision, x / parameter(run, SCALE, index, 1));
  double zero = parameter(run, ZERO_POINT, index, 0);
  if (!ref_is_integer(y)) {
    value += zero;
    if (y->element->bits == 8)
      ((uint8_t *)y->data)[y->origin + to] = (uint8_t)ref_encode(y->type, value, s->saturate);
    else
      ref_store(y, to, 1, 1, &value);
    return;
  }
  int is_signed = y->element->kind == REF_SIGNED;
  double high = ldexp(1, y->element->bits - is_signed) - 1, low = is_signed ? -high - 1 : 0;
  value = rint(value + ref_tie_shift(run)) + zero;
  value = value > high ? high : value < low ? low : value;
  ref_store(y, to, 1, 1, &value);
}

static void dequantize_element(const ref_run *run, const int64_t *index, int64_t to, double x) {
  double value = (x - parameter(run, ZERO_POINT, index, 0)) * parameter(run, SCALE, index, 1);
  ref_store(&run->outputs[0], to, 1, 1, &value);
}

static int32_t run_all(ref_run *run,
                       void (*element)(const ref_run *, const int64_t *, int64_t, double)) {
  const ref_view *x = &run->inputs[X], *y = &run->outputs[0];
  int64_t index[OPS_MAX_RANK] = {0};
  if (x->count == 0) return OPS_OK;
  do
    element(run, index, ref_dot(index, y->strides, y->rank),
            ref_at(x, ref_dot(index, x->strides, x->rank)));
  while (ref_count_up(index, x->dims, x->rank));
  return OPS_OK;
}

static int32_t execute_quantize(ref_run *run) {
  return run_all(run, quantize_element);
}

static int32_t execute_dequantize(ref_run *run) {
  return run_all(run, dequantize_element);
}

const ref_op ref_quantize_linear = {sizeof(quantize_state), prepare_quantize, execute_quantize,
                                    NULL, NULL};
const ref_op ref_dequantize_linear = {sizeof(quantize_state), prepare_dequantize,
                                      execute_dequantize, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// QLinearConcat: tensors side by side along an axis, each quantised in its own way, brought to
// one quantisation. The inputs are scale and zero point of the result, then a tensor, its scale
// and its zero point as often as there are tensors.
#include "microsoft_operators.h"
#include "quantized.h"
#include "traverse.h"

enum { Y_SCALE, Y_ZERO, FIRST, GROUP = 3 };

typedef struct concat_state {
  int32_t axis;
} concat_state;

// Tensor, scale and zero point of a part.
static int32_t check_types(const ref_prepare *p, uint64_t first) {
  const ref_shape *x = &p->inputs[first], *scale = x + 1, *zero = x + 2;
  if (x->type != OPS_TYPE_UINT8 && x->type != OPS_TYPE_INT8)
    return ref_refuse(p, "input %u: expected a tensor of uint8 or int8", (unsigned)first);
  if (scale->type != OPS_TYPE_FLOAT)
    return ref_refuse(p, "input %u: expected a scale, of type float", (unsigned)first + 1);
  if (zero->type != x->type)
    return ref_refuse(p, "input %u: expected a zero point of the type of input %u",
                      (unsigned)first + 2, (unsigned)first);
  RETURN_IF_ERROR(ref_need_one(p, first + 1));
  return ref_need_one(p, first + 2);
}

static int32_t add_part(ref_prepare *p, uint64_t first) {
  const concat_state *s = p->state;
  const ref_shape *x = &p->inputs[first];
  ref_shape *y = &p->outputs[0];
  RETURN_IF_ERROR(check_types(p, first));
  RETURN_IF_ERROR(ref_need_rank(p, first, y->rank, y->rank));
  for (int32_t i = 0; i < y->rank; ++i)
    if (i != s->axis && x->dims[i] != y->dims[i])
      return ref_refuse(p,
                        "input %u: dimension %d is %lld, expected %lld as in the first tensor",
                        (unsigned)first, i, (long long)x->dims[i], (long long)y->dims[i]);
  if (__builtin_add_overflow(y->dims[s->axis], x->dims[s->axis], &y->dims[s->axis]))
    return ref_refuse(p, "the output is too large");
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  concat_state *s = p->state;
  if (p->input_count < FIRST + GROUP || (p->input_count - FIRST) % GROUP != 0)
    return ref_refuse(p, "has %u inputs, expected 2 and then 3 for each tensor",
                      (unsigned)p->input_count);
  RETURN_IF_ERROR(ref_need_one(p, Y_SCALE));
  RETURN_IF_ERROR(ref_need_one(p, Y_ZERO));
  RETURN_IF_ERROR(ref_same_shape(p, 0, FIRST));
  if (!ref_attr(p->kernel, "axis")) return ref_refuse(p, "the attribute 'axis' is required");
  RETURN_IF_ERROR(
      ref_axis(p, ref_attr_int(p->kernel, "axis", 0), p->outputs[0].rank, &s->axis));
  p->outputs[0].dims[s->axis] = 0;
  for (uint64_t k = FIRST; k < p->input_count; k += GROUP) RETURN_IF_ERROR(add_part(p, k));
  return OPS_OK;
}

// Copies `x` to where it starts in `y`.
static void requantize(const ref_view *x, const ref_quantizer *from, const ref_view *y,
                       int64_t start, const ref_quantizer *to) {
  int64_t index[OPS_MAX_RANK] = {0};
  if (x->count == 0) return;
  do {
    const double number = ref_at(x, ref_dot(index, x->strides, x->rank));
    const double result = ref_quantize(to, ref_dequantize(from, number));
    ref_store(y, start + ref_dot(index, y->strides, y->rank), 1, 1, &result);
  } while (ref_count_up(index, x->dims, x->rank));
}

static int32_t execute(ref_run *run) {
  const concat_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  const ref_quantizer to = ref_quantizer_read(run, Y_SCALE, Y_ZERO, y->element);
  int64_t start = 0;
  for (uint64_t k = FIRST; k < run->input_count; k += GROUP) {
    const ref_view *x = &run->inputs[k];
    const ref_quantizer from = ref_quantizer_read(run, k + 1, k + 2, x->element);
    requantize(x, &from, y, start, &to);
    start += x->dims[s->axis] * y->strides[s->axis];
  }
  return OPS_OK;
}

const ref_op ref_qlinear_concat = {sizeof(concat_state), prepare, execute, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// NonZero and Compress: outputs whose size depends on the contents, so execute sets their
// shape.
#include "operators.h"
#include "traverse.h"

static int32_t prepare_non_zero(ref_prepare *p) {
  p->outputs[0].by_execute = 1;
  p->outputs[0].rank = 2;
  return OPS_OK;
}

// Both parts of a complex number.
static int is_complex_zero(const ref_view *x, int64_t at) {
  float narrow[2];
  double wide[2];
  int is_narrow = x->element->bits == 64;
  ref_move_bits(x->element->bits, is_narrow ? (void *)narrow : (void *)wide, 0, 1, x->data,
                x->origin + at, 1, 1);
  return is_narrow ? narrow[0] == 0 && narrow[1] == 0 : wide[0] == 0 && wide[1] == 0;
}

// The empty string is the zero of strings, as in numpy.
static int is_zero(const ref_view *x, int64_t at) {
  ops_str text = {NULL, 0};
  if (x->element->kind == REF_STRING)
    return x->values->string_get(x->value, (uint64_t)at, &text, NULL) != OPS_OK ||
           text.size == 0;
  if (x->element->kind == REF_COMPLEX) return is_complex_zero(x, at);
  return ref_is_integer(x) ? ref_int_at(x, at) == 0 : ref_at(x, at) == 0;
}

static int32_t execute_non_zero(ref_run *run) {
  const ref_view *x = &run->inputs[0];
  // A scalar counts as a vector of one element, whose index is 0.
  int64_t dims[2] = {x->rank, 0}, index[OPS_MAX_RANK] = {0};
  for (int64_t i = 0; i < x->count; ++i) dims[1] += !is_zero(x, ref_offset_of(x, i));
  if (x->rank == 0) dims[0] = 1;
  RETURN_IF_ERROR(ref_set_output(run, 0, 2, dims));
  const ref_view *y = &run->outputs[0];
  int64_t column = 0;
  if (dims[1] == 0) return OPS_OK;
  do {
    if (is_zero(x, ref_dot(index, x->strides, x->rank))) continue;
    ref_store_int(y, column++ * y->strides[1], y->strides[0], dims[0], index);
  } while (ref_count_up(index, x->dims, x->rank));
  return OPS_OK;
}

typedef struct compress_state {
  int32_t flat;
  int32_t axis;
} compress_state;

static int32_t prepare_compress(ref_prepare *p) {
  compress_state *s = p->state;
  s->flat = ref_attr(p->kernel, "axis") == NULL;
  RETURN_IF_ERROR(ref_need_rank(p, 1, 1, 1));
  if (!s->flat)
    RETURN_IF_ERROR(
        ref_axis(p, ref_attr_int(p->kernel, "axis", 0), p->inputs[0].rank, &s->axis));
  p->outputs[0].by_execute = 1;
  p->outputs[0].rank = s->flat ? 1 : p->inputs[0].rank;
  return OPS_OK;
}

// The condition may be shorter than the axis, which it then cuts off; what is longer must be
// false.
static int32_t count_selected(ref_run *run, int64_t limit, int64_t *out_count) {
  const ref_view *condition = &run->inputs[1];
  *out_count = 0;
  for (int64_t i = 0; i < condition->count; ++i) {
    int on = ref_int_at(condition, i * condition->strides[0]) != 0;
    if (on && i >= limit)
      return ref_refuse(run, "input condition: entry %lld selects beyond %lld elements",
                        (long long)i, (long long)limit);
    *out_count += on;
  }
  return OPS_OK;
}

static int32_t execute_compress(ref_run *run) {
  const compress_state *s = run->state;
  const ref_view *x = &run->inputs[0], *condition = &run->inputs[1];
  int64_t dims[OPS_MAX_RANK] = {0}, count, slot = 0;
  RETURN_IF_ERROR(count_selected(run, s->flat ? x->count : x->dims[s->axis], &count));
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[s->flat ? 0 : s->axis] = count;
  RETURN_IF_ERROR(ref_set_output(run, 0, s->flat ? 1 : x->rank, dims));
  const ref_view *y = &run->outputs[0];
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = i == s->axis ? 1 : x->dims[i];
  for (int64_t i = 0; i < condition->count; ++i) {
    if (ref_int_at(condition, i * condition->strides[0]) == 0) continue;
    if (s->flat)
      RETURN_IF_ERROR(
          ref_move(y, slot * y->strides[0], 1, x, ref_offset_of(x, i), 1, 1, run->error));
    else
      RETURN_IF_ERROR(ref_move_block((ref_block){y, slot * y->strides[s->axis], y->strides},
                                     (ref_block){x, i * x->strides[s->axis], x->strides},
                                     x->rank, dims, run->error));
    ++slot;
  }
  return OPS_OK;
}

const ref_op ref_non_zero = {0, prepare_non_zero, execute_non_zero, NULL, NULL};
const ref_op ref_compress = {sizeof(compress_state), prepare_compress, execute_compress, NULL,
                             NULL};

// SPDX-License-Identifier: Apache-2.0
#include "dense.h"

#include <string.h>

typedef void (*row_body)(const ref_view *view, int64_t first, int64_t step, int64_t n,
                         void *data);

static void each_row(const ref_view *view, row_body body, char *data, int64_t size) {
  if (view->count <= 0) return;
  ref_walk_operand at;
  ref_walk walk;
  memcpy(at.strides, view->strides, sizeof at.strides);
  ref_walk_init(&walk, view->rank, view->dims, &at, 1);
  do {
    body(view, at.offset, ref_walk_step(&walk, 0), walk.row, data);
    data += walk.row * size;
  } while (ref_walk_next(&walk));
}

static void load_reals(const ref_view *view, int64_t first, int64_t step, int64_t n,
                       void *data) {
  ref_load(view, first, step, n, data);
}

static void store_reals(const ref_view *view, int64_t first, int64_t step, int64_t n,
                        void *data) {
  ref_store(view, first, step, n, data);
}

static void load_ints(const ref_view *view, int64_t first, int64_t step, int64_t n,
                      void *data) {
  ref_load_int(view, first, step, n, data);
}

static void store_ints(const ref_view *view, int64_t first, int64_t step, int64_t n,
                       void *data) {
  ref_store_int(view, first, step, n, data);
}

void ref_read_reals(const ref_view *view, double *out) {
  each_row(view, load_reals, (char *)out, sizeof *out);
}

void ref_write_reals(const ref_view *view, const double *in) {
  each_row(view, store_reals, (char *)in, sizeof *in);
}

void ref_read_ints(const ref_view *view, int64_t *out) {
  each_row(view, load_ints, (char *)out, sizeof *out);
}

void ref_write_ints(const ref_view *view, const int64_t *in) {
  each_row(view, store_ints, (char *)in, sizeof *in);
}

uint64_t ref_reserve_input(ref_prepare *p, uint64_t input) {
  if (!ref_has(p, input)) return ref_reserve(p, 0);
  return ref_reserve_reals(p, ref_count(p->inputs[input].dims, p->inputs[input].rank));
}

double *ref_reals(const ref_run *run, uint64_t at) {
  return (double *)((char *)run->workspace + at);
}

int64_t *ref_ints(const ref_run *run, uint64_t at) {
  return (int64_t *)((char *)run->workspace + at);
}

const double *ref_input_reals(const ref_run *run, uint64_t input, uint64_t at) {
  if (!ref_given(run, input)) return NULL;
  ref_read_reals(&run->inputs[input], ref_reals(run, at));
  return ref_reals(run, at);
}

const int64_t *ref_input_ints(const ref_run *run, uint64_t input, uint64_t at) {
  if (!ref_given(run, input)) return NULL;
  ref_read_ints(&run->inputs[input], ref_ints(run, at));
  return ref_ints(run, at);
}

int32_t ref_clear(const ref_view *view, ops_error *error) {
  static const double zero[2] = {0, 0};
  for (int64_t i = 0; i < view->count; ++i) {
    int64_t at = ref_offset_of(view, i);
    if (view->element->bits != 0)
      ref_move_bits(view->element->bits, view->data, view->origin + at, 1, zero, 0, 1, 1);
    else
      RETURN_IF_ERROR(
          view->values->string_set(view->value, (uint64_t)at, (ops_str){"", 0}, error));
  }
  return OPS_OK;
}

ref_view ref_parts(const ref_view *view) {
  ref_view parts = *view;
  if (view->element->kind != REF_COMPLEX || view->rank >= OPS_MAX_RANK) return parts;
  parts.type = view->element->bits == 64 ? OPS_TYPE_FLOAT : OPS_TYPE_DOUBLE;
  parts.element = ref_element_of(parts.type);
  for (int32_t i = 0; i < view->rank; ++i) parts.strides[i] *= 2;
  parts.dims[view->rank] = 2;
  parts.strides[view->rank] = 1;
  parts.rank = view->rank + 1;
  parts.origin *= 2;
  parts.count *= 2;
  return parts;
}

int32_t ref_need_small(const ref_prepare *p, uint64_t input) {
  const int64_t most = (int64_t)1 << 40;
  for (int32_t i = 0; ref_has(p, input) && i < p->inputs[input].rank; ++i)
    if (p->inputs[input].dims[i] > most)
      return ref_refuse(p, "input %s: dimension %d is %lld, expected at most %lld",
                        ref_input_name(p->kernel, input), i,
                        (long long)p->inputs[input].dims[i], (long long)most);
  return OPS_OK;
}

int32_t ref_scalar(const ref_prepare *p, uint64_t input, int64_t *out) {
  int64_t count;
  RETURN_IF_ERROR(ref_contents(p, input, out, 1, &count));
  if (count != 1)
    return ref_refuse(p, "input %s: expected one number, found none",
                      ref_input_name(p->kernel, input));
  return OPS_OK;
}

int32_t ref_output_type(ref_prepare *p, uint64_t output, const char *attribute,
                        int32_t otherwise, uint64_t set) {
  int64_t type = ref_attr_int(p->kernel, attribute, otherwise);
  if (type <= 0 || type >= OPS_TYPE_COUNT || !(set >> type & 1))
    return ref_refuse(p, "attribute %s: %lld is no type that the operator can produce",
                      attribute, (long long)type);
  if (output < p->output_count) p->outputs[output].type = (int32_t)type;
  return OPS_OK;
}

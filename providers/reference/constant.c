// SPDX-License-Identifier: Apache-2.0
//
// Constant and ConstantOfShape.
#include <string.h>

#include "operators.h"

// ---- Constant: exactly one of its attributes is given --------------------------------------

typedef struct constant_state {
  const ref_attribute *value;
} constant_state;

static const struct {
  const char *name;
  int32_t type;
  int32_t rank;
} forms[] = {
    {"value_float", OPS_TYPE_FLOAT, 0},   {"value_floats", OPS_TYPE_FLOAT, 1},
    {"value_int", OPS_TYPE_INT64, 0},     {"value_ints", OPS_TYPE_INT64, 1},
    {"value_string", OPS_TYPE_STRING, 0}, {"value_strings", OPS_TYPE_STRING, 1},
};

static int32_t prepare_sparse(ref_prepare *p, const ref_sparse *sparse) {
  const ref_view *values = &sparse->values, *indices = &sparse->indices;
  int fits = values->rank == 1 && indices->type == OPS_TYPE_INT64 &&
             (indices->rank == 1 || (indices->rank == 2 && indices->dims[1] == sparse->rank)) &&
             indices->dims[0] == values->count;
  if (!fits)
    return ref_refuse(p,
                      "attribute sparse_value: expected one int64 position, or a vector of %d, "
                      "for each of %lld values",
                      sparse->rank, (long long)values->count);
  p->outputs[0].type = values->type;
  return ref_set_shape(p, 0, sparse->rank, sparse->dims);
}

static int32_t prepare_constant(ref_prepare *p) {
  constant_state *state = p->state;
  ref_view tensor;
  if (p->kernel->attribute_count != 1)
    return ref_refuse(p, "expected exactly one attribute, found %llu",
                      (unsigned long long)p->kernel->attribute_count);
  state->value = ref_attr(p->kernel, "sparse_value");
  if (state->value != NULL && state->value->sparse != NULL)
    return prepare_sparse(p, state->value->sparse);
  state->value = ref_attr(p->kernel, "value");
  if (state->value != NULL && ref_attr_tensor(p->kernel, state->value, &tensor) == OPS_OK) {
    p->outputs[0].type = tensor.type;
    return ref_set_shape(p, 0, tensor.rank, tensor.dims);
  }
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    state->value = ref_attr(p->kernel, forms[i].name);
    if (state->value == NULL) continue;
    p->outputs[0].type = forms[i].type;
    return ref_set_shape(p, 0, forms[i].rank, &state->value->count);
  }
  return ref_refuse(p,
                    "expected one of the attributes value, sparse_value, value_float(s), "
                    "value_int(s), value_string(s)");
}

// Every element becomes the one of `from`.
static int32_t fill_with(ref_run *run, const ref_view *from) {
  const ref_view *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_walk_operand at;
  memcpy(at.strides, y->strides, sizeof at.strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, &at, 1);
  do
    RETURN_IF_ERROR(
        ref_move(y, at.offset, ref_walk_step(&walk, 0), from, 0, 0, walk.row, run->error));
  while (ref_walk_next(&walk));
  return OPS_OK;
}

// Where value `i` goes: an offset in `y`; -1 if it lies outside.
static int64_t place_of(const ref_sparse *sparse, const ref_view *y, int64_t i) {
  const ref_view *indices = &sparse->indices;
  int64_t offset = 0;
  if (indices->rank == 1) {
    int64_t position = ref_int_at(indices, i * indices->strides[0]);
    return position >= 0 && position < y->count ? ref_offset_of(y, position) : -1;
  }
  for (int32_t d = 0; d < y->rank; ++d) {
    int64_t at = ref_int_at(indices, i * indices->strides[0] + d * indices->strides[1]);
    if (at < 0 || at >= y->dims[d]) return -1;
    offset += at * y->strides[d];
  }
  return offset;
}

static int32_t execute_sparse(ref_run *run, const ref_sparse *sparse) {
  static const uint64_t nought[2];
  const ref_view *y = &run->outputs[0], *values = &sparse->values;
  ref_view zero;
  for (int64_t i = 0; i < values->count; ++i)
    if (place_of(sparse, y, i) < 0)
      return ref_refuse(run, "attribute sparse_value: index %lld lies outside the shape",
                        (long long)i);
  ref_view_of(&zero, (void *)nought, y->type, 0, NULL);
  RETURN_IF_ERROR(fill_with(run, &zero));
  for (int64_t i = 0; i < values->count; ++i)
    RETURN_IF_ERROR(ref_move(y, place_of(sparse, y, i), 1, values, i * values->strides[0], 1, 1,
                             run->error));
  return OPS_OK;
}

static int32_t execute_constant(ref_run *run) {
  const constant_state *state = run->state;
  const ref_attribute *value = state->value;
  const ref_view *y = &run->outputs[0];
  ref_view tensor;
  if (value->sparse != NULL) return execute_sparse(run, value->sparse);
  if (ref_attr_tensor(run->kernel, value, &tensor) == OPS_OK)
    return ref_copy_elements(run, &tensor, y);
  int64_t step = y->rank == 1 ? y->strides[0] : 1;
  for (int64_t i = 0; i < y->count; ++i) {
    if (value->strings != NULL)
      RETURN_IF_ERROR(
          y->values->string_set(y->value, (uint64_t)i, value->strings[i], run->error));
    else
      ref_move_bits(
          y->element->bits, y->data, y->origin + i * step, 1,
          value->ints != NULL ? (const void *)value->ints : (const void *)value->floats, i, 1,
          1);
  }
  return OPS_OK;
}

// ---- ConstantOfShape -----------------------------------------------------------------------

static int32_t prepare_fill(ref_prepare *p) {
  int64_t dims[OPS_MAX_RANK];
  int64_t rank;
  RETURN_IF_ERROR(ref_contents(p, 0, dims, OPS_MAX_RANK, &rank));
  for (int64_t i = 0; i < rank; ++i)
    if (dims[i] < 0)
      return ref_refuse(p, "input input: dimension %lld is %lld, expected at least 0",
                        (long long)i, (long long)dims[i]);
  const ref_attribute *value = ref_attr(p->kernel, "value");
  if (value != NULL && (value->tensor == NULL || value->tensor->count != 1))
    return ref_refuse(p, "attribute value: expected a tensor of one element");
  p->outputs[0].type = value == NULL ? OPS_TYPE_FLOAT : value->tensor->type;
  return ref_set_shape(p, 0, (int32_t)rank, dims);
}

static int32_t execute_fill(ref_run *run) {
  const ref_attribute *value = ref_attr(run->kernel, "value");
  ref_view zero;
  float nought = 0;
  ref_view_of(&zero, &nought, OPS_TYPE_FLOAT, 0, NULL);
  const ref_view *from = value == NULL ? &zero : value->tensor;
  return fill_with(run, from);
}

const ref_op ref_constant = {sizeof(constant_state), prepare_constant, execute_constant, NULL,
                             NULL};
const ref_op ref_constant_of_shape = {0, prepare_fill, execute_fill, NULL, NULL};

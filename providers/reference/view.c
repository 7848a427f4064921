// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include <string.h>

int64_t ref_count(const int64_t *dims, int32_t rank) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] == 0) return 0;
  for (int32_t i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(count, dims[i], &count)) return -1;
  return count;
}

void ref_row_major(const int64_t *dims, int32_t rank, int64_t *out_strides) {
  int64_t stride = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    out_strides[i] = stride;
    // Wraps around only where another dimension is 0 and no stride is used.
    if (dims[i] > 1) stride = (int64_t)((uint64_t)stride * (uint64_t)dims[i]);
  }
}

void ref_view_of(ref_view *view, void *data, int32_t type, int32_t rank, const int64_t *dims) {
  view->data = data;
  view->value = NULL;
  view->values = NULL;
  view->element = ref_element_of(type);
  view->present = 1;
  view->type = type;
  view->rank = rank;
  view->origin = 0;
  view->count = ref_count(dims, rank);
  for (int32_t i = 0; i < rank; ++i) view->dims[i] = dims[i];
  ref_row_major(view->dims, rank, view->strides);
}

static int32_t init_strings(ref_view *view, ops_value *value, const ops_value_api *values) {
  int32_t rank = 0;
  const int64_t *dims = NULL;
  if (values->strings_shape(value, &rank, &dims, NULL) != OPS_OK || rank > OPS_MAX_RANK)
    return OPS_ERROR_INVALID_ARGUMENT;
  ref_view_of(view, NULL, OPS_TYPE_STRING, rank, dims);
  return OPS_OK;
}

static int32_t init_tensor(ref_view *view, const ops_tensor *tensor) {
  const ref_element *element = ref_element_of(tensor->type);
  if (element == NULL || element->bits == 0 || tensor->layout != OPS_LAYOUT_STRIDED ||
      tensor->rank < 0 || tensor->rank > OPS_MAX_RANK)
    return OPS_ERROR_INVALID_ARGUMENT;
  ref_view_of(view, NULL, tensor->type, tensor->rank, tensor->dims);
  if (tensor->strides != NULL)
    for (int32_t i = 0; i < tensor->rank; ++i) view->strides[i] = tensor->strides[i];
  if (view->count == 0) return OPS_OK;
  view->data = (char *)tensor->memory + tensor->byte_offset;
  view->origin = tensor->bit_offset / (uint32_t)element->bits;
  return OPS_OK;
}

int32_t ref_view_init(ref_view *view, const ops_arg *arg, const ops_value_api *values) {
  memset(view, 0, sizeof *view);
  if (arg->kind == OPS_ARG_ABSENT) return OPS_OK;
  if (arg->kind == OPS_ARG_TENSOR) return init_tensor(view, &arg->tensor);
  if (arg->kind != OPS_ARG_VALUE || values == NULL) return OPS_ERROR_INVALID_ARGUMENT;
  if (values->kind(arg->value) == OPS_VALUE_STRINGS) {
    int32_t status = init_strings(view, arg->value, values);
    if (status != OPS_OK) return status;
  }
  view->present = 1;
  view->value = arg->value;
  view->values = values;
  return OPS_OK;
}

int ref_is_integer(const ref_view *view) {
  return view->element->load_int != NULL;
}

int ref_is_contiguous(const ref_view *view) {
  int64_t strides[OPS_MAX_RANK];
  ref_row_major(view->dims, view->rank, strides);
  for (int32_t i = 0; i < view->rank; ++i)
    if (view->dims[i] > 1 && strides[i] != view->strides[i]) return 0;
  return 1;
}

void ref_load(const ref_view *view, int64_t first, int64_t step, int64_t n, double *out) {
  view->element->load(view->data, view->origin + first, step, n, out);
}

void ref_store(const ref_view *view, int64_t first, int64_t step, int64_t n, const double *in) {
  view->element->store(view->data, view->origin + first, step, n, in);
}

void ref_load_int(const ref_view *view, int64_t first, int64_t step, int64_t n, int64_t *out) {
  view->element->load_int(view->data, view->origin + first, step, n, out);
}

void ref_store_int(const ref_view *view, int64_t first, int64_t step, int64_t n,
                   const int64_t *in) {
  view->element->store_int(view->data, view->origin + first, step, n, in);
}

double ref_at(const ref_view *view, int64_t first) {
  double value;
  ref_load(view, first, 1, 1, &value);
  return value;
}

int64_t ref_int_at(const ref_view *view, int64_t first) {
  int64_t value;
  ref_load_int(view, first, 1, 1, &value);
  return value;
}

static int32_t move_strings(const ref_view *to, int64_t to_first, int64_t to_step,
                            const ref_view *from, int64_t from_first, int64_t from_step,
                            int64_t n, ops_error *error) {
  const ops_value_api *values = to->values;
  for (int64_t i = 0; i < n; ++i) {
    ops_str text;
    int32_t status = from->values->string_get(
        from->value, (uint64_t)(from_first + i * from_step), &text, error);
    if (status == OPS_OK)
      status = values->string_set(to->value, (uint64_t)(to_first + i * to_step), text, error);
    if (status != OPS_OK) return status;
  }
  return OPS_OK;
}

int32_t ref_move(const ref_view *to, int64_t to_first, int64_t to_step, const ref_view *from,
                 int64_t from_first, int64_t from_step, int64_t n, ops_error *error) {
  if (to->element->bits == 0)
    return move_strings(to, to_first, to_step, from, from_first, from_step, n, error);
  ref_move_bits(to->element->bits, to->data, to->origin + to_first, to_step, from->data,
                from->origin + from_first, from_step, n);
  return OPS_OK;
}

int64_t ref_offset_of(const ref_view *view, int64_t position) {
  int64_t offset = 0;
  for (int32_t i = view->rank - 1; i >= 0; --i) {
    offset += position % view->dims[i] * view->strides[i];
    position /= view->dims[i];
  }
  return offset;
}

void ref_broadcast_strides_before(const ref_view *view, int32_t trailing, int32_t rank,
                                  int64_t *out_strides) {
  int32_t missing = rank - view->rank - trailing;
  for (int32_t i = 0; i < rank; ++i) {
    int32_t at = i - missing;
    out_strides[i] = at < 0 || at >= view->rank || view->dims[at] == 1 ? 0 : view->strides[at];
  }
}

void ref_broadcast_strides(const ref_view *view, int32_t rank, int64_t *out_strides) {
  ref_broadcast_strides_before(view, 0, rank, out_strides);
}

// ---- Walks ---------------------------------------------------------------------------------

static int can_merge(const ref_walk *walk, int32_t outer, int32_t inner, int64_t inner_dim) {
  for (int32_t k = 0; k < walk->operand_count; ++k) {
    const int64_t *strides = walk->operands[k].strides;
    if (strides[outer] != strides[inner] * inner_dim) return 0;
  }
  return 1;
}

void ref_walk_init(ref_walk *walk, int32_t rank, const int64_t *dims,
                   ref_walk_operand *operands, int32_t operand_count) {
  walk->operands = operands;
  walk->operand_count = operand_count;
  walk->rank = 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    int32_t last = walk->rank - 1;
    if (last >= 0 && can_merge(walk, last, i, dims[i])) {
      walk->dims[last] *= dims[i];
    } else {
      last = walk->rank++;
      walk->dims[last] = dims[i];
    }
    for (int32_t k = 0; k < operand_count; ++k)
      operands[k].strides[last] = operands[k].strides[i];
  }
  if (walk->rank == 0) {
    walk->rank = 1;
    walk->dims[0] = 1;
    for (int32_t k = 0; k < operand_count; ++k) operands[k].strides[0] = 0;
  }
  for (int32_t k = 0; k < operand_count; ++k) operands[k].offset = 0;
  memset(walk->index, 0, sizeof walk->index);
  walk->row = walk->dims[walk->rank - 1];
}

int ref_walk_next(ref_walk *walk) {
  for (int32_t i = walk->rank - 2; i >= 0; --i) {
    int carry = ++walk->index[i] == walk->dims[i];
    for (int32_t k = 0; k < walk->operand_count; ++k) {
      ref_walk_operand *operand = &walk->operands[k];
      operand->offset += operand->strides[i] * (carry ? 1 - walk->dims[i] : 1);
    }
    if (!carry) return 1;
    walk->index[i] = 0;
  }
  return 0;
}

int64_t ref_walk_step(const ref_walk *walk, int32_t operand) {
  return walk->operands[operand].strides[walk->rank - 1];
}

void ref_decode_part(const ref_view *view, int64_t from, int64_t count, double *out) {
  ref_walk_operand at;
  int64_t dims[OPS_MAX_RANK];
  memcpy(dims, view->dims, sizeof dims);
  memcpy(at.strides, view->strides, sizeof at.strides);
  dims[0] = count;
  if (ref_count(dims, view->rank) == 0) return;
  ref_walk walk;
  int64_t base = from * view->strides[0];
  ref_walk_init(&walk, view->rank, dims, &at, 1);
  do {
    ref_load(view, base + at.offset, ref_walk_step(&walk, 0), walk.row, out);
    out += walk.row;
  } while (ref_walk_next(&walk));
}

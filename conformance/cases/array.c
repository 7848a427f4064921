// SPDX-License-Identifier: Apache-2.0
//
// Tensors in ordinary memory, sizes checked.
#include "cases/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/fill.h"
#include "ops_support/checked.h"
#include "ops_support/error.h"

int32_t oc_array_init(oc_array *array, int32_t type, int32_t rank, const int64_t *dims,
                      const char *what, ops_error *error) {
  memset(array, 0, sizeof *array);
  if (rank < 0 || rank > OPS_MAX_RANK) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%s: expected a rank from 0 to %d, found %d", what, OPS_MAX_RANK,
                         rank);
  }
  if (!ops_checked_count(dims, rank, &array->count) ||
      !oc_element_bytes(type, array->count, &array->bytes)) {
    char shape[256];
    oc_array_print_shape(rank, dims, shape, sizeof shape);
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%s: no dense tensor has the type %s and the shape %s", what,
                         oc_element_name(type), shape);
  }
  array->data = calloc(1, array->bytes ? array->bytes : 1);
  if (!array->data) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory for %llu bytes", what,
                         (unsigned long long)array->bytes);
  }
  if (rank > 0) memcpy(array->dims, dims, (size_t)rank * sizeof *dims);
  array->present = true;
  array->type = type;
  array->rank = rank;
  return OPS_OK;
}

int32_t oc_array_copy(oc_array *array, const oc_array *source, ops_error *error) {
  memset(array, 0, sizeof *array);
  if (!source->present) return OPS_OK;
  OPS_RETURN_IF_ERROR(
      oc_array_init(array, source->type, source->rank, source->dims, "copy", error));
  memcpy(array->data, source->data, source->bytes);
  return OPS_OK;
}

void oc_array_finish(oc_array *array) {
  if (!array->data)
    return;  // most arrays of a trial are never touched: leave their pages alone
  free(array->data);
  memset(array, 0, sizeof *array);
}

void oc_array_print_shape(int32_t rank, const int64_t *dims, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (int32_t i = 0; i < rank && used < size; ++i) {
    used +=
        (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "", (long long)dims[i]);
  }
  if (used < size) snprintf(text + used, size - used, "]");
}

// ---- Inputs of a case -----------------------------------------------------------------------

// `contents` in row-major order; a single number fills the whole tensor.
static int32_t write_contents(oc_array *array, const oc_value *contents, const oc_param *param,
                              ops_error *error) {
  const bool whole = contents->count == (size_t)array->count;
  if (!whole && contents->count != 1) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "%s:%u:%u: input '%s' has %lld elements but its values are %zu",
                         param->at.file, param->at.line, param->at.column, param->name,
                         (long long)array->count, contents->count);
  }
  const bool integers =
      contents->kind == OC_VALUE_INT || contents->kind == OC_VALUE_INTS || !contents->floats;
  for (int64_t i = 0; i < array->count; ++i) {
    const size_t from = whole ? (size_t)i : 0;
    if (integers) {
      oc_element_store_int(array->type, array->data, (uint64_t)i, contents->ints[from]);
    } else {
      oc_element_store(array->type, array->data, (uint64_t)i, contents->floats[from]);
    }
  }
  return OPS_OK;
}

// A tensor of the node: number `index` of the parameter; absent ones are named, too.
typedef struct tensor_ref {
  size_t param, index;
  bool absent;
} tensor_ref;

// Arguments after the last one given are not named at all.
static size_t count_named(const oc_case *item) {
  size_t last = 0;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    if (item->inputs[i].count > 0) last = i + 1;
  }
  return last;
}

// The node's inputs in their order: variadic parameters take turns. Returns their number, or
// more than OC_CASE_MAX_TENSORS if there are too many.
static size_t list_tensors(const oc_case *item, tensor_ref *refs) {
  const size_t last = count_named(item);
  size_t count = 0, first = 0, turns = 0;
  while (first < last && !item->contract->inputs[first].variadic) ++first;
  for (size_t i = 0; i < first && count < OC_CASE_MAX_TENSORS; ++i) {
    refs[count++] = (tensor_ref){i, 0, item->inputs[i].count == 0};
  }
  for (size_t i = first; i < last; ++i) {
    if (item->inputs[i].count > turns) turns = item->inputs[i].count;
  }
  for (size_t k = 0; k < turns; ++k) {
    for (size_t i = first; i < last; ++i) {
      if (k >= item->inputs[i].count) continue;
      if (count == OC_CASE_MAX_TENSORS) return count + 1;
      refs[count++] = (tensor_ref){i, k, false};
    }
  }
  return count;
}

// The contents of one tensor: of a variadic parameter, its own number.
static oc_value contents_of(const oc_param *about, const oc_row_input *input, size_t index) {
  oc_value contents = input->contents;
  if (!about->variadic || contents.kind == OC_VALUE_NONE) return contents;
  contents.count = 1;
  if (contents.ints) contents.ints += index;
  if (contents.floats) contents.floats += index;
  return contents;
}

static int32_t append_input(oc_inputs *inputs, const oc_case *item, const tensor_ref *ref,
                            ops_error *error) {
  const oc_param *about = &item->contract->inputs[ref->param];
  const oc_row_input *input = &item->inputs[ref->param];
  const uint32_t stream = (uint32_t)inputs->count;
  oc_array *array = &inputs->items[inputs->count];
  inputs->params[inputs->count++] = (int32_t)ref->param;
  if (ref->absent) {
    memset(array, 0, sizeof *array);
    return OPS_OK;
  }
  const oc_shape *shape = &input->shapes[ref->index];
  const oc_binding binding = oc_case_binding(item);
  OPS_RETURN_IF_ERROR(oc_array_init(array, oc_binding_type(&binding, about), shape->rank,
                                    shape->dims, about->name, error));
  const oc_value contents = contents_of(about, input, ref->index);
  if (contents.kind != OC_VALUE_NONE) return write_contents(array, &contents, about, error);
  return oc_fill_array(item, ref->param, stream, array, error);
}

int32_t oc_inputs_init(oc_inputs *inputs, const oc_case *item, ops_error *error) {
  tensor_ref refs[OC_CASE_MAX_TENSORS];
  memset(inputs, 0, sizeof *inputs);
  const size_t count = list_tensors(item, refs);
  if (count > OC_CASE_MAX_TENSORS) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s: more than %d input tensors",
                         item->id, OC_CASE_MAX_TENSORS);
  }
  int32_t status = OPS_OK;
  for (size_t i = 0; i < count && status == OPS_OK; ++i) {
    status = append_input(inputs, item, &refs[i], error);
  }
  if (status != OPS_OK) oc_inputs_finish(inputs);
  return status;
}

int32_t oc_inputs_copy(oc_inputs *inputs, const oc_inputs *source, ops_error *error) {
  memset(inputs, 0, sizeof *inputs);
  memcpy(inputs->params, source->params, sizeof inputs->params);
  int32_t status = OPS_OK;
  while (status == OPS_OK && inputs->count < source->count) {
    status = oc_array_copy(&inputs->items[inputs->count], &source->items[inputs->count], error);
    if (status == OPS_OK) ++inputs->count;
  }
  if (status != OPS_OK) oc_inputs_finish(inputs);
  return status;
}

void oc_inputs_finish(oc_inputs *inputs) {
  for (size_t i = 0; i < inputs->count; ++i) oc_array_finish(&inputs->items[i]);
  inputs->count = 0;
}

void oc_inputs_print(const oc_case *item, char *text, size_t size) {
  tensor_ref refs[OC_CASE_MAX_TENSORS];
  const oc_binding binding = oc_case_binding(item);
  const size_t count = list_tensors(item, refs);
  size_t used = 0;
  if (size > 0) text[0] = 0;
  for (size_t i = 0; i < count && i < OC_CASE_MAX_TENSORS && used < size; ++i) {
    const oc_param *about = &item->contract->inputs[refs[i].param];
    const char *comma = used ? ", " : "";
    char shape[256];
    if (refs[i].absent) {
      used += (size_t)snprintf(text + used, size - used, "%s-", comma);
      continue;
    }
    const oc_shape *given = &item->inputs[refs[i].param].shapes[refs[i].index];
    oc_array_print_shape(given->rank, given->dims, shape, sizeof shape);
    used += (size_t)snprintf(text + used, size - used, "%s%s%s", comma,
                             oc_element_name(oc_binding_type(&binding, about)), shape);
  }
}

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

static int32_t append_input(oc_inputs *inputs, const oc_case *item, size_t param,
                            const oc_shape *shape, ops_error *error) {
  const oc_param *about = &item->contract->inputs[param];
  const oc_row_input *input = &item->inputs[param];
  if (inputs->count >= OC_CASE_MAX_TENSORS) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s: more than %d input tensors",
                         item->id, OC_CASE_MAX_TENSORS);
  }
  const uint32_t stream = (uint32_t)inputs->count;
  oc_array *array = &inputs->items[inputs->count];
  inputs->params[inputs->count++] = (int32_t)param;
  if (!shape) {
    memset(array, 0, sizeof *array);
    return OPS_OK;
  }
  const oc_binding binding = oc_case_binding(item);
  OPS_RETURN_IF_ERROR(oc_array_init(array, oc_binding_type(&binding, about), shape->rank,
                                    shape->dims, about->name, error));
  if (input->contents.kind != OC_VALUE_NONE) {
    return write_contents(array, &input->contents, about, error);
  }
  return oc_fill_array(item, param, stream, array, error);
}

// Arguments after the last one given are not named at all.
static size_t count_named(const oc_case *item) {
  size_t last = 0;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    if (item->inputs[i].count > 0) last = i + 1;
  }
  return last;
}

int32_t oc_inputs_init(oc_inputs *inputs, const oc_case *item, ops_error *error) {
  memset(inputs, 0, sizeof *inputs);
  const size_t last = count_named(item);
  int32_t status = OPS_OK;
  for (size_t i = 0; i < last && status == OPS_OK; ++i) {
    const oc_row_input *input = &item->inputs[i];
    if (input->count == 0) status = append_input(inputs, item, i, NULL, error);
    for (size_t k = 0; k < input->count && status == OPS_OK; ++k) {
      status = append_input(inputs, item, i, &input->shapes[k], error);
    }
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
  const oc_binding binding = oc_case_binding(item);
  const size_t last = count_named(item);
  size_t used = 0;
  if (size > 0) text[0] = 0;
  for (size_t i = 0; i < last; ++i) {
    const oc_row_input *input = &item->inputs[i];
    const char *type = oc_element_name(oc_binding_type(&binding, &item->contract->inputs[i]));
    for (size_t k = 0; k < (input->count ? input->count : 1) && used < size; ++k) {
      char shape[256];
      const char *comma = used ? ", " : "";
      if (input->count == 0) {
        used += (size_t)snprintf(text + used, size - used, "%s-", comma);
        continue;
      }
      oc_array_print_shape(input->shapes[k].rank, input->shapes[k].dims, shape, sizeof shape);
      used += (size_t)snprintf(text + used, size - used, "%s%s%s", comma, type, shape);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a run against the inputs of the model: every name once, every type as declared,
// every dimension as fixed, equal symbols equal.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"
#include "plan/plan.h"
#include "session/session.h"

// "x: float[N,3], k: int64[] (has a default)", cut to the buffer.
static const char *expected_inputs(const opsrt_session *session, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (uint32_t i = 0; i < session->graph->input_count && used < size; ++i) {
    const opsrt_info *info = &session->inputs[i];
    const int length =
        snprintf(text + used, size - used, "%s%s: %s%s", i ? ", " : "", info->name, info->text,
                 info->optional ? " (has a default)" : "");
    if (length > 0) used += (size_t)length;
  }
  return text;
}

static int32_t refuse(const opsrt_session *session, ops_error *error, int32_t cause,
                      const char *what, const char *name) {
  char text[700];
  return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, cause,
                             "input '%s' %s; the model takes %s", name, what,
                             expected_inputs(session, text, sizeof text));
}

static const char *describe_value(const opsrt_value *value, char *text, size_t size) {
  size_t used = 0;
  const int length = snprintf(text, size, "%s[", ops_type_name(value->type));
  if (length > 0) used = (size_t)length;
  for (int32_t i = 0; i < value->rank && used < size; ++i) {
    const int more =
        snprintf(text + used, size - used, "%s%lld", i ? "," : "", (long long)value->dims[i]);
    if (more > 0) used += (size_t)more;
  }
  if (used + 1 < size) snprintf(text + used, size - used, "]");
  return text;
}

static int32_t mismatch(const opsrt_info *info, const opsrt_value *value, ops_error *error,
                        int32_t cause, const char *detail) {
  char text[300];
  return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, cause,
                             "input '%s' is %s, expected %s: %s", info->name,
                             describe_value(value, text, sizeof text), info->text, detail);
}

// ---- One value ------------------------------------------------------------------------------

static int32_t kind_of(const opsrt_value *value) {
  if (value->kind) return value->kind;
  return value->type == OPS_TYPE_STRING ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR;
}

static int32_t check_shape(const opsrt_info *info, const opsrt_value *value, ops_error *error) {
  if (value->rank < 0 || value->rank > OPS_MAX_RANK || (value->rank > 0 && !value->dims))
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_INPUT_SHAPE,
        "input '%s': rank %d with %s, expected 0 to %d and as many dimensions", info->name,
        value->rank, value->dims ? "dimensions" : "no dimensions", OPS_MAX_RANK);
  for (int32_t i = 0; i < value->rank; ++i)
    if (value->dims[i] < 0)
      return mismatch(info, value, error, OPS_CAUSE_INPUT_SHAPE, "a dimension is negative");
  if (info->type && value->type != info->type)
    return mismatch(info, value, error, OPS_CAUSE_INPUT_TYPE,
                    "convert it to the type of the model");
  if (info->rank < 0) return OPS_OK;
  if (value->rank != info->rank)
    return mismatch(info, value, error, OPS_CAUSE_INPUT_RANK, "the ranks differ");
  for (int32_t i = 0; i < info->rank; ++i)
    if (info->dims[i] >= 0 && info->dims[i] != value->dims[i]) {
      char text[80];
      snprintf(text, sizeof text, "dimension %d must be %lld", i, (long long)info->dims[i]);
      return mismatch(info, value, error, OPS_CAUSE_INPUT_SHAPE, text);
    }
  return OPS_OK;
}

int32_t rt_session_check_tensor(const opsrt_session *session, uint32_t index,
                                const opsrt_value *value, ops_error *error) {
  const opsrt_info *info = &session->inputs[index];
  if (kind_of(value) != OPS_VALUE_TENSOR || (info->kind && info->kind != OPS_VALUE_TENSOR))
    return refuse(session, error, OPS_CAUSE_INPUT_TYPE,
                  "is no tensor, and only tensors can be bound", info->name);
  return check_shape(info, value, error);
}

static int32_t take_tensor(const opsrt_info *info, const opsrt_value *value, int data_needed,
                           rt_run_input *input, ops_error *error) {
  uint64_t bytes = 0;
  OPS_RETURN_IF_ERROR(rt_type_info_bytes(input->type, &bytes, error));
  input->data = value->data;
  if (!data_needed) return OPS_OK;
  if (value->size != bytes)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_INPUT_DATA,
                               "input '%s' has %llu bytes, its type and shape need %llu",
                               info->name, (unsigned long long)value->size,
                               (unsigned long long)bytes);
  if (!value->data && bytes)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_INPUT_DATA,
                               "input '%s' has no data", info->name);
  return OPS_OK;
}

static int32_t take_strings(const opsrt_info *info, const opsrt_value *value,
                            ops_value **out_value, ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  int64_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i)
    if (__builtin_mul_overflow(count, value->dims[i], &count))
      return mismatch(info, value, error, OPS_CAUSE_INPUT_SHAPE, "it has too many elements");
  if (count > 0 && !value->strings)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_INPUT_DATA,
                               "input '%s' has no strings", info->name);
  OPS_RETURN_IF_ERROR(ops_value_create(OPS_VALUE_STRINGS, out_value, error));
  OPS_RETURN_IF_ERROR(api->strings_resize(*out_value, value->rank, value->dims, error));
  for (int64_t i = 0; i < count; ++i)
    OPS_RETURN_IF_ERROR(api->string_set(*out_value, (uint64_t)i, value->strings[i], error));
  return OPS_OK;
}

static int32_t take_object(const opsrt_session *session, uint32_t index,
                           const opsrt_value *value, rt_session_inputs *inputs,
                           ops_error *error) {
  rt_run_input *input = &inputs->items[index];
  if (!value->value || ops_value_accessors.kind(value->value) != kind_of(value))
    return refuse(session, error, OPS_CAUSE_INPUT_DATA, "is given without a value of its kind",
                  value->name);
  input->value = value->value;
  return rt_views_type(session->partition->views, session->graph->inputs[index], &input->type,
                       error);
}

static int32_t take(const opsrt_session *session, uint32_t index, const opsrt_value *value,
                    int data_needed, rt_session_inputs *inputs, ops_error *error) {
  const opsrt_info *info = &session->inputs[index];
  rt_run_input *input = &inputs->items[index];
  const int32_t kind = kind_of(value);
  if (info->kind && kind != info->kind)
    return refuse(session, error, OPS_CAUSE_INPUT_TYPE, "is of another kind", info->name);
  if (kind != OPS_VALUE_TENSOR && kind != OPS_VALUE_STRINGS)
    return take_object(session, index, value, inputs, error);
  OPS_RETURN_IF_ERROR(check_shape(info, value, error));
  input->type = rt_type_info_tensor(&inputs->bump, kind, value->type, value->rank, value->dims);
  if (!input->type) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a run");
  if (kind == OPS_VALUE_TENSOR) return take_tensor(info, value, data_needed, input, error);
  OPS_RETURN_IF_ERROR(take_strings(info, value, &inputs->strings[index], error));
  input->value = inputs->strings[index];
  return OPS_OK;
}

// ---- Symbols --------------------------------------------------------------------------------

// A dimension that is a single symbol fixes it; the next one with the same symbol must agree.
int32_t rt_session_check_symbols(const opsrt_session *session, const rt_run_input *items,
                                 rt_bump *bump, ops_error *error) {
  const rt_graph *graph = session->graph;
  const uint32_t count = rt_symbols_count(graph->symbols);
  int64_t *bound = rt_bump_new(bump, count, sizeof *bound);
  const char **where = rt_bump_new(bump, count, sizeof *where);
  if (!bound || !where) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a run");
  for (uint32_t i = 0; i < graph->input_count; ++i) {
    const rt_type *type = &graph->inputs[i]->type;
    const ops_type_info *given = items[i].type;
    if (type->kind != RT_TYPE_TENSOR || type->rank != given->rank) continue;
    for (int32_t k = 0; k < type->rank; ++k) {
      uint32_t symbol = 0;
      if (!rt_dim_as_symbol(graph->symbols, type->dims[k], &symbol)) continue;
      if (where[symbol] && bound[symbol] != given->dims[k])
        return ops_error_set_cause(
            error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_INPUT_SHAPE,
            "input '%s': dimension %d (%s) is %lld, but input '%s' makes it "
            "%lld",
            graph->inputs[i]->name, k, session->inputs[i].symbols[k], (long long)given->dims[k],
            where[symbol], (long long)bound[symbol]);
      where[symbol] = graph->inputs[i]->name;
      bound[symbol] = given->dims[k];
    }
  }
  return OPS_OK;
}

// ---- All inputs -----------------------------------------------------------------------------

int32_t rt_session_find_input(const opsrt_session *session, const char *name,
                              uint32_t *out_index, ops_error *error) {
  for (uint32_t i = 0; name && i < session->graph->input_count; ++i)
    if (strcmp(session->inputs[i].name, name) == 0) {
      *out_index = i;
      return OPS_OK;
    }
  return refuse(session, error, OPS_CAUSE_UNKNOWN_INPUT, "does not exist", name ? name : "");
}

int32_t rt_session_default(const opsrt_session *session, uint32_t index, opsrt_value *out_value,
                           ops_error *error) {
  const rt_constant *constant = session->graph->inputs[index]->constant;
  if (!constant || constant->sparse)
    return refuse(session, error, OPS_CAUSE_MISSING_INPUT, "is missing",
                  session->inputs[index].name);
  const void *data = NULL;
  OPS_RETURN_IF_ERROR(rt_constant_aligned(constant, &data, error));
  *out_value = (opsrt_value){.name = session->inputs[index].name,
                             .type = constant->elem_type,
                             .rank = constant->rank,
                             .dims = constant->dims,
                             .data = data,
                             .size = constant->size,
                             .strings = constant->strings};
  return OPS_OK;
}

static int32_t take_default(const opsrt_session *session, uint32_t index,
                            rt_session_inputs *inputs, ops_error *error) {
  opsrt_value value;
  OPS_RETURN_IF_ERROR(rt_session_default(session, index, &value, error));
  return take(session, index, &value, 1, inputs, error);
}

static int32_t fill(rt_session_inputs *inputs, const opsrt_session *session,
                    const opsrt_value *values, uint64_t value_count, int data_needed,
                    ops_error *error) {
  for (uint64_t i = 0; i < value_count; ++i) {
    uint32_t index = 0;
    OPS_RETURN_IF_ERROR(rt_session_find_input(session, values[i].name, &index, error));
    if (inputs->items[index].type)
      return refuse(session, error, OPS_CAUSE_INPUT_TWICE, "is given twice", values[i].name);
    OPS_RETURN_IF_ERROR(take(session, index, &values[i], data_needed, inputs, error));
  }
  for (uint32_t i = 0; i < inputs->count; ++i)
    if (!inputs->items[i].type) OPS_RETURN_IF_ERROR(take_default(session, i, inputs, error));
  return rt_session_check_symbols(session, inputs->items, &inputs->bump, error);
}

int32_t rt_session_inputs_init(rt_session_inputs *inputs, const opsrt_session *session,
                               const opsrt_value *values, uint64_t value_count, int data_needed,
                               ops_error *error) {
  *inputs = (rt_session_inputs){0};
  const uint32_t count = session->graph->input_count;
  inputs->items = rt_bump_new(&inputs->bump, count, sizeof *inputs->items);
  inputs->strings = rt_bump_new(&inputs->bump, count, sizeof *inputs->strings);
  if (!inputs->items || !inputs->strings)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a run");
  inputs->count = count;
  return fill(inputs, session, values, value_count, data_needed, error);
}

void rt_session_inputs_finish(rt_session_inputs *inputs) {
  for (uint32_t i = 0; i < inputs->count; ++i) ops_value_release(inputs->strings[i]);
  rt_bump_finish(&inputs->bump);
}

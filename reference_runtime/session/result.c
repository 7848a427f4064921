// SPDX-License-Identifier: Apache-2.0
//
// The outputs of a run, owned by the caller and independent of the session.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"
#include "session/session.h"

struct opsrt_result {
  opsrt_value *values;
  rt_run_output *owned;
  uint64_t count;
  rt_bump bump;
};

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the outputs of a run");
}

static int32_t list_strings(opsrt_result *result, opsrt_value *value, ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  OPS_RETURN_IF_ERROR(api->strings_shape(value->value, &value->rank, &value->dims, error));
  int64_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i) count *= value->dims[i];
  ops_str *strings = rt_bump_new(&result->bump, (uint64_t)count, sizeof *strings);
  if (!strings) return exhausted(error);
  for (int64_t i = 0; i < count; ++i)
    OPS_RETURN_IF_ERROR(api->string_get(value->value, (uint64_t)i, &strings[i], error));
  value->strings = strings;
  return OPS_OK;
}

static int32_t fill_value(opsrt_result *result, uint64_t index, const char *name,
                          ops_error *error) {
  const rt_run_output *owned = &result->owned[index];
  opsrt_value *value = &result->values[index];
  *value = (opsrt_value){.name = rt_bump_format(&result->bump, "%s", name),
                         .kind = owned->kind,
                         .type = owned->type,
                         .rank = owned->rank,
                         .dims = owned->dims,
                         .data = owned->data,
                         .size = owned->size,
                         .value = owned->value};
  if (!value->name) return exhausted(error);
  return owned->kind == OPS_VALUE_STRINGS ? list_strings(result, value, error) : OPS_OK;
}

int32_t rt_session_result(const opsrt_session *session, rt_run_output *outputs,
                          opsrt_result **out_result, ops_error *error) {
  const uint32_t count = session->graph->output_count;
  opsrt_result *result = calloc(1, sizeof *result);
  if (!result) return exhausted(error);
  result->values = calloc((size_t)count + 1, sizeof *result->values);
  result->owned = calloc((size_t)count + 1, sizeof *result->owned);
  int32_t status = result->values && result->owned ? OPS_OK : exhausted(error);
  for (uint32_t i = 0; status == OPS_OK && i < count; ++i) {
    result->owned[i] = outputs[i];
    outputs[i] = (rt_run_output){0};
    result->count++;
    status = fill_value(result, i, session->outputs[i].name, error);
  }
  if (status != OPS_OK) {
    opsrt_result_destroy(result);
    return status;
  }
  *out_result = result;
  return OPS_OK;
}

uint64_t opsrt_result_count(const opsrt_result *result) {
  return result->count;
}

const opsrt_value *opsrt_result_output(const opsrt_result *result, uint64_t index) {
  return index < result->count ? &result->values[index] : NULL;
}

void opsrt_result_destroy(opsrt_result *result) {
  if (!result) return;
  for (uint64_t i = 0; i < result->count; ++i) rt_run_output_finish(&result->owned[i]);
  free(result->values);
  free(result->owned);
  rt_bump_finish(&result->bump);
  free(result);
}

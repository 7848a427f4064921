// SPDX-License-Identifier: Apache-2.0
//
// Drawing the inputs of a model. See draw.h.
#include "models/draw.h"

#include <stdlib.h>

#include "cases/random.h"
#include "compare/number.h"
#include "ops_support/error.h"

#define LARGEST_INTEGER 3

static int32_t refuse(const opsrt_info *info, const char *why, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "input '%s' (%s) cannot be drawn: %s; store inputs beside the model and "
                       "give --onnx-tests",
                       info->name, info->text, why);
}

static int32_t count_elements(const opsrt_info *info, int64_t *dims, int64_t *out_count,
                              ops_error *error) {
  *out_count = 1;
  for (int32_t i = 0; i < info->rank; ++i) {
    dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
    if (dims[i] > 0 && *out_count > OC_MODEL_MAX_ELEMENTS / dims[i]) {
      return refuse(info, "more than 2^30 elements", error);
    }
    *out_count *= dims[i];
  }
  return OPS_OK;
}

static double draw_number(int32_t type, oc_random *random) {
  if (type == OPS_TYPE_BOOL) return (double)oc_random_integer(random, 0, 1);
  if (oc_number_is_integer(type)) return (double)oc_random_integer(random, 0, LARGEST_INTEGER);
  return 2 * oc_random_unit(random) - 1;
}

static void fill_numbers(opsrt_value *value, void *data, uint32_t stream, uint64_t seed,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    oc_random random = oc_random_at(seed, stream, (uint64_t)i);
    oc_number_set(value->type, data, (size_t)i, draw_number(value->type, &random));
  }
  value->data = data;
  value->size = oc_number_bytes(value->type, (size_t)count);
}

static void fill_strings(opsrt_value *value, ops_str *strings, uint32_t stream, uint64_t seed,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    oc_random random = oc_random_at(seed, stream, (uint64_t)i);
    strings[i] = (ops_str){&"abcd"[oc_random_integer(&random, 0, 3)], 1};
  }
  value->strings = strings;
}

static int32_t draw_value(const opsrt_info *info, uint32_t stream, uint64_t seed,
                          opsrt_value *value, ops_error *error) {
  const bool strings = info->type == OPS_TYPE_STRING;
  const bool tensor = info->kind == OPS_VALUE_TENSOR || info->kind == OPS_VALUE_STRINGS;
  if (!tensor || info->rank < 0) return refuse(info, "no tensor of a known rank", error);
  if (!strings && !oc_number_format(info->type) && !oc_number_is_integer(info->type) &&
      info->type != OPS_TYPE_BOOL) {
    return refuse(info, "its element type is not drawn", error);
  }
  int64_t *dims = calloc((size_t)info->rank + 1, sizeof *dims), count;
  *value = (opsrt_value){.name = info->name,
                         .kind = strings ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR,
                         .type = info->type,
                         .rank = info->rank,
                         .dims = dims};
  if (!dims) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an input");
  OPS_RETURN_IF_ERROR(count_elements(info, dims, &count, error));
  const size_t size = strings ? sizeof(ops_str) : sizeof(double);
  void *data = calloc((size_t)count + 1, size);
  if (!data) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an input");
  if (strings) {
    fill_strings(value, data, stream, seed, count);
  } else {
    fill_numbers(value, data, stream, seed, count);
  }
  return OPS_OK;
}

int32_t oc_model_inputs_draw(const opsrt_session *session, uint64_t seed,
                             oc_model_inputs *inputs, ops_error *error) {
  const uint64_t count = opsrt_session_input_count(session);
  *inputs = (oc_model_inputs){0};
  if (count > OC_MODEL_MAX_INPUTS) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "the model has more than %d inputs",
                         OC_MODEL_MAX_INPUTS);
  }
  inputs->values = calloc((size_t)count + 1, sizeof *inputs->values);
  if (!inputs->values) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the inputs");
  }
  for (uint64_t i = 0; i < count; ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    if (info->optional) continue;
    opsrt_value *value = &inputs->values[inputs->count++];
    OPS_RETURN_IF_ERROR(draw_value(info, (uint32_t)i, seed, value, error));
  }
  return OPS_OK;
}

void oc_model_inputs_finish(oc_model_inputs *inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    free((void *)(uintptr_t)inputs->values[i].dims);
    free((void *)(uintptr_t)inputs->values[i].data);
    free((void *)(uintptr_t)inputs->values[i].strings);
  }
  free(inputs->values);
  *inputs = (oc_model_inputs){0};
}

// SPDX-License-Identifier: Apache-2.0
//
// The oracle on a model: once as it is, eight times perturbed. See expected.h.
#include "models/expected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "compare/number.h"
#include "onnx_tests/allclose.h"
#include "ops_support/error.h"

// The runtime's own level stays 0: nothing is rewritten.
static int32_t open_oracle(const oc_model_oracle *oracle, uint64_t perturb,
                           opsrt_session **out_session, ops_error *error) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)perturb);
  const ops_key_value options[] = {
      {.key = OPS_STR("perturb"), .value = {text, strlen(text)}},
      {.key = OPS_STR("perturb_to"), .value = OPS_STR("float")},
      {.key = OPS_STR("perturb_results"), .value = OPS_STR("yes")}};
  const opsrt_provider_spec spec = {
      .name = oracle->library, .options = options, .option_count = perturb ? 3 : 0};
  const opsrt_session_options session = {.model = {.path = oracle->model},
                                         .providers = &spec,
                                         .provider_count = 1,
                                         .provider_dir = oracle->provider_dir,
                                         .no_fallback = 1,
                                         .workers = 1};
  return opsrt_session_create(&session, out_session, error);
}

static bool is_numbers(const opsrt_value *value) {
  return value->kind == OPS_VALUE_TENSOR &&
         (oc_number_format(value->type) || oc_number_is_integer(value->type) ||
          value->type == OPS_TYPE_BOOL);
}

static int32_t read_plain(oc_model_expected *expected, ops_error *error) {
  expected->count = opsrt_result_count(expected->plain);
  expected->motions = calloc((size_t)expected->count + 1, sizeof *expected->motions);
  bool whole = expected->motions != NULL;
  for (uint64_t i = 0; whole && i < expected->count; ++i) {
    const opsrt_value *value = opsrt_result_output(expected->plain, i);
    oc_model_motion *motion = &expected->motions[i];
    motion->judged = is_numbers(value);
    if (!motion->judged) continue;
    const bool floating = oc_number_format(value->type) != NULL;
    motion->count = oc_allclose_count(value);
    const size_t room = (size_t)motion->count + 1;
    motion->plain = calloc(room, sizeof *motion->plain);
    if (floating) motion->deviation = calloc(room, sizeof *motion->deviation);
    if (!floating) motion->moves = calloc(room, sizeof *motion->moves);
    whole = motion->plain && (motion->deviation || motion->moves);
    for (int64_t k = 0; whole && k < motion->count; ++k) {
      motion->plain[k] = oc_number_get(value->type, value->data, (size_t)k);
    }
  }
  return whole ? OPS_OK
               : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the outputs");
}

static bool same_shape(const opsrt_value *a, const opsrt_value *b) {
  if (a->kind != b->kind || a->type != b->type || a->rank != b->rank) return false;
  for (int32_t i = 0; i < a->rank; ++i) {
    if (a->dims[i] != b->dims[i]) return false;
  }
  return true;
}

static int32_t add_motion(oc_model_motion *motion, const opsrt_value *shaken,
                          ops_error *error) {
  if (motion->moves) {
    for (int64_t k = 0; k < motion->count; ++k) {
      const double value = oc_number_get(shaken->type, shaken->data, (size_t)k);
      motion->moves[k] = motion->moves[k] || value != motion->plain[k];
    }
    return OPS_OK;
  }
  double *values = calloc((size_t)motion->count + 1, sizeof *values);
  if (!values) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an output");
  for (int64_t k = 0; k < motion->count; ++k) {
    values[k] = oc_number_get(shaken->type, shaken->data, (size_t)k);
  }
  oc_condition_add(motion->deviation, motion->plain, values, (size_t)motion->count);
  free(values);
  return OPS_OK;
}

static int32_t add_shaken(oc_model_expected *expected, const opsrt_result *shaken,
                          ops_error *error) {
  for (uint64_t i = 0; i < expected->count; ++i) {
    const opsrt_value *plain = opsrt_result_output(expected->plain, i);
    const opsrt_value *value = opsrt_result_output(shaken, i);
    if (!expected->motions[i].judged) continue;
    if (!same_shape(plain, value)) {
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "output '%s': its shape depends on how intermediates are rounded",
                           plain->name);
    }
    OPS_RETURN_IF_ERROR(add_motion(&expected->motions[i], value, error));
  }
  return OPS_OK;
}

static int32_t shake(const oc_model_oracle *oracle, const oc_model_inputs *inputs,
                     uint64_t seed, oc_model_expected *expected, ops_error *error) {
  opsrt_session *session = NULL;
  opsrt_result *result = NULL;
  int32_t status = open_oracle(oracle, seed, &session, error);
  if (status == OPS_OK) {
    status = opsrt_session_run(session, inputs->values, inputs->count, &result, error);
  }
  if (status == OPS_OK) status = add_shaken(expected, result, error);
  opsrt_result_destroy(result);
  opsrt_session_destroy(session);
  return status;
}

static int32_t close_motions(oc_model_expected *expected, ops_error *error) {
  for (uint64_t i = 0; i < expected->count; ++i) {
    oc_model_motion *motion = &expected->motions[i];
    if (!motion->deviation) continue;
    if (oc_condition_close(motion->deviation, motion->plain, (size_t)motion->count)) continue;
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the deviations");
  }
  return OPS_OK;
}

int32_t oc_model_expected_init(const oc_model_oracle *oracle, uint64_t seed,
                               oc_model_inputs *out_inputs, oc_model_expected *expected,
                               ops_error *error) {
  opsrt_session *session = NULL;
  *expected = (oc_model_expected){0};
  OPS_RETURN_IF_ERROR(open_oracle(oracle, 0, &session, error));
  int32_t status = oc_model_inputs_draw(session, seed, out_inputs, error);
  // Names of inputs are the session's: it stays open as long as they are looked at.
  if (status == OPS_OK) {
    status = opsrt_session_run(session, out_inputs->values, out_inputs->count, &expected->plain,
                               error);
  }
  if (status == OPS_OK) status = read_plain(expected, error);
  for (uint64_t i = 1; status == OPS_OK && i <= OC_MODEL_SHAKEN_RUNS; ++i) {
    status = shake(oracle, out_inputs, i, expected, error);
  }
  if (status == OPS_OK) status = close_motions(expected, error);
  expected->session = session;
  return status;
}

void oc_model_expected_finish(oc_model_expected *expected) {
  for (uint64_t i = 0; expected->motions && i < expected->count; ++i) {
    free(expected->motions[i].plain);
    free(expected->motions[i].deviation);
    free(expected->motions[i].moves);
  }
  free(expected->motions);
  opsrt_result_destroy(expected->plain);
  opsrt_session_destroy(expected->session);
  *expected = (oc_model_expected){0};
}

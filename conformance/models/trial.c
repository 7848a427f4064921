// SPDX-License-Identifier: Apache-2.0
//
// The session is made twice: claims are asked again and must be the same. The second session
// runs twice: what is kept between runs would show.
#include "models/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "compare/compare.h"
#include "onnx_tests/allclose.h"
#include "onnx_tests/receipts.h"
#include "ops_support/error.h"
#include "runner/clock.h"

// 4 deviations may not exceed this share of an output's largest value.
#define CAP 0x1p-4

typedef struct trial {
  oc_model_bench *bench;
  oc_result *result;
  int32_t level;
  opsrt_session *session;
  opsrt_result *outputs;
  ops_error error;
} trial;

// Ends the case; false, for use as "return end(…)".
#define end(trial, status, check, ...) \
  (oc_result_end((trial)->result, status, check, __VA_ARGS__) != 0)

static bool fail_call(trial *trial, const char *check, int32_t status) {
  return end(trial, OC_STATUS_FAIL, check, "%s: %s", ops_status_name(status),
             trial->error.message);
}

static void enter(trial *trial, oc_phase phase) {
  trial->result->phase = phase;
  oc_beacon_phase(trial->bench->beacon, phase);
}

// ---- Expected values ------------------------------------------------------------------------

static void ask_oracle(trial *trial) {
  oc_model_bench *bench = trial->bench;
  const oc_case *item = &bench->list->cases.items[trial->level];
  ops_error error = OPS_ERROR_INIT;
  enter(trial, OC_PHASE_ORACLE);
  bench->expected_status = oc_model_expected_init(&bench->oracle, item->seed, &bench->inputs,
                                                  &bench->expected, &error);
  snprintf(bench->expected_error, sizeof bench->expected_error, "%s", error.message);
  bench->asked = true;
}

static bool has_expected(trial *trial) {
  if (!trial->bench->asked) ask_oracle(trial);
  if (trial->bench->expected_status == OPS_OK) return true;
  return end(trial, OC_STATUS_UNTRUSTED, OC_MODEL_CHECK_INPUTS, "%s",
             trial->bench->expected_error);
}

// ---- Sessions -------------------------------------------------------------------------------

static bool open_session(trial *trial, opsrt_session **out_session) {
  const oc_model_bench *bench = trial->bench;
  const opsrt_session_options options = {.model = {.path = bench->list->path},
                                         .providers = bench->providers,
                                         .provider_count = 2,
                                         .provider_dir = bench->oracle.provider_dir,
                                         .no_fallback = 1,
                                         .workers = 1,
                                         .level = trial->level};
  enter(trial, OC_PHASE_PREPARE);
  const int32_t status = opsrt_session_create(&options, out_session, &trial->error);
  return status == OPS_OK || fail_call(trial, OC_MODEL_CHECK_SESSION, status);
}

static bool same_placement(trial *trial, const opsrt_session *first) {
  const uint64_t count = opsrt_session_placement_count(first);
  if (count != opsrt_session_placement_count(trial->session)) {
    return end(trial, OC_STATUS_FAIL, OC_MODEL_CHECK_PLACEMENT,
               "the model became %llu nodes, then %llu", (unsigned long long)count,
               (unsigned long long)opsrt_session_placement_count(trial->session));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const opsrt_placement *a = opsrt_session_placement(first, i);
    const opsrt_placement *b = opsrt_session_placement(trial->session, i);
    if (strcmp(a->provider, b->provider) == 0 && strcmp(a->op, b->op) == 0) continue;
    return end(trial, OC_STATUS_FAIL, OC_MODEL_CHECK_PLACEMENT,
               "asked twice: node '%s' (%s) went to %s, then node '%s' (%s) to %s", a->node,
               a->op, a->provider, b->node, b->op, b->provider);
  }
  return true;
}

static bool open_twice(trial *trial) {
  opsrt_session *first = NULL;
  if (!open_session(trial, &first)) return false;
  const bool good = open_session(trial, &trial->session) && same_placement(trial, first);
  opsrt_session_destroy(first);
  return good;
}

// Who runs which node, for the result and the list; false if the provider runs none.
static bool note_nodes(trial *trial) {
  bool preferred;
  const int32_t status = oc_receipts_note(trial->session, trial->bench->nodes, trial->result,
                                          &preferred, &trial->error);
  if (status != OPS_OK) return fail_call(trial, OC_MODEL_CHECK_SESSION, status);
  return preferred || end(trial, OC_STATUS_UNSUPPORTED, "", "the provider takes no node: %s",
                          trial->result->implementation);
}

// ---- Comparing ------------------------------------------------------------------------------

static bool fail_value(trial *trial, const char *check, uint64_t output, const char *name,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

static bool fail_value(trial *trial, const char *check, uint64_t output, const char *name,
                       const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  trial->result->output = (int32_t)output;
  return end(trial, OC_STATUS_FAIL, check, "level %d, output '%s': %s", trial->level, name,
             text);
}

static double largest(const double *values, int64_t count) {
  double top = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (isfinite(values[i])) top = fmax(top, fabs(values[i]));
  }
  return top;
}

static void keep_comparison(oc_result *result, const oc_comparison *found, uint64_t output) {
  const bool worse = !result->measured || found->error > result->error || found->wrong > 0;
  if (!worse) return;
  result->measured = 1;
  result->error = found->error;
  result->limit = found->limit;
  result->output = (int32_t)output;
  result->element = (int64_t)found->worst;
  snprintf(result->metric, sizeof result->metric, "conditioned");
  snprintf(result->expected, sizeof result->expected, "%s", found->expected);
  snprintf(result->got, sizeof result->got, "%s", found->got);
}

static bool compare_floating(trial *trial, const char *check, uint64_t output,
                             const opsrt_value *want, const opsrt_value *got) {
  const oc_model_motion *motion = &trial->bench->expected.motions[output];
  const oc_precision precision = {0};
  const oc_compare_input input = {
      .judge = OC_JUDGE_CONDITIONED,
      .type = want->type,
      .accumulate = want->type,
      .count = (size_t)motion->count,
      .got = got->data,
      .expected = want->data,
      .deviation = motion->deviation,
      .cap = CAP * largest(motion->plain, motion->count),
      .special = oc_special_resolve(trial->bench->profile, &precision)};
  oc_comparison found;
  const int32_t status = oc_compare(&input, &found, &trial->error);
  if (status != OPS_OK) {
    return end(trial, OC_STATUS_NOT_RUN, check, "%s", trial->error.message);
  }
  keep_comparison(trial->result, &found, output);
  if (found.verdict == OC_MISMATCH) {
    return fail_value(trial, check, output, want->name,
                      "%zu of %lld elements beyond 4 of the oracle's own deviations; worst at "
                      "%zu: expected %s, found %s",
                      found.wrong, (long long)motion->count, found.worst, found.expected,
                      found.got);
  }
  if (found.verdict == OC_MATCH) return true;
  return end(trial, OC_STATUS_UNTRUSTED, check, "output '%s': %s", want->name,
             found.untrusted ? found.untrusted : found.trivial);
}

static bool compare_integers(trial *trial, const char *check, uint64_t output,
                             const opsrt_value *want, const opsrt_value *got) {
  const oc_model_motion *motion = &trial->bench->expected.motions[output];
  for (int64_t k = 0; k < motion->count; ++k) {
    const double value = oc_number_get(got->type, got->data, (size_t)k);
    if (motion->moves[k] || value == motion->plain[k]) continue;
    trial->result->element = k;
    return fail_value(trial, check, output, want->name,
                      "element %lld: expected %.17g, which holds however intermediates are "
                      "rounded, found %.17g",
                      (long long)k, motion->plain[k], value);
  }
  return true;
}

static bool compare_output(trial *trial, const char *check, uint64_t output) {
  const opsrt_value *want = opsrt_result_output(trial->bench->expected.plain, output);
  const opsrt_value *got = opsrt_result_output(trial->outputs, output);
  const oc_model_motion *motion = &trial->bench->expected.motions[output];
  char wanted[128], found[128];
  oc_difference difference = {.element = -1};
  if (!motion->judged) {
    return oc_allclose(want, got, (oc_closeness){0, 0}, &difference) ||
           fail_value(trial, check, output, want->name, "%s", difference.message);
  }
  oc_allclose_describe(want, wanted, sizeof wanted);
  oc_allclose_describe(got, found, sizeof found);
  if (strcmp(wanted, found) != 0) {
    return fail_value(trial, check, output, want->name, "expected %s, found %s", wanted, found);
  }
  return motion->deviation ? compare_floating(trial, check, output, want, got)
                           : compare_integers(trial, check, output, want, got);
}

static bool run_once(trial *trial, const char *check) {
  const oc_model_bench *bench = trial->bench;
  enter(trial, OC_PHASE_EXECUTE);
  const int32_t status = opsrt_session_run(trial->session, bench->inputs.values,
                                           bench->inputs.count, &trial->outputs, &trial->error);
  if (status != OPS_OK) return fail_call(trial, OC_MODEL_CHECK_RUN, status);
  enter(trial, OC_PHASE_COMPARE);
  bool good = true;
  for (uint64_t i = 0; good && i < bench->expected.count; ++i) {
    good = compare_output(trial, check, i);
  }
  opsrt_result_destroy(trial->outputs);
  trial->outputs = NULL;
  return good;
}

// ---- The case -------------------------------------------------------------------------------

static bool judge(trial *trial) {
  if (!has_expected(trial)) return false;
  oc_allclose_describe_all(trial->bench->inputs.values, trial->bench->inputs.count,
                           trial->result->inputs, sizeof trial->result->inputs);
  return open_twice(trial) && note_nodes(trial) && run_once(trial, OC_MODEL_CHECK_VALUES) &&
         run_once(trial, OC_MODEL_CHECK_REPEAT);
}

void oc_model_trial_run(oc_model_bench *bench, uint32_t index, oc_result *out_result) {
  const double start = oc_clock_seconds();
  *out_result = (oc_result){.case_index = index, .attempts = 1, .output = -1, .element = -1};
  trial trial = {.bench = bench, .result = out_result, .level = (int32_t)index};
  trial.error.struct_size = sizeof trial.error;
  if (judge(&trial)) oc_result_end(out_result, OC_STATUS_PASS, "", "%s", "");
  enter(&trial, OC_PHASE_DESTROY);
  opsrt_result_destroy(trial.outputs);
  opsrt_session_destroy(trial.session);
  oc_beacon_phase(bench->beacon, OC_PHASE_IDLE);
  out_result->seconds = oc_clock_seconds() - start;
}

void oc_model_bench_finish(oc_model_bench *bench) {
  oc_model_inputs_finish(&bench->inputs);
  oc_model_expected_finish(&bench->expected);
}

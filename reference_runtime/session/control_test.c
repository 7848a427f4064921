// SPDX-License-Identifier: Apache-2.0
//
// Control flow that the runtime runs itself, through the public API, with bodies on reference,
// cpu and mynpu (own memory, queues). Models, inputs and expected outputs come from
// control_test_models.py: onnxruntime's, or numpy's where it refuses valid models.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <math.h>
#include <ops_support/error.h>
#include <opsrt/opsrt.h>
#include <pthread.h>

#define MAX_VALUES 8
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const all_cases[] = {
    "loop_0",       "loop_1",    "loop_7", "loop_none",     "loop_while", "loop_swap",
    "loop_shapes",  "if_0",      "if_1",   "nested",        "scan",       "scan8",
    "scan_squares", "sequences", "splits", "loop_sequence", "optionals"};

// ---- Cases ----------------------------------------------------------------------------------

static int32_t open_with(const char *name, const opsrt_provider_spec *provider,
                         opsrt_session_options options, opsrt_session **out_session,
                         ops_error *error) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/model.onnx", TEST_MODELS, name);
  options.model.path = path;
  options.providers = provider;
  options.provider_count = 1;
  options.workers = 1;
  return opsrt_session_create(&options, out_session, error);
}

static opsrt_session *must_open(const char *name, const char *provider) {
  const opsrt_provider_spec spec = {.name = provider};
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session = NULL;
  if (open_with(name, &spec, (opsrt_session_options){0}, &session, &error) != OPS_OK)
    fail_msg("%s: %s", name, error.message);
  return session;
}

typedef struct case_inputs {
  opsrt_tensor *tensors[MAX_VALUES];
  opsrt_value values[MAX_VALUES];
  uint64_t count;
} case_inputs;

static opsrt_tensor *read_file(const char *name, const char *prefix, const char *value) {
  char path[512];
  ops_error error = OPS_ERROR_INIT;
  opsrt_tensor *tensor = NULL;
  snprintf(path, sizeof path, "%s/%s/%s_%s.npy", TEST_MODELS, name, prefix, value);
  if (opsrt_tensor_read(path, &tensor, &error) != OPS_OK) fail_msg("%s", error.message);
  return tensor;
}

static void read_inputs(const char *name, const opsrt_session *session, case_inputs *inputs) {
  *inputs = (case_inputs){.count = opsrt_session_input_count(session)};
  for (uint64_t i = 0; i < inputs->count; ++i) {
    const char *value = opsrt_session_input(session, i)->name;
    inputs->tensors[i] = read_file(name, "in", value);
    inputs->values[i] = *opsrt_tensor_value(inputs->tensors[i]);
    inputs->values[i].name = value;
  }
}

static void inputs_finish(case_inputs *inputs) {
  for (uint64_t i = 0; i < inputs->count; ++i) opsrt_tensor_destroy(inputs->tensors[i]);
}

static void compare(const char *name, const opsrt_value *got, const opsrt_value *expected) {
  assert_int_equal(got->type, expected->type);
  assert_int_equal(got->rank, expected->rank);
  for (int32_t i = 0; i < got->rank; ++i) assert_int_equal(got->dims[i], expected->dims[i]);
  assert_int_equal(got->size, expected->size);
  if (got->type != OPS_TYPE_FLOAT) {
    if (got->size) assert_memory_equal(got->data, expected->data, got->size);
    return;
  }
  const float *a = got->data, *b = expected->data;
  for (uint64_t i = 0; i < got->size / sizeof *a; ++i)
    if (!(fabsf(a[i] - b[i]) <= 1e-5f + 1e-4f * fabsf(b[i])))
      fail_msg("%s, output %s[%llu]: %g, expected %g", name, got->name, (unsigned long long)i,
               (double)a[i], (double)b[i]);
}

static void run_once(const char *name, opsrt_session *session, const case_inputs *inputs) {
  opsrt_result *result = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (opsrt_session_run(session, inputs->values, inputs->count, &result, &error) != OPS_OK)
    fail_msg("%s: %s", name, error.message);
  for (uint64_t i = 0; i < opsrt_result_count(result); ++i) {
    const opsrt_value *got = opsrt_result_output(result, i);
    opsrt_tensor *expected = read_file(name, "out", got->name);
    compare(name, got, opsrt_tensor_value(expected));
    opsrt_tensor_destroy(expected);
  }
  opsrt_result_destroy(result);
}

static void run_cases(const char *provider) {
  for (size_t i = 0; i < COUNT(all_cases); ++i) {
    opsrt_session *session = must_open(all_cases[i], provider);
    case_inputs inputs;
    read_inputs(all_cases[i], session, &inputs);
    for (int run = 0; run < 3; ++run) run_once(all_cases[i], session, &inputs);
    inputs_finish(&inputs);
    opsrt_session_destroy(session);
  }
}

static void bodies_on_reference(void **state) {
  (void)state;
  run_cases("reference");
}

static void bodies_on_cpu(void **state) {
  (void)state;
  run_cases("cpu");
}

static void bodies_on_mynpu(void **state) {
  (void)state;
  run_cases(TEST_NPU);
}

// ---- Reuse ----------------------------------------------------------------------------------

static opsrt_counters count(const char *name, int64_t trips) {
  opsrt_session *session = must_open(name, "reference");
  case_inputs inputs;
  read_inputs(name, session, &inputs);
  for (uint64_t i = 0; i < inputs.count; ++i)
    if (strcmp(inputs.values[i].name, "m") == 0) inputs.values[i].data = &trips;
  opsrt_result *result = NULL;
  assert_int_equal(opsrt_session_run(session, inputs.values, inputs.count, &result, NULL),
                   OPS_OK);
  opsrt_result_destroy(result);
  opsrt_counters counters;
  opsrt_session_counters(session, &counters);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
  return counters;
}

// Captures, states and slices are handed on where they lie: nothing is copied per iteration.
static void iterations_neither_prepare_nor_copy(void **state) {
  (void)state;
  static const char *const names[] = {"loop_7", "loop_swap"};
  for (size_t i = 0; i < COUNT(names); ++i) {
    const opsrt_counters few = count(names[i], 2), many = count(names[i], 50);
    assert_int_equal(few.prepares, many.prepares);
    assert_int_equal(few.plans_built, many.plans_built);
    assert_int_equal(few.copies, many.copies);
    assert_in_range(many.copied_bytes, 0, 64);
  }
}

// ---- What is told ---------------------------------------------------------------------------

static const opsrt_placement *placement_of(const opsrt_session *session, const char *node) {
  for (uint64_t i = 0; i < opsrt_session_placement_count(session); ++i) {
    const opsrt_placement *placement = opsrt_session_placement(session, i);
    if (strcmp(placement->node, node) == 0) return placement;
  }
  fail_msg("no placement of %s", node);
  return NULL;
}

static void placements_list_bodies(void **state) {
  (void)state;
  opsrt_session *session = must_open("nested", TEST_NPU);
  assert_string_equal(placement_of(session, "outer")->provider, OPSRT_RUNTIME);
  assert_string_equal(placement_of(session, "outer/l")->provider, OPSRT_RUNTIME);
  assert_string_equal(placement_of(session, "outer/l/inner/add_d")->provider, "mynpu");
  assert_string_equal(placement_of(session, "outer/neg_g")->op, "Neg");
  opsrt_session_destroy(session);
}

// ---- Errors ---------------------------------------------------------------------------------

static void must_say(const char *message, const char *phrase) {
  if (!strstr(message, phrase)) fail_msg("no \"%s\" in: %s", phrase, message);
}

static void fails_to_open(const char *name, int32_t status, const char *phrase) {
  const opsrt_provider_spec spec = {.name = "reference"};
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session = NULL;
  assert_int_equal(open_with(name, &spec, (opsrt_session_options){0}, &session, &error),
                   status);
  assert_null(session);
  must_say(error.message, phrase);
}

static void fails_to_run(const char *name, const opsrt_provider_spec *provider,
                         const char *phrase, const char *more) {
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session = NULL;
  if (open_with(name, provider, (opsrt_session_options){0}, &session, &error) != OPS_OK)
    fail_msg("%s: %s", name, error.message);
  case_inputs inputs;
  read_inputs(name, session, &inputs);
  for (int run = 0; run < 2; ++run) {
    opsrt_result *result = NULL;
    assert_int_not_equal(
        opsrt_session_run(session, inputs.values, inputs.count, &result, &error), OPS_OK);
    assert_null(result);
    must_say(error.message, phrase);
    must_say(error.message, more);
  }
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void models_are_refused(void **state) {
  (void)state;
  fails_to_open("fail_orphan", OPS_ERROR_UNSUPPORTED, "Loop 'l' / node 'o': nobody runs");
  fails_to_open("fail_branches", OPS_ERROR_INVALID_MODEL, "int64");
  fails_to_open("fail_state", OPS_ERROR_INVALID_MODEL, "gives it back as 's_out', int64");
  fails_to_open("fail_depth", OPS_ERROR_UNSUPPORTED, "RT_PARTITION_MAX_DEPTH");
}

static void nodes_in_bodies_are_named(void **state) {
  (void)state;
  const opsrt_provider_spec reference = {.name = "reference"}, cpu = {.name = "cpu"};
  fails_to_run("fail_gather", &reference, "Loop 'l' / Gather 'g'", "3");
  fails_to_run("fail_gather", &cpu, "Loop 'l' / Gather 'g'", "3");
  fails_to_run("fail_at", &reference, "SequenceAt 'at'", "has 2 elements");
  fails_to_run("fail_ragged", &reference, "(Loop): scan output 's_out' changed", "iteration 1");
}

static void asynchronous_errors_name_the_body(void **state) {
  (void)state;
  const ops_key_value bad[] = {{OPS_STR("fail_op"), OPS_STR("Mul")},
                               {OPS_STR("delay_us"), OPS_STR("300")}};
  const opsrt_provider_spec failing = {.name = TEST_NPU, .options = bad, .option_count = 2};
  fails_to_run("loop_7", &failing, "Loop 'l' / Mul 'mul_s_out'", "mynpu");
}

// ---- Threads --------------------------------------------------------------------------------

typedef struct job {
  const char *name;
  opsrt_session *session;
  const case_inputs *inputs;
} job;

static void *run_job(void *context) {
  const job *j = context;
  for (int i = 0; i < 5; ++i) {
    opsrt_result *result = NULL;
    if (opsrt_session_run(j->session, j->inputs->values, j->inputs->count, &result, NULL) !=
        OPS_OK)
      return (void *)j->name;
    opsrt_result_destroy(result);
  }
  return NULL;
}

static void run_threads(const char *name, const char *provider) {
  opsrt_session *session = must_open(name, provider);
  case_inputs inputs;
  pthread_t threads[4];
  read_inputs(name, session, &inputs);
  job j = {name, session, &inputs};
  for (size_t i = 0; i < COUNT(threads); ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, run_job, &j), 0);
  for (size_t i = 0; i < COUNT(threads); ++i) {
    void *failed = NULL;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  run_once(name, session, &inputs);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void runs_share_bodies(void **state) {
  (void)state;
  static const char *const names[] = {"loop_7", "nested", "scan", "loop_shapes"};
  for (size_t i = 0; i < COUNT(names); ++i) {
    run_threads(names[i], "reference");
    run_threads(names[i], TEST_NPU);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_on_reference),
      cmocka_unit_test(bodies_on_cpu),
      cmocka_unit_test(bodies_on_mynpu),
      cmocka_unit_test(iterations_neither_prepare_nor_copy),
      cmocka_unit_test(placements_list_bodies),
      cmocka_unit_test(models_are_refused),
      cmocka_unit_test(nodes_in_bodies_are_named),
      cmocka_unit_test(asynchronous_errors_name_the_body),
      cmocka_unit_test(runs_share_bodies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Models end to end through the public API, on mixtures of providers: reference, cpu, mynpu
// (own memory, queues, private weight layout), and probe (probe_test_provider.c), which checks
// the host's promises from inside its kernels. Models, inputs and expected outputs come from
// session_test_models.py: onnxruntime's, and numpy's for probe's own operators.
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
#include <unistd.h>

#define MAX_VALUES 8
#define RTOL 1e-4f
#define ATOL 1e-5f

static const opsrt_provider_spec reference_only[] = {{.name = "reference"}};
static const ops_key_value slow_npu[] = {{OPS_STR("delay_us"), OPS_STR("300")}};
static const opsrt_provider_spec npu[] = {
    {.name = TEST_NPU, .options = slow_npu, .option_count = 1}};
static const opsrt_provider_spec probe[] = {{.name = TEST_PROBE}};
static const opsrt_provider_spec cpu[] = {{.name = "cpu"}};
static const opsrt_provider_spec npu_probe[] = {{.name = TEST_NPU}, {.name = TEST_PROBE}};
static const opsrt_provider_spec probe_npu[] = {{.name = TEST_PROBE}, {.name = TEST_NPU}};

#define SET(array) array, sizeof(array) / sizeof(array)[0]

// ---- Cases ----------------------------------------------------------------------------------

static opsrt_session *open_case(const char *name, const opsrt_provider_spec *providers,
                                uint64_t provider_count, opsrt_session_options options,
                                ops_error *error) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/model.onnx", TEST_MODELS, name);
  options.model.path = path;
  options.providers = providers;
  options.provider_count = provider_count;
  options.workers = 2;
  opsrt_session *session = NULL;
  const int32_t status = opsrt_session_create(&options, &session, error);
  assert_true((status == OPS_OK) == (session != NULL));
  return session;
}

static opsrt_session *must_open(const char *name, const opsrt_provider_spec *providers,
                                uint64_t provider_count) {
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session =
      open_case(name, providers, provider_count, (opsrt_session_options){0}, &error);
  if (!session) fail_msg("%s: %s", name, error.message);
  return session;
}

typedef struct case_inputs {
  opsrt_tensor *tensors[MAX_VALUES];
  opsrt_value values[MAX_VALUES];
  uint64_t count;
} case_inputs;

static void read_inputs(const char *name, const opsrt_session *session, case_inputs *inputs) {
  *inputs = (case_inputs){0};
  for (uint64_t i = 0; i < opsrt_session_input_count(session); ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    char path[512];
    snprintf(path, sizeof path, "%s/%s/in_%s.npy", TEST_MODELS, name, info->name);
    if (info->optional && access(path, R_OK) != 0) continue;
    ops_error error = OPS_ERROR_INIT;
    if (opsrt_tensor_read(path, &inputs->tensors[inputs->count], &error) != OPS_OK)
      fail_msg("%s", error.message);
    inputs->values[inputs->count] = *opsrt_tensor_value(inputs->tensors[inputs->count]);
    inputs->values[inputs->count++].name = info->name;
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
    assert_memory_equal(got->data, expected->data, got->size);
    return;
  }
  const float *a = got->data, *b = expected->data;
  for (uint64_t i = 0; i < got->size / sizeof *a; ++i)
    if (!(fabsf(a[i] - b[i]) <= ATOL + RTOL * fabsf(b[i])))
      fail_msg("%s, output %s[%llu]: %g, expected %g", name, got->name, (unsigned long long)i,
               (double)a[i], (double)b[i]);
}

static void compare_outputs(const char *name, const opsrt_result *result) {
  for (uint64_t i = 0; i < opsrt_result_count(result); ++i) {
    const opsrt_value *got = opsrt_result_output(result, i);
    char path[512];
    snprintf(path, sizeof path, "%s/%s/out_%s.npy", TEST_MODELS, name, got->name);
    opsrt_tensor *expected = NULL;
    assert_int_equal(opsrt_tensor_read(path, &expected, NULL), OPS_OK);
    compare(name, got, opsrt_tensor_value(expected));
    opsrt_tensor_destroy(expected);
  }
}

static void run_once(const char *name, opsrt_session *session, const case_inputs *inputs) {
  opsrt_result *result = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (opsrt_session_run(session, inputs->values, inputs->count, &result, &error) != OPS_OK)
    fail_msg("%s: %s", name, error.message);
  compare_outputs(name, result);
  opsrt_result_destroy(result);
}

// Three runs: the first plans, the others use the plan and old memory. Returns the counters.
static opsrt_counters run_case(const char *name, const opsrt_provider_spec *providers,
                               uint64_t provider_count, opsrt_session_options options) {
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session = open_case(name, providers, provider_count, options, &error);
  if (!session) fail_msg("%s: %s", name, error.message);
  case_inputs inputs;
  read_inputs(name, session, &inputs);
  for (int i = 0; i < 3; ++i) run_once(name, session, &inputs);
  opsrt_counters counters;
  opsrt_session_counters(session, &counters);
  assert_int_equal(counters.runs, 3);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
  return counters;
}

static const char *const standard_cases[] = {
    "mlp",      "static_mlp",  "shape_chain", "data_shape",   "shape_input",
    "branches", "no_nodes",    "types",       "empty",        "default_input",
    "conv_net", "group_cycle", "group_plain", "scalar_shape", "large_weights"};
static const char *const probe_cases[] = {
    "pick",       "pick_last",    "pickbounded", "pickbounded_last", "pick_twice", "must",
    "must_input", "custom_types", "solo",        "strict",           "packed",     "sequence"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void standard_models_agree_on_every_mixture(void **state) {
  (void)state;
  const opsrt_session_options defaults = {0}, apart = {.no_memory_reuse = 1};
  for (size_t i = 0; i < COUNT(standard_cases); ++i) {
    run_case(standard_cases[i], SET(reference_only), defaults);
    run_case(standard_cases[i], NULL, 0, apart);
    run_case(standard_cases[i], SET(npu), defaults);
    run_case(standard_cases[i], SET(cpu), defaults);
    run_case(standard_cases[i], SET(probe), defaults);
    run_case(standard_cases[i], SET(probe_npu), defaults);
    run_case(standard_cases[i], SET(npu_probe), apart);
  }
}

static void probe_models_keep_every_promise(void **state) {
  (void)state;
  const opsrt_session_options defaults = {0}, apart = {.no_memory_reuse = 1};
  for (size_t i = 0; i < COUNT(probe_cases); ++i) {
    run_case(probe_cases[i], SET(probe), defaults);
    run_case(probe_cases[i], SET(probe), apart);
    run_case(probe_cases[i], SET(npu_probe), defaults);
  }
}

// ---- Plans ----------------------------------------------------------------------------------

static void one_plan_serves_equal_shapes(void **state) {
  (void)state;
  opsrt_counters counters = run_case("mlp", SET(reference_only), (opsrt_session_options){0});
  assert_int_equal(counters.plans_built, 1);
  assert_int_equal(counters.prepares, 3);  // MatMul, Add, Relu, once each
  counters = run_case("static_mlp", SET(reference_only), (opsrt_session_options){0});
  assert_int_equal(counters.plans_built, 1);  // made with the session
}

static void shapes_known_from_shapes_cost_no_segment(void **state) {
  (void)state;
  opsrt_counters counters =
      run_case("shape_chain", SET(reference_only), (opsrt_session_options){0});
  assert_int_equal(counters.plans_built, 1);
  assert_int_equal(counters.prepares, 2);  // Reshape and Relu; the rest is folded
  counters = run_case("data_shape", SET(reference_only), (opsrt_session_options){0});
  assert_int_equal(counters.plans_built, 2);
}

static void other_contents_make_another_plan(void **state) {
  (void)state;
  opsrt_session *session = must_open("shape_input", SET(reference_only));
  case_inputs inputs;
  read_inputs("shape_input", session, &inputs);
  run_once("shape_input", session, &inputs);
  const int64_t other[2] = {4, 3};
  opsrt_value *shape = &inputs.values[1];
  assert_string_equal(shape->name, "s");
  shape->data = other;
  opsrt_result *result = NULL;
  assert_int_equal(opsrt_session_run(session, inputs.values, 2, &result, NULL), OPS_OK);
  assert_int_equal(opsrt_result_output(result, 0)->dims[0], 4);
  assert_int_equal(opsrt_result_output(result, 0)->dims[1], 3);
  opsrt_result_destroy(result);
  opsrt_counters counters;
  opsrt_session_counters(session, &counters);
  assert_int_equal(counters.plans_built, 2);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

// Runs "mlp" with `rows` rows of zeros; the result is Relu(b) in every row.
static void run_rows(opsrt_session *session, int64_t rows) {
  const int64_t dims[2] = {rows, 4};
  float *zeros = calloc((size_t)rows * 4, sizeof *zeros);
  const opsrt_value x = {.name = "x",
                         .type = OPS_TYPE_FLOAT,
                         .rank = 2,
                         .dims = dims,
                         .data = zeros,
                         .size = (uint64_t)rows * 16};
  opsrt_result *result = NULL;
  assert_int_equal(opsrt_session_run(session, &x, 1, &result, NULL), OPS_OK);
  const opsrt_value *y = opsrt_result_output(result, 0);
  assert_int_equal(y->dims[0], rows);
  for (int64_t i = 5; i < rows * 5; ++i)
    assert_true(((const float *)y->data)[i] == ((const float *)y->data)[i % 5]);
  opsrt_result_destroy(result);
  free(zeros);
}

static void plans_are_bounded(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session =
      open_case("mlp", SET(reference_only), (opsrt_session_options){.max_plans = 3}, &error);
  assert_non_null(session);
  opsrt_counters counters;
  for (int64_t rows = 1; rows <= 6; ++rows) run_rows(session, rows);
  run_rows(session, 6);  // still there
  run_rows(session, 1);  // gone
  opsrt_session_counters(session, &counters);
  assert_int_equal(counters.plans_built, 7);
  assert_int_equal(counters.plans_evicted, 4);
  opsrt_session_destroy(session);

  // Segments of one run are more than the cache holds.
  session = open_case("data_shape", SET(reference_only),
                      (opsrt_session_options){.max_plans = 1}, &error);
  case_inputs inputs;
  read_inputs("data_shape", session, &inputs);
  for (int i = 0; i < 3; ++i) run_once("data_shape", session, &inputs);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void memory_is_reused_and_given_back(void **state) {
  (void)state;
  opsrt_session *session = must_open("conv_net", SET(npu));
  case_inputs inputs;
  read_inputs("conv_net", session, &inputs);
  run_once("conv_net", session, &inputs);
  opsrt_memory first[4], again[4];
  const uint64_t count = opsrt_session_memory_count(session);
  assert_in_range(count, 2, 4);
  for (uint64_t i = 0; i < count; ++i) opsrt_session_memory(session, i, &first[i]);
  for (int i = 0; i < 5; ++i) run_once("conv_net", session, &inputs);
  int device = 0;
  for (uint64_t i = 0; i < count; ++i) {
    opsrt_session_memory(session, i, &again[i]);
    assert_int_equal(again[i].bytes_in_use, first[i].bytes_in_use);
    assert_int_equal(again[i].allocations, first[i].allocations);  // a repeated run makes none
    if (again[i].kind != OPS_MEMORY_DEVICE) continue;
    device = 1;
    assert_true(again[i].planned < again[i].naive);
    assert_true(again[i].planned >= again[i].lower_bound);
  }
  assert_true(device);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

// ---- Placement ------------------------------------------------------------------------------

static int32_t group_of(const opsrt_session *session, const char *node) {
  for (uint64_t i = 0; i < opsrt_session_placement_count(session); ++i)
    if (strcmp(opsrt_session_placement(session, i)->node, node) == 0)
      return opsrt_session_placement(session, i)->group;
  fail_msg("no node %s", node);
  return -1;
}

static void a_cycle_cuts_a_group(void **state) {
  (void)state;
  opsrt_session *session = must_open("group_cycle", SET(probe));
  assert_true(group_of(session, "add1") >= 0);
  assert_int_equal(group_of(session, "relu_b"), -1);
  assert_true(group_of(session, "add2") >= 0);
  assert_int_equal(group_of(session, "add2"), group_of(session, "add3"));
  assert_int_not_equal(group_of(session, "add1"), group_of(session, "add2"));
  opsrt_session_destroy(session);
  session = must_open("group_plain", SET(probe));
  assert_int_equal(group_of(session, "add1"), group_of(session, "add2"));
  opsrt_session_destroy(session);
}

static void a_declined_group_runs_elsewhere(void **state) {
  (void)state;
  const ops_key_value one[] = {{OPS_STR("max_group"), OPS_STR("1")}};
  const opsrt_provider_spec shy[] = {{.name = TEST_PROBE, .options = one, .option_count = 1}};
  opsrt_session *session = must_open("group_plain", SET(shy));
  assert_int_equal(group_of(session, "add1"), -1);
  const opsrt_placement *first = opsrt_session_placement(session, 0);
  assert_string_equal(first->provider, "reference");
  assert_non_null(strstr(first->reason, "probe"));
  case_inputs inputs;
  read_inputs("group_plain", session, &inputs);
  run_once("group_plain", session, &inputs);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void nobody_is_an_error_with_every_reason(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  assert_null(open_case("nobody", SET(npu_probe), (opsrt_session_options){0}, &error));
  assert_int_equal(error.code, OPS_ERROR_UNSUPPORTED);
  const char *const parts[] = {"the_orphan", "probe.Nothing", "opset 1",   "float[N]",
                               "mynpu:",     "probe:",        "reference:"};
  for (size_t i = 0; i < COUNT(parts); ++i)
    if (!strstr(error.message, parts[i])) fail_msg("no '%s' in: %s", parts[i], error.message);
}

static void no_fallback_means_none(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  assert_null(
      open_case("conv_net", SET(npu), (opsrt_session_options){.no_fallback = 1}, &error));
  assert_int_equal(error.code, OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "mynpu"));
  assert_null(strstr(error.message, "reference:"));
}

static void a_missing_provider_is_an_error(void **state) {
  (void)state;
  const opsrt_provider_spec missing[] = {{.name = "no_such_provider"}};
  ops_error error = OPS_ERROR_INIT;
  assert_null(open_case("mlp", SET(missing), (opsrt_session_options){0}, &error));
  assert_int_equal(error.code, OPS_ERROR_NOT_FOUND);
  assert_non_null(strstr(error.message, "no_such_provider"));
}

// ---- Errors while running -------------------------------------------------------------------

static void a_failing_kernel_is_named(void **state) {
  (void)state;
  opsrt_session *session = must_open("fail", SET(probe));
  case_inputs inputs;
  read_inputs("fail", session, &inputs);
  for (int i = 0; i < 2; ++i) {
    opsrt_result *result = NULL;
    ops_error error = OPS_ERROR_INIT;
    assert_int_equal(opsrt_session_run(session, inputs.values, inputs.count, &result, &error),
                     OPS_ERROR_INVALID_ARGUMENT);
    assert_null(result);
    assert_non_null(strstr(error.message, "the_bad_one"));
    assert_non_null(strstr(error.message, "index 9 is out of range"));
  }
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void an_asynchronous_error_names_its_node(void **state) {
  (void)state;
  const ops_key_value bad[] = {{OPS_STR("fail_op"), OPS_STR("Mul")},
                               {OPS_STR("delay_us"), OPS_STR("500")}};
  const opsrt_provider_spec failing[] = {{.name = TEST_NPU, .options = bad, .option_count = 2}};
  opsrt_session *session = must_open("conv_net", SET(failing));
  case_inputs inputs;
  read_inputs("conv_net", session, &inputs);
  for (int i = 0; i < 3; ++i) {  // the streams that failed are replaced
    opsrt_result *result = NULL;
    ops_error error = OPS_ERROR_INIT;
    assert_int_not_equal(
        opsrt_session_run(session, inputs.values, inputs.count, &result, &error), OPS_OK);
    assert_null(result);
    if (!strstr(error.message, "'mul_m'")) fail_msg("not named: %s", error.message);
  }
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static int32_t run_with(opsrt_session *session, const opsrt_value *values, uint64_t count,
                        ops_error *error) {
  opsrt_result *result = NULL;
  const int32_t status = opsrt_session_run(session, values, count, &result, error);
  assert_null(result);
  return status;
}

static void wrong_inputs_say_what_is_wanted(void **state) {
  (void)state;
  opsrt_session *session = must_open("mlp", SET(reference_only));
  float data[8] = {0};
  const int64_t dims[3] = {2, 4, 1}, wide[2] = {1, 5}, negative[2] = {-1, 4};
  const opsrt_value good = {
      .name = "x", .type = OPS_TYPE_FLOAT, .rank = 2, .dims = dims, .data = data, .size = 32};
  opsrt_value twice[2] = {good, good};
  opsrt_value bad[6] = {good, good, good, good, good, good};
  const char *const words[6] = {"double",   "rank",  "dimension 1 must be 4",
                                "negative", "bytes", "'q' does not exist"};
  bad[0].type = OPS_TYPE_DOUBLE;
  bad[1].rank = 3;
  bad[2].dims = wide;
  bad[3].dims = negative;
  bad[4].size = 31;
  bad[5].name = "q";
  for (int i = 0; i < 6; ++i) {
    ops_error error = OPS_ERROR_INIT;
    assert_int_equal(run_with(session, &bad[i], 1, &error), OPS_ERROR_INVALID_ARGUMENT);
    if (!strstr(error.message, words[i])) fail_msg("no '%s' in: %s", words[i], error.message);
  }
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(run_with(session, NULL, 0, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "x: float[N,4]"));
  assert_int_equal(run_with(session, twice, 2, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "twice"));
  opsrt_session_destroy(session);
}

static void equal_symbols_must_be_equal(void **state) {
  (void)state;
  opsrt_session *session = must_open("group_plain", SET(reference_only));
  float data[12] = {0};
  const int64_t two[2] = {2, 4}, three[2] = {3, 4};
  opsrt_value values[2] = {
      {.name = "x", .type = 1, .rank = 2, .dims = two, .data = data, .size = 32},
      {.name = "w", .type = 1, .rank = 2, .dims = three, .data = data, .size = 48}};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(run_with(session, values, 2, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "(N) is 3"));
  opsrt_session_destroy(session);
}

static void unaligned_inputs_are_fine(void **state) {
  (void)state;
  opsrt_session *session = must_open("mlp", SET(npu));
  case_inputs inputs;
  read_inputs("mlp", session, &inputs);
  char *shifted = malloc(inputs.values[0].size + 1);
  memcpy(shifted + 1, inputs.values[0].data, inputs.values[0].size);
  inputs.values[0].data = shifted + 1;
  run_once("mlp", session, &inputs);
  free(shifted);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void strings_go_through(void **state) {
  (void)state;
  opsrt_session *session = must_open("strings", SET(probe));
  const ops_str words[3] = {OPS_STR("one"), OPS_STR(""), OPS_STR("Three")};
  const int64_t dims[1] = {3};
  const opsrt_value x = {
      .name = "x", .type = OPS_TYPE_STRING, .rank = 1, .dims = dims, .strings = words};
  opsrt_result *result = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (opsrt_session_run(session, &x, 1, &result, &error) != OPS_OK)
    fail_msg("%s", error.message);
  const opsrt_value *y = opsrt_result_output(result, 0);
  assert_int_equal(y->kind, OPS_VALUE_STRINGS);
  assert_int_equal(y->dims[0], 3);
  assert_memory_equal(y->strings[0].data, "ONE", 3);
  assert_int_equal(y->strings[1].size, 0);
  assert_memory_equal(y->strings[2].data, "THREE", 5);
  opsrt_session_destroy(session);  // a result outlives its session
  assert_memory_equal(y->strings[2].data, "THREE", 5);
  opsrt_result_destroy(result);
}

// ---- Threads --------------------------------------------------------------------------------

typedef struct thread_work {
  const char *name;
  opsrt_session *session;
  const case_inputs *inputs;
  int failures;
} thread_work;

// Asserts of cmocka are for the main thread: others count.
static void *run_many(void *context) {
  thread_work *work = context;
  for (int i = 0; i < 12; ++i) {
    opsrt_result *result = NULL;
    const int32_t status = opsrt_session_run(work->session, work->inputs->values,
                                             work->inputs->count, &result, NULL);
    char path[512];
    opsrt_tensor *expected = NULL;
    snprintf(path, sizeof path, "%s/%s/out_y.npy", TEST_MODELS, work->name);
    if (status != OPS_OK || opsrt_tensor_read(path, &expected, NULL) != OPS_OK) {
      work->failures++;
      continue;
    }
    const opsrt_value *a = opsrt_result_output(result, 0), *b = opsrt_tensor_value(expected);
    work->failures += a->size != b->size;
    for (uint64_t k = 0; a->size == b->size && k < a->size / sizeof(float); ++k) {
      const float x = ((const float *)a->data)[k], y = ((const float *)b->data)[k];
      if (!(fabsf(x - y) <= ATOL + RTOL * fabsf(y))) work->failures++;
    }
    opsrt_tensor_destroy(expected);
    opsrt_result_destroy(result);
  }
  return NULL;
}

static void run_threads(const char *name, const opsrt_provider_spec *providers,
                        uint64_t count) {
  opsrt_session *session = must_open(name, providers, count);
  case_inputs inputs;
  read_inputs(name, session, &inputs);
  pthread_t threads[4];
  thread_work work[4];
  for (int i = 0; i < 4; ++i) {
    work[i] = (thread_work){name, session, &inputs, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_many, &work[i]), 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(work[i].failures, 0);
  }
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
}

static void concurrent_runs_do_not_meet(void **state) {
  (void)state;
  run_threads("solo", SET(probe));
  run_threads("conv_net", SET(npu_probe));  // two queues for four threads: runs take turns
  run_threads("conv_net", SET(cpu));
  run_threads("pick_twice", SET(probe));
  run_threads("data_shape", SET(reference_only));
}

typedef struct shape_work {
  opsrt_session *session;
  int64_t first;
  int failures;
} shape_work;

// Runs "mlp" on ever other numbers of rows, so that plans are built and evicted all the time.
static void *run_shapes(void *context) {
  shape_work *work = context;
  float zeros[4 * 12] = {0};
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t dims[2] = {1 + (work->first * 5 + i * 7) % 12, 4};
    const opsrt_value x = {.name = "x",
                           .type = OPS_TYPE_FLOAT,
                           .rank = 2,
                           .dims = dims,
                           .data = zeros,
                           .size = (uint64_t)dims[0] * 16};
    opsrt_result *result = NULL;
    const int good = opsrt_session_run(work->session, &x, 1, &result, NULL) == OPS_OK &&
                     opsrt_result_output(result, 0)->dims[0] == dims[0];
    work->failures += !good;
    opsrt_result_destroy(result);
  }
  return NULL;
}

static void concurrent_runs_may_evict_each_other(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session =
      open_case("mlp", SET(npu_probe), (opsrt_session_options){.max_plans = 2}, &error);
  assert_non_null(session);
  pthread_t threads[4];
  shape_work work[4];
  for (int i = 0; i < 4; ++i) {
    work[i] = (shape_work){session, i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_shapes, &work[i]), 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(work[i].failures, 0);
  }
  opsrt_session_destroy(session);
}

// ---- Profile --------------------------------------------------------------------------------

static void a_profile_shows_copies_and_kernels(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session =
      open_case("conv_net", SET(npu), (opsrt_session_options){.profile = 1}, &error);
  assert_non_null(session);
  case_inputs inputs;
  read_inputs("conv_net", session, &inputs);
  run_once("conv_net", session, &inputs);
  opsrt_node_time *times = NULL;
  uint64_t count = 0, copies = 0, convs = 0;
  assert_int_equal(opsrt_session_profile_times(session, &times, &count, NULL), OPS_OK);
  for (uint64_t i = 0; i < count; ++i) {
    copies += strcmp(times[i].op, "(copy)") == 0 && times[i].bytes > 0;
    convs += strcmp(times[i].op, "Conv") == 0 && times[i].total_ns > 0;
  }
  opsrt_free(times);
  assert_true(copies >= 2);  // in and out
  assert_int_equal(convs, 2);
  opsrt_session_profile_clear(session);
  assert_int_equal(opsrt_session_profile_times(session, &times, &count, NULL), OPS_OK);
  assert_int_equal(count, 0);
  opsrt_free(times);
  inputs_finish(&inputs);
  opsrt_session_destroy(session);
  session = must_open("mlp", SET(reference_only));
  assert_int_equal(opsrt_session_profile_write(session, "/tmp/unused", NULL),
                   OPS_ERROR_PRECONDITION);
  opsrt_session_destroy(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(standard_models_agree_on_every_mixture),
      cmocka_unit_test(probe_models_keep_every_promise),
      cmocka_unit_test(one_plan_serves_equal_shapes),
      cmocka_unit_test(shapes_known_from_shapes_cost_no_segment),
      cmocka_unit_test(other_contents_make_another_plan),
      cmocka_unit_test(plans_are_bounded),
      cmocka_unit_test(memory_is_reused_and_given_back),
      cmocka_unit_test(a_cycle_cuts_a_group),
      cmocka_unit_test(a_declined_group_runs_elsewhere),
      cmocka_unit_test(nobody_is_an_error_with_every_reason),
      cmocka_unit_test(no_fallback_means_none),
      cmocka_unit_test(a_missing_provider_is_an_error),
      cmocka_unit_test(a_failing_kernel_is_named),
      cmocka_unit_test(an_asynchronous_error_names_its_node),
      cmocka_unit_test(wrong_inputs_say_what_is_wanted),
      cmocka_unit_test(equal_symbols_must_be_equal),
      cmocka_unit_test(unaligned_inputs_are_fine),
      cmocka_unit_test(strings_go_through),
      cmocka_unit_test(concurrent_runs_do_not_meet),
      cmocka_unit_test(concurrent_runs_may_evict_each_other),
      cmocka_unit_test(a_profile_shows_copies_and_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Graph capture on mynpu: the first run of a plan goes action by action, the second is
// recorded, all further ones are replays of it, with memory rebound that has moved. Results are
// compared with the models' definitions.
#include <math.h>

#include "execution_test_util.h"

static const test_provider npu[] = {{TEST_NPU, {"delay_us=50"}}, {.name = NULL}};
static const opsrt_session_options defaults = {0};

static void run_chain(opsrt_session *session, const rows *x) {
  opsrt_result *result = NULL;
  const opsrt_value value = rows_value(x, "x");
  CHECK(opsrt_session_run(session, &value, 1, &result, &error));
  expect_chain(opsrt_result_output(result, 0), x);
  opsrt_result_destroy(result);
}

// "scale" runs on mynpu alone; y = relu(x * x + x).
static void run_scale(opsrt_session *session, const rows *x) {
  opsrt_result *result = NULL;
  const opsrt_value value = rows_value(x, "x");
  CHECK(opsrt_session_run(session, &value, 1, &result, &error));
  const float *y = opsrt_result_output(result, 0)->data;
  for (int64_t i = 0; i < x->dims[0] * kWidth; ++i)
    assert_true(y[i] == fmaxf(x->data[i] * x->data[i] + x->data[i], 0));
  opsrt_result_destroy(result);
}

static void second_runs_are_replayed(void **state) {
  (void)state;
  opsrt_session *session = open_model("scale", npu, defaults);
  rows x;
  for (int i = 0; i < 6; ++i) {
    rows_fill(&x, 4, (float)-i, 0.125f);
    run_scale(session, &x);
  }
  const opsrt_counters counters = counters_of(session);
  assert_int_equal(counters.captures, 1);
  assert_int_equal(counters.replays, 5);
  assert_int_equal(counters.copies, 6 * 2);  // x and y, replayed or not
  opsrt_session_destroy(session);
}

static void moved_memory_is_rebound(void **state) {
  (void)state;
  opsrt_session *session = open_model("scale", npu, defaults);
  static rows x[5];
  for (int i = 0; i < 15; ++i) {
    rows_fill(&x[i * 2 % 5], 4, (float)-i, 0.25f);
    run_scale(session, &x[i * 2 % 5]);
  }
  assert_int_equal(counters_of(session).captures, 1);
  assert_int_equal(counters_of(session).replays, 14);
  opsrt_session_destroy(session);
}

static void other_shapes_are_captured_anew(void **state) {
  (void)state;
  opsrt_session *session = open_model("scale", npu, defaults);
  rows x;
  for (int i = 0; i < 12; ++i) {
    rows_fill(&x, 1 + i % 3, (float)-i, 0.25f);
    run_scale(session, &x);
  }
  assert_int_equal(counters_of(session).captures, 3);
  assert_int_equal(counters_of(session).replays, 12 - 3);
  opsrt_session_destroy(session);
}

// One address that becomes two cannot be rebound.
static void what_cannot_be_rebound_is_captured_anew(void **state) {
  (void)state;
  opsrt_session *session = open_model("state", npu, defaults);
  opsrt_binding *binding = NULL;
  static rows x, s, next, y;
  rows_fill(&x, 2, 1, 0.5f);
  rows_fill(&s, 2, -3, 0.5f);
  CHECK(opsrt_binding_create(session, &binding, &error));
  CHECK(opsrt_binding_set_output(binding, "next", next.data, sizeof next.data, NULL, &error));
  CHECK(opsrt_binding_set_output(binding, "y", y.data, sizeof y.data, NULL, &error));
  for (int run = 0; run < 6; ++run) {
    const rows *second = run < 3 ? &x : &s;
    const opsrt_value values[2] = {rows_value(&x, "x"), rows_value(second, "state")};
    for (int i = 0; i < 2; ++i)
      CHECK(opsrt_binding_set_input(binding, &values[i], NULL, &error));
    CHECK(opsrt_binding_run(binding, NULL, &error));
    for (int i = 0; i < 2 * kWidth; ++i) {
      const float sum = 0.5f * second->data[i] + x.data[i];
      assert_true(next.data[i] == sum && y.data[i] == fmaxf(sum, 0));
    }
  }
  assert_int_equal(counters_of(session).captures, 2);
  assert_int_equal(counters_of(session).replays, 5);
  opsrt_binding_destroy(binding);
  opsrt_session_destroy(session);
}

// Pieces on two devices, kernels of the host between them: each wait must be kept.
static void pieces_keep_their_order(void **state) {
  (void)state;
  static const test_provider relay[] = {{TEST_NPU, {"ops=Mul,Sub", "delay_us=300"}},
                                        {TEST_NPU, {"ops=Add,Relu"}},
                                        {"reference", {NULL}},
                                        {.name = NULL}};
  opsrt_session *session = open_model("relay", relay, defaults);
  opsrt_session *chain = open_model("chain", npu, defaults);
  rows x;
  for (int run = 0; run < 8; ++run) {
    opsrt_result *result = NULL;
    rows_fill(&x, 3, (float)run - 5, 0.5f);
    const opsrt_value value = rows_value(&x, "x");
    CHECK(opsrt_session_run(session, &value, 1, &result, &error));
    const float *y = opsrt_result_output(result, 0)->data;
    for (int i = 0; i < 3 * kWidth; ++i) {
      float v = x.data[i];
      for (int step = 0; step < 4; ++step) v = fabsf(3 * v + v) - 3 * v;
      assert_true(y[i] == v);
    }
    opsrt_result_destroy(result);
    run_chain(chain, &x);
  }
  assert_true(counters_of(session).replays > 0);
  opsrt_session_destroy(chain);
  opsrt_session_destroy(session);
}

// An error inside of a replay belongs to a node all the same.
static void failures_in_replays_are_named(void **state) {
  (void)state;
  static const test_provider failing[] = {{TEST_NPU, {"fail_op=Add", "fail_from=3"}},
                                          {.name = NULL}};
  opsrt_session *session = open_model("scale", failing, defaults);
  rows x;
  rows_fill(&x, 2, 1, 1);
  for (int i = 0; i < 3; ++i) run_scale(session, &x);
  assert_int_equal(counters_of(session).replays, 2);
  const opsrt_value value = rows_value(&x, "x");
  opsrt_result *result = NULL;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(opsrt_session_run(session, &value, 1, &result, &error), OPS_ERROR_INTERNAL);
  expect_parts(error.message, (const char *const[]){"node 'plus' (Add) on mynpu", NULL});
  opsrt_session_destroy(session);
}

// ---- Where it does not happen ---------------------------------------------------------------

static void expect_reason(const test_provider *providers, opsrt_session_options options,
                          uint64_t kernels, uint64_t capturable, const char *reason) {
  opsrt_session *session = open_model("scale", providers, options);
  opsrt_capture capture;
  rows x;
  rows_fill(&x, 2, 1, 1);
  for (int i = 0; i < 3; ++i) run_scale(session, &x);
  opsrt_session_capture(session, 0, &capture);
  assert_int_equal(capture.kernels, kernels);
  assert_int_equal(capture.capturable, capturable);
  assert_string_equal(capture.reason, reason);
  assert_int_equal(counters_of(session).replays, capturable ? 2 : 0);
  opsrt_session_destroy(session);
}

static void reasons_are_told(void **state) {
  (void)state;
  static const test_provider late[] = {{TEST_LATE, {NULL}}, {.name = NULL}};
  static const test_provider host[] = {{"reference", {NULL}}, {.name = NULL}};
  expect_reason(npu, defaults, 3, 3, "");
  expect_reason(npu, (opsrt_session_options){.no_capture = 1}, 3, 0, "capture is switched off");
  expect_reason(npu, (opsrt_session_options){.profile = 1}, 3, 0, "a profile times each node");
  expect_reason(late, defaults, 3, 0, "offers no capture");
  expect_reason(host, defaults, 3, 0, "works on the calling thread");
}

// A run with a deadline says at which node it ended, which a replay cannot.
static void deadlines_run_node_by_node(void **state) {
  (void)state;
  opsrt_session *session = open_model("scale", npu, defaults);
  const opsrt_run_options options = {.timeout_ns = UINT64_C(60000000000)};
  rows x;
  rows_fill(&x, 2, 1, 1);
  const opsrt_value value = rows_value(&x, "x");
  for (int i = 0; i < 4; ++i) {
    opsrt_result *result = NULL;
    CHECK(opsrt_session_run_with(session, &value, 1, &options, &result, &error));
    opsrt_result_destroy(result);
  }
  assert_int_equal(counters_of(session).replays, 0);
  opsrt_session_destroy(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(second_runs_are_replayed),
      cmocka_unit_test(moved_memory_is_rebound),
      cmocka_unit_test(other_shapes_are_captured_anew),
      cmocka_unit_test(what_cannot_be_rebound_is_captured_anew),
      cmocka_unit_test(pieces_keep_their_order),
      cmocka_unit_test(failures_in_replays_are_named),
      cmocka_unit_test(reasons_are_told),
      cmocka_unit_test(deadlines_run_node_by_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

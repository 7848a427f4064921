// SPDX-License-Identifier: Apache-2.0
//
// Cancelling and deadlines: between nodes, inside a kernel that asks, on a device that can
// cancel (mynpu) and on one that cannot (late). The session must work afterwards.
#include <pthread.h>
#include <time.h>

#include "execution_test_util.h"

static const test_provider probe[] = {{TEST_PROBE, {NULL}}, {.name = NULL}};
static const test_provider late[] = {{TEST_LATE, {NULL}}, {.name = NULL}};
// A chain of ten takes seconds.
static const test_provider slow_npu[] = {{TEST_NPU, {"delay_us=300000"}}, {.name = NULL}};

static int32_t run_with(opsrt_session *session, const rows *x, const opsrt_run_options *options,
                        ops_error *error) {
  opsrt_result *result = NULL;
  const opsrt_value value = rows_value(x, "x");
  *error = (ops_error)OPS_ERROR_INIT;
  const int32_t status = opsrt_session_run_with(session, &value, 1, options, &result, error);
  assert_true((status == OPS_OK) == (result != NULL));
  if (status == OPS_OK) expect_chain(opsrt_result_output(result, 0), x);
  opsrt_result_destroy(result);
  return status;
}

static void *request_soon(void *cancel) {
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  opsrt_cancel_request(cancel);
  return NULL;
}

// Cancels from another thread while `model` runs.
static void cancel_while(const char *model, const test_provider *providers,
                         const char *const *parts) {
  opsrt_session *session = open_model(model, providers, (opsrt_session_options){0});
  opsrt_run_options options = {0};
  pthread_t thread;
  rows x;
  ops_error error;
  rows_fill(&x, 2, 1, 1);
  CHECK(opsrt_cancel_create(&options.cancel, &error));
  assert_int_equal(pthread_create(&thread, NULL, request_soon, options.cancel), 0);
  assert_int_equal(run_with(session, &x, &options, &error), OPS_ERROR_CANCELLED);
  pthread_join(thread, NULL);
  expect_parts(error.message, parts);
  // Still requested: the next run does not begin.
  assert_int_equal(run_with(session, &x, &options, &error), OPS_ERROR_CANCELLED);
  expect_parts(error.message, (const char *const[]){"cancelled before it began", NULL});
  opsrt_cancel_destroy(options.cancel);
  opsrt_session_destroy(session);
}

static void kernels_that_ask_are_cancelled(void **state) {
  (void)state;
  cancel_while("endless", probe,
               (const char *const[]){"'the_long_one'", "cancelled while it ran", NULL});
}

static void devices_are_cancelled(void **state) {
  (void)state;
  cancel_while("chain", slow_npu, (const char *const[]){"cancelled", "on mynpu", NULL});
}

static void a_deadline_ends_a_kernel(void **state) {
  (void)state;
  opsrt_session *session = open_model("endless", probe, (opsrt_session_options){0});
  const opsrt_run_options options = {.timeout_ns = 30000000};
  rows x;
  ops_error error;
  rows_fill(&x, 2, 1, 1);
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(run_with(session, &x, &options, &error), OPS_ERROR_TIMEOUT);
    expect_parts(error.message, (const char *const[]){"'the_long_one'", "kernel timed out",
                                                      "0.03 s", "while it ran", NULL});
  }
  opsrt_session_destroy(session);
}

// A token that nobody uses and a deadline far away change nothing, on any device.
static void patient_runs_end_well(void **state) {
  (void)state;
  static const test_provider npu[] = {{TEST_NPU, {"delay_us=500"}}, {.name = NULL}};
  const test_provider *all[] = {NULL, late, npu};
  opsrt_run_options options = {.timeout_ns = UINT64_C(3600000000000)};
  ops_error error;
  rows x;
  CHECK(opsrt_cancel_create(&options.cancel, &error));
  for (int i = 0; i < 3; ++i) {
    opsrt_session *session = open_model("chain", all[i], (opsrt_session_options){0});
    rows_fill(&x, 2, -3, 0.5f);
    assert_int_equal(run_with(session, &x, &options, &error), OPS_OK);
    opsrt_cancel_request(options.cancel);
    assert_int_equal(run_with(session, &x, &options, &error), OPS_ERROR_CANCELLED);
    opsrt_cancel_reset(options.cancel);
    assert_int_equal(run_with(session, &x, &options, &error), OPS_OK);
    assert_int_equal(run_with(session, &x, NULL, &error), OPS_OK);
    opsrt_session_destroy(session);
  }
  opsrt_cancel_destroy(options.cancel);
}

// The device goes on after a deadline, with what it holds intact.
static void a_device_works_after_a_deadline(void **state) {
  (void)state;
  static const test_provider npu[] = {{TEST_NPU, {"delay_us=20000"}}, {.name = NULL}};
  const opsrt_run_options hasty = {.timeout_ns = 30000000};
  opsrt_session *session = open_model("chain", npu, (opsrt_session_options){0});
  rows x;
  ops_error error;
  rows_fill(&x, 2, -3, 0.5f);
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(run_with(session, &x, &hasty, &error), OPS_ERROR_TIMEOUT);
    expect_parts(error.message, (const char *const[]){"kernel timed out", NULL});
    assert_int_equal(run_with(session, &x, NULL, &error), OPS_OK);
  }
  opsrt_session_destroy(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_that_ask_are_cancelled), cmocka_unit_test(devices_are_cancelled),
      cmocka_unit_test(a_deadline_ends_a_kernel), cmocka_unit_test(patient_runs_end_well),
      cmocka_unit_test(a_device_works_after_a_deadline)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

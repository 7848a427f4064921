// SPDX-License-Identifier: Apache-2.0
//
// Packed weights that sessions share: held once however many sessions there are, as long as one
// of them lives, counted by what holds them. Outputs are onnxruntime's, see
// session_test_models.py.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>
#include <math.h>
#include <ops_support/error.h>
#include <opsrt/opsrt.h>
#include <pthread.h>

#define MODEL TEST_MODELS "/large_weights/"

enum { kInputs = 3, kThreads = 4, kRounds = 5 };

static const char *const kNames[kInputs] = {"x", "i", "row"};
static opsrt_tensor *inputs[kInputs], *expected;

static int read_files(void **state) {
  (void)state;
  int failed = opsrt_tensor_read(MODEL "out_z.npy", &expected, NULL);
  for (int i = 0; i < kInputs; ++i) {
    char path[512];
    snprintf(path, sizeof path, MODEL "in_%s.npy", kNames[i]);
    failed |= opsrt_tensor_read(path, &inputs[i], NULL);
  }
  return failed;
}

static int forget_files(void **state) {
  (void)state;
  for (int i = 0; i < kInputs; ++i) opsrt_tensor_destroy(inputs[i]);
  opsrt_tensor_destroy(expected);
  return 0;
}

static opsrt_session *open_session(opsrt_shared_weights *weights) {
  static const opsrt_provider_spec cpu[] = {{.name = "cpu"}};
  const opsrt_session_options options = {.model = {.path = MODEL "model.onnx"},
                                         .providers = cpu,
                                         .provider_count = 1,
                                         .workers = 1,
                                         .shared_weights = weights};
  opsrt_session *session = NULL;
  opsrt_session_create(&options, &session, NULL);
  return session;
}

// 1 if the session computes what is expected.
static int runs_well(opsrt_session *session) {
  opsrt_value values[kInputs];
  opsrt_result *result = NULL;
  for (int i = 0; i < kInputs; ++i) {
    values[i] = *opsrt_tensor_value(inputs[i]);
    values[i].name = kNames[i];
  }
  if (!session || opsrt_session_run(session, values, kInputs, &result, NULL) != OPS_OK)
    return 0;
  const opsrt_value *z = opsrt_result_output(result, 1), *want = opsrt_tensor_value(expected);
  int well = z->size == want->size;
  for (uint64_t i = 0; well && i < z->size / sizeof(float); ++i) {
    const float x = ((const float *)want->data)[i], y = ((const float *)z->data)[i];
    well = fabsf(x - y) <= 1e-3f + 1e-4f * fabsf(x);
  }
  opsrt_result_destroy(result);
  return well;
}

static void sessions_hold_one_copy(void **state) {
  (void)state;
  opsrt_shared_weights *weights = NULL;
  uint64_t one, two;
  assert_int_equal(opsrt_shared_weights_create(&weights, NULL), OPS_OK);
  assert_int_equal(opsrt_shared_weights_bytes(weights, NULL), 0);
  opsrt_session *a = open_session(weights);
  assert_true(runs_well(a));
  const uint64_t bytes = opsrt_shared_weights_bytes(weights, &one);
  assert_true(one > 0 &&
              bytes >= 48 * 3 * 3 * 3 * sizeof(float));  // the convolution's, at least
  opsrt_session *b = open_session(weights);
  assert_true(runs_well(b));
  assert_int_equal(opsrt_shared_weights_bytes(weights, &two), bytes);
  assert_int_equal(two, one);
  opsrt_session_destroy(a);
  assert_int_equal(opsrt_shared_weights_bytes(weights, NULL), bytes);
  assert_true(runs_well(b));
  // A session of its own leaves the shared ones alone.
  opsrt_session *c = open_session(NULL);
  assert_true(runs_well(c));
  assert_int_equal(opsrt_shared_weights_bytes(weights, NULL), bytes);
  opsrt_session_destroy(c);
  opsrt_session_destroy(b);
  assert_int_equal(opsrt_shared_weights_bytes(weights, &two), 0);
  assert_int_equal(two, 0);
  opsrt_shared_weights_release(weights);
  opsrt_shared_weights_release(NULL);
}

static void sessions_outlive_the_handle(void **state) {
  (void)state;
  opsrt_shared_weights *weights = NULL;
  assert_int_equal(opsrt_shared_weights_create(&weights, NULL), OPS_OK);
  opsrt_session *session = open_session(weights);
  opsrt_shared_weights_release(weights);
  assert_true(runs_well(session));
  opsrt_session_destroy(session);
}

static void *make_and_run(void *context) {
  uintptr_t failures = 0;
  for (int i = 0; i < kRounds; ++i) {
    opsrt_session *session = open_session(context);
    failures += !runs_well(session) || opsrt_shared_weights_bytes(context, NULL) == 0;
    opsrt_session_destroy(session);
  }
  return (void *)failures;
}

static void threads_may_come_and_go(void **state) {
  (void)state;
  opsrt_shared_weights *weights = NULL;
  pthread_t threads[kThreads];
  assert_int_equal(opsrt_shared_weights_create(&weights, NULL), OPS_OK);
  for (int i = 0; i < kThreads; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, make_and_run, weights), 0);
  for (int i = 0; i < kThreads; ++i) {
    void *failures = NULL;
    pthread_join(threads[i], &failures);
    assert_null(failures);
  }
  assert_int_equal(opsrt_shared_weights_bytes(weights, NULL), 0);
  opsrt_shared_weights_release(weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sessions_hold_one_copy),
      cmocka_unit_test(sessions_outlive_the_handle),
      cmocka_unit_test(threads_may_come_and_go),
  };
  return cmocka_run_group_tests_name("sharing", tests, read_files, forget_files);
}

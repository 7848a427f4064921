// SPDX-License-Identifier: Apache-2.0
//
// Many threads on one session, and what preparing costs: the outputs must be the same bits as
// those that one thread alone computed before, and the model's own definition; a shape is
// prepared once, whoever asks for it.
#include <pthread.h>

#include "execution_test_util.h"

enum { kThreads = 8, kRuns = 200, kBatches = 32, kNodes = 10 };

static const test_provider reference[] = {{"reference", {NULL}}, {.name = NULL}};
static const test_provider cpu[] = {{"cpu", {NULL}}, {.name = NULL}};
static const test_provider npu[] = {{TEST_NPU, {NULL}}, {.name = NULL}};
// Mul on one simulated device, Add on another, the rest on the host.
static const test_provider relay[] = {{TEST_NPU, {"ops=Mul", "delay_us=30"}},
                                      {TEST_NPU, {"ops=Add"}},
                                      {"cpu", {NULL}},
                                      {.name = NULL}};

typedef struct work {
  pthread_t thread;
  opsrt_session *session;
  const rows *x;                  // by batch size
  float (*y)[kMaxRows * kWidth];  // likewise: what one thread computed
  uint32_t seed;
  int64_t batches;  // sizes 1 … batches
  int bind;         // 1: through a binding of the thread's own
  int failures;
} work;

static uint32_t next_random(uint32_t *state) {
  *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
  return *state >> 8;
}

static const opsrt_value *run_once(work *w, opsrt_binding *binding, const rows *x,
                                   opsrt_result **out_result) {
  const opsrt_value value = rows_value(x, "x");
  if (!binding) {
    const int32_t status = opsrt_session_run(w->session, &value, 1, out_result, NULL);
    return status == OPS_OK ? opsrt_result_output(*out_result, 0) : NULL;
  }
  if (opsrt_binding_set_input(binding, &value, NULL, NULL) != OPS_OK ||
      opsrt_binding_run(binding, NULL, NULL) != OPS_OK)
    return NULL;
  return opsrt_binding_output(binding, 0);
}

// Asserts of cmocka are for the main thread: others count.
static void *run_many(void *context) {
  work *w = context;
  opsrt_binding *binding = NULL;
  if (w->bind && opsrt_binding_create(w->session, &binding, NULL) != OPS_OK) w->failures++;
  for (int i = 0; i < kRuns; ++i) {
    const int64_t batch = 1 + next_random(&w->seed) % w->batches;
    opsrt_result *result = NULL;
    const opsrt_value *y = run_once(w, binding, &w->x[batch], &result);
    w->failures += !y || y->dims[0] != batch ||
                   memcmp(y->data, w->y[batch], (size_t)(batch * kWidth) * sizeof(float)) != 0;
    opsrt_result_destroy(result);
  }
  opsrt_binding_destroy(binding);
  return NULL;
}

static rows inputs[kBatches + 1];
static float alone[kBatches + 1][kMaxRows * kWidth];

// What one thread computes, in a session of its own.
static void run_alone(const char *model, const test_provider *providers) {
  opsrt_session *session = open_model(model, providers, (opsrt_session_options){0});
  for (int64_t batch = 1; batch <= kBatches; ++batch) {
    opsrt_result *result = NULL;
    rows_fill(&inputs[batch], batch, (float)batch - 17, 0.37f);
    const opsrt_value value = rows_value(&inputs[batch], "x");
    CHECK(opsrt_session_run(session, &value, 1, &result, &error));
    const opsrt_value *y = opsrt_result_output(result, 0);
    if (strcmp(model, "chain") == 0) expect_chain(y, &inputs[batch]);
    memcpy(alone[batch], y->data, y->size);
    opsrt_result_destroy(result);
  }
  opsrt_session_destroy(session);
}

static void run_together(opsrt_session *session, int64_t batches) {
  work works[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    works[i] = (work){.session = session,
                      .x = inputs,
                      .y = alone,
                      .seed = (uint32_t)i,
                      .batches = batches,
                      .bind = i % 2};
    assert_int_equal(pthread_create(&works[i].thread, NULL, run_many, &works[i]), 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(works[i].thread, NULL);
    assert_int_equal(works[i].failures, 0);
  }
}

// The same bits with branches at once, by one run and by many.
static void branches_compute_the_same_bits(void **state) {
  (void)state;
  static const test_provider *const sets[] = {reference, cpu};
  static const char *const models[] = {"wide", "chain", "relay", "twigs"};
  for (int p = 0; p < 2; ++p)
    for (int m = 0; m < 4; ++m)
      for (int apart = 0; apart < 2; ++apart) {
        run_alone(models[m], sets[p]);
        opsrt_session *session =
            open_model(models[m], sets[p],
                       (opsrt_session_options){.branch_threads = 4, .no_memory_reuse = apart});
        run_together(session, kBatches);
        opsrt_session_destroy(session);
      }
}

static void threads_compute_the_same_bits(const char *model, const test_provider *providers) {
  run_alone(model, providers);
  opsrt_session *session = open_model(model, providers, (opsrt_session_options){0});
  run_together(session, kBatches);
  const opsrt_counters counters = counters_of(session);
  assert_int_equal(counters.runs, kThreads * kRuns);
  assert_true(counters.plans_built <= kBatches);
  assert_int_equal(counters.plans_evicted, 0);
  opsrt_session_destroy(session);
}

static void on_the_reference(void **state) {
  (void)state;
  threads_compute_the_same_bits("chain", reference);
}

static void on_the_cpu(void **state) {
  (void)state;
  threads_compute_the_same_bits("chain", cpu);
  threads_compute_the_same_bits("wide", cpu);
}

static void on_a_device(void **state) {
  (void)state;
  threads_compute_the_same_bits("chain", npu);
}

static void on_two_devices_and_the_host(void **state) {
  (void)state;
  threads_compute_the_same_bits("relay", relay);
}

// ---- Preparing ------------------------------------------------------------------------------

static void each_batch_size_is_prepared_once(void **state) {
  (void)state;
  run_alone("chain", reference);
  opsrt_session *session = open_model("chain", reference, (opsrt_session_options){0});
  run_together(session, kBatches);
  // Every node once for each size, although eight threads ask at once.
  opsrt_counters counters = counters_of(session);
  assert_int_equal(counters.plans_built, kBatches);
  assert_int_equal(counters.prepares, kBatches * kNodes);
  run_together(session, kBatches);
  assert_int_equal(counters_of(session).prepares, counters.prepares);
  opsrt_session_destroy(session);
}

static void nothing_is_prepared_after_warming_up(void **state) {
  (void)state;
  run_alone("chain", reference);
  opsrt_session *session = open_model("chain", reference, (opsrt_session_options){0});
  for (int64_t batch = kBatches; batch >= 1; --batch) {
    const int64_t dims[2] = {batch, kWidth};
    const opsrt_value shape = {.name = "x", .type = OPS_TYPE_FLOAT, .rank = 2, .dims = dims};
    CHECK(opsrt_session_warm_up(session, &shape, 1, &error));
  }
  const opsrt_counters warm = counters_of(session);
  assert_int_equal(warm.runs, 0);
  assert_int_equal(warm.plans_built, kBatches);
  assert_int_equal(warm.prepares, kBatches * kNodes);
  run_together(session, kBatches);
  const opsrt_counters after = counters_of(session);
  assert_int_equal(after.plans_built, warm.plans_built);
  assert_int_equal(after.prepares, warm.prepares);
  opsrt_session_destroy(session);
}

static void a_small_cache_evicts_and_says_so(void **state) {
  (void)state;
  run_alone("chain", reference);
  opsrt_session *session =
      open_model("chain", reference, (opsrt_session_options){.max_plans = 4});
  run_together(session, 12);
  const opsrt_counters counters = counters_of(session);
  assert_true(counters.plans_evicted > 0);
  assert_true(counters.plans_built - counters.plans_evicted <= 4);
  opsrt_session_destroy(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_reference),
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_a_device),
      cmocka_unit_test(branches_compute_the_same_bits),
      cmocka_unit_test(on_two_devices_and_the_host),
      cmocka_unit_test(each_batch_size_is_prepared_once),
      cmocka_unit_test(nothing_is_prepared_after_warming_up),
      cmocka_unit_test(a_small_cache_evicts_and_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

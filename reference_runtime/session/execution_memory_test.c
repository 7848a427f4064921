// SPDX-License-Identifier: Apache-2.0
//
// Memory of sessions, on the provider cpu, which works in place where it can and needs no
// workspace for these models. What plans are held to, in tensors of N·32 bytes:
//
//   chain  one: each of its nine values takes the place of the one before
//   wide   seven: five squares, and what the sixth is made from and becomes; twelve without
//          reuse, since Tanh works in place and a square, which reads its input twice, does not
//
// What a session holds is read from its counters and, for whatever the runtime allocates
// besides, from the C library's.
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "execution_test_util.h"

enum { kRowBytes = kWidth * sizeof(float), kWideValues = 18 };

static const test_provider reference[] = {{"reference", {NULL}}, {.name = NULL}};
static const test_provider cpu[] = {{"cpu", {NULL}}, {.name = NULL}};
static const test_provider npu[] = {{TEST_NPU, {NULL}}, {.name = NULL}};

static opsrt_memory memory_of(const opsrt_session *session, uint64_t index) {
  opsrt_memory memory;
  assert_int_equal(opsrt_session_memory(session, index, &memory), OPS_OK);
  return memory;
}

static void run_rows(opsrt_session *session, int64_t count, opsrt_result **out_result) {
  rows x;
  rows_fill(&x, count, -3, 0.25f);
  const opsrt_value input = rows_value(&x, "x");
  opsrt_result *result = NULL;
  CHECK(opsrt_session_run(session, &input, 1, &result, &error));
  if (out_result)
    *out_result = result;
  else
    opsrt_result_destroy(result);
}

// ---- Plans ----------------------------------------------------------------------------------

static void plans_are_as_tight_as_can_be(void **state) {
  (void)state;
  char text[200];
  opsrt_session *session = open_model("wide", cpu, (opsrt_session_options){0});
  CHECK(opsrt_session_memory_fullest(session, 0, text, sizeof text, &error));
  assert_string_equal(text, "");  // no plan yet
  for (int64_t n = 2; n <= kMaxRows; n += 2) {
    const uint64_t size = (uint64_t)n * kRowBytes;
    run_rows(session, n, NULL);
    const opsrt_memory host = memory_of(session, 0);
    assert_int_equal(host.lower_bound, 7 * size);
    assert_int_equal(host.planned, 7 * size);
    assert_int_equal(host.naive, 12 * size);
    assert_int_equal(host.arena_peak, host.planned);
    // Seven tensors of float[N, 8] are alive while the sixth square is made.
    CHECK(opsrt_session_memory_fullest(session, 0, text, sizeof text, &error));
    expect_parts(text, (const char *const[]){"'square5'", ": 224*N", NULL});
    assert_int_equal(host.arena_reserved, host.planned);  // same_as_requested
  }
  // Each plan after the first one is that one's, with other numbers.
  assert_int_equal(counters_of(session).plans_built, 32);
  assert_int_equal(counters_of(session).plans_alike, 31);
  opsrt_session_destroy(session);
}

static void without_reuse_every_value_has_its_own_memory(void **state) {
  (void)state;
  const opsrt_session_options options = {.no_memory_reuse = 1};
  opsrt_session *plain = open_model("wide", cpu, (opsrt_session_options){0});
  opsrt_session *apart = open_model("wide", cpu, options);
  opsrt_result *a = NULL, *b = NULL;
  run_rows(plain, 8, &a);
  run_rows(apart, 8, &b);
  assert_int_equal(memory_of(plain, 0).planned, 7 * 8 * kRowBytes);
  assert_int_equal(memory_of(apart, 0).planned, kWideValues * 8 * kRowBytes);
  assert_memory_equal(opsrt_result_output(a, 0)->data, opsrt_result_output(b, 0)->data,
                      8 * kRowBytes);
  opsrt_result_destroy(a);
  opsrt_result_destroy(b);
  opsrt_session_destroy(plain);
  opsrt_session_destroy(apart);
}

// ---- Steady state ---------------------------------------------------------------------------

static void repeated_runs_take_no_memory(void **state) {
  (void)state;
  static const char *const models[] = {"chain", "scale", "swish", "wide", "relay"};
  static const test_provider *const providers[] = {reference, cpu, npu};
  for (size_t m = 0; m < sizeof models / sizeof models[0]; ++m)
    for (size_t p = 0; p < sizeof providers / sizeof providers[0]; ++p)
      for (int32_t workers = 1; workers <= 2; ++workers) {
        const opsrt_session_options options = {.workers = workers, .level = 2};
        opsrt_session *session = open_model(models[m], providers[p], options);
        for (int i = 0; i < 3; ++i) run_rows(session, 16, NULL);
        opsrt_memory before[8];
        const uint64_t count = opsrt_session_memory_count(session);
        assert_true(count >= 1 && count <= 8);
        for (uint64_t k = 0; k < count; ++k) before[k] = memory_of(session, k);
        for (int i = 0; i < 50; ++i) run_rows(session, 16, NULL);
        for (uint64_t k = 0; k < count; ++k) {
          const opsrt_memory after = memory_of(session, k);
          assert_int_equal(after.allocations, before[k].allocations);
          assert_int_equal(after.arena_extensions, before[k].arena_extensions);
          assert_int_equal(after.bytes_in_use, before[k].bytes_in_use);
          assert_int_equal(after.arena_in_use, 0);
        }
        opsrt_session_destroy(session);
      }
}

static void *run_often(void *session) {
  for (int i = 0; i < 200; ++i) run_rows(session, 1 + i % 32, NULL);
  return NULL;
}

// Two threads at once use at most what two runs of the largest batch need. What they hold may
// be more by the pieces that smaller runs left between.
static void threads_share_the_arena(void **state) {
  (void)state;
  opsrt_session *session = open_model("chain", cpu, (opsrt_session_options){0});
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, session), 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  const opsrt_memory host = memory_of(session, 0);
  assert_true(host.arena_peak <= 2 * 32 * kRowBytes);
  assert_true(host.arena_reserved <= 3 * 32 * kRowBytes);
  assert_int_equal(host.arena_in_use, 0);
  opsrt_session_destroy(session);
}

// ---- Ten thousand runs ----------------------------------------------------------------------

static uint64_t random_state = 88172645463325252u;

static int64_t random_batch(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return 1 + (int64_t)(random_state % 32);
}

// Bytes that the C library has handed out, less what its caches of threads keep: main switches
// those off. 0 under sanitizers, which have their own.
static int64_t bytes_of_the_process(void) {
  const struct mallinfo2 info = mallinfo2();
  return (int64_t)(info.uordblks + info.hblkhd);
}

static void check_flat(const test_provider *providers, uint32_t max_plans) {
  const opsrt_session_options options = {.workers = 1, .max_plans = max_plans};
  const uint32_t limit = max_plans ? max_plans : 32;
  opsrt_session *session = open_model("chain", providers, options);
  int64_t process = 0;
  opsrt_memory before = {0};
  for (int i = 0; i < 10000; ++i) {
    // At both readings the same plans are in the cache: those of the last sizes, in order.
    const int settles = i % 1000 >= 900;
    run_rows(session, settles ? 1 + i % 32 : random_batch(), NULL);
    if (i != 999 && i != 9999) continue;
    const opsrt_counters counters = counters_of(session);
    const opsrt_memory host = memory_of(session, 0);
    assert_true(counters.plans_built - counters.plans_evicted <= limit);
    if (i == 9999) {
      assert_int_equal(host.bytes_in_use, before.bytes_in_use);
      assert_int_equal(host.arena_reserved, before.arena_reserved);
      assert_int_equal(host.arena_extensions, before.arena_extensions);
      // Where plans come and go, a chunk may be larger than what was asked for by a little.
      assert_true(llabs(bytes_of_the_process() - process) <= (limit == 32 ? 0 : 4096));
    }
    before = host;
    process = bytes_of_the_process();
  }
  const opsrt_counters counters = counters_of(session);
  assert_int_equal(counters.runs, 10000);
  if (limit == 32)
    assert_int_equal(counters.plans_built, 32);
  else
    assert_true(counters.plans_evicted > 1000);
  assert_int_equal(counters.plans_alike, counters.plans_built - 1);
  opsrt_session_destroy(session);
}

static void ten_thousand_runs_leave_memory_flat(void **state) {
  (void)state;
  check_flat(reference, 0);
  check_flat(cpu, 0);
  check_flat(cpu, 8);
}

// ---- Limits ---------------------------------------------------------------------------------

static void a_model_cannot_take_more_than_the_maximum(void **state) {
  (void)state;
  // 64 rows need 2048 bytes of arena and 2048 of output; 32 rows half of that.
  const opsrt_session_options options = {.memory_maximum = 4095};
  opsrt_session *session = open_model("chain", cpu, options);
  rows x;
  rows_fill(&x, 64, 1, 1);
  const opsrt_value input = rows_value(&x, "x");
  opsrt_result *result = NULL;
  ops_error error = OPS_ERROR_INIT;
  run_rows(session, 32, NULL);
  assert_int_equal(opsrt_session_run(session, &input, 1, &result, &error),
                   OPS_ERROR_OUT_OF_MEMORY);
  assert_null(result);
  expect_parts(error.message,
               (const char *const[]){"output 'y'", "2048 bytes requested", "2048 in use",
                                     "at most 4095", "--memory-maximum", NULL});
  assert_int_equal(memory_of(session, 0).arena_in_use, 0);
  run_rows(session, 32, NULL);  // the session works
  assert_true(memory_of(session, 0).bytes_peak <= 4095);
  assert_int_equal(memory_of(session, 0).bytes_maximum, 4095);
  opsrt_session_destroy(session);
}

// A loop that piles up more than the maximum ends there, whatever number of trips it wants.
static void a_loop_cannot_take_more_than_the_maximum(void **state) {
  (void)state;
  const opsrt_session_options options = {.memory_maximum = 1u << 20};
  opsrt_session *session = open_model("pile", cpu, options);
  rows x;
  rows_fill(&x, 8, 1, 1);
  static const int64_t counts[] = {4, (int64_t)1 << 30, INT64_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    const int64_t trips = counts[i];
    opsrt_value inputs[2] = {
        rows_value(&x, "x"),
        {.name = "trips", .type = OPS_TYPE_INT64, .data = &trips, .size = sizeof trips}};
    opsrt_result *result = NULL;
    ops_error error = OPS_ERROR_INIT;
    const int32_t status = opsrt_session_run(session, inputs, 2, &result, &error);
    if (trips == 4) {
      assert_int_equal(status, OPS_OK);
      assert_int_equal(opsrt_result_output(result, 0)->size, 4 * 8 * kRowBytes);
    } else {
      assert_int_equal(status, OPS_ERROR_OUT_OF_MEMORY);
      expect_parts(error.message,
                   (const char *const[]){"scan output 'slice'", "at most 1048576",
                                         "--memory-maximum", NULL});
    }
    opsrt_result_destroy(result);
    assert_true(memory_of(session, 0).bytes_peak <= 1u << 20);
    assert_int_equal(memory_of(session, 0).bytes_in_use, memory_of(session, 0).arena_reserved);
  }
  opsrt_session_destroy(session);
}

static void memory_goes_back_when_asked(void **state) {
  (void)state;
  opsrt_session *session = open_model(
      "chain", cpu, (opsrt_session_options){.arena_extend = OPSRT_ARENA_NEXT_POWER_OF_TWO});
  run_rows(session, 33, NULL);  // 33 · 32 = 1056 bytes
  assert_int_equal(memory_of(session, 0).arena_reserved, 2048);
  opsrt_session_memory_shrink(session);
  assert_int_equal(memory_of(session, 0).arena_reserved, 0);
  run_rows(session, 33, NULL);
  assert_int_equal(memory_of(session, 0).arena_reserved, 2048);
  opsrt_session_destroy(session);

  session =
      open_model("chain", cpu,
                 (opsrt_session_options){.shrink_after_run = 1, .arena_initial = 100 * 1024});
  for (int i = 0; i < 3; ++i) {
    run_rows(session, 33, NULL);
    assert_int_equal(memory_of(session, 0).arena_reserved, 0);
    assert_int_equal(memory_of(session, 0).arena_reserved_peak, 100 * 1024);
  }
  assert_int_equal(memory_of(session, 0).arena_releases, 3);
  opsrt_session_destroy(session);
}

static void an_unknown_strategy_is_refused(void **state) {
  (void)state;
  opsrt_session *session = NULL;
  ops_error error = OPS_ERROR_INIT;
  const opsrt_session_options options = {.model.path = TEST_MODELS "/chain.onnx",
                                         .arena_extend = 7};
  assert_int_equal(opsrt_session_create(&options, &session, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  expect_parts(error.message, (const char *const[]){"arena_extend is 7", NULL});
}

// The C library reads this setting when a process begins.
static void run_without_caches_of_threads(char **argv) {
  static const char setting[] = "GLIBC_TUNABLES";
  if (getenv(setting)) return;
  setenv(setting, "glibc.malloc.tcache_count=0", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  (void)argc;
  run_without_caches_of_threads(argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_are_as_tight_as_can_be),
      cmocka_unit_test(without_reuse_every_value_has_its_own_memory),
      cmocka_unit_test(repeated_runs_take_no_memory),
      cmocka_unit_test(threads_share_the_arena),
      cmocka_unit_test(ten_thousand_runs_leave_memory_flat),
      cmocka_unit_test(a_model_cannot_take_more_than_the_maximum),
      cmocka_unit_test(a_loop_cannot_take_more_than_the_maximum),
      cmocka_unit_test(memory_goes_back_when_asked),
      cmocka_unit_test(an_unknown_strategy_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Memory bound once and run many times: on the host, on a device, fed back. While shapes stay,
// a run must not allocate, look up a plan, or lay out an address anew: the linker puts the
// functions below in front of the C library's, and the session counts the rest. Providers are
// libraries and not counted.
#include <math.h>

#include "execution_test_util.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);

static _Thread_local uint64_t allocations;  // of the thread

void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  allocations++;
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  allocations++;
  return __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
  allocations++;
  return __real_posix_memalign(out, alignment, size);
}

static const test_provider reference[] = {{"reference", {NULL}}, {.name = NULL}};
static const test_provider cpu[] = {{"cpu", {NULL}}, {.name = NULL}};
static const test_provider npu[] = {{TEST_NPU, {"delay_us=100"}}, {.name = NULL}};
static const test_provider late[] = {{TEST_LATE, {NULL}}, {.name = NULL}};
static const test_provider *const all[] = {reference, cpu, npu, late};
static const opsrt_session_options defaults = {0};

static opsrt_binding *bind(opsrt_session *session) {
  opsrt_binding *binding = NULL;
  CHECK(opsrt_binding_create(session, &binding, &error));
  return binding;
}

static void bind_input(opsrt_binding *binding, const char *name, const rows *r) {
  const opsrt_value value = rows_value(r, name);
  CHECK(opsrt_binding_set_input(binding, &value, NULL, &error));
}

static void bind_output(opsrt_binding *binding, const char *name, rows *r) {
  CHECK(opsrt_binding_set_output(binding, name, r->data, sizeof r->data, NULL, &error));
}

#define REFUSED(call, status, ...)                                         \
  do {                                                                     \
    ops_error error = OPS_ERROR_INIT;                                      \
    assert_int_equal(call, status);                                        \
    expect_parts(error.message, (const char *const[]){__VA_ARGS__, NULL}); \
  } while (0)

// ---- Steady state ---------------------------------------------------------------------------

static void repeated_runs_cost_nothing_but_kernels(void **state) {
  (void)state;
  for (size_t p = 0; p < sizeof all / sizeof all[0]; ++p) {
    opsrt_session *session = open_model("chain", all[p], defaults);
    opsrt_binding *binding = bind(session);
    static rows x, y;
    rows_fill(&x, 4, -9, 0.6f);
    bind_input(binding, "x", &x);
    bind_output(binding, "y", &y);
    for (int i = 0; i < 3; ++i) CHECK(opsrt_binding_run(binding, NULL, &error));
    const opsrt_counters before = counters_of(session);
    const uint64_t allocated = allocations;
    for (int i = 0; i < 20; ++i) {
      x.data[0] = (float)i - 10;  // the memory is bound, not its contents
      CHECK(opsrt_binding_run(binding, NULL, &error));
      const opsrt_value *out = opsrt_binding_output(binding, 0);
      assert_ptr_equal(out->data, y.data);
      expect_chain(out, &x);
    }
    const opsrt_counters after = counters_of(session);
    assert_int_equal(allocations, allocated);
    assert_int_equal(after.runs, before.runs + 20);
    assert_int_equal(after.lookups, before.lookups);
    assert_int_equal(after.rebound, before.rebound);
    assert_int_equal(after.prepares, before.prepares);
    opsrt_binding_destroy(binding);
    opsrt_session_destroy(session);
  }
}

// Without a binding a run looks one plan up and allocates what it hands over.
static void plain_runs_are_counted(void **state) {
  (void)state;
  opsrt_session *session = open_model("fixed", reference, defaults);
  static rows x;
  rows_fill(&x, 4, -9, 0.6f);
  const opsrt_value value = rows_value(&x, "x");
  const opsrt_counters before = counters_of(session);
  const uint64_t allocated = allocations;
  for (int i = 0; i < 5; ++i) {
    opsrt_result *result = NULL;
    CHECK(opsrt_session_run(session, &value, 1, &result, &error));
    opsrt_result_destroy(result);
  }
  assert_int_equal(counters_of(session).lookups, before.lookups + 5);
  assert_true(allocations > allocated);
  opsrt_session_destroy(session);
}

static void shapes_may_change(void **state) {
  (void)state;
  for (size_t p = 0; p < sizeof all / sizeof all[0]; ++p) {
    opsrt_session *session = open_model("chain", all[p], defaults);
    opsrt_binding *binding = bind(session);
    static rows x, y;
    bind_output(binding, "y", &y);
    for (int i = 0; i < 12; ++i) {
      rows_fill(&x, 1 + i * 5 % 7, (float)-i, 0.25f);
      bind_input(binding, "x", &x);
      CHECK(opsrt_binding_run(binding, NULL, &error));
      expect_chain(opsrt_binding_output(binding, 0), &x);
    }
    assert_int_equal(counters_of(session).plans_built, 7);
    opsrt_binding_destroy(binding);
    opsrt_session_destroy(session);
  }
}

// Any address will do; outputs without memory get their own.
static void unaligned_and_missing_memory_is_fine(void **state) {
  (void)state;
  for (size_t p = 0; p < sizeof all / sizeof all[0]; ++p) {
    opsrt_session *session = open_model("chain", all[p], defaults);
    opsrt_binding *binding = bind(session);
    rows x;
    char in[sizeof x.data + 1], out[sizeof x.data + 1];
    rows_fill(&x, 3, -4, 0.5f);
    memcpy(in + 1, x.data, sizeof x.data);
    opsrt_value value = rows_value(&x, "x");
    value.data = in + 1;
    CHECK(opsrt_binding_set_input(binding, &value, NULL, &error));
    CHECK(opsrt_binding_run(binding, NULL, &error));
    expect_chain(opsrt_binding_output(binding, 0), &x);
    CHECK(opsrt_binding_set_output(binding, "y", out + 1, sizeof x.data, NULL, &error));
    CHECK(opsrt_binding_run(binding, NULL, &error));
    memcpy(x.data, in + 1, sizeof x.data);
    float y[kMaxRows * kWidth];
    memcpy(y, out + 1, sizeof y);
    for (int i = 0; i < 3 * kWidth; ++i) assert_true(y[i] == chain_of(x.data[i]));
    opsrt_binding_destroy(binding);
    opsrt_session_destroy(session);
  }
}

// ---- Devices --------------------------------------------------------------------------------

static uint64_t device_memory(const opsrt_session *session, const char *device) {
  for (uint64_t i = 0; i < opsrt_session_memory_count(session); ++i) {
    opsrt_memory memory;
    assert_int_equal(opsrt_session_memory(session, i, &memory), OPS_OK);
    if (strcmp(memory.device, device) == 0 && memory.kind == OPS_MEMORY_DEVICE) return i;
  }
  fail_msg("no memory of %s", device);
  return 0;
}

static opsrt_buffer *buffer_of(opsrt_session *session, uint64_t memory, uint64_t size) {
  opsrt_buffer *buffer = NULL;
  CHECK(opsrt_buffer_create(session, memory, size, &buffer, &error));
  return buffer;
}

enum { kRows = 2, kCount = kRows * kWidth, kSteps = 40 };

// state' = state / 2 + x, with the state in two buffers that take turns, and x and y in host
// memory: of a run's four copies only those of x and y remain.
static void states_stay_on_the_device(void **context) {
  (void)context;
  opsrt_session *session = open_model("state", npu, defaults);
  opsrt_binding *binding = bind(session);
  const uint64_t memory = device_memory(session, "mynpu");
  opsrt_buffer *state[2];
  static rows x, y, s;
  float expected[kCount] = {0}, got[kCount];
  rows_fill(&s, kRows, 0, 0);
  rows_fill(&x, kRows, 1, 0.125f);
  for (int i = 0; i < 2; ++i) state[i] = buffer_of(session, memory, sizeof got);
  CHECK(opsrt_buffer_write(state[0], 0, s.data, sizeof got, &error));
  bind_input(binding, "x", &x);
  bind_output(binding, "y", &y);
  opsrt_counters before = {0};
  uint64_t allocated = 0;
  for (int step = 0; step < kSteps; ++step) {
    const opsrt_value value = rows_value(&s, "state");
    if (step == 4) {
      before = counters_of(session);
      allocated = allocations;
    }
    CHECK(opsrt_binding_set_input(binding, &value, state[step % 2], &error));
    CHECK(opsrt_binding_set_output(binding, "next", NULL, 0, state[1 - step % 2], &error));
    CHECK(opsrt_binding_run(binding, NULL, &error));
    for (int i = 0; i < kCount; ++i) {
      expected[i] = 0.5f * expected[i] + x.data[i];
      assert_true(y.data[i] == fmaxf(expected[i], 0));
    }
    assert_null(opsrt_binding_output(binding, 0)->data);
    assert_int_equal(opsrt_binding_output(binding, 0)->size, sizeof got);
  }
  const opsrt_counters after = counters_of(session);
  assert_int_equal(after.copies - before.copies, 2 * (kSteps - 4));
  assert_int_equal(after.lookups, before.lookups);
  assert_int_equal(allocations, allocated);
  CHECK(opsrt_buffer_read(state[kSteps % 2], 0, got, sizeof got, &error));
  for (int i = 0; i < kCount; ++i) assert_true(got[i] == expected[i]);
  opsrt_binding_destroy(binding);
  for (int i = 0; i < 2; ++i) opsrt_buffer_destroy(state[i]);
  opsrt_session_destroy(session);
}

// Device memory goes to whoever reads it: another device, or kernels on the host.
static void device_memory_reaches_everybody(void **context) {
  (void)context;
  static const test_provider two[] = {{TEST_NPU, {"ops=Relu"}}, {.name = NULL}};
  static const test_provider *const sets[] = {npu, two, cpu};
  for (size_t p = 0; p < 3; ++p) {
    const test_provider both[] = {sets[p][0], {TEST_NPU, {"ops=Conv"}}, {.name = NULL}};
    opsrt_session *session = open_model("state", both, defaults);
    opsrt_binding *binding = bind(session);
    const uint64_t memory = device_memory(session, "mynpu");
    opsrt_buffer *in = buffer_of(session, memory, kCount * sizeof(float));
    opsrt_buffer *out = buffer_of(session, memory, kCount * sizeof(float));
    static rows x, s;
    float got[kCount];
    rows_fill(&s, kRows, -3, 0.5f);
    rows_fill(&x, kRows, 1, 0.125f);
    CHECK(opsrt_buffer_write(in, 0, s.data, sizeof got, &error));
    bind_input(binding, "x", &x);
    const opsrt_value value = rows_value(&s, "state");
    CHECK(opsrt_binding_set_input(binding, &value, in, &error));
    CHECK(opsrt_binding_set_output(binding, "y", NULL, 0, out, &error));
    for (int run = 0; run < 3; ++run) {
      CHECK(opsrt_binding_run(binding, NULL, &error));
      CHECK(opsrt_buffer_read(out, 0, got, sizeof got, &error));
      const float *next = opsrt_binding_output(binding, 0)->data;
      for (int i = 0; i < kCount; ++i) {
        const float sum = 0.5f * s.data[i] + x.data[i];
        assert_true(next[i] == sum && got[i] == fmaxf(sum, 0));
      }
    }
    opsrt_binding_destroy(binding);
    opsrt_buffer_destroy(in);
    opsrt_buffer_destroy(out);
    opsrt_session_destroy(session);
  }
}

// A cache that grows by a row each step, in two pieces of host memory with room to grow.
static void caches_grow_in_place(void **context) {
  (void)context;
  opsrt_session *session = open_model("grow", cpu, defaults);
  opsrt_binding *binding = bind(session);
  static float cache[2][kMaxRows * 2];
  float x[2], sum[2] = {0};
  const int64_t x_dims[2] = {1, 2};
  const opsrt_value x_value = {
      .name = "x", .type = OPS_TYPE_FLOAT, .rank = 2, .dims = x_dims, .data = x, .size = 8};
  CHECK(opsrt_binding_set_input(binding, &x_value, NULL, &error));
  for (int step = 0; step < kMaxRows; ++step) {
    const int64_t dims[2] = {step, 2};
    const opsrt_value past = {.name = "past",
                              .type = OPS_TYPE_FLOAT,
                              .rank = 2,
                              .dims = dims,
                              .data = cache[step % 2],
                              .size = (uint64_t)step * 8};
    x[0] = (float)step;
    x[1] = (float)(step * step);
    for (int i = 0; i < 2; ++i) sum[i] += x[i];
    CHECK(opsrt_binding_set_input(binding, &past, NULL, &error));
    CHECK(opsrt_binding_set_output(binding, "present", cache[1 - step % 2], sizeof cache[0],
                                   NULL, &error));
    CHECK(opsrt_binding_run(binding, NULL, &error));
    const opsrt_value *present = opsrt_binding_output(binding, 0);
    assert_int_equal(present->dims[0], step + 1);
    assert_ptr_equal(present->data, cache[1 - step % 2]);
    const float *y = opsrt_binding_output(binding, 1)->data;
    assert_true(y[0] == sum[0] && y[1] == sum[1]);
  }
  // One row more does not fit.
  const int64_t dims[2] = {kMaxRows, 2};
  const opsrt_value full = {.name = "past",
                            .type = OPS_TYPE_FLOAT,
                            .rank = 2,
                            .dims = dims,
                            .data = cache[0],
                            .size = sizeof cache[0]};
  CHECK(opsrt_binding_set_input(binding, &full, NULL, &error));
  CHECK(opsrt_binding_set_output(binding, "present", cache[1], sizeof cache[1], NULL, &error));
  REFUSED(opsrt_binding_run(binding, NULL, &error), OPS_ERROR_INVALID_ARGUMENT, "'present'",
          "520 bytes", "512");
  assert_null(opsrt_binding_output(binding, 0));
  opsrt_binding_destroy(binding);
  opsrt_session_destroy(session);
}

// ---- Mistakes -------------------------------------------------------------------------------

static void mistakes_are_told(void **context) {
  (void)context;
  for (size_t p = 0; p < sizeof all / sizeof all[0]; ++p) {
    opsrt_session *session = open_model("state", all[p], defaults);
    opsrt_binding *binding = bind(session);
    static rows x, y;
    rows_fill(&x, 2, 0, 1);
    opsrt_value value = rows_value(&x, "q");
    REFUSED(opsrt_binding_set_input(binding, &value, NULL, &error), OPS_ERROR_INVALID_ARGUMENT,
            "'q' does not exist", "state: float[N,8]");
    value.name = "x";
    value.size--;
    REFUSED(opsrt_binding_set_input(binding, &value, NULL, &error), OPS_ERROR_INVALID_ARGUMENT,
            "'x' has 63 bytes", "need 64");
    REFUSED(opsrt_binding_set_output(binding, "q", y.data, 4, NULL, &error),
            OPS_ERROR_INVALID_ARGUMENT, "'q' does not exist");
    bind_input(binding, "x", &x);
    REFUSED(opsrt_binding_run(binding, NULL, &error), OPS_ERROR_INVALID_ARGUMENT,
            "'state' is missing");
    static rows s;
    rows_fill(&s, 3, 0, 1);
    bind_input(binding, "state", &s);
    REFUSED(opsrt_binding_run(binding, NULL, &error), OPS_ERROR_INVALID_ARGUMENT, "(N) is");
    rows_fill(&s, 2, 0, 1);
    bind_input(binding, "state", &s);
    bind_output(binding, "next", &s);
    REFUSED(opsrt_binding_run(binding, NULL, &error), OPS_ERROR_INVALID_ARGUMENT,
            "'next' and 'state' are bound to the same memory");
    CHECK(opsrt_binding_set_output(binding, "next", y.data, 60, NULL, &error));
    REFUSED(opsrt_binding_run(binding, NULL, &error), OPS_ERROR_INVALID_ARGUMENT,
            "output 'next' has 64 bytes", "memory of 60");
    CHECK(opsrt_binding_set_output(binding, "next", y.data, 64, NULL, &error));
    CHECK(opsrt_binding_run(binding, NULL, &error));
    for (int i = 0; i < kCount; ++i) assert_true(y.data[i] == 0.5f * s.data[i] + x.data[i]);
    opsrt_binding_destroy(binding);
    opsrt_session_destroy(session);
  }
}

static void buffers_are_bounded(void **context) {
  (void)context;
  opsrt_session *session = open_model("state", npu, defaults);
  opsrt_session *other = open_model("state", npu, defaults);
  opsrt_buffer *buffer = buffer_of(session, device_memory(session, "mynpu"), 64), *none = NULL;
  opsrt_binding *binding = bind(other);
  char bytes[64] = {0};
  REFUSED(opsrt_buffer_create(session, 99, 4, &none, &error), OPS_ERROR_INVALID_ARGUMENT,
          "does not exist");
  REFUSED(opsrt_buffer_create(session, 0, 0, &none, &error), OPS_ERROR_INVALID_ARGUMENT,
          "0 bytes");
  REFUSED(opsrt_buffer_write(buffer, 1, bytes, 64, &error), OPS_ERROR_INVALID_ARGUMENT,
          "of 64 bytes");
  REFUSED(opsrt_buffer_read(buffer, UINT64_MAX, bytes, 2, &error), OPS_ERROR_INVALID_ARGUMENT,
          "of 64 bytes");
  REFUSED(opsrt_binding_set_output(binding, "y", NULL, 0, buffer, &error),
          OPS_ERROR_INVALID_ARGUMENT, "another session");
  static rows x;
  rows_fill(&x, 2, 0, 1);
  const opsrt_value value = rows_value(&x, "x");
  REFUSED(opsrt_binding_set_input(binding, &value, buffer, &error), OPS_ERROR_INVALID_ARGUMENT,
          "another session");
  opsrt_binding_destroy(binding);
  opsrt_buffer_destroy(buffer);
  opsrt_session_destroy(other);
  opsrt_session_destroy(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repeated_runs_cost_nothing_but_kernels),
      cmocka_unit_test(plain_runs_are_counted),
      cmocka_unit_test(shapes_may_change),
      cmocka_unit_test(unaligned_and_missing_memory_is_fine),
      cmocka_unit_test(states_stay_on_the_device),
      cmocka_unit_test(device_memory_reaches_everybody),
      cmocka_unit_test(caches_grow_in_place),
      cmocka_unit_test(mistakes_are_told),
      cmocka_unit_test(buffers_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

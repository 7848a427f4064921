// SPDX-License-Identifier: Apache-2.0
//
// Counters, maximum and messages of allocators. Expected numbers are counted by hand from the
// calls each test makes.
#include "memory/memory_test_util.h"

static void host_memory_is_aligned_and_counted(void **state) {
  (void)state;
  rt_allocator *host = NULL;
  assert_int_equal(rt_allocator_create_host(&host, NULL), OPS_OK);
  void *a = NULL, *b = NULL;
  assert_int_equal(rt_allocator_allocate(host, 100, 0, OPS_USAGE_WEIGHT, &a, NULL), OPS_OK);
  assert_int_equal(rt_allocator_allocate(host, 50, 4096, OPS_USAGE_WEIGHT, &b, NULL), OPS_OK);
  assert_int_equal((uintptr_t)a % RT_MEMORY_HOST_ALIGNMENT, 0);
  assert_int_equal((uintptr_t)b % 4096, 0);
  rt_allocator_free(host, a, 100);
  rt_memory_stats stats = rt_allocator_stats(host);
  assert_int_equal(stats.bytes_in_use, 50);
  assert_int_equal(stats.bytes_peak, 150);
  assert_int_equal(stats.allocations, 2);
  rt_allocator_free(host, b, 50);
  assert_int_equal(rt_allocator_stats(host).bytes_in_use, 0);
  rt_allocator_destroy(host);
}

static void expect_text(const ops_error *error, const char *text) {
  if (!strstr(error->message, text)) fail_msg("'%s' lacks '%s'", error->message, text);
}

static void exhaustion_tells_what_is_left(void **state) {
  (void)state;
  fake_device fake = {.limit = 1000, .largest_free = 75};
  rt_allocator *allocator = fake_open(&fake);
  void *a = NULL, *b = NULL;
  assert_int_equal(rt_allocator_allocate(allocator, 900, 0, 0, &a, NULL), OPS_OK);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_allocator_allocate(allocator, 200, 0, 0, &b, &error),
                   OPS_ERROR_OUT_OF_MEMORY);
  assert_null(b);
  expect_text(&error, "device memory of npu0 is exhausted");
  expect_text(&error, "200 bytes requested");
  expect_text(&error, "900 in use");
  expect_text(&error, "100 of 1000 bytes free");
  expect_text(&error, "largest free block 75, fragmentation 25 %");
  expect_text(&error, "use smaller inputs");
  // What failed is not counted.
  assert_int_equal(rt_allocator_stats(allocator).bytes_in_use, 900);
  assert_int_equal(rt_allocator_stats(allocator).bytes_peak, 900);
  assert_int_equal(rt_allocator_stats(allocator).allocations, 1);
  rt_allocator_free(allocator, a, 900);
  assert_int_equal(fake.live, 0);
  rt_allocator_destroy(allocator);
}

// Enough is free, but not in one piece.
static void pieces_are_told_from_want(void **state) {
  (void)state;
  const rt_shortage pieces = {.name = "npu0",
                              .kind = OPS_MEMORY_DEVICE,
                              .requested = 300,
                              .in_use = 100,
                              .device_total = 1000,
                              .device_free = 400,
                              .device_block = 100};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_shortage_report(&pieces, &error), OPS_ERROR_OUT_OF_MEMORY);
  expect_text(&error, "fragmentation 75 %");
  expect_text(&error, "lies in pieces");
  expect_text(&error, "--arena-initial");
}

static void the_maximum_holds(void **state) {
  (void)state;
  fake_device fake = {.limit = 1000000};
  rt_allocator *allocator = fake_open(&fake);
  void *a = NULL, *b = NULL;
  ops_error error = OPS_ERROR_INIT;
  rt_allocator_set_maximum(allocator, 1000);
  assert_int_equal(rt_allocator_allocate(allocator, 600, 0, 0, &a, NULL), OPS_OK);
  assert_int_equal(rt_allocator_allocate(allocator, 401, 0, 0, &b, &error),
                   OPS_ERROR_OUT_OF_MEMORY);
  expect_text(&error, "401 bytes requested, 600 in use by this session of at most 1000");
  expect_text(&error, "--memory-maximum");
  assert_int_equal(fake.used, 600);  // the device was not even asked

  // What others allocate counts, too.
  assert_int_equal(rt_allocator_charge(allocator, 400, &error), OPS_OK);
  assert_int_equal(rt_allocator_charge(allocator, 1, &error), OPS_ERROR_OUT_OF_MEMORY);
  assert_int_equal(rt_allocator_charge(allocator, UINT64_MAX, &error), OPS_ERROR_OUT_OF_MEMORY);
  assert_int_equal(rt_allocator_stats(allocator).bytes_peak, 1000);
  rt_allocator_discharge(allocator, 400);
  assert_int_equal(rt_allocator_allocate(allocator, 400, 0, 0, &b, &error), OPS_OK);
  rt_allocator_free(allocator, a, 600);
  rt_allocator_free(allocator, b, 400);
  assert_int_equal(rt_allocator_stats(allocator).bytes_in_use, 0);
  rt_allocator_destroy(allocator);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_memory_is_aligned_and_counted),
      cmocka_unit_test(exhaustion_tells_what_is_left),
      cmocka_unit_test(pieces_are_told_from_want),
      cmocka_unit_test(the_maximum_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

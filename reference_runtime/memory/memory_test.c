// SPDX-License-Identifier: Apache-2.0
//
// Counters and messages of allocators, and what arena pools keep. Expected numbers are counted
// by hand from the calls each test makes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>

#include "memory/arena.h"

// A device with `limit` bytes, which counts its live allocations.
typedef struct fake_device {
  uint64_t limit, used, live;
} fake_device;

static int32_t fake_allocate(ops_device *device, int32_t kind, uint64_t size,
                             uint64_t alignment, int32_t usage, void **out, ops_error *error) {
  (void)kind, (void)usage, (void)error;
  fake_device *fake = (fake_device *)device;
  if (size > fake->limit - fake->used) return OPS_ERROR_OUT_OF_MEMORY;
  uint64_t *block = aligned_alloc(alignment < 16 ? 16 : alignment, (size + 4095) / 4096 * 4096);
  assert_non_null(block);
  fake->used += size;
  fake->live++;
  *block = size;
  *out = block;
  return OPS_OK;
}

static void fake_free(ops_device *device, int32_t kind, void *memory) {
  (void)kind;
  fake_device *fake = (fake_device *)device;
  fake->used -= *(uint64_t *)memory;
  fake->live--;
  free(memory);
}

static int32_t fake_stats(ops_device *device, int32_t kind, ops_memory_stats *out,
                          ops_error *error) {
  (void)kind, (void)error;
  const fake_device *fake = (const fake_device *)device;
  out->bytes_in_use = fake->used;
  out->bytes_total = fake->limit;
  out->bytes_largest_free = 123;
  return OPS_OK;
}

static const ops_memory_api fake_api = {.struct_size = sizeof fake_api,
                                        .allocate = fake_allocate,
                                        .free = fake_free,
                                        .stats = fake_stats};

static rt_allocator *open_fake(fake_device *fake) {
  rt_allocator *allocator = NULL;
  assert_int_equal(rt_allocator_create_device("npu0", &fake_api, (ops_device *)fake,
                                              OPS_MEMORY_DEVICE, 256, &allocator, NULL),
                   OPS_OK);
  return allocator;
}

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

static void exhaustion_tells_what_is_left(void **state) {
  (void)state;
  fake_device fake = {.limit = 1000};
  rt_allocator *allocator = open_fake(&fake);
  void *a = NULL, *b = NULL;
  assert_int_equal(rt_allocator_allocate(allocator, 900, 0, 0, &a, NULL), OPS_OK);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_allocator_allocate(allocator, 200, 0, 0, &b, &error),
                   OPS_ERROR_OUT_OF_MEMORY);
  assert_null(b);
  assert_non_null(strstr(error.message, "device memory of npu0"));
  assert_non_null(strstr(error.message, "200 bytes requested"));
  assert_non_null(strstr(error.message, "900 in use"));
  assert_non_null(strstr(error.message, "100 of 1000 bytes free"));
  assert_non_null(strstr(error.message, "largest free block 123"));
  rt_allocator_free(allocator, a, 900);
  assert_int_equal(fake.live, 0);
  rt_allocator_destroy(allocator);
}

static void arenas_wait_for_the_next_run(void **state) {
  (void)state;
  fake_device fake = {.limit = 10000};
  rt_allocator *allocator = open_fake(&fake);
  rt_arena_pool *pool = NULL;
  assert_int_equal(rt_arena_pool_create(allocator, &pool, NULL), OPS_OK);
  rt_arena small = {0}, large = {0}, again = {0};
  assert_int_equal(rt_arena_acquire(pool, 1000, 64, &small, NULL), OPS_OK);
  assert_int_equal(rt_arena_acquire(pool, 4000, 64, &large, NULL), OPS_OK);
  rt_arena_release(pool, large);
  rt_arena_release(pool, small);
  assert_int_equal(rt_arena_acquire(pool, 900, 64, &again, NULL), OPS_OK);
  assert_ptr_equal(again.memory, small.memory);  // the smallest that fits
  rt_arena_release(pool, again);
  assert_int_equal(rt_allocator_stats(allocator).allocations, 2);

  // 6000 more bytes fit only after the waiting 5000 are given back.
  assert_int_equal(rt_arena_acquire(pool, 6000, 64, &large, NULL), OPS_OK);
  assert_int_equal(fake.live, 1);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_arena_acquire(pool, 5000, 64, &small, &error), OPS_ERROR_OUT_OF_MEMORY);
  rt_arena_release(pool, large);
  rt_arena_pool_destroy(pool);
  assert_int_equal(fake.live, 0);
  assert_int_equal(fake.used, 0);
  rt_allocator_destroy(allocator);
}

static void a_stricter_alignment_is_honoured(void **state) {
  (void)state;
  rt_allocator *host = NULL;
  rt_arena_pool *pool = NULL;
  assert_int_equal(rt_allocator_create_host(&host, NULL), OPS_OK);
  assert_int_equal(rt_arena_pool_create(host, &pool, NULL), OPS_OK);
  rt_arena arena = {0};
  assert_int_equal(rt_arena_acquire(pool, 100, 64, &arena, NULL), OPS_OK);
  rt_arena_release(pool, arena);
  assert_int_equal(rt_arena_acquire(pool, 100, 8192, &arena, NULL), OPS_OK);
  assert_int_equal((uintptr_t)arena.memory % 8192, 0);
  rt_arena_release(pool, arena);
  rt_arena_pool_destroy(pool);
  assert_int_equal(rt_allocator_stats(host).bytes_in_use, 0);
  rt_allocator_destroy(host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_memory_is_aligned_and_counted),
      cmocka_unit_test(exhaustion_tells_what_is_left),
      cmocka_unit_test(arenas_wait_for_the_next_run),
      cmocka_unit_test(a_stricter_alignment_is_honoured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

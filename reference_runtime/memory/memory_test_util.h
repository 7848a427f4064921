// SPDX-License-Identifier: Apache-2.0
//
// For tests: a device with so many bytes, which keeps a list of its live allocations.
#ifndef RT_MEMORY_MEMORY_TEST_UTIL_H_
#define RT_MEMORY_MEMORY_TEST_UTIL_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>

#include "memory/allocator.h"

#define FAKE_MAX_LIVE 64
#define FAKE_ALIGNMENT 256u  // that the device states

typedef struct fake_device {
  uint64_t limit, used;
  uint64_t largest_free;  // what it says; 0: it does not know
  uint32_t live;
  struct {
    void *memory;
    uint64_t size;
  } allocations[FAKE_MAX_LIVE];
} fake_device;

static int32_t fake_allocate(ops_device *device, int32_t kind, uint64_t size,
                             uint64_t alignment, int32_t usage, void **out, ops_error *error) {
  (void)kind, (void)usage, (void)error;
  fake_device *fake = (fake_device *)device;
  if (size > fake->limit - fake->used) return OPS_ERROR_OUT_OF_MEMORY;
  assert_true(fake->live < FAKE_MAX_LIVE && alignment >= FAKE_ALIGNMENT);
  *out = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  assert_non_null(*out);
  fake->used += size;
  fake->allocations[fake->live].memory = *out;
  fake->allocations[fake->live++].size = size;
  return OPS_OK;
}

static void fake_free(ops_device *device, int32_t kind, void *memory) {
  (void)kind;
  fake_device *fake = (fake_device *)device;
  uint32_t i = 0;
  while (i < fake->live && fake->allocations[i].memory != memory) i++;
  assert_true(i < fake->live);
  fake->used -= fake->allocations[i].size;
  fake->allocations[i] = fake->allocations[--fake->live];
  free(memory);
}

static int32_t fake_stats(ops_device *device, int32_t kind, ops_memory_stats *out,
                          ops_error *error) {
  (void)kind, (void)error;
  const fake_device *fake = (const fake_device *)device;
  out->bytes_in_use = fake->used;
  out->bytes_total = fake->limit;
  out->bytes_largest_free = fake->largest_free;
  return OPS_OK;
}

static const ops_memory_api fake_api = {.struct_size = sizeof fake_api,
                                        .allocate = fake_allocate,
                                        .free = fake_free,
                                        .stats = fake_stats};

static inline rt_allocator *fake_open(fake_device *fake) {
  rt_allocator *allocator = NULL;
  assert_int_equal(
      rt_allocator_create_device("npu0", &fake_api, (ops_device *)fake, OPS_MEMORY_DEVICE,
                                 FAKE_ALIGNMENT, &allocator, NULL),
      OPS_OK);
  return allocator;
}

#endif  // RT_MEMORY_MEMORY_TEST_UTIL_H_

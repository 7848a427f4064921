// SPDX-License-Identifier: Apache-2.0
//
// Allocations that fail on demand. Included by one file of a test that is linked with
// --wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign: the linker then sends calls
// of the code under test here. Not for several threads at once.
#ifndef OPS_LOADER_TEST_FAIL_ALLOC_H_
#define OPS_LOADER_TEST_FAIL_ALLOC_H_

#include <errno.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);

// How many allocations still succeed; negative: all do.
static long fail_alloc_after = -1;
static long fail_alloc_failed;  // how many were refused

static int fail_alloc_now(void) {
  if (fail_alloc_after < 0 || fail_alloc_after-- > 0) return 0;
  fail_alloc_after = 0;  // and every later one
  ++fail_alloc_failed;
  return 1;
}

void *__wrap_malloc(size_t size) {
  return fail_alloc_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return fail_alloc_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  return fail_alloc_now() ? NULL : __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
  return fail_alloc_now() ? ENOMEM : __real_posix_memalign(out, alignment, size);
}

// Runs `scenario` with the first allocation failing, then the second, and so on until it runs
// through; every run before must answer `status`. Returns how many allocations it makes.
static long fail_alloc_each(int32_t (*scenario)(void), int32_t status) {
  for (long n = 0;; ++n) {
    fail_alloc_failed = 0;
    fail_alloc_after = n;
    const int32_t got = scenario();
    const long failed = fail_alloc_failed;
    fail_alloc_after = -1;
    if (failed == 0) {
      assert_int_equal(got, OPS_OK);
      return n;
    }
    assert_int_equal(got, status);
  }
}

#endif  // OPS_LOADER_TEST_FAIL_ALLOC_H_

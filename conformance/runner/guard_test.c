// SPDX-License-Identifier: Apache-2.0
//
// Guarded memory. Expected: one byte outside ends the process with SIGSEGV, every byte inside
// does not; the beacon names what was touched.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "runner/block.h"
#include "runner/guard.h"

typedef enum touch { READ, WRITE } touch;

// Touches data[offset] in a child and returns the signal that ended it, or 0.
static int touch_byte(oc_guard *guard, oc_beacon *beacon, int64_t offset, touch how) {
  const pid_t pid = fork();
  if (pid == 0) {
    ops_error error = OPS_ERROR_INIT;
    volatile unsigned char *at = guard->data + offset;
    if (oc_guard_watch(beacon, &error) != OPS_OK) _exit(9);
    if (how == WRITE) *at = 1;
    _exit(how == READ && *at == 0x77 ? 7 : 0);
  }
  int end = 0;
  assert_int_equal(waitpid(pid, &end, 0), pid);
  return WIFSIGNALED(end) ? WTERMSIG(end) : 0;
}

static oc_beacon *make_beacon(void) {
  oc_beacon *beacon = NULL;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(oc_beacon_create(&beacon, &error), OPS_OK);
  return beacon;
}

static void test_ends(void **unused) {
  (void)unused;
  static const uint64_t sizes[] = {1, 4, 60, 4096, 5000};
  ops_error error = OPS_ERROR_INIT;
  oc_beacon *beacon = make_beacon();
  char text[200];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const int64_t size = (int64_t)sizes[i];
    oc_guard guard;
    assert_int_equal(
        oc_guard_init(&guard, sizes[i], 1, 0, OC_PLACE_END, OC_ROLE_OUTPUT, 3, &error), OPS_OK);
    assert_int_equal(touch_byte(&guard, beacon, size - 1, WRITE), 0);
    assert_int_equal(touch_byte(&guard, beacon, 0, WRITE), 0);
    assert_int_equal(touch_byte(&guard, beacon, size, WRITE), SIGSEGV);
    assert_true(oc_beacon_describe(beacon, text, sizeof text));
    assert_non_null(strstr(text, "0 bytes past the end of output 3"));
    assert_int_equal(touch_byte(&guard, beacon, size, READ), SIGSEGV);
    oc_guard_finish(&guard);
    assert_int_equal(
        oc_guard_init(&guard, sizes[i], 1, 0, OC_PLACE_START, OC_ROLE_INPUT, 0, &error),
        OPS_OK);
    assert_int_equal(touch_byte(&guard, beacon, 0, READ), 0);
    assert_int_equal(touch_byte(&guard, beacon, -1, READ), SIGSEGV);
    assert_true(oc_beacon_describe(beacon, text, sizeof text));
    assert_non_null(strstr(text, "1 bytes before the start of input 0"));
    oc_guard_finish(&guard);
  }
  oc_beacon_destroy(beacon);
}

static void test_rights(void **unused) {
  (void)unused;
  ops_error error = OPS_ERROR_INIT;
  oc_beacon *beacon = make_beacon();
  oc_guard guard;
  char text[200];
  assert_int_equal(oc_guard_init(&guard, 24, 8, 0, OC_PLACE_END, OC_ROLE_INPUT, 1, &error),
                   OPS_OK);
  assert_int_equal(oc_guard_protect(&guard, OC_ACCESS_READ, &error), OPS_OK);
  assert_int_equal(touch_byte(&guard, beacon, 5, READ), 0);
  assert_int_equal(touch_byte(&guard, beacon, 5, WRITE), SIGSEGV);
  assert_true(oc_beacon_describe(beacon, text, sizeof text));
  assert_non_null(strstr(text, "at byte 5 of input 1 (24 bytes), which is read-only"));
  assert_int_equal(oc_guard_protect(&guard, OC_ACCESS_NONE, &error), OPS_OK);
  assert_int_equal(touch_byte(&guard, beacon, 5, READ), SIGSEGV);
  assert_true(oc_beacon_describe(beacon, text, sizeof text));
  assert_non_null(strstr(text, "after the run had completed"));
  oc_guard_finish(&guard);
  oc_beacon_destroy(beacon);
}

// The rights may change between a refused access and the handler: those that are noted by then
// would allow the read, so it came when they were others, after a run.
static void test_late(void **unused) {
  (void)unused;
  ops_error error = OPS_ERROR_INIT;
  oc_beacon *beacon = make_beacon();
  char text[200];
  oc_guard guard;
  assert_int_equal(oc_guard_init(&guard, 4, 1, 0, OC_PLACE_END, OC_ROLE_INPUT, 0, &error),
                   OPS_OK);
  assert_int_equal(oc_guard_protect(&guard, OC_ACCESS_READ, &error), OPS_OK);
  assert_int_equal(mprotect(guard.pages, guard.pages_size, PROT_NONE), 0);
  assert_int_equal(touch_byte(&guard, beacon, 0, READ), SIGSEGV);
  assert_true(oc_beacon_describe(beacon, text, sizeof text));
  assert_non_null(strstr(text, "read at byte 0 of input 0 (4 bytes) after the run"));
  assert_int_equal(touch_byte(&guard, beacon, 0, WRITE), SIGSEGV);
  assert_true(oc_beacon_describe(beacon, text, sizeof text));
  assert_non_null(strstr(text, "which is read-only"));
  oc_guard_finish(&guard);
  oc_beacon_destroy(beacon);
}

static void test_alignment_and_slack(void **unused) {
  (void)unused;
  ops_error error = OPS_ERROR_INIT;
  for (uint64_t alignment = 1; alignment <= 8192; alignment *= 2) {
    for (int place = OC_PLACE_END; place <= OC_PLACE_START; ++place) {
      oc_guard guard;
      int64_t offset = 0;
      assert_int_equal(
          oc_guard_init(&guard, 37, alignment, 5, (oc_place)place, OC_ROLE_OUTPUT, 0, &error),
          OPS_OK);
      assert_int_equal((uintptr_t)guard.data % alignment, 0);
      assert_true(guard.data >= guard.pages);
      assert_true(guard.data + 37 + 5 <= guard.pages + guard.pages_size);
      memset(guard.data, 0, 37);
      assert_true(oc_guard_intact(&guard, &offset));
      guard.data[37] ^= 1;  // readable padding may not be written
      assert_false(oc_guard_intact(&guard, &offset));
      assert_int_equal(offset, 37);
      oc_guard_finish(&guard);
    }
  }
}

static void test_limits(void **unused) {
  (void)unused;
  ops_error error = OPS_ERROR_INIT;
  oc_guard guard;
  assert_int_equal(oc_guard_init(&guard, 8, 3, 0, OC_PLACE_END, OC_ROLE_OUTPUT, 0, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(
      oc_guard_init(&guard, UINT64_MAX - 4, 1, 8, OC_PLACE_END, OC_ROLE_OUTPUT, 0, &error),
      OPS_ERROR_OUT_OF_MEMORY);
  oc_guard_finish(&guard);
}

// A region of no bytes: any access is one too many.
static void test_empty(void **unused) {
  (void)unused;
  ops_error error = OPS_ERROR_INIT;
  oc_beacon *beacon = make_beacon();
  oc_guard guard;
  assert_int_equal(oc_guard_init(&guard, 0, 4, 0, OC_PLACE_END, OC_ROLE_OUTPUT, 0, &error),
                   OPS_OK);
  assert_int_equal(touch_byte(&guard, beacon, 0, READ), SIGSEGV);
  oc_guard_finish(&guard);
  oc_beacon_destroy(beacon);
}

static void test_poison(void **unused) {
  (void)unused;
  float floats[2];
  unsigned char bytes[3];
  oc_block_poison(floats, sizeof floats, 0);
  assert_true(floats[0] != floats[0]);
  oc_block_poison(floats, sizeof floats, 2);
  assert_true(floats[1] == 0x1p100f);
  oc_block_poison(bytes, sizeof bytes, 1);
  assert_int_equal(bytes[2], 0xa5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends),   cmocka_unit_test(test_rights),
      cmocka_unit_test(test_late),   cmocka_unit_test(test_alignment_and_slack),
      cmocka_unit_test(test_limits), cmocka_unit_test(test_empty),
      cmocka_unit_test(test_poison),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

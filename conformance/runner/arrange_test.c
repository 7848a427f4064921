// SPDX-License-Identifier: Apache-2.0
//
// Arranged tensors: places are worked out by hand for [2, 3] of int8, whose elements are 1
// to 6.
#include "runner/arrange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "ops_support/error.h"

static oc_array numbers(void) {
  static const int64_t dims[] = {2, 3};
  ops_error error = OPS_ERROR_INIT;
  oc_array array;
  assert_int_equal(oc_array_init(&array, OPS_TYPE_INT8, 2, dims, "x", &error), OPS_OK);
  for (int i = 0; i < 6; ++i) ((char *)array.data)[i] = (char)(i + 1);
  return array;
}

static void check(oc_arrange_kind kind, int64_t span, const char *want) {
  oc_array array = numbers();
  oc_arrangement arrangement;
  char block[32];
  memset(block, '.', sizeof block);
  assert_true(oc_arrange(kind, &array, &arrangement));
  assert_int_equal(arrangement.span, span);
  if (kind == OC_ARRANGE_REPEATED) oc_arrange_repeat(&array);
  oc_arrange_scatter(&arrangement, &array, block);
  assert_memory_equal(block, want, (size_t)span);
  assert_int_equal(block[span], '.');
  oc_array_finish(&array);
}

static void elements_lie_where_their_strides_say(void **state) {
  (void)state;
  check(OC_ARRANGE_PERMUTED, 12, "\1.\4.\2.\5.\3.\6.");
  check(OC_ARRANGE_REVERSED, 12, "\3\2\1...\6\5\4...");
  check(OC_ARRANGE_REPEATED, 3, "\1\2\3");
}

static void what_cannot_be_arranged_is_refused(void **state) {
  static const int64_t none[] = {0}, one[] = {1, 4}, four[] = {4};
  ops_error error = OPS_ERROR_INIT;
  oc_arrangement arrangement;
  oc_array array;
  (void)state;
  assert_int_equal(oc_array_init(&array, OPS_TYPE_FLOAT, 1, none, "x", &error), OPS_OK);
  assert_false(oc_arrange(OC_ARRANGE_PERMUTED, &array, &arrangement));
  oc_array_finish(&array);
  assert_int_equal(oc_array_init(&array, OPS_TYPE_FLOAT, 2, one, "x", &error), OPS_OK);
  assert_false(oc_arrange(OC_ARRANGE_REPEATED, &array, &arrangement));
  assert_true(oc_arrange(OC_ARRANGE_REVERSED, &array, &arrangement));
  assert_int_equal(arrangement.strides[0], 0);
  assert_int_equal(arrangement.strides[1], -1);
  oc_array_finish(&array);
  assert_int_equal(oc_array_init(&array, OPS_TYPE_INT4, 1, four, "x", &error), OPS_OK);
  assert_false(oc_arrange(OC_ARRANGE_PERMUTED, &array, &arrangement));
  oc_array_finish(&array);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_lie_where_their_strides_say),
      cmocka_unit_test(what_cannot_be_arranged_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

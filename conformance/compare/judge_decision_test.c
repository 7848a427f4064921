// SPDX-License-Identifier: Apache-2.0
//
// The judge `decision`: equal where nothing is computed, within a limit in ULP where something
// is.
#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"

static oc_comparison run(const oc_compare_input *input) {
  oc_comparison out;
  ops_error error = OPS_ERROR_INIT;
  if (oc_compare(input, &out, &error) != OPS_OK) fail_msg("%s", error.message);
  return out;
}

static void values_are_equal_or_near(void **state) {
  const float expected = 1, near = nextafterf(1, 2), far = nextafterf(near, 2);
  const int64_t index = 3, other = 4;
  (void)state;
  oc_compare_input input = {.judge = OC_JUDGE_DECISION,
                            .type = OPS_TYPE_FLOAT,
                            .accumulate = OPS_TYPE_FLOAT,
                            .count = 1,
                            .got = &near,
                            .expected = &expected};
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.ulp = 1;
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.got = &far;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.type = OPS_TYPE_INT64;
  input.got = &other;
  input.expected = &index;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.got = &index;
  assert_int_equal(run(&input).verdict, OC_MATCH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_equal_or_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

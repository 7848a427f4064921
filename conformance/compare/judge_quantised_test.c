// SPDX-License-Identifier: Apache-2.0
//
// The judge `quantised`: one step off only at a tie. The values are those of x / 0.5 by
// hand: 1.25 is the tie between 2 and 3, of which the even one is expected.
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

static void one_step_only_at_a_tie(void **state) {
  const uint8_t expected[4] = {2, 2, 7, 255}, lower[4] = {2, 2, 7, 255};
  const double low[4] = {2, 2, 7, 255}, high[4] = {3, 2, 7, 255};
  uint8_t got[4];
  oc_compare_input input = {.judge = OC_JUDGE_QUANTISED,
                            .type = OPS_TYPE_UINT8,
                            .count = 4,
                            .got = got,
                            .expected = expected,
                            .lower = low,
                            .upper = high};
  (void)state;
  memcpy(got, lower, sizeof got);
  assert_int_equal(run(&input).verdict, OC_MATCH);
  got[0] = 3;  // the other side of the tie
  assert_int_equal(run(&input).verdict, OC_MATCH);
  got[0] = 1;  // a step the other way
  oc_comparison out = run(&input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_true(out.error == 1 && out.worst == 0);
  got[0] = 2;
  got[2] = 9;  // no tie there
  out = run(&input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_true(out.error == 2 && out.worst == 2);
  assert_string_equal(out.metric, "steps");
  got[2] = 7;
  got[0] = 3;
  input.lower = input.upper = NULL;  // nothing is known of ties
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
}

static void signed_results_and_scales(void **state) {
  const int8_t expected = -3, got = -4;
  const double low = -4, high = -3;
  const float scale = 0.5f, near = nextafterf(0.5f, 1), far = nextafterf(near, 1);
  (void)state;
  oc_compare_input input = {.judge = OC_JUDGE_QUANTISED,
                            .type = OPS_TYPE_INT8,
                            .count = 1,
                            .got = &got,
                            .expected = &expected,
                            .lower = &low,
                            .upper = &high};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input = (oc_compare_input){.judge = OC_JUDGE_QUANTISED,
                             .type = OPS_TYPE_FLOAT,
                             .accumulate = OPS_TYPE_FLOAT,
                             .count = 1,
                             .got = &near,
                             .expected = &scale,
                             .ulp = 1};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.got = &far;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_step_only_at_a_tie),
      cmocka_unit_test(signed_results_and_scales),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Invariants, on results small enough to check by hand.
#include "compare/invariant.h"

#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t two_by_three[] = {2, 3};

// Where it breaks, or -1.
static int run(const oc_invariant_input *input) {
  ops_error error = OPS_ERROR_INIT;
  bool holds = false;
  size_t where = 99;
  if (oc_invariant_holds(input, &holds, &where, &error) != OPS_OK)
    fail_msg("%s", error.message);
  return holds ? -1 : (int)where;
}

static oc_invariant_input of(oc_invariant_check check, const float *result) {
  return (oc_invariant_input){.check = check,
                              .type = OPS_TYPE_FLOAT,
                              .result = result,
                              .dims = two_by_three,
                              .rank = 2};
}

static void nonnegative(void **state) {
  const float good[6] = {0, -0.0f, 1, NAN, INFINITY, 1e-45f},
              bad[6] = {0, 1, 2, -1e-45f, -1, 0};
  oc_invariant_input input = of(OC_INVARIANT_NONNEGATIVE, good);
  (void)state;
  assert_int_equal(run(&input), -1);
  input.result = bad;
  assert_int_equal(run(&input), 3);
}

static void bounded(void **state) {
  const float values[6] = {0, 0.5f, 1, NAN, 1, 0};
  oc_invariant_input input = of(OC_INVARIANT_BOUNDED, values);
  (void)state;
  input.bounds = (oc_interval){0, 1, false, false};
  assert_int_equal(run(&input), -1);
  input.bounds.hi_open = true;
  assert_int_equal(run(&input), 2);
  input.bounds = (oc_interval){0, 1, true, false};
  assert_int_equal(run(&input), 0);
}

static void sums_along_an_axis(void **state) {
  // Rows sum to 1 and 1; columns to 0.75, 0.5 and 0.75.
  const float values[6] = {0.5f, 0.25f, 0.25f, 0.25f, 0.25f, 0.5f};
  const float off[6] = {0.5f, 0.25f, 0.25f, 0.25f, 0.25f, 0.5000005f};  // 8 * 2^-24 more
  oc_invariant_input input = of(OC_INVARIANT_SUM_ALONG, values);
  (void)state;
  input.axis = 1;
  input.equals = 1;
  input.ulp = 0;
  assert_int_equal(run(&input), -1);
  input.axis = -1;
  assert_int_equal(run(&input), -1);
  input.axis = 0;
  assert_int_equal(run(&input), 0);
  input.equals = 0.75;
  assert_int_equal(run(&input), 1);  // the second column
  input = of(OC_INVARIANT_SUM_ALONG, off);
  input.axis = 1;
  input.equals = 1;
  input.ulp = 3;  // 3 * 2^-23 is less than 8 * 2^-24
  assert_int_equal(run(&input), 3);
  input.ulp = 5;
  assert_int_equal(run(&input), -1);
}

static void a_line_that_is_not_finite_is_left_out(void **state) {
  const float values[6] = {NAN, 1, 1, 0.5f, 0.25f, 0.25f};
  oc_invariant_input input = of(OC_INVARIANT_SUM_ALONG, values);
  (void)state;
  input.axis = 1;
  input.equals = 1;
  assert_int_equal(run(&input), -1);
}

static void rearranges(void **state) {
  const float source[6] = {1, 2, 3, NAN, 2, -0.0f}, moved[6] = {NAN, 2, 2, -0.0f, 3, 1};
  const float lost[6] = {NAN, 2, 2, -0.0f, 3, 3}, sign[6] = {NAN, 2, 2, 0.0f, 3, 1};
  oc_invariant_input input = of(OC_INVARIANT_REARRANGES, moved);
  (void)state;
  input.source = source;
  input.source_count = 6;
  assert_int_equal(run(&input), -1);
  input.result = lost;
  assert_int_not_equal(run(&input), -1);
  input.result = sign;
  assert_int_not_equal(run(&input), -1);
  input.result = moved;
  input.source_count = 5;
  assert_int_equal(run(&input), 0);
}

static void handles_empty_and_refuses_nonsense(void **state) {
  const int64_t empty[] = {0, 3};
  ops_error error = OPS_ERROR_INIT;
  bool holds;
  size_t where;
  oc_invariant_input input = of(OC_INVARIANT_SUM_ALONG, NULL);
  (void)state;
  input.dims = empty;
  input.axis = 0;
  assert_int_equal(run(&input), -1);
  input.check = OC_INVARIANT_REARRANGES;
  assert_int_equal(run(&input), -1);
  input.check = OC_INVARIANT_SUM_ALONG;
  input.axis = 2;
  assert_int_equal(oc_invariant_holds(&input, &holds, &where, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  input.type = OPS_TYPE_STRING;
  assert_int_equal(oc_invariant_holds(&input, &holds, &where, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nonnegative),
      cmocka_unit_test(bounded),
      cmocka_unit_test(sums_along_an_axis),
      cmocka_unit_test(a_line_that_is_not_finite_is_left_out),
      cmocka_unit_test(rearranges),
      cmocka_unit_test(handles_empty_and_refuses_nonsense),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// The judge `conditioned`: limits worked out by hand from CONFORMANCE.md, 4 deviations and 1
// ULP. 1 ULP of a float in [1, 2) is 2^-23; all numbers below are exact.
#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"

#define COUNT 4
#define ULP 0x1p-23

typedef struct fixture {
  float expected[COUNT], got[COUNT];
  double wide[COUNT], deviation[COUNT];
  oc_compare_input input;
} fixture;

static void setup(fixture *f) {
  for (int i = 0; i < COUNT; ++i) {
    f->wide[i] = 1 + i / 8.0;
    f->expected[i] = f->got[i] = (float)f->wide[i];
    f->deviation[i] = 2 * ULP;  // allowed: 9 ULP
  }
  f->input = (oc_compare_input){.judge = OC_JUDGE_CONDITIONED,
                                .type = OPS_TYPE_FLOAT,
                                .accumulate = OPS_TYPE_FLOAT,
                                .count = COUNT,
                                .got = f->got,
                                .expected = f->expected,
                                .wide = f->wide,
                                .deviation = f->deviation,
                                .cap = 1};
}

static oc_comparison run(const fixture *f) {
  oc_comparison out;
  ops_error error = OPS_ERROR_INIT;
  if (oc_compare(&f->input, &out, &error) != OPS_OK) fail_msg("%s", error.message);
  return out;
}

static void allows_four_deviations_and_one_ulp(void **state) {
  fixture f;
  (void)state;
  setup(&f);
  f.got[2] = (float)(f.wide[2] - 9 * ULP);
  oc_comparison out = run(&f);
  assert_int_equal(out.verdict, OC_MATCH);
  assert_true(out.error == 1 && out.limit == 1 && out.worst == 2);
  f.got[2] = (float)(f.wide[2] - 10 * ULP);
  out = run(&f);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_true(out.error == 10 / 9.0);
  assert_string_equal(out.metric, "conditioned error");
  setup(&f);
  f.deviation[1] = 0;  // nothing moves: 1 ULP of the result's type remains
  f.got[1] = (float)(f.wide[1] + ULP);
  assert_int_equal(run(&f).verdict, OC_MATCH);
  f.got[1] = (float)(f.wide[1] + 2 * ULP);
  assert_int_equal(run(&f).verdict, OC_MISMATCH);
}

static void counts_the_ulp_of_narrow_results(void **state) {
  // float16 in [1, 2): 1 ULP is 2^-10, the deviation of the float arithmetic 2^-20.
  const uint16_t expected[1] = {0x3c00}, one[1] = {0x3c01}, two[1] = {0x3c02};
  const double wide[1] = {1}, deviation[1] = {0x1p-20};
  fixture f;
  (void)state;
  f.input = (oc_compare_input){.judge = OC_JUDGE_CONDITIONED,
                               .type = OPS_TYPE_FLOAT16,
                               .accumulate = OPS_TYPE_FLOAT,
                               .count = 1,
                               .got = one,
                               .expected = expected,
                               .wide = wide,
                               .deviation = deviation,
                               .cap = 1};
  const oc_comparison out = run(&f);
  assert_int_equal(out.verdict, OC_MATCH);
  assert_true(out.error == 0x1p-10 / (4 * 0x1p-20 + 0x1p-10));
  f.input.got = two;
  assert_int_equal(run(&f).verdict, OC_MISMATCH);
}

static void beyond_the_cap_nothing_is_proven(void **state) {
  fixture f;
  (void)state;
  setup(&f);
  f.input.cap = 8 * ULP;  // exactly 4 deviations: still proves something
  assert_int_equal(run(&f).verdict, OC_MATCH);
  f.deviation[3] = 2.5 * ULP;
  oc_comparison out = run(&f);
  assert_int_equal(out.verdict, OC_UNTRUSTED);
  assert_non_null(out.untrusted);
  assert_null(out.trivial);
  assert_true(out.worst == 3 && out.error == 1.25);
  f.got[0] = 100;  // also where a result is wrong
  assert_int_equal(run(&f).verdict, OC_UNTRUSTED);
}

static void special_values_come_before_numbers(void **state) {
  fixture f;
  (void)state;
  setup(&f);
  f.got[0] = NAN;
  assert_int_equal(run(&f).verdict, OC_MISMATCH);
  setup(&f);
  f.wide[0] = f.expected[0] = NAN;
  f.deviation[0] = 0;
  assert_int_equal(run(&f).verdict, OC_MISMATCH);
  f.got[0] = NAN;
  assert_int_equal(run(&f).verdict, OC_MATCH);
  setup(&f);
  f.got[0] = INFINITY;
  assert_int_equal(run(&f).verdict, OC_MISMATCH);
}

static void deviations_are_the_largest_seen(void **state) {
  const double plain[8] = {1, 1, 1, 1, 1, 0, INFINITY, 1};
  const double first[8] = {1.5, 1, 1, 1.25, 1, 0, INFINITY, NAN};
  const double second[8] = {0.25, 1, 1.125, 1, 1, 0, INFINITY, 1};
  double deviation[8] = {0};
  (void)state;
  oc_condition_add(deviation, plain, first, 8);
  oc_condition_add(deviation, plain, second, 8);
  const double seen[8] = {0.75, 0, 0.125, 0.25, 0, 0, 0, INFINITY};
  for (int i = 0; i < 8; ++i) assert_true(deviation[i] == seen[i]);
  // Moving: 0.125, 0.25, 0.75, infinity; the upper quartile of the four is 0.75.
  assert_true(oc_condition_close(deviation, plain, 8));
  const double closed[8] = {0.75, 0.75, 0.75, 0.75, 0.75, 0, 0, INFINITY};
  for (int i = 0; i < 8; ++i) assert_true(deviation[i] == closed[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allows_four_deviations_and_one_ulp),
      cmocka_unit_test(counts_the_ulp_of_narrow_results),
      cmocka_unit_test(beyond_the_cap_nothing_is_proven),
      cmocka_unit_test(special_values_come_before_numbers),
      cmocka_unit_test(deviations_are_the_largest_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

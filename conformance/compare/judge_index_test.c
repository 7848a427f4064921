// SPDX-License-Identifier: Apache-2.0
//
// The judge `index`: exact, as sets where the order is free, and ties that flushing makes.
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

// Two lines along the first axis of [3, 2]: 5 1 4 and 0 2 3.
static const int64_t expected[6] = {5, 0, 1, 2, 4, 3};

static oc_compare_input input_of(const int64_t *got) {
  return (oc_compare_input){.judge = OC_JUDGE_INDEX,
                            .type = OPS_TYPE_INT64,
                            .count = 6,
                            .got = got,
                            .expected = expected,
                            .line = {2, 3}};
}

static void exact_where_ties_are_fixed(void **state) {
  const int64_t swapped[6] = {1, 0, 5, 2, 4, 3};
  (void)state;
  oc_compare_input input = input_of(expected);
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input = input_of(swapped);
  const oc_comparison out = run(&input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_true(out.wrong == 2 && out.worst == 0);
}

static void sets_where_the_order_is_free(void **state) {
  const int64_t swapped[6] = {1, 3, 5, 0, 4, 2};
  const int64_t across[6] = {0, 5, 1, 2, 4, 3};  // from one line into the other
  const int64_t twice[6] = {5, 0, 5, 2, 4, 3};
  (void)state;
  oc_compare_input input = input_of(swapped);
  input.unordered = true;
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.got = across;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.got = twice;
  const oc_comparison out = run(&input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, "set");
  assert_true(out.wrong == 1);
}

static void flushing_makes_ties(void **state) {
  // ArgMax over lines of 3 along the last axis: the largest are denormals, or 1.
  const float data[6] = {0, 1e-40f, -0.0f, 0, 1, 1e-40f};
  const int64_t first[2] = {1, 1}, other[2] = {0, 1}, wrong[2] = {1, 2}, outside[2] = {3, 1};
  (void)state;
  oc_compare_input input = {.judge = OC_JUDGE_INDEX,
                            .type = OPS_TYPE_INT64,
                            .count = 2,
                            .got = other,
                            .expected = first,
                            .line = {1, 1},
                            .named = {OPS_TYPE_FLOAT, data, {1, 3}},
                            .special = {.denormal_any = true}};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.special.denormal_any = false;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.special.denormal_any = true;
  input.got = wrong;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.got = outside;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  input.got = other;
  input.named.data = NULL;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_where_ties_are_fixed),
      cmocka_unit_test(sets_where_the_order_is_free),
      cmocka_unit_test(flushing_makes_ties),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

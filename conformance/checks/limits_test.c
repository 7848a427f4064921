// SPDX-License-Identifier: Apache-2.0
//
// When the bias of errors is judged: not where one small operand stands in every result, for
// then correct rounding itself goes one way. x + s with s far below the last place of x rounds
// to x, and the error of each such result is -s.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "checks/limits.h"
#include "ops_support/error.h"

static const char kText[] =
    "contract: 1\nop: Sums\ndomain: d\nopset: {since: 1}\nreference: none\nkind: atomic\n"
    "judge: dot\nsemantic:\n  types: {T: [float16]}\n"
    "  inputs: [{name: A, type: T}, {name: B, type: T}]\n  outputs: [{name: Y, type: T}]\n"
    "  attributes: {terms: {type: int}}\n"
    "precision: {tolerance: {standard: {k: terms}}, source: a test}\n"
    "cases:\n  fills: [uniform]\n  draw: \"false\"\n  rows:\n"
    "    - {id: shared, inputs: {A: [], B: [40, 50]}, attributes: {terms: 2}}\n"
    "    - {id: apart, inputs: {A: [40, 50], B: [40, 50]}, attributes: {terms: 2}}\n"
    "    - {id: bias, inputs: {A: [4], B: [40, 50]}, attributes: {terms: 28}}\n"
    "    - {id: given, inputs: {B: [40, 50]}, values: {A: 2.0}, attributes: {terms: 2}}\n";

static void shared_operands_excuse_bias(void **state) {
  static const bool judged[] = {false, true, true, true};
  ops_error error = OPS_ERROR_INIT;
  oc_contracts *contracts = NULL;
  oc_cases *cases = NULL;
  const oc_cases_options options = {.tier = OC_TIER_FULL};
  (void)state;
  if (oc_contracts_parse("t.yaml", kText, sizeof kText - 1, &contracts, &error) != OPS_OK ||
      oc_cases_create(contracts, &options, &cases, &error) != OPS_OK) {
    fail_msg("%s", error.message);
  }
  for (size_t i = 0; i < sizeof judged / sizeof *judged; ++i) {
    oc_expected expected;
    oc_compare_input limits;
    const int64_t dims[] = {40, 50};
    memset(&expected, 0, sizeof expected);
    expected.count = 1;
    assert_int_equal(
        oc_array_init(&expected.outputs[0], OPS_TYPE_FLOAT16, 2, dims, "Y", &error), OPS_OK);
    assert_int_equal(
        oc_limits_of(&limits, &cases->items[i], &expected, OC_PROFILE_STANDARD, 0, &error),
        OPS_OK);
    assert_int_equal(limits.random_fill, judged[i]);
    oc_array_finish(&expected.outputs[0]);
  }
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shared_operands_excuse_bias)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Sampling: as many as wanted, spread evenly, whatever the numbers.
#include "checks/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
// cmocka needs the headers above first
#include <cmocka.h>

static void as_many_as_wanted_are_taken_evenly(void **state) {
  (void)state;
  for (uint32_t total = 1; total < 60; ++total) {
    for (uint32_t wanted = 0; wanted < 70; ++wanted) {
      uint32_t taken = 0, last = 0, gap = 0;
      for (uint32_t place = 0; place < total; ++place) {
        if (!oc_sample_takes((oc_sample){place, total}, wanted)) continue;
        if (taken && place - last > gap) gap = place - last;
        last = place;
        ++taken;
      }
      assert_int_equal(taken, wanted < total ? wanted : total);
      if (wanted > 1) assert_true(gap <= total / wanted + 1);
    }
  }
  assert_false(oc_sample_takes((oc_sample){0, 0}, 5));
}

static void places_are_counted_by_contract_and_type(void **state) {
  static const int64_t dims[] = {4}, none[] = {0};
  static const oc_shape four = {1, dims}, empty = {1, none};
  static const oc_row_input full = {.count = 1, .shapes = &four},
                            hollow = {1, .shapes = &empty};
  static const int32_t single[] = {OPS_TYPE_FLOAT}, twice[] = {OPS_TYPE_DOUBLE};
  static const oc_type_var var = {.name = "T"};
  static const oc_param x = {.name = "x"};
  static const oc_row row = {.id = "r"};
  static const oc_contract a = {
      .type_vars = &var, .type_var_count = 1, .inputs = &x, .input_count = 1};
  static const oc_contract b = {
      .type_vars = &var, .type_var_count = 1, .inputs = &x, .input_count = 1};
#define CASE(c, t, in, f) {.contract = &c, .row = &row, .types = t, .inputs = &in, .fill = f}
  oc_case items[] = {
      CASE(a, single, full, OC_FILL_UNIFORM), CASE(a, single, hollow, OC_FILL_UNIFORM),
      CASE(a, twice, full, OC_FILL_NORMAL),   CASE(a, single, full, OC_FILL_SPECIAL),
      CASE(a, single, full, OC_FILL_UNIFORM), CASE(b, single, full, OC_FILL_UNIFORM),
      {.contract = &b, .provider_case = 1}};
  static const oc_sample want[] = {{0, 2}, {0, 0}, {0, 1}, {0, 0}, {1, 2}, {0, 1}, {0, 0}};
  const oc_cases cases = {.items = items, .count = sizeof items / sizeof *items};
  oc_sample *samples = oc_sample_all(&cases);
  (void)state;
  assert_non_null(samples);
  for (size_t i = 0; i < cases.count; ++i) {
    assert_int_equal(samples[i].place, want[i].place);
    assert_int_equal(samples[i].total, want[i].total);
  }
  free(samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_many_as_wanted_are_taken_evenly),
      cmocka_unit_test(places_are_counted_by_contract_and_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

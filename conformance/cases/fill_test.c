// SPDX-License-Identifier: Apache-2.0
//
// What each fill promises in contracts/schema/format.md, looked at in the data of cases.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/case.h"
#include "cases/element.h"
#include "ops_support/error.h"

static const char kText[] =
    "contract: 1\nop: Sums\ndomain: d\nopset: {since: 1}\nreference: none\nkind: atomic\n"
    "judge: dot\nsemantic:\n  types: {T: [float, float16, bfloat16, double, int8]}\n"
    "  inputs: [{name: A, type: T}, {name: B, type: T}]\n  outputs: [{name: Y, type: T}]\n"
    "precision: {tolerance: {standard: {k: \"dim(A, 1)\"}}, source: a test}\n"
    "cases:\n  fills: [exact_integer, uniform, normal, wide, cancellation, special]\n"
    "  draw: \"false\"\n  rows:\n    - {id: r, inputs: {A: [40, 50], B: [50, 40]}}\n";

static oc_contracts *contracts;
static oc_cases *cases;

static int load(void **state) {
  ops_error error = OPS_ERROR_INIT;
  const oc_cases_options options = {.seed = 11, .tier = OC_TIER_FULL};
  (void)state;
  if (oc_contracts_parse("t.yaml", kText, sizeof kText - 1, &contracts, &error) == OPS_OK &&
      oc_cases_create(contracts, &options, &cases, &error) == OPS_OK) {
    return 0;
  }
  print_error("%s\n", error.message);
  return -1;
}

static int unload(void **state) {
  (void)state;
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
  return 0;
}

// The inputs of the case of a type and fill.
static oc_inputs inputs_of(const char *type, const char *fill) {
  char id[128];
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  snprintf(id, sizeof id, "d.Sums-1/%s/r/%s", type, fill);
  for (size_t i = 0; i < cases->count; ++i) {
    if (strcmp(cases->items[i].id, id) != 0) continue;
    if (oc_inputs_init(&inputs, &cases->items[i], &error) == OPS_OK) return inputs;
    fail_msg("%s", error.message);
  }
  fail_msg("no case '%s'", id);
  return inputs;
}

static double value_at(const oc_array *array, int64_t index) {
  return oc_element_load(array->type, array->data, (uint64_t)index);
}

// Every partial sum of 50 products, in whatever order, is an integer that the type holds: their
// magnitudes together stay below two to the number of its mantissa bits and one.
static void exact_integers_never_round(void **state) {
  static const struct {
    const char *type;
    double room;
  } rows[] = {{"float", 0x1p24}, {"float16", 0x1p11}, {"bfloat16", 0x1p8}, {"double", 0x1p53}};
  (void)state;
  for (size_t t = 0; t < sizeof rows / sizeof *rows; ++t) {
    oc_inputs inputs = inputs_of(rows[t].type, "exact_integer");
    const oc_array *a = &inputs.items[0], *b = &inputs.items[1];
    double most = 0, largest = 0;
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t j = 0; j < 40; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 50; ++k) {
          const double x = value_at(a, i * 50 + k), y = value_at(b, k * 40 + j);
          assert_true(x == floor(x) && y == floor(y));
          sum += fabs(x * y);
          largest = fmax(largest, fabs(x));
        }
        most = fmax(most, sum);
      }
    }
    assert_true(most <= rows[t].room);
    assert_true(most > 20 && largest >= 1);
    oc_inputs_finish(&inputs);
  }
}

// [-1, 1), mean 0 and variance 1/3 within five standard errors of 2000 draws.
static void uniform_is_uniform(void **state) {
  (void)state;
  oc_inputs inputs = inputs_of("float", "uniform");
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const double x = value_at(&inputs.items[0], i);
    assert_true(x >= -1 && x < 1);
    sum += x;
    squares += x * x;
  }
  assert_true(fabs(sum / 2000) < 5 * sqrt(1.0 / 3 / 2000));
  assert_true(fabs(squares / 2000 - 1.0 / 3) < 5 * sqrt((1.0 / 5 - 1.0 / 9) / 2000));
  oc_inputs_finish(&inputs);
}

// Both signs, and exponents over two thirds of the type's: 2 * floor((bias - 1) / 3) + 1 of
// them, each of 2000 draws about equally often.
static void wide_exponents(void **state) {
  static const struct {
    const char *type;
    int reach;
  } rows[] = {{"float", 42}, {"float16", 4}, {"bfloat16", 42}, {"double", 42}};
  (void)state;
  for (size_t t = 0; t < sizeof rows / sizeof *rows; ++t) {
    oc_inputs inputs = inputs_of(rows[t].type, "wide");
    int seen[200] = {0}, negative = 0, kinds = 0;
    for (int64_t i = 0; i < 2000; ++i) {
      const double x = value_at(&inputs.items[0], i);
      const int exponent = ilogb(x);
      assert_true(abs(exponent) <= rows[t].reach + 1);  // one more where rounding carries
      ++seen[100 + exponent];
      negative += x < 0;
    }
    for (int e = -rows[t].reach; e <= rows[t].reach; ++e) kinds += seen[100 + e] > 0;
    assert_int_equal(kinds, 2 * rows[t].reach + 1);
    assert_in_range(negative, 800, 1200);
    oc_inputs_finish(&inputs);
  }
}

// Neighbours have opposite signs and differ by less than 2^-6 of themselves, so that their sum
// loses six bits and more.
static void neighbours_cancel(void **state) {
  (void)state;
  oc_inputs inputs = inputs_of("float", "cancellation");
  double least = 1;
  for (int64_t i = 0; i < 2000; i += 2) {
    const double x = value_at(&inputs.items[0], i), y = value_at(&inputs.items[0], i + 1);
    assert_true(x * y < 0);
    const double left = fabs(x + y) / fabs(x);
    assert_true(left < 0x1p-6 + 0x1p-23);
    least = fmin(least, left);
  }
  assert_true(least < 0x1p-12);
  oc_inputs_finish(&inputs);
}

// The kinds that `special` promises: NaN, infinities, zeros, 1 and -1, denormals, the least
// normal and the largest numbers of float, told by their bits.
static int kind_of(uint32_t bits) {
  static const uint32_t named[] = {0x7f800000, 0xff800000, 0x00000000, 0x80000000,
                                   0x3f800000, 0xbf800000, 0x00000001, 0x80000001,
                                   0x00800000, 0x7f7fffff, 0xff7fffff};
  if ((bits & 0x7fffffff) > 0x7f800000) return 0;
  for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
    if (bits == named[i]) return (int)i + 1;
  }
  return -1;
}

// Every special value of one input meets every one of the other at the same place.
static void special_meets_special(void **state) {
  (void)state;
  oc_inputs inputs = inputs_of("float", "special");
  const uint32_t *a = inputs.items[0].data, *b = inputs.items[1].data;
  int met[12][12] = {{0}}, ordinary = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const int first = kind_of(a[i]), second = kind_of(b[i]);
    ordinary += first < 0;
    if (first >= 0 && second >= 0) ++met[first][second];
  }
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 12; ++k) assert_true(met[i][k] > 0);
  }
  assert_true(ordinary > 500);
  oc_inputs_finish(&inputs);
}

// Of integers: the ends of the range, 0, 1 and -1, each with each.
static void special_integers(void **state) {
  static const int8_t values[] = {-128, 127, 0, 1, -1};
  (void)state;
  oc_inputs inputs = inputs_of("int8", "special");
  const int8_t *a = inputs.items[0].data, *b = inputs.items[1].data;
  for (size_t i = 0; i < sizeof values; ++i) {
    for (size_t k = 0; k < sizeof values; ++k) {
      int met = 0;
      for (int64_t at = 0; at < 2000; ++at) met += a[at] == values[i] && b[at] == values[k];
      assert_true(met > 0);
    }
  }
  oc_inputs_finish(&inputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_integers_never_round),
      cmocka_unit_test(uniform_is_uniform),
      cmocka_unit_test(wide_exponents),
      cmocka_unit_test(neighbours_cancel),
      cmocka_unit_test(special_meets_special),
      cmocka_unit_test(special_integers),
  };
  return cmocka_run_group_tests(tests, load, unload);
}

// SPDX-License-Identifier: Apache-2.0
//
// Cases of a small contract. Expected numbers follow from the rules at the top of
// contract/contract.h, counted by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/array.h"
#include "cases/case.h"
#include "cases/element.h"
#include "ops_support/error.h"

static const char kText[] =
    "contract: 1\n"
    "op: Thing\n"
    "domain: ai.onnx\n"
    "opset: {since: 3}\n"
    "reference: \"none\"\n"
    "kind: atomic\n"
    "judge: ulp\n"
    "semantic:\n"
    "  types: {T: [float, float16, int8]}\n"
    "  inputs:\n"
    "    - {name: X, type: T, range: {floating: \"[2, 3)\", signed: \"[-3, 4]\"}}\n"
    "    - {name: Y, type: int64, optional: true}\n"
    "  outputs: [{name: Z, type: T, shape: \"shape(X)\"}]\n"
    "  attributes: {axis: {type: int, default: 0, range: \"[-rank(X), rank(X))\"}}\n"
    "  constraints:\n"
    "    - {id: axis, check: \"axis >= -rank(X) && axis < rank(X)\",\n"
    "       broken_by: {set: {axis: \"rank(X)\"}}}\n"
    "execution: {layouts: [row_major], strides: optional, determinism: run, threads: serial}\n"
    "scheduling: {async: allowed, dynamic_shape: dynamic, prepares: 1}\n"
    "precision: {tolerance: {standard: {ulp: 0}}, source: \"a test\"}\n"
    "cases:\n"
    "  fills: [uniform]\n"
    "  rows:\n"
    "    - {id: plain, inputs: {X: [4, 25]}, vary: {axis: [each]}, fills: [uniform, normal]}\n"
    "    - {id: twin, inputs: {X: [4, 25]}, attributes: {axis: 1}, fills: [uniform]}\n"
    "    - {id: given, inputs: {X: [3], Y: [2]}, values: {Y: [5, -6]}, types: {T: [float]},\n"
    "       fills: [exact_integer]}\n"
    "    - {id: all, inputs: {X: [256]}, types: {T: [int8]}, fills: [every]}\n"
    "    - {id: odd, inputs: {X: [9, 40]}, types: {T: [float]}, fills: [special, wide, "
    "strata]}\n";

static oc_contracts *load(void) {
  ops_error error = OPS_ERROR_INIT;
  oc_contracts *contracts = NULL;
  const int32_t status =
      oc_contracts_parse("thing.yaml", kText, sizeof kText - 1, &contracts, &error);
  if (status != OPS_OK) fail_msg("%s", error.message);
  return contracts;
}

static oc_cases *generate(const oc_contracts *contracts, uint64_t seed, oc_tier tier) {
  ops_error error = OPS_ERROR_INIT;
  const oc_cases_options options = {.seed = seed, .tier = tier};
  oc_cases *cases = NULL;
  if (oc_cases_create(contracts, &options, &cases, &error) != OPS_OK) {
    fail_msg("%s", error.message);
  }
  return cases;
}

static const oc_case *find_case(const oc_cases *cases, const char *id) {
  for (size_t i = 0; i < cases->count; ++i) {
    if (strcmp(cases->items[i].id, id) == 0) return &cases->items[i];
  }
  fail_msg("no case '%s'", id);
  return NULL;
}

// Cases of rows as they stand: ids of drawn rows have a dot behind the row.
static size_t count_of_rows(const oc_cases *cases) {
  size_t count = 0;
  for (size_t i = 0; i < cases->count; ++i) count += strchr(cases->items[i].id, '.') == NULL;
  return count;
}

// plain: 4 axes x (float 2, float16 2, int8 1 fills) = 20. twin repeats axis 1 of plain for
// each type. given 1, all 1, odd 3, and one error case.
static void test_count(void **unused) {
  (void)unused;
  oc_contracts *contracts = load();
  oc_cases *cases = generate(contracts, 0, OC_TIER_FULL);
  assert_int_equal(count_of_rows(cases), 20 + 1 + 1 + 3 + 1);
  assert_true(cases->merged >= 3);
  find_case(cases, "Thing-3/float16/plain/axis=-2/normal");
  find_case(cases, "Thing-3/error/axis");
  for (size_t i = 0; i < cases->count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      assert_string_not_equal(cases->items[i].id, cases->items[k].id);
    }
  }
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

// plain: of float the first axis with both fills, three with one; of int8 and float16, which
// are new, one case each. twin: none, all it says plain says, too, whether taken or not. given
// 1, all 1, odd 3, one error case.
static void merge_takes_turns(void **unused) {
  (void)unused;
  oc_contracts *contracts = load();
  oc_cases *cases = generate(contracts, 0, OC_TIER_MERGE);
  const oc_case *item = find_case(cases, "Thing-3/float/plain/axis=-2/uniform");
  size_t fills[OC_FILL_COUNT] = {0};
  for (size_t i = 0; i < cases->count; ++i) {
    if (cases->items[i].error || cases->items[i].row != item->row) continue;
    ++fills[cases->items[i].fill];
  }
  assert_int_equal(fills[OC_FILL_UNIFORM] + fills[OC_FILL_NORMAL], 2 + 3 + 1 + 1);
  assert_true(fills[OC_FILL_NORMAL] >= 2);
  find_case(cases, "Thing-3/float/plain/axis=-2/normal");
  find_case(cases, "Thing-3/int8/all/every");
  find_case(cases, "Thing-3/error/axis");
  assert_int_equal(count_of_rows(cases), 7 + 1 + 1 + 3 + 1);
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

// The bits of a case follow from its id and the base seed alone. The numbers come from a second
// implementation of Philox4x32-10, FNV-1a and splitmix64's mixing step, written in Python from
// their papers: x = 2 + (b0 + 2^32 b1 >> 11) 2^-53 rounded to float, and -3 + b % 8.
static void draws_as_published(void **unused) {
  static const uint32_t floats[] = {0x403dddf3, 0x400e663f, 0x40328dd6, 0x403e3bb6};
  static const int8_t integers[] = {-2, -2, 3, -3, 1, -1, -2, 0};
  (void)unused;
  ops_error error = OPS_ERROR_INIT;
  oc_contracts *contracts = load();
  oc_cases *cases = generate(contracts, 5, OC_TIER_FULL);
  oc_inputs inputs;
  assert_int_equal(
      oc_inputs_init(&inputs, find_case(cases, "Thing-3/float/plain/axis=1/uniform"), &error),
      OPS_OK);
  assert_memory_equal(inputs.items[0].data, floats, sizeof floats);
  oc_inputs_finish(&inputs);
  assert_int_equal(
      oc_inputs_init(&inputs, find_case(cases, "Thing-3/int8/plain/axis=-2/uniform"), &error),
      OPS_OK);
  assert_memory_equal(inputs.items[0].data, integers, sizeof integers);
  oc_inputs_finish(&inputs);
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

typedef struct digest {
  uint64_t ids;
  uint64_t bits;
} digest;

static digest digest_of(const oc_cases *cases) {
  digest sum = {5381, 5381};
  for (size_t i = 0; i < cases->count; ++i) {
    ops_error error = OPS_ERROR_INIT;
    oc_inputs inputs;
    for (const char *at = cases->items[i].id; *at; ++at) sum.ids = sum.ids * 33 + (uint8_t)*at;
    if (oc_inputs_init(&inputs, &cases->items[i], &error) != OPS_OK) {
      fail_msg("%s", error.message);
    }
    for (size_t k = 0; k < inputs.count; ++k) {
      const uint8_t *bytes = inputs.items[k].data;
      for (uint64_t b = 0; b < inputs.items[k].bytes; ++b) sum.bits = sum.bits * 33 + bytes[b];
    }
    oc_inputs_finish(&inputs);
  }
  return sum;
}

// What this list and these bits are must not depend on compiler, optimisation or machine, nor
// change unnoticed: journals, waivers and stored cases name cases by their ids. A change that
// is meant writes the numbers printed here anew and says so in CHANGELOG.md.
static void same_on_every_machine(void **unused) {
  static const digest pinned[OC_TIER_COUNT] = {
      {UINT64_C(0xdef4bc80496498d), UINT64_C(0x8b8a0198897cfa28)},
      {UINT64_C(0x7f1acfd2f1e6aa19), UINT64_C(0xb1375dd3cf468c98)},
      {UINT64_C(0xa4454f73cf2d888f), UINT64_C(0xdb2cff69511798d2)}};
  (void)unused;
  oc_contracts *contracts = load();
  bool same = true;
  for (int tier = 0; tier < OC_TIER_COUNT; ++tier) {
    oc_cases *cases = generate(contracts, 7, (oc_tier)tier);
    const digest sum = digest_of(cases);
    print_message("%s: %zu cases, {0x%llx, 0x%llx}\n", oc_tier_name((oc_tier)tier),
                  cases->count, (unsigned long long)sum.ids, (unsigned long long)sum.bits);
    same = same && sum.ids == pinned[tier].ids && sum.bits == pinned[tier].bits;
    oc_cases_destroy(cases);
  }
  oc_contracts_destroy(contracts);
  assert_true(same);
}

static void test_inputs(void **unused) {
  (void)unused;
  oc_contracts *contracts = load();
  oc_cases *cases = generate(contracts, 5, OC_TIER_FULL);
  const oc_case *item = find_case(cases, "Thing-3/float/plain/axis=1/uniform");
  ops_error error = OPS_ERROR_INIT;
  oc_inputs first, second;
  char text[64];
  assert_int_equal(oc_inputs_init(&first, item, &error), OPS_OK);
  assert_int_equal(oc_inputs_init(&second, item, &error), OPS_OK);
  assert_int_equal(first.count, 1);
  assert_int_equal(first.items[0].bytes, 400);
  assert_memory_equal(first.items[0].data, second.items[0].data, 400);
  for (uint64_t i = 0; i < 100; ++i) {
    const double value = oc_element_load(OPS_TYPE_FLOAT, first.items[0].data, i);
    assert_true(value >= 2 && value < 3);
  }
  oc_inputs_finish(&second);
  oc_cases *other = generate(contracts, 6, OC_TIER_FULL);
  assert_int_equal(oc_inputs_init(&second, find_case(other, item->id), &error), OPS_OK);
  assert_memory_not_equal(first.items[0].data, second.items[0].data, 400);
  oc_inputs_print(item, text, sizeof text);
  assert_string_equal(text, "float[4, 25]");
  oc_inputs_finish(&first);
  oc_inputs_finish(&second);
  oc_cases_destroy(other);
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

static void test_contents(void **unused) {
  (void)unused;
  oc_contracts *contracts = load();
  oc_cases *cases = generate(contracts, 0, OC_TIER_FULL);
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  const oc_case *item = find_case(cases, "Thing-3/float/given/exact_integer");
  assert_int_equal(oc_inputs_init(&inputs, item, &error), OPS_OK);
  assert_int_equal(inputs.count, 2);
  const int64_t *given = inputs.items[1].data;
  assert_true(given[0] == 5 && given[1] == -6);
  for (uint64_t i = 0; i < 3; ++i) {  // the integers of [2, 3)
    assert_true(oc_element_load(OPS_TYPE_FLOAT, inputs.items[0].data, i) == 2);
  }
  oc_inputs_finish(&inputs);
  item = find_case(cases, "Thing-3/int8/all/every");
  assert_int_equal(oc_inputs_init(&inputs, item, &error), OPS_OK);
  const int8_t *bytes = inputs.items[0].data;
  for (int i = 0; i < 256; ++i) {  // every pattern inside [-3, 4], others drawn from it
    assert_true(bytes[i] >= -3 && bytes[i] <= 4);
    if ((int8_t)i >= -3 && (int8_t)i <= 4) assert_int_equal(bytes[i], (int8_t)i);
  }
  oc_inputs_finish(&inputs);
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

static void test_floating_fills(void **unused) {
  (void)unused;
  oc_contracts *contracts = load();
  oc_cases *cases = generate(contracts, 0, OC_TIER_FULL);
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  const oc_case *item = find_case(cases, "Thing-3/float/odd/special");
  assert_int_equal(oc_inputs_init(&inputs, item, &error), OPS_OK);
  int nan = 0, infinite = 0, zero = 0, denormal = 0;
  const float *special = inputs.items[0].data;
  for (int i = 0; i < 360; ++i) {
    const int kind = fpclassify(special[i]);
    nan += kind == FP_NAN;
    infinite += kind == FP_INFINITE;
    zero += kind == FP_ZERO;
    denormal += kind == FP_SUBNORMAL;
  }
  assert_true(nan > 5 && infinite > 10 && zero > 10 && denormal > 10);
  for (int i = 320; i < 360; ++i) assert_true(isfinite(special[i]));  // a row without any
  oc_inputs_finish(&inputs);
  item = find_case(cases, "Thing-3/float/odd/strata");
  assert_int_equal(oc_inputs_init(&inputs, item, &error), OPS_OK);
  const uint32_t *bits = inputs.items[0].data;
  for (uint32_t i = 0; i < 360; ++i) assert_int_equal(bits[i] >> 23 & 0xff, i % 256);
  oc_inputs_finish(&inputs);
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

// Tensors that repeat together take turns, and each has its own number.
static void repeated_inputs_take_turns(void **state) {
  static const char text[] =
      "contract: 1\nop: Pairs\ndomain: d\nopset: {since: 1}\nreference: none\nkind: atomic\n"
      "judge: exact\nsemantic:\n  types: {T: [uint8]}\n  inputs:\n"
      "    - {name: first, type: T}\n    - {name: x, type: T, variadic: true}\n"
      "    - {name: scale, type: float, variadic: true}\n  outputs: [{name: y, type: T}]\n"
      "cases:\n  fills: [uniform]\n  rows:\n    - {id: r, inputs: {first: [2], x: [[2], [3]]}, "
      "values: {scale: [0.5, 0.25]}}\n";
  static const int32_t params[] = {0, 1, 2, 1, 2};
  static const int64_t counts[] = {2, 2, 1, 3, 1};
  ops_error error = OPS_ERROR_INIT;
  oc_contracts *contracts = NULL;
  oc_inputs inputs;
  char printed[256];
  (void)state;
  assert_int_equal(oc_contracts_parse("t.yaml", text, sizeof text - 1, &contracts, &error),
                   OPS_OK);
  oc_cases *cases = generate(contracts, 0, OC_TIER_FULL);
  assert_int_equal(oc_inputs_init(&inputs, &cases->items[0], &error), OPS_OK);
  assert_int_equal(inputs.count, 5);
  for (size_t i = 0; i < 5; ++i) {
    assert_int_equal(inputs.params[i], params[i]);
    assert_int_equal(inputs.items[i].count, counts[i]);
  }
  assert_true(*(const float *)inputs.items[2].data == 0.5f);
  assert_true(*(const float *)inputs.items[4].data == 0.25f);
  oc_inputs_print(&cases->items[0], printed, sizeof printed);
  assert_string_equal(printed, "uint8[2], uint8[2], float[], uint8[3], float[]");
  oc_inputs_finish(&inputs);
  oc_cases_destroy(cases);
  oc_contracts_destroy(contracts);
}

static void refuses_a_row_without_cases(void **state) {
  (void)state;
  char text[sizeof kText + 128];
  ops_error error = OPS_ERROR_INIT;
  oc_contracts *contracts = NULL;
  oc_cases *cases = NULL;
  const oc_cases_options options = {.tier = OC_TIER_FULL};
  snprintf(text, sizeof text, "%s%s", kText,
           "    - {id: dead, inputs: {X: [3]}, when: \"rank(X) > 5\", fills: [uniform]}\n");
  assert_int_equal(oc_contracts_parse("thing.yaml", text, strlen(text), &contracts, &error),
                   OPS_OK);
  assert_int_equal(oc_cases_create(contracts, &options, &cases, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_null(cases);
  assert_non_null(strstr(error.message, "thing.yaml:30:7: "));
  assert_non_null(strstr(error.message, "\"dead\" yields no case"));
  oc_contracts_destroy(contracts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_a_row_without_cases),
      cmocka_unit_test(repeated_inputs_take_turns),
      cmocka_unit_test(test_count),
      cmocka_unit_test(merge_takes_turns),
      cmocka_unit_test(draws_as_published),
      cmocka_unit_test(same_on_every_machine),
      cmocka_unit_test(test_inputs),
      cmocka_unit_test(test_contents),
      cmocka_unit_test(test_floating_fills),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

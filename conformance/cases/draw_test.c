// SPDX-License-Identifier: Apache-2.0
//
// Drawn shapes and codes: that what comes out keeps the relations of its row, and that every
// code and every pair of codes is there. What must hold follows from draw.h and format.md.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cases/array.h"
#include "cases/case.h"
#include "cases/element.h"
#include "ops_support/error.h"

#define HEAD(op, judge)                                             \
  "contract: 1\nop: " op                                            \
  "\ndomain: d\nopset: {since: 1}\nreference: none\nkind: atomic\n" \
  "judge: " judge "\n"

// A product of matrices, without a constraint: what keeps a drawn node valid is the row alone.
static const char kProduct[] =
    HEAD("Product", "dot")
    "semantic:\n  types: {T: [float]}\n"
    "  inputs: [{name: A, type: T}, {name: B, type: T}]\n  outputs: [{name: Y, type: T}]\n"
    "precision: {tolerance: {standard: {k: \"dim(A, 1)\"}}, source: a test}\n"
    "cases:\n  fills: [uniform]\n  rows:\n    - {id: r, inputs: {A: [3, 5], B: [5, 4]}}\n";

// Scales of constant contents, one per channel; indices that must stay within `data`; an
// attribute that names a size; a relation that only `draw` states.
static const char kFixed[] =
    HEAD("Fixed", "exact")
    "semantic:\n  types: {T: [float]}\n  inputs:\n"
    "    - {name: data, type: T}\n    - {name: index, type: int64}\n"
    "    - {name: scale, type: T}\n  outputs: [{name: Y, type: T}]\n"
    "  attributes: {group: {type: int}}\n"
    "cases:\n  fills: [uniform]\n  draw: \"dim(data, 2) % 2 == 1\"\n  rows:\n"
    "    - {id: r, inputs: {data: [3, 6, 9]}, values: {index: [0, 8], scale: [1, 2, 3]},\n"
    "       attributes: {group: 6}}\n";

static const char kUnary[] =
    HEAD("Unary", "exact")
    "semantic:\n  types: {T: [int8, uint16, float16, float]}\n  inputs: [{name: X, type: T}]\n"
    "  outputs: [{name: Y, type: T, shape: \"shape(X)\"}]\n"
    "cases:\n  fills: [uniform, special]\n  rows:\n    - {id: r, inputs: {X: [2, 5]}}\n";

static const char kBinary[] =
    HEAD("Binary", "exact")
    "semantic:\n  types: {T: [uint8]}\n  inputs: [{name: A, type: T}, {name: B, type: T}]\n"
    "  outputs: [{name: Y, type: T, shape: \"broadcast(A, B)\"}]\n"
    "cases:\n  fills: [uniform]\n  rows:\n    - {id: r, inputs: {A: [2, 5], B: [5]}}\n";

typedef struct made {
  oc_contracts *contracts;
  oc_cases *cases;
} made;

static made make(const char *text, oc_tier tier) {
  ops_error error = OPS_ERROR_INIT;
  made out = {NULL, NULL};
  const oc_cases_options options = {.seed = 3, .tier = tier};
  if (oc_contracts_parse("t.yaml", text, strlen(text), &out.contracts, &error) != OPS_OK ||
      oc_cases_create(out.contracts, &options, &out.cases, &error) != OPS_OK) {
    fail_msg("%s", error.message);
  }
  return out;
}

static void drop(made *out) {
  oc_cases_destroy(out->cases);
  oc_contracts_destroy(out->contracts);
}

static const int64_t *dims(const oc_case *item, size_t input) {
  return item->inputs[input].shapes[0].dims;
}

static void equal_sizes_stay_equal(void **state) {
  (void)state;
  made out = make(kProduct, OC_TIER_FULL);
  size_t with_one = 0, with_prime = 0;
  assert_true(out.cases->count > 200);
  for (size_t i = 0; i < out.cases->count; ++i) {
    const oc_case *item = &out.cases->items[i];
    assert_int_equal(dims(item, 0)[1], dims(item, 1)[0]);
    assert_true(dims(item, 0)[0] > 0 && dims(item, 1)[1] > 0);
    with_one += dims(item, 0)[1] == 1;
    with_prime += dims(item, 0)[1] == 37;
  }
  assert_true(with_one > 0 && with_prime > 0);
  drop(&out);
}

static void one_case_is_large(void **state) {
  (void)state;
  made out = make(kProduct, OC_TIER_FULL);
  size_t large = 0;
  for (size_t i = 0; i < out.cases->count; ++i) {
    const int64_t *a = dims(&out.cases->items[i], 0), *b = dims(&out.cases->items[i], 1);
    large += a[0] * a[1] + b[0] * b[1] >= 100000;
  }
  assert_int_equal(large, 1);
  drop(&out);
}

static void fixed_sizes_stay(void **state) {
  (void)state;
  made out = make(kFixed, OC_TIER_FULL);
  assert_true(out.cases->count > 5);
  for (size_t i = 0; i < out.cases->count; ++i) {
    const int64_t *data = dims(&out.cases->items[i], 0);
    assert_int_equal(data[0], 3);      // as many as there are scales
    assert_int_equal(data[1], 6);      // what `group` says
    assert_true(data[2] >= 9);         // index 8 stays within
    assert_int_equal(data[2] % 2, 1);  // `draw`
  }
  drop(&out);
}

static void ranks_and_nothing(void **state) {
  (void)state;
  made out = make(kUnary, OC_TIER_FULL);
  size_t ranks[OPS_MAX_RANK + 1] = {0}, empty = 0;
  for (size_t i = 0; i < out.cases->count; ++i) {
    const oc_shape *shape = &out.cases->items[i].inputs[0].shapes[0];
    ++ranks[shape->rank];
    for (int32_t d = 0; d < shape->rank; ++d) empty += shape->dims[d] == 0;
  }
  for (int rank = 1; rank <= 8; ++rank) assert_true(ranks[rank] > 0);
  assert_true(empty > 0);
  drop(&out);
}

// The id of a drawn case says its shapes: another seed may draw others, but never gives an id
// another meaning.
static void ids_say_the_shapes(void **state) {
  (void)state;
  made out = make(kBinary, OC_TIER_FULL);
  for (size_t i = 0; i < out.cases->count; ++i) {
    const oc_case *item = &out.cases->items[i];
    char want[256];
    size_t used = (size_t)snprintf(want, sizeof want, "d.Binary-1/uint8/r.");
    if (item->error || !strchr(strchr(item->id, '/'), '.')) continue;
    for (size_t k = 0; k < 2; ++k) {
      const oc_shape *shape = &item->inputs[k].shapes[0];
      if (k) used += (size_t)snprintf(want + used, sizeof want - used, "+");
      for (int32_t d = 0; d < shape->rank; ++d) {
        used += (size_t)snprintf(want + used, sizeof want - used, "%s%d", d ? "x" : "",
                                 (int)shape->dims[d]);
      }
    }
    snprintf(want + used, sizeof want - used, "/uniform");
    assert_string_equal(item->id, want);
  }
  drop(&out);
}

static const oc_case *find_case(const made *out, const char *id) {
  for (size_t i = 0; i < out->cases->count; ++i) {
    if (strcmp(out->cases->items[i].id, id) == 0) return &out->cases->items[i];
  }
  fail_msg("no case '%s'", id);
  return NULL;
}

// Every code of 8 and 16 bits once; no set of wide types among them.
static void every_code_is_tried(void **state) {
  static const char *const ids[] = {"d.Unary-1/int8/r.codes8/every",
                                    "d.Unary-1/uint16/r.codes16/every",
                                    "d.Unary-1/float16/r.codes16/every"};
  static unsigned char seen[65536];
  (void)state;
  made out = make(kUnary, OC_TIER_EXHAUSTIVE);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
    ops_error error = OPS_ERROR_INIT;
    oc_inputs inputs;
    assert_int_equal(oc_inputs_init(&inputs, find_case(&out, ids[i]), &error), OPS_OK);
    const oc_array *x = &inputs.items[0];
    const int64_t codes = i == 0 ? 256 : 65536;
    assert_int_equal(x->count, codes);
    memset(seen, 0, sizeof seen);
    for (int64_t k = 0; k < codes; ++k) ++seen[oc_element_load_bits(x->type, x->data, k)];
    for (int64_t k = 0; k < codes; ++k) assert_int_equal(seen[k], 1);
    oc_inputs_finish(&inputs);
  }
  drop(&out);
}

static void every_pair_is_tried(void **state) {
  static unsigned char seen[65536];
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  (void)state;
  made out = make(kBinary, OC_TIER_EXHAUSTIVE);
  const oc_case *item = find_case(&out, "d.Binary-1/uint8/r.pairs8/every");
  assert_int_equal(oc_inputs_init(&inputs, item, &error), OPS_OK);
  const uint8_t *a = inputs.items[0].data, *b = inputs.items[1].data;
  assert_int_equal(inputs.items[0].count, 65536);
  for (int64_t k = 0; k < 65536; ++k) ++seen[a[k] * 256 + b[k]];
  for (int64_t k = 0; k < 65536; ++k) assert_int_equal(seen[k], 1);
  oc_inputs_finish(&inputs);
  drop(&out);
}

// 131072 floats: each exponent with each sign and each of the 256 leading bits of the mantissa.
static void every_stratum_is_tried(void **state) {
  static unsigned char seen[131072];
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  (void)state;
  made out = make(kUnary, OC_TIER_EXHAUSTIVE);
  assert_int_equal(
      oc_inputs_init(&inputs, find_case(&out, "d.Unary-1/float/r.strata/strata"), &error),
      OPS_OK);
  const uint32_t *bits = inputs.items[0].data;
  assert_int_equal(inputs.items[0].count, 131072);
  for (int64_t k = 0; k < 131072; ++k) ++seen[bits[k] >> 15];
  for (int64_t k = 0; k < 131072; ++k) assert_int_equal(seen[k], 1);
  oc_inputs_finish(&inputs);
  drop(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_sizes_stay_equal), cmocka_unit_test(one_case_is_large),
      cmocka_unit_test(fixed_sizes_stay),       cmocka_unit_test(ranks_and_nothing),
      cmocka_unit_test(ids_say_the_shapes),     cmocka_unit_test(every_code_is_tried),
      cmocka_unit_test(every_pair_is_tried),    cmocka_unit_test(every_stratum_is_tried),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

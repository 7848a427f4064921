// SPDX-License-Identifier: Apache-2.0
//
// The bundled contracts: all are read, each operator has what a contract must have, and
// together they make enough cases.
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases/case.h"

static oc_contracts *contracts;

static int load(void **state) {
  ops_error error = OPS_ERROR_INIT;
  (void)state;
  if (oc_contracts_load(CONTRACTS_DIR, &contracts, &error) == OPS_OK) return 0;
  print_error("%s\n", error.message);
  return -1;
}

static int unload(void **state) {
  (void)state;
  oc_contracts_destroy(contracts);
  return 0;
}

static int64_t numel(const oc_shape *shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape->rank; ++i) count *= shape->dims[i];
  return count;
}

static void print_value(FILE *stream, const oc_value *value) {
  const bool ints = value->kind == OC_VALUE_INT || value->kind == OC_VALUE_INTS;
  const bool reals = value->kind == OC_VALUE_FLOAT || value->kind == OC_VALUE_FLOATS;
  const bool texts = value->kind == OC_VALUE_STRING || value->kind == OC_VALUE_STRINGS;
  fprintf(stream, " v%d", value->kind == OC_VALUE_ABSENT ? OC_VALUE_NONE : value->kind);
  for (size_t i = 0; i < value->count; ++i) {
    if (ints) fprintf(stream, " %lld", (long long)value->ints[i]);
    if (reals) fprintf(stream, " %a", value->floats[i]);
    if (texts) fprintf(stream, " %s", value->strings[i]);
  }
}

static void cover_the_operators(void **state) {
  static const char *const ops[] = {"Relu",
                                    "LeakyRelu",
                                    "PRelu",
                                    "Elu",
                                    "Sigmoid",
                                    "HardSigmoid",
                                    "HardSwish",
                                    "Tanh",
                                    "Clip",
                                    "Abs",
                                    "Neg",
                                    "Sqrt",
                                    "Exp",
                                    "Log",
                                    "Erf",
                                    "Ceil",
                                    "Floor",
                                    "Reciprocal",
                                    "Add",
                                    "Sub",
                                    "Mul",
                                    "Div",
                                    "Pow",
                                    "Min",
                                    "Max",
                                    "Softmax",
                                    "LogSoftmax",
                                    "MatMul",
                                    "Gemm",
                                    "Conv",
                                    "ConvTranspose",
                                    "MaxPool",
                                    "AveragePool",
                                    "GlobalAveragePool",
                                    "BatchNormalization",
                                    "LRN",
                                    "LayerNormalization",
                                    "InstanceNormalization",
                                    "Concat",
                                    "Split",
                                    "Slice",
                                    "Reshape",
                                    "Transpose",
                                    "Squeeze",
                                    "Unsqueeze",
                                    "Flatten",
                                    "Gather",
                                    "Expand",
                                    "Tile",
                                    "Pad",
                                    "Resize",
                                    "ReduceMean",
                                    "ReduceSum",
                                    "ReduceMax",
                                    "ArgMax",
                                    "Cast",
                                    "Shape",
                                    "Identity",
                                    "Dropout",
                                    "ConstantOfShape",
                                    "Where",
                                    "Equal",
                                    "Less",
                                    "Greater",
                                    "And",
                                    "Or",
                                    "Not",
                                    "DepthToSpace"};
  (void)state;
  for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i) {
    if (!oc_contracts_find(contracts, "ai.onnx", ops[i], 21) &&
        !oc_contracts_find(contracts, "ai.onnx", ops[i], 22)) {
      fail_msg("no contract for %s", ops[i]);
    }
  }
}

// ---- Cases ----------------------------------------------------------------------------------

static int64_t count_elements(const oc_case *item) {
  int64_t total = 0;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    for (size_t k = 0; k < item->inputs[i].count; ++k)
      total += numel(&item->inputs[i].shapes[k]);
  }
  return total;
}

static oc_cases *make_cases(oc_tier tier) {
  ops_error error = OPS_ERROR_INIT;
  const oc_cases_options options = {.tier = tier};
  oc_cases *cases = NULL;
  if (oc_cases_create(contracts, &options, &cases, &error) != OPS_OK) {
    fail_msg("%s", error.message);
  }
  return cases;
}

static int compare_hashes(const void *a, const void *b) {
  return memcmp(a, b, sizeof(uint64_t) * 2);
}

// A hash of what a case is made of, other than the harness's own: operator and version, types,
// shapes, contents, attributes, fill.
static void describe(const oc_case *item, uint64_t hash[2]) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  fprintf(stream, "%s %s %d %d %u %s", item->contract->domain, item->contract->op,
          item->contract->since, item->fill, item->row->output_count,
          item->error ? item->error->id : "");
  for (size_t i = 0; i < item->contract->type_var_count; ++i) {
    fprintf(stream, " t%d", item->types[i]);
  }
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    const oc_row_input *input = &item->inputs[i];
    fprintf(stream, " i%zu", input->count);
    for (size_t k = 0; k < input->count; ++k) {
      fprintf(stream, " s");
      for (int32_t d = 0; d < input->shapes[k].rank; ++d) {
        fprintf(stream, " %lld", (long long)input->shapes[k].dims[d]);
      }
    }
    print_value(stream, &input->contents);
    if (input->range.lo) fprintf(stream, " r%s", oc_expr_text(input->range.lo));
    if (input->range.hi) fprintf(stream, " r%s", oc_expr_text(input->range.hi));
  }
  for (size_t i = 0; i < item->contract->attribute_count; ++i) {
    print_value(stream, &item->attributes[i]);
  }
  fclose(stream);
  hash[0] = hash[1] = 5381;
  for (size_t i = 0; i < size; ++i) {
    hash[0] = hash[0] * 33 + (unsigned char)text[i];
    hash[1] = (hash[1] ^ (unsigned char)text[i]) * UINT64_C(6364136223846793005) + 1;
  }
  free(text);
}

// Counted anew, without the harness's own test for what is the same.
static size_t count_distinct(const oc_cases *cases) {
  uint64_t(*hashes)[2] = calloc(cases->count, sizeof *hashes);
  assert_non_null(hashes);
  for (size_t i = 0; i < cases->count; ++i) describe(&cases->items[i], hashes[i]);
  qsort(hashes, cases->count, sizeof *hashes, compare_hashes);
  size_t distinct = cases->count > 0;
  for (size_t i = 1; i < cases->count; ++i) {
    distinct += compare_hashes(hashes[i - 1], hashes[i]) != 0;
  }
  free(hashes);
  return distinct;
}

// The full tier promises 50,000 distinct cases.
static void make_enough_cases(void **state) {
  (void)state;
  oc_cases *merge = make_cases(OC_TIER_MERGE), *full = make_cases(OC_TIER_FULL);
  const size_t distinct = count_distinct(full);
  print_message("%zu contracts: merge %zu cases, full %zu, of which %zu are distinct\n",
                contracts->count, merge->count, full->count, distinct);
  assert_true(distinct >= 50000);
  assert_true(merge->count < distinct / 4);
  oc_cases_destroy(merge);
  oc_cases_destroy(full);
}

// CONFORMANCE.md, "Cases": each operator has one case of 10^5 elements or more, counted over
// its inputs. A contract that cannot have one says why.
static void have_a_large_case(void **state) {
  (void)state;
  oc_cases *cases = make_cases(OC_TIER_FULL);
  size_t at = 0, missing = 0;
  for (size_t i = 0; i < contracts->count; ++i) {
    const oc_contract *contract = &contracts->items[i];
    int64_t most = 0;
    for (; at < cases->count && cases->items[at].contract == contract; ++at) {
      const int64_t count = count_elements(&cases->items[at]);
      if (count > most) most = count;
    }
    if (contract->no_large && most >= 100000) {
      fail_msg("%s says no_large but has a large case", contract->op);
    }
    if (contract->no_large || most >= 100000) continue;
    print_error("%s-%d: the largest case has %lld elements\n", contract->op, contract->since,
                (long long)most);
    ++missing;
  }
  assert_int_equal(missing, 0);
  oc_cases_destroy(cases);
}

static int compare_ids(const void *a, const void *b) {
  return strcmp(((const oc_case *)a)->id, ((const oc_case *)b)->id);
}

// Each tier is a part of the next.
static void tiers_contain_each_other(void **state) {
  (void)state;
  for (int tier = 0; tier + 1 < OC_TIER_COUNT; ++tier) {
    oc_cases *less = make_cases((oc_tier)tier), *more = make_cases((oc_tier)(tier + 1));
    qsort(more->items, more->count, sizeof *more->items, compare_ids);
    for (size_t i = 0; i < less->count; ++i) {
      if (bsearch(&less->items[i], more->items, more->count, sizeof *more->items,
                  compare_ids)) {
        continue;
      }
      fail_msg("%s is in tier %s but not in %s", less->items[i].id, oc_tier_name((oc_tier)tier),
               oc_tier_name((oc_tier)(tier + 1)));
    }
    oc_cases_destroy(less);
    oc_cases_destroy(more);
  }
}

// In every tier every constraint is broken once, every row stands, and every type of a row's
// variables is tried somewhere in the contract.
static void leave_nothing_out(void **state) {
  (void)state;
  oc_cases *cases = make_cases(OC_TIER_MERGE);
  size_t at = 0;
  for (size_t i = 0; i < contracts->count; ++i) {
    const oc_contract *c = &contracts->items[i];
    size_t broken = 0;
    uint64_t types = 0, wanted = 0;
    for (size_t j = 0; j < c->row_count && c->type_var_count; ++j)
      wanted |= c->rows[j].types[0];
    for (; at < cases->count && cases->items[at].contract == c; ++at) {
      const oc_case *item = &cases->items[at];
      broken += item->error && item->error->constraint >= 0;
      if (!item->error && c->type_var_count) types |= OPS_TYPE_BIT(item->types[0]);
    }
    if (broken != c->constraint_count) fail_msg("%s: a constraint has no case", c->op);
    if (types != wanted) fail_msg("%s: merge leaves types out", c->op);
  }
  oc_cases_destroy(cases);
}

static void have_error_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < contracts->count; ++i) {
    if (contracts->items[i].error_count == 0) fail_msg("%s", contracts->items[i].op);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(make_enough_cases),        cmocka_unit_test(cover_the_operators),
      cmocka_unit_test(have_a_large_case),        cmocka_unit_test(leave_nothing_out),
      cmocka_unit_test(tiers_contain_each_other), cmocka_unit_test(have_error_cases),
  };
  return cmocka_run_group_tests(tests, load, unload);
}

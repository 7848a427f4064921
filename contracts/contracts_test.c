// SPDX-License-Identifier: Apache-2.0
//
// The bundled contracts: all are read, each operator has what a contract must have, and
// together they make enough cases.
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "contract/contract.h"

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

// The elements of all inputs together.
static int64_t input_elements(const oc_row *row, size_t inputs) {
  int64_t total = 0;
  for (size_t i = 0; i < inputs; ++i) {
    for (size_t j = 0; j < row->inputs[i].count; ++j) total += numel(&row->inputs[i].shapes[j]);
  }
  return total;
}

static bool is_newest(size_t index) {
  const oc_contract *c = &contracts->items[index];
  return index + 1 == contracts->count || strcmp(contracts->items[index + 1].op, c->op) != 0;
}

// Pairwise cases are at least the product of the two longest lists of values; an `each` is one.
static size_t combinations(const oc_row *row) {
  size_t first = 1, second = 1;
  for (size_t i = 0; i < row->vary_count; ++i) {
    const size_t count = row->vary[i].count;
    if (count > first) {
      second = first;
      first = count;
    } else if (count > second) {
      second = count;
    }
  }
  return first * second;
}

static size_t count_cases(const oc_contract *c, uint64_t types) {
  size_t total = 0;
  for (size_t i = 0; i < c->row_count; ++i) {
    size_t cases = combinations(&c->rows[i]) * (size_t)__builtin_popcount(c->rows[i].fills);
    for (size_t j = 0; j < c->type_var_count; ++j) {
      cases *= (size_t)__builtin_popcountll(c->rows[i].types[j] & types);
    }
    total += cases;
  }
  return total;
}

static void make_enough_cases(void **state) {
  const uint64_t common =
      OPS_TYPE_BIT(OPS_TYPE_FLOAT) | OPS_TYPE_BIT(OPS_TYPE_INT64) | OPS_TYPE_BIT(OPS_TYPE_BOOL);
  size_t all = 0, of_common = 0;
  (void)state;
  for (size_t i = 0; i < contracts->count; ++i) {
    all += count_cases(&contracts->items[i], ~(uint64_t)0);
    of_common += count_cases(&contracts->items[i], common);
  }
  print_message("%zu contracts, about %zu cases, %zu of float, int64 and bool alone\n",
                contracts->count, all, of_common);
  assert_true(all >= 4000);
  assert_true(of_common >= 1500);
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

// CONFORMANCE.md, "Cases": each operator has one case of 10^5 elements or more. Some have
// them in the output.
static bool makes_elements(const char *op) {
  static const char *const makers[] = {"ConstantOfShape", "Expand", "OneHot", "Range", "Tile"};
  for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); ++i) {
    if (strcmp(op, makers[i]) == 0) return true;
  }
  return false;
}

static void have_a_large_case(void **state) {
  (void)state;
  for (size_t i = 0; i < contracts->count; ++i) {
    const oc_contract *c = &contracts->items[i];
    bool large = makes_elements(c->op);
    for (size_t j = 0; j < c->row_count; ++j) {
      // A sum of products reads its inputs many times.
      const int64_t times = c->judge == OC_JUDGE_DOT ? 8 : 1;
      if (times * input_elements(&c->rows[j], c->input_count) >= 100000) large = true;
    }
    if (!large && is_newest(i)) print_error("%s has no large case\n", c->op);
    if (is_newest(i)) assert_true(large);
  }
}

static void have_error_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < contracts->count; ++i) {
    if (contracts->items[i].error_count == 0) fail_msg("%s", contracts->items[i].op);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(make_enough_cases),
      cmocka_unit_test(cover_the_operators),
      cmocka_unit_test(have_a_large_case),
      cmocka_unit_test(have_error_cases),
  };
  return cmocka_run_group_tests(tests, load, unload);
}

// SPDX-License-Identifier: Apache-2.0
//
// The limits of the contracts against the tables that they come from. `standard`: the numbers
// that CONFORMANCE.md takes from the conformance tests of WebNN. `strict`: those, or OpenCL
// C 3.0, section 7.4, full profile, where that is tighter. `embedded`: those, or the embedded
// profile of OpenCL where that is looser.
#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

// NAN: the table has no such function.
typedef struct limit_row {
  const char *op;
  double webnn, full, embedded;
} limit_row;

static const limit_row kRows[] = {
    {"Abs", 0, 0, 0},
    {"Neg", 0, NAN, NAN},
    {"Ceil", 0, 0, 0},
    {"Floor", 0, 0, 0},
    {"Max", 0, 0, 0},
    {"Min", 0, 0, 0},
    {"Relu", 0, NAN, NAN},
    {"Clip", 0, NAN, NAN},
    {"Add", 1, 0.5, 1},
    {"Sub", 1, 0.5, 1},
    {"Mul", 1, 0.5, 1},
    {"Div", 2, 2.5, 3},
    {"Reciprocal", 2, 2.5, 3},
    {"Sqrt", 1, 3, 4},
    {"PRelu", 1, NAN, NAN},
    {"LeakyRelu", 1, NAN, NAN},
    {"HardSigmoid", 2, NAN, NAN},
    {"Softsign", 3, NAN, NAN},
    {"HardSwish", 4, NAN, NAN},
    {"BatchNormalization", 6, NAN, NAN},
    {"Exp", 32, 3, 4},
    {"Pow", 32, 16, 16},
    {"Sigmoid", 34, NAN, NAN},
    {"Elu", 18, NAN, NAN},
    {"Softplus", 18, NAN, NAN},
    {"InstanceNormalization", 840, NAN, NAN},
    {"Log", NAN, 3, 4},
    {"Sin", NAN, 4, 4},
    {"Cos", NAN, 4, 4},
    {"Tan", NAN, 5, 5},
    {"Tanh", NAN, 5, 5},
    {"Erf", NAN, 16, 16},
    {"Sinh", NAN, 4, 4},
    {"Cosh", NAN, 4, 4},
    {"Asin", NAN, 4, 4},
    {"Acos", NAN, 4, 4},
    {"Atan", NAN, 5, 5},
    {"Asinh", NAN, 4, 4},
    {"Acosh", NAN, 4, 4},
    {"Atanh", NAN, 5, 5},
};

// What the profile asks for: fmin and fmax leave out what is not a number.
static double wanted(const limit_row *row, oc_profile_id profile) {
  const double standard = isnan(row->webnn) ? row->full : row->webnn;
  if (profile == OC_PROFILE_STANDARD) return standard;
  if (profile == OC_PROFILE_EMBEDDED) return fmax(standard, row->embedded);
  // Half an ULP is correct rounding, which is not asked of sums and products of WebNN.
  return row->full < 1 ? standard : fmin(standard, row->full);
}

static void profiles_have_their_limits(void **state) {
  size_t wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    const oc_contract *c = oc_contracts_find(contracts, "ai.onnx", kRows[i].op, 24);
    if (!c) fail_msg("no contract of %s", kRows[i].op);
    for (int profile = 0; profile < OC_PROFILE_COUNT; ++profile) {
      const oc_expr *ulp = c->precision.tolerance[profile].ulp;
      char text[32];
      snprintf(text, sizeof text, "%g", wanted(&kRows[i], profile));
      if (ulp && strcmp(oc_expr_text(ulp), text) == 0) continue;
      print_error("%s, profile %s: expected %s ULP, found %s\n", kRows[i].op,
                  oc_profile_name(profile), text, ulp ? oc_expr_text(ulp) : "none");
      ++wrong;
    }
  }
  assert_int_equal(wrong, 0);
}

static void reductions_have_their_limits(void **state) {
  static const struct {
    const char *op, *ulp;
  } rows[] = {{"Softmax", "3*n + 3"},
              {"ReduceMean", "n + 2"},
              {"ReduceSumSquare", "2*n"},
              {"ReduceL2", "2*n + 1"},
              {"ReduceLogSum", "n + 18"},
              {"ReduceLogSumExp", "2*n + 18"},
              {"AveragePool", "prod(kernel_shape) + 2"}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const oc_contract *c = oc_contracts_find(contracts, "ai.onnx", rows[i].op, 24);
    if (!c) fail_msg("no contract of %s", rows[i].op);
    assert_string_equal(oc_expr_text(c->precision.tolerance[OC_PROFILE_STANDARD].ulp),
                        rows[i].ulp);
  }
  const oc_contract *norm = oc_contracts_find(contracts, "ai.onnx", "LayerNormalization", 24);
  assert_string_equal(oc_expr_text(norm->precision.tolerance[OC_PROFILE_STANDARD].absolute),
                      "0.0009765625");  // 2^-10
}

// CONFORMANCE.md names the judges of some operators.
static void judges_are_those_of_the_table(void **state) {
  static const struct {
    const char *op;
    oc_judge judge;
  } rows[] = {{"Cast", OC_JUDGE_EXACT},
              {"Transpose", OC_JUDGE_EXACT},
              {"MatMul", OC_JUDGE_DOT},
              {"Gemm", OC_JUDGE_DOT},
              {"Conv", OC_JUDGE_DOT},
              {"ReduceSum", OC_JUDGE_DOT},
              {"QuantizeLinear", OC_JUDGE_QUANTISED},
              {"QLinearConv", OC_JUDGE_QUANTISED},
              {"QLinearMatMul", OC_JUDGE_QUANTISED},
              {"ArgMax", OC_JUDGE_INDEX},
              {"TopK", OC_JUDGE_INDEX},
              {"Unique", OC_JUDGE_INDEX},
              {"NonMaxSuppression", OC_JUDGE_DECISION},
              {"RoiAlign", OC_JUDGE_DECISION},
              {"RNN", OC_JUDGE_CONDITIONED},
              {"GRU", OC_JUDGE_CONDITIONED},
              {"LSTM", OC_JUDGE_CONDITIONED},
              {"Attention", OC_JUDGE_CONDITIONED},
              {"RandomNormal", OC_JUDGE_RANDOM},
              {"Multinomial", OC_JUDGE_RANDOM}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const oc_contract *c = oc_contracts_find(contracts, "ai.onnx", rows[i].op, 24);
    if (!c) fail_msg("no contract of %s", rows[i].op);
    if (c->judge != rows[i].judge) fail_msg("%s: %s", rows[i].op, oc_judge_name(c->judge));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(profiles_have_their_limits),
      cmocka_unit_test(reductions_have_their_limits),
      cmocka_unit_test(judges_are_those_of_the_table),
  };
  return cmocka_run_group_tests(tests, load, unload);
}

// SPDX-License-Identifier: Apache-2.0
//
// Chains of post-operations against the operator alone, whose own tests hold it against
// independent values, and the chain computed in double in this file; in every layout that the
// kernel offers, and with the operands of the chain behind all of the operator's inputs or only
// those that are there.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

#define MAX_CHOICES 8
#define MAX_INPUTS 5

typedef struct chain_case {
  const char *op;
  int64_t x[4], w[4];  // of MatMul and Gemm: a leading 0 is left out
  int64_t group;
  int32_t padded;        // 1: absent optional inputs are written out before the chain
  int32_t row;           // 1: a row is added first
  int32_t residual;      // 1: then a tensor of the result's shape
  const char *function;  // or NULL
} chain_case;

static const chain_case kCases[] = {
    {"Conv", {2, 3, 7, 6}, {5, 3, 3, 3}, 1, 1, 0, 1, "Relu"},
    {"Conv", {2, 3, 7, 6}, {5, 3, 3, 3}, 1, 0, 0, 1, "Relu"},
    {"Conv", {1, 32, 9, 9}, {16, 32, 1, 1}, 1, 1, 0, 1, NULL},
    {"Conv", {1, 32, 9, 9}, {16, 32, 1, 1}, 1, 1, 0, 0, "Sigmoid"},
    {"Conv", {1, 40, 13, 12}, {56, 40, 1, 1}, 1, 1, 0, 1, "LeakyRelu"},
    {"Conv", {1, 1600, 3, 3}, {20, 1600, 1, 1}, 1, 1, 0, 1, "Relu"},
    {"Conv", {1, 8, 9, 9}, {8, 1, 3, 3}, 8, 1, 0, 1, "HardSwish"},
    {"Conv", {1, 8, 9, 9}, {8, 1, 3, 3}, 8, 1, 0, 0, "Relu"},
    {"Conv", {1, 33, 15, 16}, {40, 33, 3, 3}, 1, 1, 0, 1, "Relu"},
    {"Conv", {1, 64, 16, 15}, {32, 64, 3, 3}, 1, 1, 0, 0, "LeakyRelu"},
    {"Conv", {2, 40, 13, 14}, {70, 40, 3, 3}, 1, 1, 0, 1, NULL},
    {"Conv", {2, 18, 7, 9}, {21, 6, 1, 1}, 3, 1, 0, 1, "Relu"},
    {"Conv", {1, 24, 31, 29}, {112, 6, 1, 1}, 4, 1, 0, 1, "HardSwish"},
    {"Conv", {1, 24, 31, 29}, {112, 6, 1, 1}, 4, 0, 0, 0, "Tanh"},
    {"ConvTranspose", {1, 4, 5, 5}, {4, 3, 2, 2}, 1, 1, 0, 1, "Tanh"},
    {"MatMul", {2, 3, 5, 4}, {0, 0, 4, 6}, 1, 0, 1, 1, "Relu"},
    {"MatMul", {2, 3, 5, 4}, {2, 3, 4, 6}, 1, 0, 1, 0, "Gelu"},
    {"MatMul", {2, 1, 5, 4}, {1, 3, 4, 6}, 1, 0, 1, 1, NULL},
    {"Gemm", {0, 0, 5, 4}, {0, 0, 4, 6}, 1, 1, 0, 1, "Sqrt"},
    {"Gemm", {0, 0, 5, 4}, {0, 0, 4, 6}, 1, 0, 0, 0, "Relu"},
};

static double apply(const char *function, double x) {
  if (!function) return x;
  if (strcmp(function, "Relu") == 0) return x < 0 ? 0 : x;
  if (strcmp(function, "LeakyRelu") == 0) return x < 0 ? 0.01 * x : x;
  if (strcmp(function, "Sigmoid") == 0) return 1 / (1 + exp(-x));
  if (strcmp(function, "Tanh") == 0) return tanh(x);
  if (strcmp(function, "Sqrt") == 0) return sqrt(x);
  if (strcmp(function, "Gelu") == 0) return x * 0.5 * (1 + erf(x / sqrt(2.0)));
  return x * fmin(fmax(x / 6 + 0.5, 0), 1);  // HardSwish
}

static test_tensor random_of(uint32_t seed, const int64_t *dims) {
  int32_t first = 0;
  while (dims[first] == 0) ++first;
  return test_random(seed, 0, 4 - first, dims + first);
}

// The element of the result by the definition of the chain.
static double expect(const chain_case *c, const test_tensor *alone, const test_tensor *row,
                     const test_tensor *residual, int64_t i) {
  double y = test_floats(alone)[i];
  if (c->row) y += test_floats(row)[i % row->count];
  if (c->residual) y += test_floats(residual)[i];
  return apply(c->function, y);
}

static void compare(const chain_case *c, size_t number, const test_tensor *got,
                    const test_tensor *alone, const test_tensor *row,
                    const test_tensor *residual) {
  assert_int_equal(got->count, alone->count);
  for (int64_t i = 0; i < got->count; ++i) {
    const double wanted = expect(c, alone, row, residual, i);
    const double found =
        test_floats(got)[got->layout == TEST_LAST ? test_place_of_last(got, i) : i];
    if (isnan(wanted) && isnan(found)) continue;
    if (!(fabs(found - wanted) <= 2e-5 * (1 + fabs(wanted))))
      fail_msg("case %zu (%s), layout %u, element %lld: %g, expected %g", number, c->op,
               got->layout, (long long)i, found, wanted);
  }
}

static void add_chain(const chain_case *c, test_node *node) {
  if (c->row) test_add_post(node, "Add", 1);
  if (c->residual) test_add_post(node, "Add", 1);
  if (c->function) test_add_post(node, c->function, 0);
}

// Prepares the run anew for each combination of layouts that it offers.
static void try_layouts(const chain_case *c, size_t number, test_run *run,
                        const test_tensor *const *inputs, uint64_t count,
                        const test_tensor *alone, const test_tensor *row,
                        const test_tensor *residual) {
  ops_layout_choice choices[MAX_CHOICES];
  ops_error error = OPS_ERROR_INIT;
  const uint64_t choice_count = test_query_layouts(run, choices, MAX_CHOICES);
  for (uint64_t k = 0; k < choice_count; ++k) {
    test_tensor turned[MAX_INPUTS] = {{0}};
    const test_tensor *given[MAX_INPUTS] = {NULL};
    for (uint64_t i = 0; i < count; ++i) {
      if (!inputs[i]) continue;
      turned[i] = test_with_layout(inputs[i], choices[k].input_layouts[i]);
      given[i] = &turned[i];
    }
    test_prepare_again(run, given, choices[k].output_layouts);
    if (test_execute(run, run->outputs, &error) != OPS_OK) fail_msg("%s", error.message);
    compare(c, number, &run->outputs[0], alone, row, residual);
    if (c->residual && strcmp(c->op, "Conv") == 0 && count == 4) {
      run->in_place = 4;  // over the residual
      test_prepare_again(run, given, choices[k].output_layouts);
      if (test_execute(run, run->outputs, &error) != OPS_OK) fail_msg("%s", error.message);
      compare(c, number, &run->outputs[0], alone, row, residual);
      run->in_place = 0;
    }
    for (uint64_t i = 0; i < count; ++i)
      if (given[i]) test_drop(&turned[i]);
  }
}

static void check_case(test_device *test, const chain_case *c, size_t number, int constant) {
  test_node node;
  test_run run;
  ops_claim claim;
  ops_error error = OPS_ERROR_INIT;
  const int32_t type = OPS_TYPE_FLOAT;
  test_tensor x = random_of(1, c->x), w = random_of(2, c->w);
  const test_tensor *inputs[MAX_INPUTS] = {&x, &w};
  test_node_init(&node, c->op, 24);
  if (c->group > 1) test_add_int(&node, "group", c->group);
  test_tensor alone = test_compute(test, &node, inputs, 2, OPS_TYPE_FLOAT);
  w.constant = constant;
  const int64_t width = alone.dims[alone.rank - 1];
  test_tensor row = test_random(3, 0, 1, &width);
  test_tensor residual = test_random(4, 0, alone.rank, alone.dims);
  uint64_t count = c->padded ? 3 : 2;
  if (c->row) inputs[count++] = &row;
  if (c->residual) inputs[count++] = &residual;
  add_chain(c, &node);
  node.result = &alone;
  if (test_prepare(test, &node, inputs, count, &type, 1, &run, &claim, &error) != OPS_OK)
    fail_msg("case %zu (%s): %s %.*s", number, c->op, error.message, (int)claim.text_size,
             claim.text);
  if (test_execute(&run, run.outputs, &error) != OPS_OK) fail_msg("%s", error.message);
  compare(c, number, &run.outputs[0], &alone, &row, &residual);
  try_layouts(c, number, &run, inputs, count, &alone, &row, &residual);
  test_finish(&run);
  TEST_DROP(&x, &w, &alone, &row, &residual);
}

static void chains_give_what_their_nodes_give(void **state) {
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i)
    for (int constant = 0; constant < 2; ++constant)
      check_case(*state, &kCases[i], i, constant);
}

// What a chain may not be is refused with a reason, not computed wrong.
static void others_are_refused(void **state) {
  test_node node;
  test_attempt attempt;
  test_tensor x = test_random(1, 0, TEST_DIMS(2, 4)), w = test_random(2, 0, TEST_DIMS(4, 3));
  test_tensor y = test_zeros(OPS_TYPE_FLOAT, TEST_DIMS(2, 3)),
              one = test_random(3, 0, TEST_DIMS(1, 1));
  const test_tensor *inputs[] = {&x, &w, &one};
  test_node_init(&node, "MatMul", 17);
  test_add_post(&node, "Add", 1);  // broadcasts
  node.result = &y;
  assert_int_equal(test_try(*state, &node, inputs, 3, &attempt), OPS_ERROR_UNSUPPORTED);
  test_node_init(&node, "MatMul", 17);
  test_add_post(&node, "Relu", 0);
  test_add_post(&node, "Tanh", 0);
  node.result = &y;
  assert_int_equal(test_try(*state, &node, inputs, 2, &attempt), OPS_ERROR_UNSUPPORTED);
  test_node_init(&node, "MatMul", 17);
  test_add_post(&node, "Cos", 0);
  node.result = &y;
  assert_int_equal(test_try(*state, &node, inputs, 2, &attempt), OPS_ERROR_UNSUPPORTED);
  TEST_DROP(&x, &w, &y, &one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(chains_give_what_their_nodes_give),
      TEST_ON_DEVICE(others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

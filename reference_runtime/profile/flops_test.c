// SPDX-License-Identifier: Apache-2.0
//
// The formulas against counts that are worked out by hand in each row, from the operator's
// definition and the shapes beside it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops/tensor.h>

#include "profile/flops.h"
#include "profile/profile.h"

#define MAX_DIMS 5

// A shape ends with a 0; a first dimension of NONE is an argument that is left out.
#define NONE (-2)
#define UNKNOWN (-1)

typedef struct example {
  const char *domain;
  const char *op;
  int64_t inputs[4][MAX_DIMS];
  int64_t output[MAX_DIMS];
  double expected;
} example;

static const example examples[] = {
    // 2 x 5 results, each of 3 products and 3 sums (the first onto 0).
    {"", "MatMul", {{2, 3}, {3, 5}}, {2, 5}, 2 * 5 * 6},
    {"", "MatMul", {{4, 2, 3}, {4, 3, 5}}, {4, 2, 5}, 4 * 2 * 5 * 6},
    {"", "MatMul", {{3}, {3, 5}}, {5}, 5 * 6},
    {"", "MatMul", {{UNKNOWN, 3}, {3, 5}}, {UNKNOWN, 5}, RT_PROFILE_FLOPS_UNKNOWN},
    {"", "Gemm", {{2, 3}, {3, 5}, {5}}, {2, 5}, 2 * 5 * 6 + 10},
    // 1 x 8 x 4 x 4 results, each over 3 channels and 3 x 3 positions, and a bias.
    {"", "Conv", {{1, 3, 6, 6}, {8, 3, 3, 3}, {8}}, {1, 8, 4, 4}, 128 * (2 * 27 + 1)},
    // In 4 groups a result sees one channel.
    {"", "Conv", {{1, 4, 6, 6}, {4, 1, 3, 3}}, {1, 4, 4, 4}, 64 * 18},
    // Each of the 1 x 3 x 4 x 4 inputs meets 8 x 2 x 2 weights.
    {"", "ConvTranspose", {{1, 3, 4, 4}, {3, 8, 2, 2}}, {1, 8, 8, 8}, 48 * 2 * 32},
    {"", "Add", {{2, 3}, {3}}, {2, 3}, 6},
    {"", "Sum", {{2, 3}, {2, 3}, {2, 3}}, {2, 3}, 12},
    {"", "Sigmoid", {{10}}, {10}, 40},
    {"", "Softmax", {{2, 8}}, {2, 8}, 80},
    {"", "ReduceSum", {{2, 8}}, {2, 1}, 16},
    {"", "GlobalAveragePool", {{1, 4, 7, 7}}, {1, 4, 1, 1}, 196},
    {"", "Transpose", {{2, 3}}, {3, 2}, 0},
    // 7 steps of 2 sequences: 5 inputs and 4 units into 4 x 4 gates, 5 operations a gate.
    {"",
     "LSTM",
     {{7, 2, 5}, {1, 16, 5}, {1, 16, 4}},
     {7, 1, 2, 4},
     14 * (2 * 80 + 2 * 64 + 80)},
    // 2 heads of 8: 5 queries meet 6 keys, twice 16 operations each.
    {"", "Attention", {{1, 2, 5, 8}, {1, 2, 6, 8}, {1, 2, 6, 8}}, {1, 2, 5, 8}, 2 * 5 * 6 * 32},
    // com.microsoft: 4 tokens of 6 to Q, K, V of 6 each, then 4 x 4 weights.
    {"com.microsoft",
     "Attention",
     {{1, 4, 6}, {6, 18}},
     {1, 4, 6},
     2 * 4 * 6 * 18 + 4 * 4 * 24},
    {"com.microsoft", "QLinearSigmoid", {{10}}, {10}, 100},
    {"", "NoSuchOperator", {{1}}, {1}, RT_PROFILE_FLOPS_UNKNOWN},
};

static int32_t rank_of(const int64_t *dims) {
  int32_t rank = 0;
  while (rank < MAX_DIMS && dims[rank] != 0) rank++;
  return rank;
}

static ops_type_info type_of(const int64_t *dims) {
  return (ops_type_info){.struct_size = sizeof(ops_type_info),
                         .kind = OPS_VALUE_TENSOR,
                         .type = OPS_TYPE_FLOAT,
                         .rank = rank_of(dims),
                         .dims = dims};
}

static ops_str text_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

static double count(const ops_node *node, const int64_t (*inputs)[MAX_DIMS],
                    const int64_t *output) {
  ops_type_info types[4], result = type_of(output);
  const ops_type_info *in[4], *out[1] = {&result};
  for (uint64_t i = 0; i < node->input_count; ++i) {
    types[i] = type_of(inputs[i]);
    in[i] = inputs[i][0] == NONE ? NULL : &types[i];
  }
  return rt_profile_flops(node, in, out);
}

static void formulas_agree_with_hand_counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; ++i) {
    const example *e = &examples[i];
    ops_node node = {.struct_size = sizeof node,
                     .domain = text_of(e->domain),
                     .op = text_of(e->op),
                     .output_count = 1};
    while (node.input_count < 4 && e->inputs[node.input_count][0] != 0) node.input_count++;
    if (count(&node, e->inputs, e->output) != e->expected)
      fail_msg("row %zu, %s: %g operations, expected %g", i, e->op,
               count(&node, e->inputs, e->output), e->expected);
  }
}

static void attributes_count(void **state) {
  (void)state;
  const int64_t kernel[] = {3, 3}, one = 1;
  const ops_str equation = OPS_STR("bij,bjk->bik");
  const ops_attribute attributes[] = {{.struct_size = sizeof(ops_attribute),
                                       .name = OPS_STR("kernel_shape"),
                                       .kind = OPS_ATTRIBUTE_INTS,
                                       .count = 2,
                                       .ints = kernel},
                                      {.struct_size = sizeof(ops_attribute),
                                       .name = OPS_STR("transA"),
                                       .kind = OPS_ATTRIBUTE_INT,
                                       .count = 1,
                                       .ints = &one},
                                      {.struct_size = sizeof(ops_attribute),
                                       .name = OPS_STR("equation"),
                                       .kind = OPS_ATTRIBUTE_STRING,
                                       .count = 1,
                                       .strings = &equation}};
  ops_node node = {.struct_size = sizeof node,
                   .op = OPS_STR("MaxPool"),
                   .input_count = 1,
                   .output_count = 1,
                   .attributes = attributes,
                   .attribute_count = 3,
                   .attribute_stride = sizeof attributes[0]};
  const int64_t image[1][MAX_DIMS] = {{1, 2, 6, 6}}, pooled[] = {1, 2, 4, 4, 0};
  assert_true(count(&node, image, pooled) == 32 * 9);
  node.op = (ops_str)OPS_STR("Gemm");
  node.input_count = 2;
  const int64_t factors[2][MAX_DIMS] = {{3, 2}, {3, 5}}, product[] = {2, 5, 0, 0, 0};
  assert_true(count(&node, factors, product) == 10 * 6);
  node.op = (ops_str)OPS_STR("Einsum");
  const int64_t batches[2][MAX_DIMS] = {{2, 3, 4}, {2, 4, 5}}, result[] = {2, 3, 5, 0, 0};
  assert_true(count(&node, batches, result) == 2 * 2 * 3 * 4 * 5);
}

static void the_chain_counts(void **state) {
  (void)state;
  const ops_post_op chain[] = {
      {.struct_size = sizeof(ops_post_op), .op = OPS_STR("Add"), .input_count = 2},
      {.struct_size = sizeof(ops_post_op), .op = OPS_STR("Sigmoid"), .input_count = 1}};
  const ops_node node = {.struct_size = sizeof node,
                         .op = OPS_STR("MatMul"),
                         .input_count = 3,
                         .output_count = 1,
                         .post_ops = chain,
                         .post_op_count = 2,
                         .post_op_stride = sizeof chain[0],
                         .chain_operand_count = 1};
  const int64_t inputs[3][MAX_DIMS] = {{2, 3}, {3, 5}, {2, 5}}, output[] = {2, 5, 0, 0, 0};
  assert_true(count(&node, inputs, output) == 10 * (6 + 1 + 4));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formulas_agree_with_hand_counts),
      cmocka_unit_test(attributes_count),
      cmocka_unit_test(the_chain_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

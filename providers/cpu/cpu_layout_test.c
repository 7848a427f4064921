// SPDX-License-Identifier: Apache-2.0
//
// The layout with channels last: every combination of layouts that an operator offers gives
// what the same operator gives on plain tensors, which the other tests hold against independent
// values. Tensors are permuted here, element by element, from the definition of the layout;
// reorder is held against the same.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the five above first.
#include <cmocka.h>

#include "cpu_test_util.h"

#define MAX_CHOICES 8

// Whether this device offers the layout: a Relu tells.
static int is_offered(test_device *test) {
  test_node node;
  test_run run;
  ops_claim claim;
  ops_error error = OPS_ERROR_INIT;
  ops_layout_choice choices[MAX_CHOICES];
  test_tensor x = test_random(1, 0, TEST_DIMS(1, 2, 3, 4));
  const test_tensor *inputs[] = {&x};
  const int32_t type = OPS_TYPE_FLOAT;
  test_node_init(&node, "Relu", 14);
  assert_int_equal(test_prepare(test, &node, inputs, 1, &type, 1, &run, &claim, &error),
                   OPS_OK);
  const uint64_t count = test_query_layouts(&run, choices, MAX_CHOICES);
  test_finish(&run);
  TEST_DROP(&x);
  return count > 0;
}

static test_tensor run_choice(test_run *run, const test_tensor *const *plain,
                              const ops_layout_choice *choice) {
  test_tensor moved[TEST_ARGUMENTS];
  const test_tensor *inputs[TEST_ARGUMENTS];
  ops_error error = OPS_ERROR_INIT;
  memset(moved, 0, sizeof moved);
  for (uint64_t i = 0; i < run->input_count; ++i) {
    inputs[i] = plain[i];
    if (!plain[i] || choice->input_layouts[i] == OPS_LAYOUT_STRIDED) continue;
    moved[i] = test_with_layout(plain[i], TEST_LAST);
    inputs[i] = &moved[i];
  }
  test_prepare_again(run, inputs, choice->output_layouts);
  assert_int_equal(test_execute(run, run->outputs, &error), OPS_OK);
  for (uint64_t i = 0; i < run->input_count; ++i) test_drop(&moved[i]);
  return test_with_layout(&run->outputs[0], OPS_LAYOUT_STRIDED);
}

static void expect_near(const test_tensor *found, const test_tensor *expected, float tolerance,
                        const char *op) {
  assert_int_equal(found->rank, expected->rank);
  assert_memory_equal(found->dims, expected->dims, (size_t)found->rank * sizeof found->dims[0]);
  for (int64_t i = 0; i < found->count; ++i) {
    const float a = test_floats(found)[i], b = test_floats(expected)[i];
    if (a != b && !(fabsf(a - b) <= tolerance * (1 + fabsf(b))) && !(isnan(a) && isnan(b)))
      fail_msg("%s: element %lld is %g, plain %g", op, (long long)i, (double)a, (double)b);
  }
}

// The node gives the same in all layouts that it offers. Returns how many of them have channels
// last.
static uint64_t compare_choices(test_device *test, const test_node *node,
                                const test_tensor *const *inputs, uint64_t count,
                                float tolerance) {
  test_run run;
  ops_claim claim;
  ops_error error = OPS_ERROR_INIT;
  ops_layout_choice choices[MAX_CHOICES];
  const int32_t type = OPS_TYPE_FLOAT;
  const int32_t status =
      test_prepare(test, node, inputs, count, &type, 1, &run, &claim, &error);
  if (status != OPS_OK) fail_msg("%s: %s %s", node->op, claim.text, error.message);
  test_tensor expected = test_compute(test, node, inputs, count, type);
  const uint64_t offered = test_query_layouts(&run, choices, MAX_CHOICES);
  uint64_t private_ones = 0;
  for (uint64_t i = 0; i < offered; ++i) {
    if (choices[i].output_layouts[0] != TEST_LAST) continue;
    test_tensor found = run_choice(&run, inputs, &choices[i]);
    expect_near(&found, &expected, tolerance, node->op);
    test_drop(&found);
    private_ones++;
  }
  test_drop(&expected);
  test_finish(&run);
  return private_ones;
}

// The same, where at least one has channels last.
static void expect_same(test_device *test, const test_node *node,
                        const test_tensor *const *inputs, uint64_t count, float tolerance) {
  if (is_offered(test) && compare_choices(test, node, inputs, count, tolerance) == 0)
    fail_msg("%s offers no private layout", node->op);
}

// ---- Elementwise ----------------------------------------------------------------------------

static void unary(void **state) {
  static const char *const ops[] = {"Relu", "Sigmoid", "HardSwish", "Exp", "Neg"};
  test_tensor x = test_random(2, 0, TEST_DIMS(2, 19, 5, 7));
  const test_tensor *inputs[] = {&x};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    test_node node;
    test_node_init(&node, ops[i], 14);
    expect_same(*state, &node, inputs, 1, 0);
  }
  TEST_DROP(&x);
}

static void clip(void **state) {
  test_tensor x = test_random(3, 0, TEST_DIMS(2, 19, 35)), low = test_random(4, 0, 0, NULL);
  const test_tensor *inputs[] = {&x, &low};
  test_node node;
  test_node_init(&node, "Clip", 13);
  expect_same(*state, &node, inputs, 2, 0);
  TEST_DROP(&x, &low);
}

static void binary(void **state) {
  static const struct {
    int32_t rank;
    int64_t dims[4];
  } others[] = {{4, {2, 19, 5, 7}}, {4, {1, 19, 1, 1}}, {4, {2, 1, 5, 7}}, {3, {19, 1, 1}},
                {0, {0}},           {1, {1}},           {4, {2, 19, 1, 1}}};
  static const char *const ops[] = {"Add", "Sub", "Mul", "Div", "Max"};
  test_tensor x = test_random(5, 0, TEST_DIMS(2, 19, 5, 7));
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
      test_tensor y = test_random(6, 0, others[k].rank, others[k].dims);
      const test_tensor *forward[] = {&x, &y}, *backward[] = {&y, &x};
      test_node node;
      test_node_init(&node, ops[i], 14);
      expect_same(*state, &node, forward, 2, 0);
      expect_same(*state, &node, backward, 2, 0);
      TEST_DROP(&y);
    }
  TEST_DROP(&x);
}

// Up to opset 6 the second input lies where attribute axis says, in either layout.
static void old_broadcast(void **state) {
  static const struct {
    int32_t axis;  // -1: not given
    int32_t rank;
    int64_t dims[4];
  } others[] = {{1, 3, {19, 1, 1}}, {-1, 3, {19, 5, 7}},  {1, 1, {19}}, {-1, 1, {7}},
                {0, 1, {2}},        {2, 1, {5}},          {-1, 0, {0}}, {1, 2, {1, 1}},
                {0, 3, {2, 1, 1}},  {-1, 4, {2, 1, 5, 7}}};
  test_tensor x = test_random(5, 0, TEST_DIMS(2, 19, 5, 7));
  for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
    test_tensor y = test_random(6, 0, others[k].rank, others[k].dims);
    const test_tensor *inputs[] = {&x, &y};
    test_node node;
    test_node_init(&node, "Add", 6);
    test_add_int(&node, "broadcast", 1);
    if (others[k].axis >= 0) test_add_int(&node, "axis", others[k].axis);
    compare_choices(*state, &node, inputs, 2, 0);
    TEST_DROP(&y);
  }
  TEST_DROP(&x);
}

static void concat(void **state) {
  test_tensor a = test_random(7, 0, TEST_DIMS(2, 3, 5, 7)),
              b = test_random(8, 0, TEST_DIMS(2, 16, 5, 7));
  const test_tensor *inputs[] = {&a, &b, &a};
  for (int64_t axis = -3; axis <= 1; axis += 4) {
    test_node node;
    test_node_init(&node, "Concat", 13);
    test_add_int(&node, "axis", axis);
    expect_same(*state, &node, inputs, 3, 0);
  }
  TEST_DROP(&a, &b);
}

// ---- Windows --------------------------------------------------------------------------------

static void pools(void **state) {
  static const char *const ops[] = {"MaxPool", "AveragePool"};
  test_tensor x = test_random(9, 0, TEST_DIMS(2, 70, 9, 11));
  test_floats(&x)[100] = NAN;
  const test_tensor *inputs[] = {&x};
  for (int i = 0; i < 2; ++i)
    for (int64_t pad = 0; pad < 2; ++pad) {
      test_node node;
      test_node_init(&node, ops[i], 19);
      test_add_ints(&node, "kernel_shape", 2, (const int64_t[]){3, 2});
      test_add_ints(&node, "strides", 2, (const int64_t[]){2, 3});
      test_add_ints(&node, "pads", 4, (const int64_t[]){pad, 0, pad, pad});
      test_add_ints(&node, "dilations", 2, (const int64_t[]){1, 2});
      test_add_int(&node, "ceil_mode", pad);
      if (i == 1) test_add_int(&node, "count_include_pad", pad);
      expect_same(*state, &node, inputs, 1, 1e-6f);
    }
  TEST_DROP(&x);
}

static void global_pools(void **state) {
  static const char *const ops[] = {"GlobalMaxPool", "GlobalAveragePool"};
  test_tensor x = test_random(10, 0, TEST_DIMS(2, 70, 9, 11));
  const test_tensor *inputs[] = {&x};
  for (int i = 0; i < 2; ++i) {
    test_node node;
    test_node_init(&node, ops[i], 1);
    expect_same(*state, &node, inputs, 1, 1e-6f);
  }
  TEST_DROP(&x);
}

static void normalization(void **state) {
  test_tensor x = test_random(11, 0, TEST_DIMS(2, 19, 5, 7)),
              scale = test_random(12, 0, TEST_DIMS(19)),
              mean = test_random(13, 0, TEST_DIMS(19)),
              variance = test_random(14, 0, TEST_DIMS(19));
  for (int64_t i = 0; i < variance.count; ++i)
    test_floats(&variance)[i] = fabsf(test_floats(&variance)[i]) + 0.1f;
  const test_tensor *inputs[] = {&x, &scale, &mean, &mean, &variance};
  test_node node;
  test_node_init(&node, "BatchNormalization", 15);
  expect_same(*state, &node, inputs, 5, 0);
  TEST_DROP(&x, &scale, &mean, &variance);
}

// ---- Convolutions: small integers, so that every order of summation gives the same ----------

enum { STRIDED, PLAIN, PADDED };

typedef struct conv_case {
  const char *op;
  int32_t window;  // of images: STRIDED with pads, PLAIN, or PADDED with stride 1
  int64_t groups;
  int32_t rank;
  int64_t x[5], w[5], filters;
} conv_case;

static void convolutions(void **state) {
  static const conv_case cases[] = {
      {"Conv", STRIDED, 1, 4, {2, 3, 9, 8}, {20, 3, 3, 2}, 20},
      {"Conv", STRIDED, 1, 4, {1, 37, 5, 6}, {24, 37, 1, 1}, 24},
      {"Conv", STRIDED, 18, 4, {2, 18, 9, 8}, {18, 1, 3, 3}, 18},
      {"Conv", STRIDED, 2, 4, {1, 32, 6, 6}, {64, 16, 3, 3}, 64},
      {"Conv", STRIDED, 3, 4, {1, 15, 6, 6}, {6, 5, 3, 3}, 6},
      {"Conv", STRIDED, 1, 3, {2, 5, 19}, {7, 5, 3}, 7},
      {"Conv", STRIDED, 1, 5, {1, 4, 5, 6, 7}, {3, 4, 2, 3, 3}, 3},
      {"ConvTranspose", STRIDED, 1, 4, {2, 24, 5, 6}, {24, 10, 2, 2}, 10},
      {"ConvTranspose", STRIDED, 2, 4, {1, 8, 5, 6}, {8, 3, 3, 3}, 6},
      // Large enough to be cut into images, rows, pixels.
      {"Conv", STRIDED, 1, 4, {3, 40, 13, 12}, {48, 40, 3, 3}, 48},
      {"Conv", STRIDED, 1, 4, {1, 96, 15, 16}, {80, 96, 4, 3}, 80},
      {"Conv", STRIDED, 2, 4, {1, 64, 27, 16}, {64, 32, 5, 3}, 64},
      {"Conv", PLAIN, 1, 4, {1, 200, 9, 9}, {120, 200, 1, 1}, 120},
      {"Conv", PLAIN, 1, 3, {1, 80, 90}, {80, 80, 5}, 80},
      {"Conv", PLAIN, 1, 5, {1, 24, 1, 20, 10}, {32, 24, 1, 3, 3}, 32},
      {"ConvTranspose", STRIDED, 1, 4, {1, 64, 11, 12}, {64, 40, 5, 4}, 40},
      {"ConvTranspose", PLAIN, 1, 4, {1, 64, 15, 16}, {64, 64, 2, 2}, 64},
      {"ConvTranspose", STRIDED, 1, 4, {1, 96, 14, 16}, {96, 80, 2, 2}, 80},
      // With constant weights as one product: whole and part panels, more channels than fit.
      {"Conv", PLAIN, 1, 4, {2, 7, 5, 5}, {5, 7, 1, 1}, 5},
      {"Conv", PLAIN, 1, 4, {1, 16, 31, 30}, {64, 16, 1, 1}, 64},
      {"Conv", PLAIN, 1, 3, {1, 1600, 19}, {57, 1600, 1}, 57},
      {"Conv", PLAIN, 1, 4, {1, 24, 1, 1}, {200, 24, 1, 1}, 200},
      {"Conv", PLAIN, 2, 4, {1, 40, 9, 9}, {272, 20, 1, 1}, 272},
      {"Conv", PLAIN, 3, 4, {2, 24, 7, 5}, {93, 8, 1, 1}, 93},
      // With constant weights by Winograd's algorithm: even and odd outputs, part of a panel.
      {"Conv", PADDED, 1, 4, {1, 32, 16, 18}, {32, 32, 3, 3}, 32},
      {"Conv", PADDED, 1, 4, {1, 16, 17, 16}, {50, 16, 3, 3}, 50},
      {"Conv", PADDED, 1, 4, {2, 45, 13, 12}, {70, 45, 3, 3}, 70},
      {"Conv", PLAIN, 1, 4, {1, 130, 15, 15}, {33, 130, 3, 3}, 33},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    for (int constant = 0; constant < 2; ++constant) {
      const conv_case *c = &cases[i];
      test_tensor x = test_random(15, 1, c->rank, c->x), w = test_random(16, 1, c->rank, c->w),
                  bias = test_random(17, 1, 1, &c->filters);
      w.constant = constant;
      const test_tensor *inputs[] = {&x, &w, &bias};
      test_node node;
      test_node_init(&node, c->op, 11);
      test_add_int(&node, "group", c->groups);
      if (c->rank == 4 && c->window == STRIDED)
        test_add_ints(&node, "strides", 2, (const int64_t[]){2, 1});
      if (c->rank == 4 && c->window != PLAIN)
        test_add_ints(&node, "pads", 4, (const int64_t[]){1, 0, 1, 1});
      expect_same(*state, &node, inputs, 3, 0);
      TEST_DROP(&x, &w, &bias);
    }
}

// What is not finite reaches the outputs whose windows hold it, and no others, also where
// outputs are computed by the tile.
static void infinite_pixels(void **state) {
  test_tensor x = test_random(20, 1, TEST_DIMS(1, 32, 14, 15)),
              w = test_random(21, 1, TEST_DIMS(40, 32, 3, 3));
  test_floats(&x)[(5 * 14 + 3) * 15 + 4] = INFINITY;
  test_floats(&x)[(6 * 14 + 9) * 15 + 14] = NAN;
  w.constant = 1;
  const test_tensor *inputs[] = {&x, &w};
  test_node node;
  test_node_init(&node, "Conv", 11);
  test_add_ints(&node, "pads", 4, (const int64_t[]){1, 1, 1, 1});
  expect_same(*state, &node, inputs, 2, 1e-6f);
  TEST_DROP(&x, &w);
}

// Weights that are not finite.
static void infinite_weights(void **state) {
  test_tensor x = test_random(22, 1, TEST_DIMS(1, 32, 14, 15)),
              w = test_random(23, 1, TEST_DIMS(40, 32, 3, 3));
  test_floats(&w)[1000] = INFINITY;
  w.constant = 1;
  const test_tensor *inputs[] = {&x, &w};
  test_node node;
  test_node_init(&node, "Conv", 11);
  expect_same(*state, &node, inputs, 2, 0);
  TEST_DROP(&x, &w);
}

// ---- The layout itself ----------------------------------------------------------------------

static ops_arg arg_of(const test_tensor *tensor) {
  ops_arg arg = {.kind = OPS_ARG_TENSOR};
  arg.tensor = (ops_tensor){.dims = tensor->dims,
                            .strides = tensor->layout ? NULL : tensor->strides,
                            .memory = tensor->data,
                            .byte_size = (uint64_t)tensor->count * sizeof(float),
                            .type = OPS_TYPE_FLOAT,
                            .rank = tensor->rank,
                            .layout = tensor->layout};
  return arg;
}

static void reorders(void **state) {
  static const int64_t shapes[][4] = {{1, 1, 1, 1},  {2, 3, 5, 7},    {1, 16, 4, 4},
                                      {3, 17, 1, 1}, {2, 40, 13, 11}, {1, 65, 300, 3}};
  test_device *test = *state;
  const ops_memory_api *memory = test->provider->memory;
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    test_tensor plain = test_random(18, 0, 4, shapes[i]),
                expected = test_with_layout(&plain, TEST_LAST);
    test_tensor last = test_zeros(OPS_TYPE_FLOAT, 4, shapes[i]),
                back = test_zeros(OPS_TYPE_FLOAT, 4, shapes[i]);
    uint64_t bytes = 0;
    last.layout = TEST_LAST;
    const ops_arg from = arg_of(&plain), to = arg_of(&last), home = arg_of(&back);
    assert_int_equal(memory->layout_size(test->device, TEST_LAST, OPS_TYPE_FLOAT, 4, shapes[i],
                                         &bytes, &error),
                     OPS_OK);
    assert_int_equal(bytes, (uint64_t)plain.count * sizeof(float));
    assert_int_equal(memory->reorder(test->device, NULL, &from, &to, &error), OPS_OK);
    assert_memory_equal(last.data, expected.data, bytes);
    assert_int_equal(memory->reorder(test->device, NULL, &to, &home, &error), OPS_OK);
    assert_memory_equal(back.data, plain.data, bytes);
    TEST_DROP(&plain, &expected, &last, &back);
  }
}

static void refusals(void **state) {
  test_device *test = *state;
  const ops_memory_api *memory = test->provider->memory;
  const int64_t dims[6] = {1, 2, 3, 4, 5, 6};
  uint64_t bytes = 0;
  void *address = &bytes;
  ops_error error = OPS_ERROR_INIT;
  assert_int_not_equal(
      memory->layout_size(test->device, 2, OPS_TYPE_FLOAT, 4, dims, &bytes, &error), OPS_OK);
  assert_int_not_equal(
      memory->layout_size(test->device, TEST_LAST, OPS_TYPE_DOUBLE, 4, dims, &bytes, &error),
      OPS_OK);
  assert_int_not_equal(
      memory->layout_size(test->device, TEST_LAST, OPS_TYPE_FLOAT, 6, dims, &bytes, &error),
      OPS_OK);
  assert_int_equal(memory->allocate(test->device, OPS_MEMORY_HOST, 0, 64, 0, &address, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_null(address);
  assert_int_equal(
      memory->allocate(test->device, OPS_MEMORY_DEVICE, 8, 64, 0, &address, &error),
      OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(
      memory->allocate(test->device, OPS_MEMORY_HOST, 100, 256, 0, &address, &error), OPS_OK);
  assert_int_equal((uintptr_t)address % 256, 0);
  memory->free(test->device, OPS_MEMORY_HOST, address);
  memory->free(test->device, OPS_MEMORY_HOST, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(unary),
      TEST_ON_DEVICE(clip),
      TEST_ON_DEVICE(binary),
      TEST_ON_DEVICE(old_broadcast),
      TEST_ON_DEVICE(concat),
      TEST_ON_DEVICE(pools),
      TEST_ON_DEVICE(global_pools),
      TEST_ON_DEVICE(normalization),
      TEST_ON_DEVICE(convolutions),
      TEST_ON_DEVICE(infinite_pixels),
      TEST_ON_DEVICE(infinite_weights),
      TEST_ON_DEVICE(reorders),
      TEST_ON_DEVICE(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

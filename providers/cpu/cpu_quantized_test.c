// SPDX-License-Identifier: Apache-2.0
//
// Operators on quantised tensors give bit by bit what the reference provider gives, which
// computes in double, element by element, and shares no code with this one: with parameters as
// constants and as inputs of a run, and in every layout that is offered.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants those above first.
#include <cmocka.h>

#include <ops_support/tensor.h>

#include "cpu_test_util.h"

#define MAX_CHOICES 8
#define MAX_INPUTS 10

typedef struct pair {
  test_device own, reference;
} pair;

static int setup(void **state) {
  const ops_host_options two_workers = {.workers = 2};
  pair *both = calloc(1, sizeof *both);
  assert_non_null(both);
  test_open(&both->own, NULL);
  test_open_library(&both->reference, OPS_REFERENCE_LIBRARY, &two_workers);
  *state = both;
  return 0;
}

static int teardown(void **state) {
  pair *both = *state;
  test_close(&both->own);
  test_close(&both->reference);
  free(both);
  return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

// ---- Tensors --------------------------------------------------------------------------------

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// Integers of all sizes of their type; int32 stay below 2^20.
static test_tensor integers(uint32_t seed, int32_t type, int32_t rank, const int64_t *dims) {
  test_tensor tensor = test_zeros(type, rank, dims);
  for (int64_t i = 0; i < tensor.count; ++i) {
    const uint32_t bits = next(&seed);
    if (type == OPS_TYPE_INT32)
      ((int32_t *)tensor.data)[i] = (int32_t)(bits % 2097152) - 1048576;
    else
      memcpy((char *)tensor.data + i * (ops_type_bits(type) / 8), &bits,
             (size_t)ops_type_bits(type) / 8);
  }
  return tensor;
}

static test_tensor floats(int32_t rank, const int64_t *dims, const float *values) {
  test_tensor tensor = test_zeros(OPS_TYPE_FLOAT, rank, dims);
  memcpy(tensor.data, values, (size_t)tensor.count * sizeof *values);
  return tensor;
}

static test_tensor scalar(float value) {
  return floats(0, NULL, &value);
}

static test_tensor integer(int32_t type, int32_t value) {
  test_tensor tensor = test_zeros(type, 0, NULL);
  memcpy(tensor.data, &value, (size_t)ops_type_bits(type) / 8);
  return tensor;
}

// Positive numbers around `size`.
static test_tensor scales(uint32_t seed, float size, int32_t rank, const int64_t *dims) {
  test_tensor tensor = test_zeros(OPS_TYPE_FLOAT, rank, dims);
  for (int64_t i = 0; i < tensor.count; ++i)
    test_floats(&tensor)[i] = size * (0.5f + (float)next(&seed) / 16777216.0f);
  return tensor;
}

// ---- Comparison -----------------------------------------------------------------------------

static void expect_equal(const char *op, const char *when, const test_tensor *found,
                         const test_tensor *expected) {
  const size_t size = (size_t)ops_type_bits(expected->type) / 8;
  assert_int_equal(found->type, expected->type);
  assert_int_equal(found->rank, expected->rank);
  if (expected->rank > 0)
    assert_memory_equal(found->dims, expected->dims,
                        (size_t)expected->rank * sizeof *expected->dims);
  for (int64_t i = 0; i < expected->count; ++i) {
    int32_t a = 0, b = 0;
    memcpy(&a, (char *)found->data + (size_t)i * size, size);
    memcpy(&b, (char *)expected->data + (size_t)i * size, size);
    if (a != b)
      fail_msg("%s, %s: element %lld of %lld has the bits %#x, expected %#x", op, when,
               (long long)i, (long long)expected->count, (unsigned)a, (unsigned)b);
  }
}

static void compare_layouts(test_run *run, const test_node *node,
                            const test_tensor *const *inputs, const test_tensor *expected) {
  ops_layout_choice choices[MAX_CHOICES];
  const uint64_t offered = test_query_layouts(run, choices, MAX_CHOICES);
  for (uint64_t k = 0; k < offered; ++k) {
    test_tensor moved[MAX_INPUTS];
    const test_tensor *given[MAX_INPUTS];
    ops_error error = OPS_ERROR_INIT;
    memset(moved, 0, sizeof moved);
    for (uint64_t i = 0; i < run->input_count; ++i) {
      given[i] = inputs[i];
      if (!inputs[i] || choices[k].input_layouts[i] == OPS_LAYOUT_STRIDED) continue;
      moved[i] = test_with_layout(inputs[i], TEST_LAST);
      given[i] = &moved[i];
    }
    test_prepare_again(run, given, choices[k].output_layouts);
    assert_int_equal(test_execute(run, run->outputs, &error), OPS_OK);
    test_tensor found = test_with_layout(&run->outputs[0], OPS_LAYOUT_STRIDED);
    expect_equal(node->op, "in a layout", &found, expected);
    test_drop(&found);
    for (uint64_t i = 0; i < run->input_count; ++i) test_drop(&moved[i]);
  }
}

// `first_constant`: the inputs from there on are constants in one of the runs.
static void compare(void **state, const test_node *node, test_tensor *const *tensors,
                    uint64_t count, uint64_t first_constant, int32_t type) {
  pair *both = *state;
  const test_tensor *inputs[MAX_INPUTS];
  for (uint64_t i = 0; i < count; ++i) inputs[i] = tensors[i];
  test_tensor expected = test_compute(&both->reference, node, inputs, count, type);
  for (int32_t constant = 0; constant < 2; ++constant) {
    test_run run;
    ops_claim claim;
    ops_error error = OPS_ERROR_INIT;
    for (uint64_t i = first_constant; i < count; ++i)
      if (tensors[i]) tensors[i]->constant = constant;
    if (test_prepare(&both->own, node, inputs, count, &type, 1, &run, &claim, &error) != OPS_OK)
      fail_msg("%s: %s %s", node->op, claim.text, error.message);
    assert_int_equal(test_execute(&run, run.outputs, &error), OPS_OK);
    expect_equal(node->op, constant ? "constant" : "variable", &run.outputs[0], &expected);
    if (expected.rank >= 3 && expected.count > 0)
      compare_layouts(&run, node, inputs, &expected);
    test_finish(&run);
  }
  test_drop(&expected);
}

// ---- Quantisation ---------------------------------------------------------------------------

static const int32_t kWords[] = {OPS_TYPE_INT8, OPS_TYPE_UINT8, OPS_TYPE_INT16,
                                 OPS_TYPE_UINT16};
static const int32_t kBytes[] = {OPS_TYPE_INT8, OPS_TYPE_UINT8};

static test_tensor reals(uint32_t seed, float size, int32_t rank, const int64_t *dims) {
  test_tensor tensor = test_random(seed, 0, rank, dims);
  for (int64_t i = 0; i < tensor.count; ++i) test_floats(&tensor)[i] *= size;
  return tensor;
}

static void quantize_and_back(void **state, int32_t type, int64_t axis, int64_t block,
                              int32_t parameter_rank, const int64_t *parameter_dims,
                              int has_zero) {
  const int64_t dims[] = {2, 6, 5, 7};
  test_node forward, back;
  test_tensor x = reals(7, 300, 4, dims), q = integers(8, type, 4, dims);
  test_tensor scale = scales(9, 1.7f, parameter_rank, parameter_dims);
  test_tensor zero = integers(10, type, parameter_rank, parameter_dims);
  test_node_init(&forward, "QuantizeLinear", 21);
  test_node_init(&back, "DequantizeLinear", 21);
  for (int i = 0; i < 2; ++i) {
    test_node *node = i ? &back : &forward;
    test_add_int(node, "axis", axis);
    if (block) test_add_int(node, "block_size", block);
    if (!i && !has_zero) test_add_int(node, "output_dtype", type);
  }
  compare(state, &forward, (test_tensor *[]){&x, &scale, has_zero ? &zero : NULL}, 3, 1, type);
  compare(state, &back, (test_tensor *[]){&q, &scale, has_zero ? &zero : NULL}, 3, 1,
          OPS_TYPE_FLOAT);
  TEST_DROP(&x, &q, &scale, &zero);
}

static void quantization(void **state) {
  for (size_t i = 0; i < sizeof kWords / sizeof *kWords; ++i)
    for (int has_zero = 0; has_zero < 2; ++has_zero) {
      quantize_and_back(state, kWords[i], 1, 0, 0, NULL, has_zero);
      quantize_and_back(state, kWords[i], 1, 0, TEST_DIMS(6), has_zero);
      quantize_and_back(state, kWords[i], -1, 0, TEST_DIMS(7), has_zero);
      quantize_and_back(state, kWords[i], 0, 0, TEST_DIMS(2), has_zero);
      quantize_and_back(state, kWords[i], 1, 4, TEST_DIMS(2, 2, 5, 7), has_zero);
      quantize_and_back(state, kWords[i], 3, 3, TEST_DIMS(2, 6, 5, 3), has_zero);
    }
}

static void dequantize_sums(void **state) {
  test_node node;
  test_tensor q = integers(11, OPS_TYPE_INT32, TEST_DIMS(33, 5)), scale = scalar(0.0137f);
  test_tensor by_column = scales(12, 0.01f, TEST_DIMS(5));
  test_node_init(&node, "DequantizeLinear", 13);
  compare(state, &node, (test_tensor *[]){&q, &scale}, 2, 1, OPS_TYPE_FLOAT);
  compare(state, &node, (test_tensor *[]){&q, &by_column}, 2, 1, OPS_TYPE_FLOAT);
  TEST_DROP(&q, &scale, &by_column);
}

// ---- Convolution ----------------------------------------------------------------------------

typedef struct conv_case {
  int32_t rank;
  int64_t x[5], w[5];
  int64_t group, stride, dilation, pad_begin, pad_end;
} conv_case;

static const conv_case kConvs[] = {
    {4, {1, 8, 9, 11}, {70, 8, 1, 1}, 1, 1, 1, 0, 0},   // direct, two panels
    {4, {2, 16, 9, 11}, {5, 16, 3, 3}, 1, 2, 1, 1, 1},  // direct, padding, strides
    {4, {1, 3, 23, 19}, {7, 3, 5, 5}, 1, 2, 1, 2, 1},   // copied rows
    {4, {1, 6, 9, 8}, {4, 3, 3, 3}, 2, 1, 2, 2, 2},     // groups, dilations
    {4, {1, 8, 9, 8}, {12, 4, 3, 2}, 2, 1, 1, 0, 1},    // groups, direct
    {4, {2, 70, 9, 9}, {70, 1, 3, 3}, 70, 1, 1, 1, 1},  // depthwise
    {4, {1, 5, 9, 9}, {10, 1, 3, 3}, 5, 2, 1, 0, 1},    // two filters for each channel
    {3, {2, 4, 31}, {3, 4, 5}, 1, 3, 1, 2, 2},          // one dimension
    {5, {1, 4, 4, 5, 6}, {3, 4, 2, 2, 3}, 1, 1, 1, 1, 0},
    {4, {0, 4, 5, 5}, {3, 4, 3, 3}, 1, 1, 1, 0, 0},       // empty
    {4, {1, 512, 3, 3}, {66, 512, 3, 3}, 1, 1, 1, 1, 1},  // sums beyond 2^24
};

static void conv_node(test_node *node, const char *op, const conv_case *c) {
  int64_t pads[6], strides[3], dilations[3];
  const int32_t spatial = c->rank - 2;
  for (int32_t i = 0; i < spatial; ++i) {
    pads[i] = c->pad_begin;
    pads[spatial + i] = c->pad_end;
    strides[i] = c->stride;
    dilations[i] = c->dilation;
  }
  test_node_init(node, op, 10);
  test_add_int(node, "group", c->group);
  test_add_ints(node, "pads", 2 * spatial, pads);
  test_add_ints(node, "strides", spatial, strides);
  test_add_ints(node, "dilations", spatial, dilations);
}

// `per_filter`: scales and zero points of the weights.
static void conv(void **state, const conv_case *c, int32_t x_type, int32_t w_type,
                 int32_t y_type, int per_filter) {
  const int64_t filters = c->w[0], terms = c->w[1] * c->w[2] * (c->rank > 3 ? c->w[3] : 1);
  test_node quantized, integer_node;
  test_tensor x = integers(21, x_type, c->rank, c->x), w = integers(22, w_type, c->rank, c->w);
  test_tensor x_scale = scalar(0.021f), x_zero = integer(x_type, 117);
  test_tensor w_scale = scales(23, 0.013f, per_filter, &filters);
  test_tensor w_zero = integers(24, w_type, per_filter, &filters);
  test_tensor y_scale = scalar(0.03f * (float)terms), y_zero = integer(y_type, 100);
  test_tensor bias = integers(25, OPS_TYPE_INT32, 1, &filters);
  conv_node(&quantized, "QLinearConv", c);
  conv_node(&integer_node, "ConvInteger", c);
  for (int has_bias = 0; has_bias < 2; ++has_bias)
    compare(state, &quantized,
            (test_tensor *[]){&x, &x_scale, &x_zero, &w, &w_scale, &w_zero, &y_scale, &y_zero,
                              has_bias ? &bias : NULL},
            9, 1, y_type);
  compare(state, &integer_node, (test_tensor *[]){&x, &w, &x_zero, &w_zero}, 4, 1,
          OPS_TYPE_INT32);
  compare(state, &integer_node, (test_tensor *[]){&x, &w}, 2, 1, OPS_TYPE_INT32);
  TEST_DROP(&x, &w, &x_scale, &x_zero, &w_scale, &w_zero, &y_scale, &y_zero, &bias);
}

static void convolutions(void **state) {
  for (size_t i = 0; i < sizeof kConvs / sizeof *kConvs; ++i)
    for (int types = 0; types < 8; ++types)
      conv(state, &kConvs[i], kBytes[types & 1], kBytes[types >> 1 & 1], kBytes[types >> 2 & 1],
           types % 3 != 0);
}

// Products of scales where many results lie on ties, or beside them.
static void ties(void **state) {
  static const float kScales[][3] = {{0.5f, 1, 1}, {1, 0.5f, 3}, {0.1f, 0.5f, 0.3f}, {1, 1, 6}};
  const conv_case c = {4, {1, 4, 9, 11}, {70, 4, 1, 1}, 1, 1, 1, 0, 0};
  test_node node;
  conv_node(&node, "QLinearConv", &c);
  for (size_t i = 0; i < sizeof kScales / sizeof *kScales; ++i) {
    test_tensor x = integers(31, OPS_TYPE_UINT8, 4, c.x),
                w = integers(32, OPS_TYPE_INT8, 4, c.w);
    for (int64_t k = 0; k < x.count; ++k) ((uint8_t *)x.data)[k] %= 8;
    for (int64_t k = 0; k < w.count; ++k) ((int8_t *)w.data)[k] %= 5;
    test_tensor zero = integer(OPS_TYPE_UINT8, 3), w_zero = integer(OPS_TYPE_INT8, 0);
    test_tensor x_scale = scalar(kScales[i][0]), w_scale = scalar(kScales[i][1]);
    test_tensor y_scale = scalar(kScales[i][2]), y_zero = integer(OPS_TYPE_UINT8, 128);
    compare(state, &node,
            (test_tensor *[]){&x, &x_scale, &zero, &w, &w_scale, &w_zero, &y_scale, &y_zero}, 8,
            1, OPS_TYPE_UINT8);
    TEST_DROP(&x, &w, &zero, &w_zero, &x_scale, &w_scale, &y_scale, &y_zero);
  }
}

// ---- Matrix products ------------------------------------------------------------------------

typedef struct matmul_case {
  int32_t a_rank, b_rank;
  int64_t a[4], b[4];
  int64_t columns;
} matmul_case;

static const matmul_case kMatmuls[] = {{2, 2, {7, 9}, {9, 70}, 70},
                                       {2, 2, {13, 64}, {64, 5}, 5},
                                       {3, 2, {2, 7, 12}, {12, 3}, 3},
                                       {4, 3, {2, 3, 5, 8}, {3, 8, 6}, 6},
                                       {1, 2, {9}, {9, 4}, 4},
                                       {2, 1, {5, 9}, {9}, 1},
                                       {2, 2, {1, 2048}, {2048, 130}, 130},
                                       {2, 2, {0, 9}, {9, 4}, 4},
                                       {4, 4, {2, 1, 3, 5}, {1, 3, 5, 4}, 4}};

static void microsoft(test_node *node, const char *op) {
  test_node_init(node, op, 1);
  node->domain = "com.microsoft";
}

static void matmul(void **state, const matmul_case *c, int32_t a_type, int32_t b_type,
                   int32_t y_type, int per_column) {
  test_node integer_node, quantized, to_float, dynamic;
  test_node_init(&integer_node, "MatMulInteger", 10);
  test_node_init(&quantized, "QLinearMatMul", 10);
  microsoft(&to_float, "MatMulIntegerToFloat");
  microsoft(&dynamic, "DynamicQuantizeMatMul");
  const int columns = per_column && c->b_rank > 1;
  test_tensor a = integers(51, a_type, c->a_rank, c->a),
              b = integers(52, b_type, c->b_rank, c->b);
  test_tensor real = reals(53, 3, c->a_rank, c->a), bias = reals(54, 9, 1, &c->columns);
  test_tensor a_scale = scalar(0.021f), a_zero = integer(a_type, 117);
  test_tensor b_scale = scales(55, 0.013f, columns, &c->columns);
  test_tensor b_zero = integers(56, b_type, columns, &c->columns);
  test_tensor y_scale = scalar(0.9f), y_zero = integer(y_type, 100);
  compare(state, &integer_node, (test_tensor *[]){&a, &b, &a_zero, &b_zero}, 4, 1,
          OPS_TYPE_INT32);
  compare(state, &integer_node, (test_tensor *[]){&a, &b}, 2, 1, OPS_TYPE_INT32);
  compare(state, &quantized,
          (test_tensor *[]){&a, &a_scale, &a_zero, &b, &b_scale, &b_zero, &y_scale, &y_zero}, 8,
          1, y_type);
  compare(state, &to_float,
          (test_tensor *[]){&a, &b, &a_scale, &b_scale, &a_zero, &b_zero, &bias}, 7, 1,
          OPS_TYPE_FLOAT);
  compare(state, &to_float, (test_tensor *[]){&a, &b, &a_scale, &b_scale}, 4, 1,
          OPS_TYPE_FLOAT);
  compare(state, &dynamic, (test_tensor *[]){&real, &b, &b_scale, &b_zero, &bias}, 5, 1,
          OPS_TYPE_FLOAT);
  compare(state, &dynamic, (test_tensor *[]){&real, &b, &b_scale}, 3, 1, OPS_TYPE_FLOAT);
  TEST_DROP(&a, &b, &real, &bias, &a_scale, &a_zero, &b_scale, &b_zero, &y_scale, &y_zero);
}

static void matrix_products(void **state) {
  for (size_t i = 0; i < sizeof kMatmuls / sizeof *kMatmuls; ++i)
    for (int types = 0; types < 8; ++types)
      matmul(state, &kMatmuls[i], kBytes[types & 1], kBytes[types >> 1 & 1],
             kBytes[types >> 2 & 1], types % 3 != 0);
}

static void gemm(void **state, int trans_a, int trans_b, float alpha, int32_t c_rank,
                 const int64_t *c_dims) {
  const int64_t columns = 70, a_dims[] = {trans_a ? 9 : 13, trans_a ? 13 : 9};
  const int64_t b_dims[] = {trans_b ? 70 : 9, trans_b ? 9 : 70};
  test_node node;
  microsoft(&node, "QGemm");
  test_add_int(&node, "transA", trans_a);
  test_add_int(&node, "transB", trans_b);
  test_add_float(&node, "alpha", alpha);
  test_tensor a = integers(61, OPS_TYPE_INT8, 2, a_dims),
              b = integers(62, OPS_TYPE_UINT8, 2, b_dims);
  test_tensor a_scale = scalar(0.021f), a_zero = integer(OPS_TYPE_INT8, 17);
  test_tensor b_scale = scales(63, 0.013f, 1, &columns);
  test_tensor b_zero = integers(64, OPS_TYPE_UINT8, 1, &columns);
  test_tensor c = integers(65, OPS_TYPE_INT32, c_rank, c_dims);
  test_tensor y_scale = scalar(2.9f), y_zero = integer(OPS_TYPE_UINT8, 100);
  test_tensor *inputs[] = {&a, &a_scale, &a_zero, &b, &b_scale, &b_zero, &c, &y_scale, &y_zero};
  compare(state, &node, inputs, 9, 1, OPS_TYPE_UINT8);
  compare(state, &node, inputs, 7, 1, OPS_TYPE_FLOAT);
  compare(state, &node, inputs, 6, 1, OPS_TYPE_FLOAT);
  TEST_DROP(&a, &b, &a_scale, &a_zero, &b_scale, &b_zero, &c, &y_scale, &y_zero);
}

static void gemms(void **state) {
  for (int variant = 0; variant < 4; ++variant) {
    gemm(state, variant & 1, variant >> 1, 1, TEST_DIMS(70));
    gemm(state, variant & 1, variant >> 1, 0.3f, TEST_DIMS(13, 1));
    gemm(state, variant & 1, variant >> 1, 2, TEST_DIMS(13, 70));
    gemm(state, variant & 1, variant >> 1, 1, 0, NULL);
  }
}

static void dynamic_quantization(void **state) {
  static const float kSizes[] = {0, 3, 1e-30f, 1e30f};
  pair *both = *state;
  test_node node;
  test_node_init(&node, "DynamicQuantizeLinear", 11);
  for (size_t i = 0; i < 2 * sizeof kSizes / sizeof *kSizes; ++i) {
    test_tensor x = reals(71, kSizes[i / 2], TEST_DIMS(7, 131));
    // Of one sign.
    for (int64_t k = 0; i % 2 && k < x.count; ++k)
      if (test_floats(&x)[k] < 0) test_floats(&x)[k] = -test_floats(&x)[k];
    const test_tensor *inputs[] = {&x};
    const int32_t types[] = {OPS_TYPE_UINT8, OPS_TYPE_FLOAT, OPS_TYPE_UINT8};
    test_run runs[2];
    for (int k = 0; k < 2; ++k) {
      ops_claim claim;
      ops_error error = OPS_ERROR_INIT;
      assert_int_equal(test_prepare(k ? &both->reference : &both->own, &node, inputs, 1, types,
                                    3, &runs[k], &claim, &error),
                       OPS_OK);
      assert_int_equal(test_execute(&runs[k], runs[k].outputs, &error), OPS_OK);
    }
    for (int k = 0; k < 3; ++k)
      expect_equal(node.op, "variable", &runs[0].outputs[k], &runs[1].outputs[k]);
    test_finish(&runs[0]);
    test_finish(&runs[1]);
    TEST_DROP(&x);
  }
}

// ---- Pools ----------------------------------------------------------------------------------

typedef struct pool_case {
  int32_t rank;
  int64_t x[4];
  int64_t kernel, stride, pad_begin, pad_end, ceil_mode, include_pad;
} pool_case;

static const pool_case kPools[] = {
    {4, {2, 19, 9, 11}, 3, 2, 1, 1, 0, 0}, {4, {1, 70, 8, 9}, 2, 2, 0, 1, 1, 1},
    {3, {2, 5, 13}, 4, 3, 1, 2, 1, 0},     {4, {1, 3, 7, 7}, 7, 1, 0, 0, 0, 0},
    {4, {1, 16, 9, 9}, 3, 1, 2, 1, 0, 1},  {4, {0, 3, 7, 7}, 2, 1, 0, 0, 0, 0}};

static void pool(void **state, const pool_case *c, int32_t type, int channels_last) {
  const int64_t kernel[] = {c->kernel, c->kernel}, strides[] = {c->stride, c->stride};
  int64_t pads[4];
  test_node most, average, global;
  test_tensor x = integers(81, type, c->rank, c->x);
  test_tensor x_scale = scalar(0.021f), x_zero = integer(type, 117);
  test_tensor y_scale = scalar(0.017f), y_zero = integer(type, 100);
  for (int32_t i = 0; i < c->rank - 2; ++i) {
    pads[i] = c->pad_begin;
    pads[c->rank - 2 + i] = c->pad_end;
  }
  if (channels_last)
    microsoft(&most, "NhwcMaxPool");
  else
    test_node_init(&most, "MaxPool", 12);
  microsoft(&average, "QLinearAveragePool");
  microsoft(&global, "QLinearGlobalAveragePool");
  for (int i = 0; i < 2; ++i) {
    test_node *node = i ? &average : &most;
    test_add_ints(node, "kernel_shape", c->rank - 2, kernel);
    test_add_ints(node, "strides", c->rank - 2, strides);
    test_add_ints(node, "pads", 2 * (c->rank - 2), pads);
    test_add_int(node, "ceil_mode", c->ceil_mode);
  }
  test_add_int(&average, "count_include_pad", c->include_pad);
  test_add_int(&average, "channels_last", channels_last);
  test_add_int(&global, "channels_last", channels_last);
  test_tensor *inputs[] = {&x, &x_scale, &x_zero, &y_scale, &y_zero};
  compare(state, &most, inputs, 1, 1, type);
  compare(state, &average, inputs, 5, 1, type);
  compare(state, &global, inputs, 5, 1, type);
  TEST_DROP(&x, &x_scale, &x_zero, &y_scale, &y_zero);
}

static void pools(void **state) {
  for (size_t i = 0; i < sizeof kPools / sizeof *kPools; ++i)
    for (int variant = 0; variant < 4; ++variant) {
      if (variant < 2) pool(state, &kPools[i], kBytes[variant & 1], 0);
      if (variant >= 2 && kPools[i].x[1] >= kPools[i].kernel && kPools[i].x[3] &&
          kPools[i].rank > 3)
        pool(state, &kPools[i], kBytes[variant & 1], 1);
    }
}

// ---- Two operands ---------------------------------------------------------------------------

static void binary(void **state, const char *op, int32_t type, int32_t b_rank,
                   const int64_t *b_dims, const float *scale, int swapped) {
  test_node node;
  microsoft(&node, op);
  test_tensor a = integers(41, type, TEST_DIMS(2, 6, 5, 7)),
              b = integers(42, type, b_rank, b_dims);
  test_tensor a_scale = scalar(scale[0]), b_scale = scalar(scale[1]),
              c_scale = scalar(scale[2]);
  test_tensor a_zero = integer(type, 12), b_zero = integer(type, 93),
              c_zero = integer(type, 77);
  test_tensor *forward[] = {&a, &a_scale, &a_zero, &b, &b_scale, &b_zero, &c_scale, &c_zero};
  test_tensor *backward[] = {&b, &b_scale, NULL, &a, &a_scale, &a_zero, &c_scale, NULL};
  compare(state, &node, swapped ? backward : forward, 8, 4, type);
  TEST_DROP(&a, &b, &a_scale, &b_scale, &c_scale, &a_zero, &b_zero, &c_zero);
}

static void binaries(void **state) {
  static const float kScales[][3] = {
      {0.02f, 0.013f, 0.029f}, {0.5f, 0.25f, 1}, {1e6f, 1, 1}, {0.1f, 0.3f, 0.2f}};
  static const struct {
    int32_t rank;
    int64_t dims[4];
  } kShapes[] = {{4, {2, 6, 5, 7}}, {4, {1, 6, 1, 1}}, {1, {7}}, {0, {0}}, {4, {2, 1, 5, 7}}};
  for (size_t i = 0; i < sizeof kScales / sizeof *kScales; ++i)
    for (size_t k = 0; k < sizeof kShapes / sizeof *kShapes; ++k)
      for (int variant = 0; variant < 8; ++variant)
        binary(state, variant & 4 ? "QLinearMul" : "QLinearAdd", kBytes[variant & 1],
               kShapes[k].rank, kShapes[k].dims, kScales[i], variant >> 1 & 1);
}

// ---- Tables ---------------------------------------------------------------------------------

static void functions(void **state) {
  static const char *const ops[] = {"QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
    for (int variant = 0; variant < 8; ++variant) {
      const int32_t type = kBytes[variant & 1];
      test_node node;
      test_tensor x = integers(91, type, TEST_DIMS(2, 6, 5, 7));
      test_tensor x_scale = scalar(0.021f), x_zero = integer(type, 17);
      test_tensor y_scale = scalar(1.0f / 256), y_zero = integer(type, variant & 1 ? 0 : -128);
      microsoft(&node, ops[i]);
      if (i == 0) test_add_float(&node, "alpha", 0.3f);
      if (i == 2) test_add_int(&node, "axis", variant / 2 % 4);
      if (i == 2) test_add_int(&node, "opset", variant & 4 ? 13 : 11);
      compare(state, &node, (test_tensor *[]){&x, &x_scale, &x_zero, &y_scale, &y_zero}, 5, 1,
              type);
      TEST_DROP(&x, &x_scale, &x_zero, &y_scale, &y_zero);
    }
}

static void concatenation(void **state) {
  for (int64_t axis = 0; axis < 4; ++axis)
    for (int variant = 0; variant < 4; ++variant) {
      const int32_t type = kBytes[variant & 1], other = kBytes[variant >> 1];
      int64_t dims[2][4] = {{2, 6, 5, 7}, {2, 6, 5, 7}};
      test_node node;
      dims[1][axis] = 3;
      test_tensor a = integers(95, type, 4, dims[0]), b = integers(96, other, 4, dims[1]);
      test_tensor a_scale = scalar(0.021f), a_zero = integer(type, 17);
      test_tensor b_scale = scalar(0.013f), b_zero = integer(other, 93);
      // b has the quantisation of the result where the types are equal.
      test_tensor y_scale = scalar(0.013f), y_zero = integer(type, 93);
      microsoft(&node, "QLinearConcat");
      test_add_int(&node, "axis", axis);
      compare(
          state, &node,
          (test_tensor *[]){&y_scale, &y_zero, &a, &a_scale, &a_zero, &b, &b_scale, &b_zero}, 8,
          3, type);
      TEST_DROP(&a, &b, &a_scale, &a_zero, &b_scale, &b_zero, &y_scale, &y_zero);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(quantization),
                                     TEST(dequantize_sums),
                                     TEST(convolutions),
                                     TEST(ties),
                                     TEST(binaries),
                                     TEST(matrix_products),
                                     TEST(gemms),
                                     TEST(pools),
                                     TEST(functions),
                                     TEST(concatenation),
                                     TEST(dynamic_quantization)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

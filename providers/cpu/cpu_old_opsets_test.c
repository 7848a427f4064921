// SPDX-License-Identifier: Apache-2.0
//
// Operators as they were up to opset 6: the second input broadcasts where attributes say so,
// and what later is an input is an attribute. Expected values follow from the texts of these
// versions, by indices written out here.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

static float add(float a, float b) {
  return a + b;
}
static float prelu(float a, float b) {
  return a < 0 ? a * b : a;
}

// A [2, 3, 4] with B along some of its dimensions: element (i, j, k) of the result takes
// element i * step[0] + j * step[1] + k * step[2] of B.
static void second_input_lies_where_axis_says(void **state) {
  static const struct {
    const char *op;
    float (*function)(float, float);
    int32_t axis;  // -1: not given
    int32_t rank;
    int64_t dims[3];
    int64_t step[3];
  } rows[] = {
      {"Add", add, -1, 1, {4}, {0, 0, 1}},     {"Add", add, 2, 1, {4}, {0, 0, 1}},
      {"Add", add, 1, 1, {3}, {0, 1, 0}},      {"Add", add, 0, 2, {2, 3}, {3, 1, 0}},
      {"Add", add, -1, 2, {3, 4}, {0, 4, 1}},  {"Add", add, 0, 2, {2, 1}, {1, 0, 0}},
      {"Add", add, -1, 0, {0}, {0, 0, 0}},     {"Add", add, 2, 2, {1, 1}, {0, 0, 0}},
      {"Pow", powf, 0, 1, {2}, {1, 0, 0}},     {"PRelu", prelu, -1, 1, {3}, {0, 1, 0}},
      {"PRelu", prelu, -1, 1, {1}, {0, 0, 0}},
  };
  test_device *test = *state;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    test_node node;
    test_node_init(&node, rows[r].op, 6);
    test_add_int(&node, "broadcast", 1);
    if (rows[r].axis >= 0) test_add_int(&node, "axis", rows[r].axis);
    test_tensor a = test_random(1, 0, TEST_DIMS(2, 3, 4));
    test_tensor b = test_random(2, 0, rows[r].rank, rows[r].dims);
    const int64_t *step = rows[r].step;
    if (rows[r].function == powf)
      for (int64_t i = 0; i < a.count; ++i) test_floats(&a)[i] = fabsf(test_floats(&a)[i]);
    test_tensor y =
        test_compute(test, &node, (const test_tensor *[]){&a, &b}, 2, OPS_TYPE_FLOAT);
    assert_int_equal(y.count, 24);
    for (int64_t at = 0; at < 24; ++at) {
      const int64_t from = at / 12 * step[0] + at / 4 % 3 * step[1] + at % 4 * step[2];
      const float expected = rows[r].function(test_floats(&a)[at], test_floats(&b)[from]);
      if (fabsf(test_floats(&y)[at] - expected) > 1e-6f * fabsf(expected))
        fail_msg("row %zu, element %lld: expected %g, found %g", r, (long long)at,
                 (double)expected, (double)test_floats(&y)[at]);
    }
    TEST_DROP(&a, &b, &y);
  }
}

static void shapes_that_do_not_fit_are_refused(void **state) {
  static const struct {
    const char *op;
    int32_t opset, broadcast, axis;
    int32_t rank;
    int64_t dims[3];
  } rows[] = {
      {"Add", 6, 0, -1, 1, {4}},      {"Add", 6, 1, 1, 1, {4}},  {"Add", 6, 1, -1, 1, {3}},
      {"Add", 1, 1, 2, 2, {3, 4}},    {"Max", 7, 1, -1, 1, {4}}, {"Sum", 6, 0, -1, 0, {0}},
      {"PRelu", 6, 1, -1, 1, {4}},    {"Pow", 6, 0, -1, 1, {4}}, {"Less", 6, 0, -1, 1, {1}},
      {"PRelu", 6, 0, -1, 2, {3, 4}},
  };
  test_device *test = *state;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    test_node node;
    test_attempt attempt;
    test_node_init(&node, rows[r].op, rows[r].opset);
    test_add_int(&node, "broadcast", rows[r].broadcast);
    if (rows[r].axis >= 0) test_add_int(&node, "axis", rows[r].axis);
    test_tensor a = test_random(1, 0, TEST_DIMS(2, 3, 4));
    test_tensor b = test_random(2, 0, rows[r].rank, rows[r].dims);
    const test_tensor *inputs[2] = {&a, &b};
    const int32_t type = strcmp(rows[r].op, "Less") == 0 ? OPS_TYPE_BOOL : OPS_TYPE_FLOAT;
    const int32_t status = test_prepare(test, &node, inputs, 2, &type, 1, &attempt.run,
                                        &attempt.claim, &attempt.error);
    if (status != OPS_ERROR_INVALID_ARGUMENT)
      fail_msg("row %zu: status %d, expected INVALID_ARGUMENT", r, status);
    TEST_DROP(&a, &b);
  }
}

static void attributes_that_became_inputs(void **state) {
  test_device *test = *state;
  test_node node;
  test_tensor x = test_random(3, 0, TEST_DIMS(2, 6));
  for (int64_t i = 0; i < x.count; ++i) test_floats(&x)[i] *= 10;
  const test_tensor *inputs[1] = {&x};

  test_node_init(&node, "Reshape", 1);
  test_add_ints(&node, "shape", 3, (const int64_t[]){0, -1, 2});
  test_tensor shaped = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
  assert_int_equal(shaped.rank, 3);
  assert_int_equal(shaped.dims[1], 3);
  assert_memory_equal(shaped.data, x.data, 48);

  test_node_init(&node, "Cast", 1);
  test_add_string(&node, "to", "INT32");
  test_tensor whole = test_compute(test, &node, inputs, 1, OPS_TYPE_INT32);
  for (int64_t i = 0; i < x.count; ++i)
    assert_int_equal(((const int32_t *)whole.data)[i], (int32_t)test_floats(&x)[i]);

  test_node_init(&node, "Pad", 1);
  test_add_ints(&node, "paddings", 4, (const int64_t[]){0, 1, 0, 0});
  test_add_float(&node, "value", 7);
  test_tensor padded = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
  assert_int_equal(padded.dims[1], 7);
  assert_float_equal(test_floats(&padded)[7], 7, 0);
  assert_float_equal(test_floats(&padded)[8], test_floats(&x)[6], 0);

  // [1, 1, 2, 6] to [1, 1, 4, 6]: rows are repeated, or blended with the next.
  test_tensor image = test_random(4, 0, TEST_DIMS(1, 1, 2, 6));
  inputs[0] = &image;
  for (int linear = 0; linear < 2; ++linear) {
    test_node_init(&node, "Upsample", 1);
    test_add_float(&node, "height_scale", 2);
    test_add_float(&node, "width_scale", 1);
    test_add_string(&node, "mode", linear ? "bilinear" : "nearest");
    test_tensor larger = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
    assert_int_equal(larger.dims[2], 4);
    const float *from = test_floats(&image), *to = test_floats(&larger);
    for (int i = 0; i < 6; ++i) {
      assert_float_equal(to[i], from[i], 0);
      assert_float_equal(to[6 + i], linear ? (from[i] + from[6 + i]) / 2 : from[i], 1e-6);
      assert_float_equal(to[18 + i], from[6 + i], 0);
    }
    test_drop(&larger);
  }
  TEST_DROP(&x, &shaped, &whole, &padded, &image);
}

// Both train unless is_test says otherwise.
static void training_is_refused(void **state) {
  test_device *test = *state;
  test_tensor x = test_random(1, 0, TEST_DIMS(2, 3)), c = test_random(2, 0, TEST_DIMS(3));
  const test_tensor *inputs[5] = {&x, &c, &c, &c, &c};
  for (int i = 0; i < 4; ++i) {
    test_node node;
    test_attempt attempt;
    test_node_init(&node, i < 2 ? "Dropout" : "BatchNormalization", 6);
    if (i % 2) test_add_int(&node, "is_test", 1);
    const int32_t status = test_try(test, &node, inputs, i < 2 ? 1 : 5, &attempt);
    assert_int_equal(status, i % 2 ? OPS_OK : OPS_ERROR_UNSUPPORTED);
    if (status == OPS_OK) test_finish(&attempt.run);
  }
  TEST_DROP(&x, &c);
}

static void gemm_needs_leave_to_broadcast(void **state) {
  test_device *test = *state;
  test_tensor a = test_random(1, 1, TEST_DIMS(2, 3)), b = test_random(2, 1, TEST_DIMS(3, 4));
  test_tensor c = test_random(3, 1, TEST_DIMS(4));
  const test_tensor *inputs[3] = {&a, &b, &c};
  for (int broadcast = 0; broadcast < 2; ++broadcast) {
    test_node node;
    test_attempt attempt;
    test_node_init(&node, "Gemm", 6);
    test_add_int(&node, "broadcast", broadcast);
    const int32_t status = test_try(test, &node, inputs, 3, &attempt);
    assert_int_equal(status, broadcast ? OPS_OK : OPS_ERROR_INVALID_ARGUMENT);
    if (status == OPS_OK) test_finish(&attempt.run);
  }
  TEST_DROP(&a, &b, &c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(second_input_lies_where_axis_says),
      TEST_ON_DEVICE(shapes_that_do_not_fit_are_refused),
      TEST_ON_DEVICE(attributes_that_became_inputs),
      TEST_ON_DEVICE(training_is_refused),
      TEST_ON_DEVICE(gemm_needs_leave_to_broadcast),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

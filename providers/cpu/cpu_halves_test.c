// SPDX-License-Identifier: Apache-2.0
//
// Operators of float16 and bfloat16 that run by way of float: what contracts do not see. Bits
// of conversions are those of the scalar code in ops_support/half.h; results follow from sums
// in double of the numbers that the 16 bits stand for.
#include <math.h>
#include <ops_support/half.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

static const int32_t kTypes[] = {OPS_TYPE_FLOAT16, OPS_TYPE_BFLOAT16};

static float widen(int32_t type, uint16_t bits) {
  return type == OPS_TYPE_FLOAT16 ? ops_half_to_float(bits) : ops_bfloat16_to_float(bits);
}

static uint16_t narrow(int32_t type, float value) {
  return type == OPS_TYPE_FLOAT16 ? ops_half_from_float(value) : ops_bfloat16_from_float(value);
}

static test_tensor random_halves(int32_t type, uint32_t seed, int32_t rank,
                                 const int64_t *dims) {
  test_tensor from = test_random(seed, 0, rank, dims), to = test_zeros(type, rank, dims);
  for (int64_t i = 0; i < to.count; ++i)
    ((uint16_t *)to.data)[i] = narrow(type, test_floats(&from)[i]);
  test_drop(&from);
  return to;
}

static float half_at(const test_tensor *tensor, int64_t index) {
  return widen(tensor->type, ((const uint16_t *)tensor->data)[index]);
}

// All codes of 16 bits, and floats of every sign, exponent and leading fraction bits, among
// them ties and their neighbours.
static void conversions_have_the_bits_of_scalar_code(void **state) {
  for (int t = 0; t < 2; ++t) {
    test_node node;
    test_tensor codes = test_zeros(kTypes[t], TEST_DIMS(65536 + 3));
    test_tensor floats = test_zeros(OPS_TYPE_FLOAT, TEST_DIMS(4 * 65536 + 1));
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000};
    for (int64_t i = 0; i < codes.count; ++i) ((uint16_t *)codes.data)[i] = (uint16_t)i;
    for (int64_t i = 0; i < floats.count; ++i)
      test_floats(&floats)[i] = ops_bits_to_float((uint32_t)(i / 4) << 16 | low[i % 4]);
    const test_tensor *wide_inputs[1] = {&codes}, *narrow_inputs[1] = {&floats};
    test_node_init(&node, "Cast", 13);
    test_add_int(&node, "to", OPS_TYPE_FLOAT);
    test_tensor wide = test_compute(*state, &node, wide_inputs, 1, OPS_TYPE_FLOAT);
    for (int64_t i = 0; i < codes.count; ++i)
      assert_int_equal(ops_float_to_bits(test_floats(&wide)[i]),
                       ops_float_to_bits(widen(kTypes[t], (uint16_t)i)));
    test_node_init(&node, "Cast", 13);
    test_add_int(&node, "to", kTypes[t]);
    test_tensor thin = test_compute(*state, &node, narrow_inputs, 1, kTypes[t]);
    for (int64_t i = 0; i < floats.count; ++i)
      assert_int_equal(((uint16_t *)thin.data)[i], narrow(kTypes[t], test_floats(&floats)[i]));
    TEST_DROP(&codes, &floats, &wide, &thin);
  }
}

// Long sums, which would end at 2048 if they were kept in float16; constant weights and others.
static void sums_accumulate_in_float(void **state) {
  for (int t = 0; t < 2; ++t)
    for (int constant = 0; constant < 2; ++constant) {
      const int64_t m = 3, k = 5000, n = 7;
      test_node node;
      test_node_init(&node, "MatMul", 13);
      test_tensor a = random_halves(kTypes[t], 1, TEST_DIMS(m, k));
      test_tensor b = random_halves(kTypes[t], 2, TEST_DIMS(k, n));
      for (int64_t i = 0; i < a.count; ++i) ((uint16_t *)a.data)[i] &= 0x7fff;
      for (int64_t i = 0; i < b.count; ++i) ((uint16_t *)b.data)[i] &= 0x7fff;
      b.constant = constant;
      const test_tensor *inputs[2] = {&a, &b};
      test_tensor y = test_compute(*state, &node, inputs, 2, kTypes[t]);
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = 0;
        for (int64_t c = 0; c < k; ++c)
          sum += (double)half_at(&a, i / n * k + c) * (double)half_at(&b, c * n + i % n);
        const double unit = kTypes[t] == OPS_TYPE_FLOAT16 ? 0x1p-11 : 0x1p-8;
        if (!(fabs((double)half_at(&y, i) - sum) <= 1.01 * unit * sum))
          fail_msg("type %d, element %lld: expected %g, found %g", kTypes[t], (long long)i, sum,
                   (double)half_at(&y, i));
      }
      TEST_DROP(&a, &b, &y);
    }
}

// A sum of three is rounded once: 2048 + 0.75 + 0.75 is 2049.5, between the halves 2048 and
// 2050.
static void several_inputs_are_rounded_once(void **state) {
  test_node node;
  test_tensor a = test_zeros(OPS_TYPE_FLOAT16, TEST_DIMS(1)),
              b = test_zeros(OPS_TYPE_FLOAT16, TEST_DIMS(1));
  *(uint16_t *)a.data = ops_half_from_float(2048);
  *(uint16_t *)b.data = ops_half_from_float(0.75f);
  const test_tensor *inputs[3] = {&a, &b, &b};
  test_node_init(&node, "Sum", 13);
  test_tensor y = test_compute(*state, &node, inputs, 3, OPS_TYPE_FLOAT16);
  assert_true(half_at(&y, 0) == 2050);
  TEST_DROP(&a, &b, &y);
}

// Outputs that are no numbers of 16 bits keep their type; absent inputs stay absent.
static void other_types_pass(void **state) {
  static const int32_t types[] = {OPS_TYPE_BFLOAT16, OPS_TYPE_FLOAT};
  test_node node;
  test_run run;
  test_tensor x = random_halves(OPS_TYPE_BFLOAT16, 4, TEST_DIMS(3, 5));
  test_tensor scale = random_halves(OPS_TYPE_BFLOAT16, 5, TEST_DIMS(5));
  test_node_init(&node, "LayerNormalization", 17);
  test_start(*state, &node, (const test_tensor *[]){&x, &scale, NULL}, 3, types, 2, &run);
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < 5; ++c) sum += (double)half_at(&x, i * 5 + c);
    assert_true(fabs(sum / 5 - (double)test_floats(&run.outputs[1])[i]) < 1e-6);
  }
  test_finish(&run);
  const int32_t index = OPS_TYPE_INT64;
  test_node_init(&node, "ArgMax", 13);
  test_add_int(&node, "axis", 1);
  test_add_int(&node, "keepdims", 0);
  test_tensor best = test_compute(*state, &node, (const test_tensor *[]){&x}, 1, index);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t c = 0; c < 5; ++c)
      assert_true(half_at(&x, i * 5 + c) <=
                  half_at(&x, i * 5 + ((const int64_t *)best.data)[i]));
  TEST_DROP(&x, &scale, &best);
}

static void errors_are_those_of_float(void **state) {
  test_node node;
  test_run run;
  ops_claim claim;
  ops_error error = OPS_ERROR_INIT;
  test_tensor a = random_halves(OPS_TYPE_FLOAT16, 1, TEST_DIMS(2, 3)),
              b = random_halves(OPS_TYPE_FLOAT16, 1, TEST_DIMS(4, 3));
  const test_tensor *inputs[2] = {&a, &b};
  test_node_init(&node, "MatMul", 13);
  assert_int_equal(test_prepare(*state, &node, inputs, 2, &kTypes[0], 1, &run, &claim, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "K is 3 and 4"));
  test_node_init(&node, "RNN", 14);
  test_add_string(&node, "direction", "sideways");
  const test_tensor *three[3] = {&a, &b, &b};
  assert_int_equal(test_prepare(*state, &node, three, 3, &kTypes[0], 1, &run, &claim, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(claim.text, "sideways"));
  TEST_DROP(&a, &b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(conversions_have_the_bits_of_scalar_code),
      TEST_ON_DEVICE(sums_accumulate_in_float),
      TEST_ON_DEVICE(several_inputs_are_rounded_once),
      TEST_ON_DEVICE(other_types_pass),
      TEST_ON_DEVICE(errors_are_those_of_float),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

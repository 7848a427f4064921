// SPDX-License-Identifier: Apache-2.0
//
// Expected verdicts are those of numpy.testing.assert_allclose(got, expected, rtol, atol) of
// numpy 2.4 with ml_dtypes 0.6, asked for each row of the tables; the allowance for bfloat16
// and the treatment of strings are those of onnx.backend.test.runner in onnx 1.23.
#include "onnx_tests/allclose.h"

// cmocka needs these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "onnx_tests/drawn.h"

static const oc_closeness kUsual = {1e-3, 1e-7};

static opsrt_value tensor(int32_t type, int32_t rank, const int64_t *dims, const void *data,
                          uint64_t size) {
  return (opsrt_value){.kind = OPS_VALUE_TENSOR,
                       .type = type,
                       .rank = rank,
                       .dims = dims,
                       .data = data,
                       .size = size};
}

static bool close_one(int32_t type, const void *expected, const void *got, uint64_t size,
                      oc_closeness closeness) {
  static const int64_t one[] = {1};
  const opsrt_value a = tensor(type, 1, one, expected, size);
  const opsrt_value b = tensor(type, 1, one, got, size);
  oc_difference difference = {.element = -1};
  const bool close = oc_allclose(&a, &b, closeness, &difference);
  assert_int_equal(close, difference.message[0] == 0);
  return close;
}

// ---- Tables ---------------------------------------------------------------------------------

typedef struct double_row {
  double expected, got, rtol, atol;
  bool close;
} double_row;

static void doubles_as_in_numpy(void **state) {
  (void)state;
  const double inf = (double)INFINITY, nan = (double)NAN;
  const double_row rows[] = {
      {1, 1.0009, 1e-3, 1e-7, true},
      {1, 1.0011, 1e-3, 1e-7, false},
      {-1, -1.0009, 1e-3, 1e-7, true},
      {1, -1, 1e-3, 1e-7, false},
      {0, 9e-8, 1e-3, 1e-7, true},
      {0, 1.1e-7, 1e-3, 1e-7, false},
      {1.9073e-7, 0, 1e-3, 1e-7, false},
      {1.9073e-7, 0, 1e-3, 1e-6, true},
      {1000, 1001, 1e-3, 1e-7, true},
      {1000, 1001.01, 1e-3, 1e-7, false},
      {1001, 1000, 1e-3, 0, true},
      {1000, 1001.0005, 1e-3, 0, false},
      {nan, nan, 1e-3, 1e-7, true},
      {nan, 1, 1e-3, 1e-7, false},
      {1, nan, 1e-3, 1e-7, false},
      {inf, inf, 1e-3, 1e-7, true},
      {-inf, inf, 1e-3, 1e-7, false},
      {inf, 1e308, 1e-3, 1e-7, false},
      {1e308, inf, 1e-3, 1e-7, false},
      {0.0, -0.0, 0, 0, true},
      {1, 1, 0, 0, true},
      {1, nextafter(1, 2), 0, 0, false},
      {1e-300, 2e-300, 1e-3, 1e-7, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const oc_closeness closeness = {rows[i].rtol, rows[i].atol};
    if (close_one(OPS_TYPE_DOUBLE, &rows[i].expected, &rows[i].got, 8, closeness) !=
        rows[i].close) {
      fail_msg("row %zu: expected %g, got %g: not %d", i, rows[i].expected, rows[i].got,
               rows[i].close);
    }
  }
}

typedef struct code_row {
  int32_t type;
  uint16_t expected, got;
  bool close;
} code_row;

// Codes of narrow types, little-endian.
static void narrow_types_as_in_numpy(void **state) {
  (void)state;
  static const code_row rows[] = {
      {OPS_TYPE_FLOAT16, 0x3c00, 0x3c01, true},     // 1, 1.000977
      {OPS_TYPE_FLOAT16, 0x3c00, 0x3c02, false},    // 1, 1.001953
      {OPS_TYPE_FLOAT16, 0x0000, 0x0001, true},     // 0, 6e-8
      {OPS_TYPE_FLOAT16, 0x7c00, 0xfc00, false},    // inf, -inf
      {OPS_TYPE_FLOAT16, 0x7e00, 0x7e01, true},     // two NaN
      {OPS_TYPE_BFLOAT16, 0x3f80, 0x3f82, true},    // 1, 1.015625: two units
      {OPS_TYPE_BFLOAT16, 0x3f80, 0x3f83, false},   // 1, 1.0234375: three
      {OPS_TYPE_FLOAT8E4M3FN, 0x38, 0x38, true},    // 1, 1
      {OPS_TYPE_FLOAT8E4M3FN, 0x38, 0x39, false},   // 1, 1.125
      {OPS_TYPE_FLOAT8E5M2, 0x7c, 0xfc, false},     // inf, -inf
      {OPS_TYPE_FLOAT8E4M3FNUZ, 0x80, 0x80, true},  // NaN, NaN
      {OPS_TYPE_UINT8, 200, 201, false},            // one step
      {OPS_TYPE_INT16, 2000, 2002, true},           // 2 <= 2.0000001
      {OPS_TYPE_INT16, 2000, 2003, false},          //
      {OPS_TYPE_UINT16, 0, 65535, false},           // no wrap
      {OPS_TYPE_INT8, 0x80, 0x7f, false},           // -128, 127
      {OPS_TYPE_BOOL, 1, 0, false},                 //
      {OPS_TYPE_BOOL, 1, 1, true},                  //
      {OPS_TYPE_INT4, 0x07, 0x08, false},           // 7, -8
      {OPS_TYPE_FLOAT4E2M1, 0x02, 0x03, false},     // 1, 1.5
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (close_one(rows[i].type, &rows[i].expected, &rows[i].got, 2, kUsual) != rows[i].close) {
      fail_msg("row %zu: type %d, %#x and %#x: not %d", i, rows[i].type, rows[i].expected,
               rows[i].got, rows[i].close);
    }
  }
}

static void complex_numbers_by_distance(void **state) {
  (void)state;
  const double expected[] = {3, 4}, near[] = {3.003, 4.003}, far[] = {3.004, 4.004};
  const float one[] = {1, 0}, turned[] = {0, 1}, unknown[] = {NAN, 0};
  assert_true(close_one(OPS_TYPE_COMPLEX128, expected, near, 16, kUsual));  // 0.00424 <= 0.005
  assert_false(close_one(OPS_TYPE_COMPLEX128, expected, far, 16, kUsual));  // 0.00566
  assert_false(close_one(OPS_TYPE_COMPLEX64, one, turned, 8, kUsual));
  assert_true(close_one(OPS_TYPE_COMPLEX64, unknown, unknown, 8, kUsual));
}

// ---- What is compared before numbers --------------------------------------------------------

static void form_comes_first(void **state) {
  (void)state;
  static const int64_t row[] = {1, 4}, flat[] = {4}, other[] = {4, 1};
  static const float data[4] = {0};
  const opsrt_value a = tensor(OPS_TYPE_FLOAT, 2, row, data, 16);
  const opsrt_value values[] = {tensor(OPS_TYPE_FLOAT, 1, flat, data, 16),
                                tensor(OPS_TYPE_FLOAT, 2, other, data, 16),
                                tensor(OPS_TYPE_INT32, 2, row, data, 16),
                                tensor(OPS_TYPE_FLOAT, 2, row, data, 12),
                                {.kind = OPS_VALUE_SEQUENCE}};
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    oc_difference difference = {.element = -1};
    assert_false(oc_allclose(&a, &values[i], kUsual, &difference));
    assert_true(difference.message[0] != 0);
  }
  oc_difference difference = {.element = -1};
  assert_false(oc_allclose(&a, &values[2], kUsual, &difference));
  assert_string_equal(difference.message, "expected float[1,4], found int32[1,4]");
}

static void empty_and_scalar(void **state) {
  (void)state;
  static const int64_t none[] = {0, 3};
  static const float five = 5, six = 6;
  const opsrt_value empty = tensor(OPS_TYPE_FLOAT, 2, none, NULL, 0);
  const opsrt_value a = tensor(OPS_TYPE_FLOAT, 0, NULL, &five, 4);
  const opsrt_value b = tensor(OPS_TYPE_FLOAT, 0, NULL, &six, 4);
  oc_difference difference = {.element = -1};
  assert_true(oc_allclose(&empty, &empty, kUsual, &difference));
  assert_true(oc_allclose(&a, &a, kUsual, &difference));
  assert_false(oc_allclose(&a, &b, kUsual, &difference));
  assert_string_equal(difference.expected, "5");
  assert_string_equal(difference.got, "6");
}

static void worst_element_is_named(void **state) {
  (void)state;
  static const int64_t dims[] = {4};
  static const float expected[] = {1, 2, 4, 8}, got[] = {1, 2.01f, 5, 8};
  const opsrt_value a = tensor(OPS_TYPE_FLOAT, 1, dims, expected, 16);
  const opsrt_value b = tensor(OPS_TYPE_FLOAT, 1, dims, got, 16);
  oc_difference difference = {.element = -1};
  assert_false(oc_allclose(&a, &b, kUsual, &difference));
  assert_int_equal(difference.element, 2);
  assert_int_equal(difference.wrong, 2);
  assert_int_equal(difference.count, 4);
  assert_float_equal(difference.error, 1 / (1e-7 + 4e-3), 1e-9);
}

static void strings_are_equal_or_not(void **state) {
  (void)state;
  static const int64_t dims[] = {2};
  static const ops_str expected[] = {{"ab", 2}, {"", 0}}, got[] = {{"ab", 2}, {"\0", 1}};
  const opsrt_value a = {.kind = OPS_VALUE_STRINGS,
                         .type = OPS_TYPE_STRING,
                         .rank = 1,
                         .dims = dims,
                         .strings = expected};
  opsrt_value b = a;
  oc_difference difference = {.element = -1};
  assert_true(oc_allclose(&a, &b, kUsual, &difference));
  b.strings = got;
  assert_false(oc_allclose(&a, &b, kUsual, &difference));
  assert_int_equal(difference.element, 1);
}

// ---- Values in values -----------------------------------------------------------------------

static ops_value *make(int32_t kind) {
  ops_value *value = NULL;
  assert_int_equal(opsrt_value_api()->create(kind, &value, NULL), OPS_OK);
  return value;
}

static ops_arg scalar(float *data) {
  return (ops_arg){.kind = OPS_ARG_TENSOR,
                   .tensor = {.memory = data, .byte_size = 4, .type = OPS_TYPE_FLOAT}};
}

static ops_value *sequence_of(float *data, uint64_t count) {
  ops_value *sequence = make(OPS_VALUE_SEQUENCE);
  for (uint64_t i = 0; i < count; ++i) {
    const ops_arg item = scalar(&data[i]);
    assert_int_equal(opsrt_value_api()->sequence_insert(sequence, i, &item, NULL), OPS_OK);
  }
  return sequence;
}

static bool close_objects(ops_value *a, ops_value *b, int32_t kind, char *message) {
  const opsrt_value expected = {.kind = kind, .value = a}, got = {.kind = kind, .value = b};
  oc_difference difference = {.element = -1};
  const bool close = oc_allclose(&expected, &got, kUsual, &difference);
  strcpy(message, difference.message);
  return close;
}

static void sequences_item_by_item(void **state) {
  (void)state;
  char message[240];
  float one[] = {1, 2, 3}, near[] = {1, 2.001f, 3}, far[] = {1, 2.1f, 3};
  ops_value *a = sequence_of(one, 3), *b = sequence_of(near, 3), *c = sequence_of(far, 3);
  ops_value *d = sequence_of(one, 2);
  assert_true(close_objects(a, b, OPS_VALUE_SEQUENCE, message));
  assert_false(close_objects(a, c, OPS_VALUE_SEQUENCE, message));
  assert_ptr_equal(strstr(message, "item 1: "), message);
  assert_false(close_objects(a, d, OPS_VALUE_SEQUENCE, message));
  assert_string_equal(message, "expected 3 items, found 2");
  ops_value *const all[] = {a, b, c, d};
  for (size_t i = 0; i < 4; ++i) opsrt_value_api()->release(all[i]);
}

static void optionals_with_and_without(void **state) {
  (void)state;
  char message[240];
  float one = 1, two = 2;
  ops_value *empty = make(OPS_VALUE_OPTIONAL), *a = make(OPS_VALUE_OPTIONAL);
  ops_value *b = make(OPS_VALUE_OPTIONAL);
  const ops_arg first = scalar(&one), second = scalar(&two);
  assert_int_equal(opsrt_value_api()->optional_set(a, &first, NULL), OPS_OK);
  assert_int_equal(opsrt_value_api()->optional_set(b, &second, NULL), OPS_OK);
  assert_true(close_objects(empty, empty, OPS_VALUE_OPTIONAL, message));
  assert_true(close_objects(a, a, OPS_VALUE_OPTIONAL, message));
  assert_false(close_objects(a, empty, OPS_VALUE_OPTIONAL, message));
  assert_false(close_objects(empty, a, OPS_VALUE_OPTIONAL, message));
  assert_string_equal(message, "expected nothing, found float[]");
  assert_false(close_objects(a, b, OPS_VALUE_OPTIONAL, message));
  opsrt_value_api()->release(empty);
  opsrt_value_api()->release(a);
  opsrt_value_api()->release(b);
}

// ---- Random cases ---------------------------------------------------------------------------

static void drawn_cases_are_named(void **state) {
  (void)state;
  assert_non_null(oc_drawn_find("onnx/node/test_bernoulli_seed_expanded"));
  assert_non_null(oc_drawn_find("onnx/node/test_training_dropout"));
  assert_non_null(oc_drawn_find("onnx/node/test_training_dropout_default_mask"));
  assert_null(oc_drawn_find("onnx/node/test_training_dropout_zero_ratio"));
  assert_null(oc_drawn_find("onnx/node/test_training_dropout_zero_ratio_mask"));
  assert_null(oc_drawn_find("onnx/node/test_dropout_random_old"));
  assert_null(oc_drawn_find("onnx/node/test_relu"));
}

#define DRAWS 100

typedef struct draw {
  float x[DRAWS], expected[DRAWS], y[DRAWS];
} draw;

static bool plausible(const char *id, const draw *draw, float *ratio) {
  static const int64_t dims[] = {DRAWS};
  const opsrt_value inputs[] = {tensor(OPS_TYPE_FLOAT, 1, dims, draw->x, sizeof draw->x),
                                tensor(OPS_TYPE_FLOAT, 0, NULL, ratio, 4)};
  const opsrt_value expected =
      tensor(OPS_TYPE_FLOAT, 1, dims, draw->expected, sizeof draw->expected);
  const opsrt_value output = tensor(OPS_TYPE_FLOAT, 1, dims, draw->y, sizeof draw->y);
  const oc_drawn_values values = {.inputs = inputs,
                                  .input_count = ratio ? 2 : 1,
                                  .expected = &expected,
                                  .outputs = &output,
                                  .output_count = 1};
  oc_difference difference = {.element = -1};
  return oc_drawn_check(oc_drawn_find(id), &values, &difference);
}

// With p = 1/2 and 100 draws a deviation is 5, so 4.5 of them are 22.5.
static void bernoulli_by_distribution(void **state) {
  (void)state;
  draw draw = {{0}, {0}, {0}};
  static const struct {
    int ones;
    bool plausible;
  } rows[] = {{50, true}, {72, true}, {73, false}, {28, true}, {27, false}, {0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (int k = 0; k < DRAWS; ++k) {
      draw.x[k] = 0.5f;
      draw.y[k] = k < rows[i].ones;
    }
    assert_int_equal(plausible("onnx/node/test_bernoulli", &draw, NULL), rows[i].plausible);
  }
  for (int k = 0; k < DRAWS; ++k) draw.y[k] = 0.5f;
  assert_false(plausible("onnx/node/test_bernoulli", &draw, NULL));
  for (int k = 0; k < DRAWS; ++k) draw.y[k] = k % 2;
  draw.x[1] = 0;  // a 1 that cannot be
  assert_false(plausible("onnx/node/test_bernoulli", &draw, NULL));
}

// Kept with probability 1/4: a deviation is 4.33, 4.5 of them are 19.5.
static void dropout_by_distribution(void **state) {
  (void)state;
  draw draw = {{0}, {0}, {0}};
  float ratio = 0.75f;
  static const struct {
    int kept;
    float scale;
    bool plausible;
  } rows[] = {{25, 4, true}, {44, 4, true},  {45, 4, false},
              {5, 4, false}, {25, 1, false}, {100, 4, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (int k = 0; k < DRAWS; ++k) {
      draw.x[k] = (float)k - 50.5f;
      draw.y[k] = k < rows[i].kept ? rows[i].scale * draw.x[k] : 0;
    }
    assert_int_equal(plausible("onnx/node/test_training_dropout", &draw, &ratio),
                     rows[i].plausible);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doubles_as_in_numpy),
      cmocka_unit_test(narrow_types_as_in_numpy),
      cmocka_unit_test(complex_numbers_by_distance),
      cmocka_unit_test(form_comes_first),
      cmocka_unit_test(empty_and_scalar),
      cmocka_unit_test(worst_element_is_named),
      cmocka_unit_test(strings_are_equal_or_not),
      cmocka_unit_test(sequences_item_by_item),
      cmocka_unit_test(optionals_with_and_without),
      cmocka_unit_test(drawn_cases_are_named),
      cmocka_unit_test(bernoulli_by_distribution),
      cmocka_unit_test(dropout_by_distribution),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

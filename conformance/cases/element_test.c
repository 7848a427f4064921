// SPDX-License-Identifier: Apache-2.0
//
// Elements against published encodings: IEEE 754 binary16, the tables of "FP8 Formats for Deep
// Learning" (Micikevicius et al. 2022) and of ONNX's float8 page, OCP MX v1.0 for float4 and
// float8e8m0.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "cases/element.h"

typedef struct encoding {
  int32_t type;
  double value;
  uint64_t bits;
  double back;  // what the bits mean
} encoding;

static const encoding kEncodings[] = {
    {OPS_TYPE_FLOAT16, 1.0, 0x3c00, 1.0},
    {OPS_TYPE_FLOAT16, -2.0, 0xc000, -2.0},
    {OPS_TYPE_FLOAT16, 65504.0, 0x7bff, 65504.0},
    {OPS_TYPE_FLOAT16, 65519.0, 0x7bff, 65504.0},
    {OPS_TYPE_FLOAT16, 65520.0, 0x7c00, INFINITY},
    {OPS_TYPE_FLOAT16, 0x1p-24, 0x0001, 0x1p-24},
    {OPS_TYPE_FLOAT16, 0x1p-25, 0x0000, 0.0},
    {OPS_TYPE_FLOAT16, 0x1.8p-24, 0x0002, 0x1p-23},
    {OPS_TYPE_FLOAT16, 1.0 + 0x1p-11, 0x3c00, 1.0},
    {OPS_TYPE_FLOAT16, 1.0 + 0x1.8p-10, 0x3c02, 1.0 + 0x1p-9},
    {OPS_TYPE_FLOAT16, 0x1.ffcp-15, 0x03ff + 1, 0x1p-14},
    {OPS_TYPE_BFLOAT16, 1.0, 0x3f80, 1.0},
    {OPS_TYPE_BFLOAT16, 1.0 + 0x1p-8, 0x3f80, 1.0},
    {OPS_TYPE_BFLOAT16, 3.3895313892515355e38, 0x7f7f, 3.3895313892515355e38},
    {OPS_TYPE_FLOAT8E4M3FN, 448.0, 0x7e, 448.0},
    {OPS_TYPE_FLOAT8E4M3FN, 1.0, 0x38, 1.0},
    {OPS_TYPE_FLOAT8E4M3FN, 0x1p-9, 0x01, 0x1p-9},
    {OPS_TYPE_FLOAT8E5M2, 57344.0, 0x7b, 57344.0},
    {OPS_TYPE_FLOAT8E5M2, 1e6, 0x7c, INFINITY},
    {OPS_TYPE_FLOAT8E4M3FNUZ, 240.0, 0x7f, 240.0},
    {OPS_TYPE_FLOAT8E4M3FNUZ, 1.0, 0x40, 1.0},
    {OPS_TYPE_FLOAT8E4M3FNUZ, -0.0, 0x00, 0.0},
    {OPS_TYPE_FLOAT8E5M2FNUZ, 57344.0, 0x7f, 57344.0},
    {OPS_TYPE_FLOAT4E2M1, 6.0, 0x7, 6.0},
    {OPS_TYPE_FLOAT4E2M1, 0.5, 0x1, 0.5},
    {OPS_TYPE_FLOAT4E2M1, -1.5, 0xb, -1.5},
    {OPS_TYPE_FLOAT8E8M0, 1.0, 0x7f, 1.0},
    {OPS_TYPE_INT8, -128.0, 0x80, -128.0},
    {OPS_TYPE_INT8, 300.0, 0x7f, 127.0},
    {OPS_TYPE_UINT8, -1.0, 0x00, 0.0},
    {OPS_TYPE_INT4, -8.0, 0x8, -8.0},
    {OPS_TYPE_INT4, 7.0, 0x7, 7.0},
    {OPS_TYPE_UINT2, 3.0, 0x3, 3.0},
    {OPS_TYPE_INT64, -1.0, UINT64_MAX, -1.0},
    {OPS_TYPE_FLOAT, 0.1, 0x3dcccccd, 0.100000001490116119384765625},
    {OPS_TYPE_DOUBLE, 0.1, UINT64_C(0x3fb999999999999a), 0.1},
};

static void test_encodings(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof kEncodings / sizeof *kEncodings; ++i) {
    const encoding *row = &kEncodings[i];
    unsigned char data[64] = {0};
    oc_element_store(row->type, data, 3, row->value);
    assert_true(oc_element_load_bits(row->type, data, 3) == row->bits);
    assert_true(oc_element_load(row->type, data, 3) == row->back);
  }
}

static void test_not_numbers(void **unused) {
  (void)unused;
  static const int32_t types[] = {OPS_TYPE_FLOAT,        OPS_TYPE_DOUBLE,
                                  OPS_TYPE_FLOAT16,      OPS_TYPE_BFLOAT16,
                                  OPS_TYPE_FLOAT8E4M3FN, OPS_TYPE_FLOAT8E4M3FNUZ,
                                  OPS_TYPE_FLOAT8E5M2,   OPS_TYPE_FLOAT8E5M2FNUZ};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    unsigned char data[16] = {0};
    oc_element_store(types[i], data, 0, NAN);
    assert_true(isnan(oc_element_load(types[i], data, 0)));
  }
}

// Every 16-bit pattern that is a number comes back as it was.
static void test_round_trip(void **unused) {
  (void)unused;
  static const int32_t types[] = {OPS_TYPE_FLOAT16,      OPS_TYPE_BFLOAT16,
                                  OPS_TYPE_FLOAT8E4M3FN, OPS_TYPE_FLOAT8E4M3FNUZ,
                                  OPS_TYPE_FLOAT8E5M2,   OPS_TYPE_FLOAT8E5M2FNUZ,
                                  OPS_TYPE_FLOAT4E2M1,   OPS_TYPE_FLOAT8E8M0,
                                  OPS_TYPE_INT4,         OPS_TYPE_UINT16};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    const uint64_t patterns = (uint64_t)1 << oc_element_bits(types[i]);
    for (uint64_t bits = 0; bits < patterns; ++bits) {
      unsigned char data[8] = {0};
      oc_element_store_bits(types[i], data, 1, bits);
      const double value = oc_element_load(types[i], data, 1);
      if (isnan(value)) continue;
      oc_element_store(types[i], data, 2, value);
      assert_true(oc_element_load_bits(types[i], data, 2) == bits);
    }
  }
}

static void test_sizes(void **unused) {
  (void)unused;
  uint64_t bytes = 0;
  assert_true(oc_element_bytes(OPS_TYPE_INT4, 3, &bytes) && bytes == 2);
  assert_true(oc_element_bytes(OPS_TYPE_UINT2, 5, &bytes) && bytes == 2);
  assert_true(oc_element_bytes(OPS_TYPE_COMPLEX128, 2, &bytes) && bytes == 32);
  assert_false(oc_element_bytes(OPS_TYPE_STRING, 1, &bytes));
  assert_false(oc_element_bytes(OPS_TYPE_DOUBLE, INT64_MAX, &bytes));
  assert_int_equal(oc_element_type("bfloat16", 8), OPS_TYPE_BFLOAT16);
  assert_int_equal(oc_element_type("bfloat1", 7), OPS_TYPE_UNDEFINED);
  assert_true(oc_element_lowest(OPS_TYPE_INT64) == INT64_MIN);
  assert_true(oc_element_highest(OPS_TYPE_UINT64) == UINT64_MAX);
  assert_true(oc_element_lowest(OPS_TYPE_INT2) == -2);
}

static void test_absolute(void **unused) {
  (void)unused;
  float floats[3] = {-1.5f, 2.0f, -0.0f};
  int32_t ints[1] = {-4};
  oc_element_absolute(OPS_TYPE_FLOAT, floats, 3);
  oc_element_absolute(OPS_TYPE_INT32, ints, 1);
  assert_true(floats[0] == 1.5f && floats[1] == 2.0f && !signbit(floats[2]));
  assert_int_equal(ints[0], -4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_encodings),  cmocka_unit_test(test_not_numbers),
      cmocka_unit_test(test_round_trip), cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_absolute),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Element types: every code of every narrow type survives a round trip; rounding is to nearest,
// ties to even, by its definition (the midpoint of two neighbours, and the doubles on either
// side of it); integers wrap; int to float is the processor's own rounding. Spot values are
// those that the formats' standards print.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "minifloat.h"

static const struct {
  int32_t type;
  uint32_t codes;     // how many
  uint32_t max_code;  // of the largest finite value
  double max, least;  // largest finite and smallest positive value
} formats[] = {
    {OPS_TYPE_FLOAT16, 1u << 16, 0x7bff, 65504, 0x1p-24},
    {OPS_TYPE_BFLOAT16, 1u << 16, 0x7f7f, 0x1.fep127, 0x1p-133},
    {OPS_TYPE_FLOAT8E4M3FN, 256, 0x7e, 448, 0x1p-9},
    {OPS_TYPE_FLOAT8E4M3FNUZ, 256, 0x7f, 240, 0x1p-10},
    {OPS_TYPE_FLOAT8E5M2, 256, 0x7b, 57344, 0x1p-16},
    {OPS_TYPE_FLOAT8E5M2FNUZ, 256, 0x7f, 57344, 0x1p-17},
    {OPS_TYPE_FLOAT4E2M1, 16, 0x7, 6, 0.5},
    {OPS_TYPE_FLOAT6E2M3, 64, 0x1f, 7.5, 0.125},
    {OPS_TYPE_FLOAT6E3M2, 64, 0x1f, 28, 0.0625},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static void every_code_round_trips(void **state) {
  (void)state;
  for (int f = 0; f < FORMATS; ++f)
    for (uint32_t code = 0; code < formats[f].codes; ++code) {
      double value = ref_decode(formats[f].type, code);
      if (!isnan(value)) assert_int_equal(ref_encode(formats[f].type, value, 0), code);
    }
}

static void limits_are_those_of_the_standards(void **state) {
  (void)state;
  for (int f = 0; f < FORMATS; ++f) {
    assert_true(ref_decode(formats[f].type, formats[f].max_code) == formats[f].max);
    assert_true(ref_decode(formats[f].type, 1) == formats[f].least);
  }
}

static void ties_go_to_the_even_code(void **state) {
  (void)state;
  for (int f = 0; f < FORMATS; ++f)
    for (uint32_t code = 0; code < formats[f].max_code; ++code) {
      int32_t type = formats[f].type;
      double low = ref_decode(type, code), high = ref_decode(type, code + 1);
      double middle = (low + high) / 2;  // exact: both have few bits
      assert_int_equal(ref_encode(type, middle, 0), code % 2 == 0 ? code : code + 1);
      assert_int_equal(ref_encode(type, nextafter(middle, 0), 0), code);
      assert_int_equal(ref_encode(type, nextafter(middle, INFINITY), 0), code + 1);
    }
}

static void overflow_saturates_or_not(void **state) {
  (void)state;
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT16, 65519.99, 0), 0x7bff);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT16, 65520, 0), 0x7c00);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT16, -1e300, 0), 0xfc00);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT16, 0x1p-25, 0), 0);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT8E4M3FN, 1e6, 1), 0x7e);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT8E4M3FN, 1e6, 0), 0x7f);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT8E5M2, INFINITY, 0), 0x7c);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT8E5M2, INFINITY, 1), 0x7b);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT8E4M3FNUZ, -INFINITY, 0), 0x80);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT8E4M3FNUZ, -0.0, 0), 0);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT4E2M1, 100, 0), 0x7);
}

// float16 of a double is not float16 of its float: 1 + 2^-11 + 2^-40 lies above a tie.
static void narrowing_rounds_once(void **state) {
  (void)state;
  double value = 1 + 0x1p-11 + 0x1p-40;
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT16, value, 0), 0x3c01);
  assert_int_equal(ref_encode(OPS_TYPE_FLOAT16, (double)(float)value, 0), 0x3c00);
}

static void e8m0_rounds_as_told(void **state) {
  (void)state;
  assert_int_equal(ref_encode_e8m0(1, 1, REF_ROUND_UP), 127);
  assert_int_equal(ref_encode_e8m0(1.01, 1, REF_ROUND_UP), 128);
  assert_int_equal(ref_encode_e8m0(1.99, 1, REF_ROUND_DOWN), 127);
  assert_int_equal(ref_encode_e8m0(1.49, 1, REF_ROUND_NEAREST), 127);
  assert_int_equal(ref_encode_e8m0(1.51, 1, REF_ROUND_NEAREST), 128);
  assert_int_equal(ref_encode_e8m0(NAN, 1, REF_ROUND_UP), 0xff);
}

static void integers_become_floats_with_one_rounding(void **state) {
  (void)state;
  uint64_t bits = 0x9E3779B97F4A7C15u, x = 1;
  for (int i = 0; i < 100000; ++i) {
    x = x * 6364136223846793005u + bits;
    int64_t value = (int64_t)(x >> (i % 64));
    assert_true((float)ref_int_to_double_sticky(value, 0) == (float)value);
    assert_true((float)ref_int_to_double_sticky(value, 1) == (float)(uint64_t)value);
  }
  // 2^24 + 1 + 2^-29 parts: a double in between would land on the tie.
  int64_t trap = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
  assert_true((float)ref_int_to_double_sticky(trap, 0) == (float)trap);
}

static void integers_wrap(void **state) {
  (void)state;
  const ref_element *int8 = ref_element_of(OPS_TYPE_INT8);
  const ref_element *uint16 = ref_element_of(OPS_TYPE_UINT16);
  int64_t in[3] = {200, -129, 65537}, out[3];
  int8_t small[3];
  uint16_t wide[3];
  int8->store_int(small, 0, 1, 3, in);
  int8->load_int(small, 0, 1, 3, out);
  assert_int_equal(out[0], -56);
  assert_int_equal(out[1], 127);
  assert_int_equal(out[2], 1);
  uint16->store_int(wide, 0, 1, 3, in);
  uint16->load_int(wide, 0, 1, 3, out);
  assert_int_equal(out[1], 65407);
  assert_int_equal(out[2], 1);
}

// Element i occupies bits [i * bits, (i + 1) * bits) from the least significant one on.
static void narrow_integers_are_dense(void **state) {
  (void)state;
  const ref_element *int4 = ref_element_of(OPS_TYPE_INT4);
  const ref_element *uint2 = ref_element_of(OPS_TYPE_UINT2);
  uint8_t bytes[2] = {0, 0};
  int64_t values[3] = {-8, 7, -1}, out[3];
  int4->store_int(bytes, 0, 1, 3, values);
  assert_int_equal(bytes[0], 0x78);
  assert_int_equal(bytes[1], 0x0f);
  int4->load_int(bytes, 2, -1, 3, out);
  assert_int_equal(out[0], -1);
  assert_int_equal(out[2], -8);
  uint8_t quarter = 0x1b;
  uint2->load_int(&quarter, 0, 1, 3, out);
  assert_int_equal(out[0], 3);
  assert_int_equal(out[1], 2);
  assert_int_equal(out[2], 1);
}

// Six bits: four elements are three bytes. The bytes are those that onnx.numpy_helper packs.
static void floats_of_six_bits_are_dense(void **state) {
  (void)state;
  const ref_element *e2m3 = ref_element_of(OPS_TYPE_FLOAT6E2M3);
  const double values[5] = {1, -7.5, 3.25, -1.25, -0.125};
  const uint8_t expected[4] = {0xc8, 0x5f, 0xa9, 0x21};
  uint8_t bytes[4] = {0xff, 0xff, 0xff, 0};
  double out[5];
  e2m3->store(bytes, 0, 1, 5, values);
  assert_memory_equal(bytes, expected, sizeof bytes);
  e2m3->load(bytes, 0, 1, 5, out);
  assert_memory_equal(out, values, sizeof out);
  ref_move_bits(6, bytes, 1, 2, expected, 4, -2, 2);  // elements 4 and 2 to 1 and 3
  e2m3->load(bytes, 0, 1, 5, out);
  assert_true(out[0] == 1 && out[1] == -0.125 && out[2] == 3.25 && out[3] == 3.25);
}

static void every_type_has_a_row(void **state) {
  (void)state;
#define ROW(number, text, width)                           \
  assert_non_null(ref_element_of(number));                 \
  assert_string_equal(ref_element_of(number)->name, text); \
  assert_int_equal(ref_element_of(number)->bits, width);
  OPS_TYPE_LIST(ROW)
#undef ROW
  assert_null(ref_element_of(OPS_TYPE_UNDEFINED));
  assert_null(ref_element_of(OPS_TYPE_COUNT));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_code_round_trips),
      cmocka_unit_test(limits_are_those_of_the_standards),
      cmocka_unit_test(ties_go_to_the_even_code),
      cmocka_unit_test(overflow_saturates_or_not),
      cmocka_unit_test(narrowing_rounds_once),
      cmocka_unit_test(e8m0_rounds_as_told),
      cmocka_unit_test(integers_become_floats_with_one_rounding),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(narrow_integers_are_dense),
      cmocka_unit_test(floats_of_six_bits_are_dense),
      cmocka_unit_test(every_type_has_a_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

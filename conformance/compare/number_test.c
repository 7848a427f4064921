// SPDX-License-Identifier: Apache-2.0
//
// Numbers. The checksums were computed with numpy 2.4 and ml_dtypes 0.6: FNV-1a, 64 bits, over
// the little-endian bytes of (a) all codes decoded to float64, NaN as 0x7ff8000000000000, and
// of (b) and (c) two families of 65536 float32 values encoded, codes of NaN, and of what was
// NaN, as 0.
#include "compare/number.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t fnv(uint64_t hash, const void *data, size_t size) {
  const uint8_t *bytes = data;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}
#define FNV_START 0xcbf29ce484222325u

typedef struct sums_row {
  int32_t type;
  uint64_t decoded;
  uint64_t encoded_codes;
  uint64_t encoded_middle;
} sums_row;
static const sums_row sums[] = {
    {OPS_TYPE_FLOAT16, 0xfe87bb782adb2fc5u, 0x15539f1715beb29bu, 0x947951c8e15dc00du},
    {OPS_TYPE_BFLOAT16, 0x5e93c8468f9404d5u, 0xdaeba658beace481u, 0x5841dd9c32e85a8au},
    {OPS_TYPE_FLOAT8E4M3FN, 0x4d4ded90c4f5d9b5u, 0xfba73af9f53317d5u, 0xeee472124608c557u},
    {OPS_TYPE_FLOAT8E4M3FNUZ, 0x33a06c4d119992b0u, 0x85bb55fabcea1123u, 0x2da73afe4361ce4cu},
    {OPS_TYPE_FLOAT8E5M2, 0x61a099e723174195u, 0xe3d064309a1c425au, 0x40d57dcd7de2a67fu},
    {OPS_TYPE_FLOAT8E5M2FNUZ, 0x08d9906cc5ea2650u, 0xa41bea724d23a854u, 0xed36b72367bd3d0eu},
    {OPS_TYPE_FLOAT8E8M0, 0x04b7d9d85633d505u, 0, 0},
    {OPS_TYPE_FLOAT4E2M1, 0xb7a536e39150e235u, 0x88efb1662bd52d73u, 0xc93d8a2a79599772u},
    {OPS_TYPE_FLOAT6E2M3, 0xec0cc051702db885u, 0xd694ce841c2e00b7u, 0x3689ec44fcd9aab6u},
    {OPS_TYPE_FLOAT6E3M2, 0xa1716230c365c5f5u, 0x434ded81351b87dau, 0x1bdf978cc02d96f4u},
};

static void decodes_every_code(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); ++i) {
    const size_t count = (size_t)1 << oc_number_bits(sums[i].type);
    uint64_t hash = FNV_START;
    for (uint64_t code = 0; code < count; ++code) {
      const double value = oc_number_value(sums[i].type, code);
      uint64_t bits = 0x7ff8000000000000u;
      if (!isnan(value)) memcpy(&bits, &value, sizeof(bits));
      hash = fnv(hash, &bits, sizeof(bits));
    }
    if (hash != sums[i].decoded)
      fail_msg("type %d: %llx", sums[i].type, (unsigned long long)hash);
  }
}

// Family (b): codes spread over all of float32. Family (c): exponents from -18 to 18.
static float family_value(uint32_t i, bool middle) {
  const uint32_t code = i * 65537u + (uint32_t)((uint64_t)i * 40503u % 65536u);
  float value;
  memcpy(&value, &code, sizeof(value));
  if (!middle) return value;
  const double fraction = 1 + (code & 0x7fffff) / 8388608.0;
  value = (float)ldexp(fraction, (int)((code >> 23) % 37) - 18);
  return code >> 31 ? -value : value;
}

static uint64_t encode_family(int32_t type, bool middle) {
  const size_t bytes = oc_number_bits(type) == 16 ? 2 : 1;
  uint64_t hash = FNV_START;
  for (uint32_t i = 0; i < 65536; ++i) {
    const float value = family_value(i, middle);
    uint64_t code = oc_number_nearest(type, value);
    if (isnan(value) || isnan(oc_number_value(type, code))) code = 0;
    hash = fnv(hash, &code, bytes);
  }
  return hash;
}

static void encodes_to_nearest_even(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); ++i) {
    if (!sums[i].encoded_codes) continue;
    const uint64_t codes = encode_family(sums[i].type, false);
    const uint64_t middle = encode_family(sums[i].type, true);
    if (codes != sums[i].encoded_codes || middle != sums[i].encoded_middle) {
      fail_msg("type %d: %llx %llx", sums[i].type, (unsigned long long)codes,
               (unsigned long long)middle);
    }
  }
}

// The compiler's own conversions are the witness for float and double.
static void agrees_with_the_compiler(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 65536; ++i) {
    const float value = family_value(i, false);
    const double wide = (double)value * 1.00000006 + 1e-310;
    uint32_t code;
    uint64_t code64;
    memcpy(&code, &value, sizeof(code));
    if (isnan(value)) continue;
    assert_true(oc_number_value(OPS_TYPE_FLOAT, code) == (double)value);
    assert_int_equal(oc_number_nearest(OPS_TYPE_FLOAT, value), code);
    const float narrow = (float)wide;
    memcpy(&code, &narrow, sizeof(code));
    assert_int_equal(oc_number_nearest(OPS_TYPE_FLOAT, wide), code);
    memcpy(&code64, &wide, sizeof(code64));
    assert_int_equal(oc_number_nearest(OPS_TYPE_DOUBLE, wide), code64);
    assert_true(oc_number_value(OPS_TYPE_DOUBLE, code64) == wide);
  }
}

static void decoding_and_encoding_are_inverse(void **state) {
  static const int32_t types[] = {OPS_TYPE_FLOAT16,      OPS_TYPE_BFLOAT16,
                                  OPS_TYPE_FLOAT8E4M3FN, OPS_TYPE_FLOAT8E4M3FNUZ,
                                  OPS_TYPE_FLOAT8E5M2,   OPS_TYPE_FLOAT8E5M2FNUZ,
                                  OPS_TYPE_FLOAT4E2M1,   OPS_TYPE_FLOAT8E8M0,
                                  OPS_TYPE_FLOAT6E2M3,   OPS_TYPE_FLOAT6E3M2};
  (void)state;
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); ++t) {
    for (uint64_t code = 0; code < (uint64_t)1 << oc_number_bits(types[t]); ++code) {
      if (oc_number_class(types[t], code) == OC_NUMBER_NAN) continue;
      assert_int_equal(oc_number_nearest(types[t], oc_number_value(types[t], code)), code);
    }
  }
}

static void knows_limits(void **state) {
  (void)state;
  assert_true(oc_number_highest(OPS_TYPE_FLOAT) == (double)FLT_MAX);
  assert_true(oc_number_highest(OPS_TYPE_DOUBLE) == DBL_MAX);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT16) == 65504);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT8E4M3FN) == 448);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT8E4M3FNUZ) == 240);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT8E5M2) == 57344);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT4E2M1) == 6);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT6E2M3) == 7.5);
  assert_true(oc_number_highest(OPS_TYPE_FLOAT6E3M2) == 28);
  assert_true(oc_number_smallest_normal(OPS_TYPE_FLOAT) == (double)FLT_MIN);
  assert_true(oc_number_smallest_normal(OPS_TYPE_DOUBLE) == DBL_MIN);
  assert_true(oc_number_smallest_normal(OPS_TYPE_FLOAT16) == 6.103515625e-05);
}

static void classifies(void **state) {
  static const struct {
    int32_t type;
    uint64_t code;
    oc_class expected;
  } rows[] = {
      {OPS_TYPE_FLOAT, 0x00000000, OC_NUMBER_ZERO},
      {OPS_TYPE_FLOAT, 0x80000000, OC_NUMBER_ZERO},
      {OPS_TYPE_FLOAT, 0x00000001, OC_NUMBER_DENORMAL},
      {OPS_TYPE_FLOAT, 0x807fffff, OC_NUMBER_DENORMAL},
      {OPS_TYPE_FLOAT, 0x00800000, OC_NUMBER_NORMAL},
      {OPS_TYPE_FLOAT, 0x7f7fffff, OC_NUMBER_NORMAL},
      {OPS_TYPE_FLOAT, 0xff800000, OC_NUMBER_INFINITE},
      {OPS_TYPE_FLOAT, 0x7f800001, OC_NUMBER_NAN},
      {OPS_TYPE_FLOAT8E4M3FN, 0x7e, OC_NUMBER_NORMAL},
      {OPS_TYPE_FLOAT8E4M3FN, 0xff, OC_NUMBER_NAN},
      {OPS_TYPE_FLOAT8E5M2FNUZ, 0x80, OC_NUMBER_NAN},
      {OPS_TYPE_FLOAT8E5M2FNUZ, 0xff, OC_NUMBER_NORMAL},
      {OPS_TYPE_FLOAT8E8M0, 0x00, OC_NUMBER_NORMAL},
      {OPS_TYPE_FLOAT8E8M0, 0xff, OC_NUMBER_NAN},
      {OPS_TYPE_FLOAT4E2M1, 0x9, OC_NUMBER_DENORMAL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    assert_int_equal(oc_number_class(rows[i].type, rows[i].code), rows[i].expected);
  }
}

static uint64_t code_of(float value) {
  uint32_t code;
  memcpy(&code, &value, sizeof(code));
  return code;
}

// nextafterf is the witness: the codes it visits are neighbours.
static void orders_neighbours(void **state) {
  (void)state;
  float value = -3e-44f;
  for (int i = 0; i < 50; ++i) {
    const float next = nextafterf(value, INFINITY);
    assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(value), code_of(next), false), 1);
    value = next;
  }
  assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(0.0f), code_of(-0.0f), false), 0);
  assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(FLT_MAX), code_of(INFINITY), false),
                   1);
  assert_int_equal(
      oc_number_ulps(OPS_TYPE_FLOAT, code_of(1.0f), code_of(1 + FLT_EPSILON), false), 1);
  // From -infinity to infinity: every finite value but one zero, and one more.
  assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(-INFINITY), code_of(INFINITY), false),
                   2u * 0x7f800000u);
  assert_true(oc_number_ulps(OPS_TYPE_DOUBLE, 0xffefffffffffffffu, 0x7fefffffffffffffu,
                             false) == 0xffdffffffffffffeu);
  // With denormals merged, the smallest normal value is one step from zero.
  assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(0), code_of(FLT_MIN), true), 1);
  assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(1e-40f), code_of(-1e-42f), true), 0);
  assert_int_equal(oc_number_ulps(OPS_TYPE_FLOAT, code_of(1), code_of(2), true), 1 << 23);
}

static void handles_integers(void **state) {
  int64_t wide[2];
  uint8_t narrow[4] = {0};
  (void)state;
  oc_number_set(OPS_TYPE_INT64, wide, 0, 1e300);
  oc_number_set(OPS_TYPE_INT64, wide, 1, -1e300);
  assert_true(wide[0] == INT64_MAX && wide[1] == INT64_MIN);
  oc_number_set(OPS_TYPE_UINT8, narrow, 0, 255.6);
  oc_number_set(OPS_TYPE_UINT8, narrow, 1, -3);
  oc_number_set(OPS_TYPE_INT8, narrow, 2, -129);
  oc_number_set(OPS_TYPE_INT8, narrow, 3, 2.5);
  assert_int_equal(narrow[0], 255);
  assert_int_equal(narrow[1], 0);
  assert_int_equal(narrow[2], 0x80);
  assert_int_equal(narrow[3], 2);
  assert_true(oc_number_get(OPS_TYPE_INT8, narrow, 2) == -128);
  memset(narrow, 0, sizeof(narrow));
  oc_number_set(OPS_TYPE_INT4, narrow, 0, -8);
  oc_number_set(OPS_TYPE_INT4, narrow, 1, 7);
  oc_number_set(OPS_TYPE_INT4, narrow, 2, -1);
  // Element 0 in the low bits, as ONNX packs them: 0x78, 0x0f.
  assert_int_equal(narrow[0], 0x78);
  assert_int_equal(narrow[1], 0x0f);
  assert_true(oc_number_get(OPS_TYPE_INT4, narrow, 0) == -8);
  assert_true(oc_number_get(OPS_TYPE_UINT2, narrow, 3) == 1);  // 0x78: 00 10 11 01
  // Six bits span bytes: 010101 101010 000001 111111 from the top.
  const uint64_t codes[4] = {0x3f, 0x01, 0x2a, 0x15};
  memset(narrow, 0, sizeof(narrow));
  for (size_t i = 0; i < 4; ++i) oc_number_set_code(OPS_TYPE_FLOAT6E2M3, narrow, i, codes[i]);
  assert_int_equal(narrow[0], 0x7f);  // 01 111111
  assert_int_equal(narrow[1], 0xa0);  // 1010 0000
  assert_int_equal(narrow[2], 0x56);  // 010101 10
  for (size_t i = 0; i < 4; ++i) {
    assert_int_equal(oc_number_code(OPS_TYPE_FLOAT6E2M3, narrow, i), codes[i]);
  }
  assert_int_equal(oc_number_bytes(OPS_TYPE_FLOAT6E3M2, 3), 3);
  assert_int_equal(oc_number_bytes(OPS_TYPE_INT4, 3), 2);
  assert_int_equal(oc_number_bytes(OPS_TYPE_UINT2, 5), 2);
  assert_int_equal(oc_number_bytes(OPS_TYPE_DOUBLE, 3), 24);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decodes_every_code),
      cmocka_unit_test(encodes_to_nearest_even),
      cmocka_unit_test(agrees_with_the_compiler),
      cmocka_unit_test(decoding_and_encoding_are_inverse),
      cmocka_unit_test(knows_limits),
      cmocka_unit_test(classifies),
      cmocka_unit_test(orders_neighbours),
      cmocka_unit_test(handles_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

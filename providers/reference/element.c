// SPDX-License-Identifier: Apache-2.0
//
// The table of element types. One macro per way of storing: native numbers, narrow floats in
// whole bytes, fields of a byte.
#include "element.h"

#include <math.h>
#include <string.h>

#include "minifloat.h"

int64_t ref_truncate(double value) {
  if (isnan(value)) return 0;
  if (value >= 18446744073709551616.0) return -1;
  if (value >= 9223372036854775808.0) return (int64_t)(uint64_t)value;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
}

double ref_int_to_double_sticky(int64_t value, int is_unsigned) {
  int negative = !is_unsigned && value < 0;
  uint64_t magnitude = negative ? 0 - (uint64_t)value : (uint64_t)value;
  int shift = 0;
  while (magnitude >> shift >= (uint64_t)1 << 53) ++shift;
  uint64_t top = magnitude >> shift;
  if (top << shift != magnitude) top |= 1;
  double result = ldexp((double)top, shift);
  return negative ? -result : result;
}

// ---- Native numbers ------------------------------------------------------------------------

#define LOAD_ROW(name, c_type, out_type)                                                      \
  static void name(const void *base, int64_t first, int64_t step, int64_t n, out_type *out) { \
    const c_type *from = (const c_type *)base + first;                                        \
    for (int64_t i = 0; i < n; ++i) out[i] = (out_type)from[i * step];                        \
  }
#define STORE_ROW(name, c_type, in_type, convert)                                           \
  static void name(void *base, int64_t first, int64_t step, int64_t n, const in_type *in) { \
    c_type *to = (c_type *)base + first;                                                    \
    for (int64_t i = 0; i < n; ++i) to[i * step] = (c_type)convert(in[i]);                  \
  }
#define NATIVE_FLOAT(name, c_type)      \
  LOAD_ROW(load_##name, c_type, double) \
  STORE_ROW(store_##name, c_type, double, )
#define NATIVE_INT(name, c_type)                        \
  LOAD_ROW(load_##name, c_type, double)                 \
  STORE_ROW(store_##name, c_type, double, ref_truncate) \
  LOAD_ROW(load_int_##name, c_type, int64_t)            \
  STORE_ROW(store_int_##name, c_type, int64_t, (uint64_t))

NATIVE_FLOAT(float, float)
NATIVE_FLOAT(double, double)
NATIVE_INT(uint8, uint8_t)
NATIVE_INT(int8, int8_t)
NATIVE_INT(uint16, uint16_t)
NATIVE_INT(int16, int16_t)
NATIVE_INT(uint32, uint32_t)
NATIVE_INT(int32, int32_t)
NATIVE_INT(uint64, uint64_t)
NATIVE_INT(int64, int64_t)

#define IS_NOT_ZERO(value) ((value) != 0)
#define LOAD_BOOL(name, out_type)                                                             \
  static void name(const void *base, int64_t first, int64_t step, int64_t n, out_type *out) { \
    const uint8_t *from = (const uint8_t *)base + first;                                      \
    for (int64_t i = 0; i < n; ++i) out[i] = from[i * step] != 0;                             \
  }
LOAD_BOOL(load_bool, double)
LOAD_BOOL(load_int_bool, int64_t)
STORE_ROW(store_bool, uint8_t, double, IS_NOT_ZERO)
STORE_ROW(store_int_bool, uint8_t, int64_t, IS_NOT_ZERO)

// ---- Narrow floats in whole bytes ----------------------------------------------------------

#define NARROW_FLOAT(name, c_type, type, saturate)                                            \
  static void load_##name(const void *base, int64_t first, int64_t step, int64_t n,           \
                          double *out) {                                                      \
    const c_type *from = (const c_type *)base + first;                                        \
    for (int64_t i = 0; i < n; ++i) out[i] = ref_decode(type, from[i * step]);                \
  }                                                                                           \
  static void store_##name(void *base, int64_t first, int64_t step, int64_t n,                \
                           const double *in) {                                                \
    c_type *to = (c_type *)base + first;                                                      \
    for (int64_t i = 0; i < n; ++i) to[i * step] = (c_type)ref_encode(type, in[i], saturate); \
  }

NARROW_FLOAT(float16, uint16_t, OPS_TYPE_FLOAT16, 0)
NARROW_FLOAT(bfloat16, uint16_t, OPS_TYPE_BFLOAT16, 0)
NARROW_FLOAT(float8e4m3fn, uint8_t, OPS_TYPE_FLOAT8E4M3FN, 1)
NARROW_FLOAT(float8e4m3fnuz, uint8_t, OPS_TYPE_FLOAT8E4M3FNUZ, 1)
NARROW_FLOAT(float8e5m2, uint8_t, OPS_TYPE_FLOAT8E5M2, 1)
NARROW_FLOAT(float8e5m2fnuz, uint8_t, OPS_TYPE_FLOAT8E5M2FNUZ, 1)
NARROW_FLOAT(float8e8m0, uint8_t, OPS_TYPE_FLOAT8E8M0, 1)

// ---- Fields of a byte ----------------------------------------------------------------------

// A field of six bits may span two bytes; the second is touched only then.
static uint32_t get_field(const void *base, int64_t index, int32_t bits) {
  int64_t bit = index * bits;
  const uint8_t *byte = (const uint8_t *)base + (bit >> 3);
  uint32_t field = (uint32_t)byte[0] >> (bit & 7);
  if ((bit & 7) + bits > 8) field |= (uint32_t)byte[1] << (8 - (bit & 7));
  return field & ((1u << bits) - 1);
}

static void set_field(void *base, int64_t index, int32_t bits, uint32_t value) {
  int64_t bit = index * bits;
  uint8_t *byte = (uint8_t *)base + (bit >> 3);
  uint32_t ones = (1u << bits) - 1, mask = ones << (bit & 7), put = (value & ones) << (bit & 7);
  byte[0] = (uint8_t)((byte[0] & ~mask) | put);
  if (mask >> 8) byte[1] = (uint8_t)((byte[1] & ~(mask >> 8)) | put >> 8);
}

static int64_t sign_extend(uint32_t field, int32_t bits) {
  uint32_t sign = 1u << (bits - 1);
  return (int64_t)(field ^ sign) - (int64_t)sign;
}

#define UNSIGNED_FIELD(field, bits) ((int64_t)(field))
#define FIELD_ROW_LOAD(name, width, out_type, extend)                                         \
  static void name(const void *base, int64_t first, int64_t step, int64_t n, out_type *out) { \
    for (int64_t i = 0; i < n; ++i)                                                           \
      out[i] = (out_type)extend(get_field(base, first + i * step, width), width);             \
  }
#define FIELD_ROW_STORE(name, width, in_type, convert)                                      \
  static void name(void *base, int64_t first, int64_t step, int64_t n, const in_type *in) { \
    for (int64_t i = 0; i < n; ++i)                                                         \
      set_field(base, first + i * step, width, (uint32_t)convert(in[i]));                   \
  }
#define NARROW_INT(name, width, extend)                      \
  FIELD_ROW_LOAD(load_##name, width, double, extend)         \
  FIELD_ROW_LOAD(load_int_##name, width, int64_t, extend)    \
  FIELD_ROW_STORE(store_##name, width, double, ref_truncate) \
  FIELD_ROW_STORE(store_int_##name, width, int64_t, (uint64_t))

NARROW_INT(uint4, 4, UNSIGNED_FIELD)
NARROW_INT(int4, 4, sign_extend)
NARROW_INT(uint2, 2, UNSIGNED_FIELD)
NARROW_INT(int2, 2, sign_extend)

#define DECODE_E2M1(field, bits) ref_decode(OPS_TYPE_FLOAT4E2M1, field)
#define ENCODE_E2M1(value) ref_encode(OPS_TYPE_FLOAT4E2M1, value, 1)
#define DECODE_E2M3(field, bits) ref_decode(OPS_TYPE_FLOAT6E2M3, field)
#define ENCODE_E2M3(value) ref_encode(OPS_TYPE_FLOAT6E2M3, value, 1)
#define DECODE_E3M2(field, bits) ref_decode(OPS_TYPE_FLOAT6E3M2, field)
#define ENCODE_E3M2(value) ref_encode(OPS_TYPE_FLOAT6E3M2, value, 1)
FIELD_ROW_LOAD(load_float4e2m1, 4, double, DECODE_E2M1)
FIELD_ROW_STORE(store_float4e2m1, 4, double, ENCODE_E2M1)
FIELD_ROW_LOAD(load_float6e2m3, 6, double, DECODE_E2M3)
FIELD_ROW_STORE(store_float6e2m3, 6, double, ENCODE_E2M3)
FIELD_ROW_LOAD(load_float6e3m2, 6, double, DECODE_E3M2)
FIELD_ROW_STORE(store_float6e3m2, 6, double, ENCODE_E3M2)

// ---- The table -----------------------------------------------------------------------------

#define FLOAT_ROW(type, text, width, name) \
  [type] = {text, width, REF_FLOAT, load_##name, store_##name, NULL, NULL},
#define INT_ROW(type, text, width, kind, name) \
  [type] = {text, width, kind, load_##name, store_##name, load_int_##name, store_int_##name},

static const ref_element elements[OPS_TYPE_COUNT] = {
    FLOAT_ROW(OPS_TYPE_FLOAT, "float", 32, float) FLOAT_ROW(
        OPS_TYPE_DOUBLE, "double", 64,
        double) FLOAT_ROW(OPS_TYPE_FLOAT16, "float16", 16,
                          float16) FLOAT_ROW(OPS_TYPE_BFLOAT16, "bfloat16", 16, bfloat16)
        FLOAT_ROW(OPS_TYPE_FLOAT8E4M3FN, "float8e4m3fn", 8, float8e4m3fn) FLOAT_ROW(
            OPS_TYPE_FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8,
            float8e4m3fnuz) FLOAT_ROW(OPS_TYPE_FLOAT8E5M2, "float8e5m2", 8, float8e5m2)
            FLOAT_ROW(OPS_TYPE_FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8, float8e5m2fnuz) FLOAT_ROW(
                OPS_TYPE_FLOAT8E8M0, "float8e8m0", 8,
                float8e8m0) FLOAT_ROW(OPS_TYPE_FLOAT4E2M1, "float4e2m1", 4, float4e2m1)
                INT_ROW(OPS_TYPE_UINT8, "uint8", 8, REF_UNSIGNED, uint8) INT_ROW(
                    OPS_TYPE_INT8, "int8", 8, REF_SIGNED,
                    int8) INT_ROW(OPS_TYPE_UINT16, "uint16", 16, REF_UNSIGNED, uint16)
                    INT_ROW(OPS_TYPE_INT16, "int16", 16, REF_SIGNED,
                            int16) INT_ROW(OPS_TYPE_UINT32, "uint32", 32, REF_UNSIGNED, uint32)
                        INT_ROW(OPS_TYPE_INT32, "int32", 32, REF_SIGNED, int32) INT_ROW(
                            OPS_TYPE_UINT64, "uint64", 64,
                            REF_UNSIGNED,
                            uint64) INT_ROW(OPS_TYPE_INT64, "int64", 64, REF_SIGNED, int64)
                            INT_ROW(OPS_TYPE_UINT4, "uint4", 4, REF_UNSIGNED, uint4) INT_ROW(
                                OPS_TYPE_INT4, "int4", 4, REF_SIGNED, int4)
                                INT_ROW(OPS_TYPE_UINT2, "uint2", 2, REF_UNSIGNED, uint2)
                                    INT_ROW(OPS_TYPE_INT2, "int2", 2, REF_SIGNED, int2)
                                        INT_ROW(OPS_TYPE_BOOL, "bool", 8, REF_BOOL,
                                                bool)[OPS_TYPE_COMPLEX64] = {"complex64", 64,
                                                                             REF_COMPLEX, NULL,
                                                                             NULL, NULL, NULL},
    [OPS_TYPE_COMPLEX128] = {"complex128", 128, REF_COMPLEX, NULL, NULL, NULL, NULL},
    [OPS_TYPE_STRING] = {"string", 0, REF_STRING, NULL, NULL, NULL, NULL},
    FLOAT_ROW(OPS_TYPE_FLOAT6E2M3, "float6e2m3", 6, float6e2m3)
        FLOAT_ROW(OPS_TYPE_FLOAT6E3M2, "float6e3m2", 6, float6e3m2)};

const ref_element *ref_element_of(int32_t type) {
  if (type <= 0 || type >= OPS_TYPE_COUNT || elements[type].name == NULL) return NULL;
  return &elements[type];
}

void ref_move_bits(int32_t bits, void *target, int64_t target_first, int64_t target_step,
                   const void *source, int64_t source_first, int64_t source_step, int64_t n) {
  if (bits < 8) {
    for (int64_t i = 0; i < n; ++i)
      set_field(target, target_first + i * target_step, bits,
                get_field(source, source_first + i * source_step, bits));
    return;
  }
  int64_t size = bits / 8;
  char *to = (char *)target + target_first * size;
  const char *from = (const char *)source + source_first * size;
  if (target_step == 1 && source_step == 1) {
    if (n > 0) memcpy(to, from, (size_t)(n * size));
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    memcpy(to + i * target_step * size, from + i * source_step * size, (size_t)size);
}

// SPDX-License-Identifier: Apache-2.0
//
// Element types by table. A floating code is sign, exponent field, fraction field; one generic
// decoder and one generic encoder serve all formats, from IEEE 754, the OCP 8-bit and MX
// specifications, and ONNX's definition of the fnuz types.
#include "compare/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// bits, fraction bits, bias, sign, use of the top codes
static const oc_float_format formats[OPS_TYPE_COUNT] = {
    [OPS_TYPE_FLOAT] = {32, 23, 127, true, OC_TOP_IEEE},
    [OPS_TYPE_DOUBLE] = {64, 52, 1023, true, OC_TOP_IEEE},
    [OPS_TYPE_FLOAT16] = {16, 10, 15, true, OC_TOP_IEEE},
    [OPS_TYPE_BFLOAT16] = {16, 7, 127, true, OC_TOP_IEEE},
    [OPS_TYPE_FLOAT8E4M3FN] = {8, 3, 7, true, OC_TOP_ONE_NAN},
    [OPS_TYPE_FLOAT8E4M3FNUZ] = {8, 3, 8, true, OC_TOP_NEG_ZERO},
    [OPS_TYPE_FLOAT8E5M2] = {8, 2, 15, true, OC_TOP_IEEE},
    [OPS_TYPE_FLOAT8E5M2FNUZ] = {8, 2, 16, true, OC_TOP_NEG_ZERO},
    [OPS_TYPE_FLOAT4E2M1] = {4, 1, 1, true, OC_TOP_NUMBERS},
    [OPS_TYPE_FLOAT8E8M0] = {8, 0, 127, false, OC_TOP_ONE_NAN},
    [OPS_TYPE_FLOAT6E2M3] = {6, 3, 1, true, OC_TOP_NUMBERS},
    [OPS_TYPE_FLOAT6E3M2] = {6, 2, 3, true, OC_TOP_NUMBERS},
};

#define BITS_ITEM(number, name, bits) [number] = bits,
static const uint8_t type_bits[OPS_TYPE_COUNT] = {OPS_TYPE_LIST(BITS_ITEM)};

typedef enum int_kind { NOT_INTEGER, SIGNED, UNSIGNED } int_kind;
static const uint8_t int_kinds[OPS_TYPE_COUNT] = {
    [OPS_TYPE_INT2] = SIGNED,     [OPS_TYPE_INT4] = SIGNED,     [OPS_TYPE_INT8] = SIGNED,
    [OPS_TYPE_INT16] = SIGNED,    [OPS_TYPE_INT32] = SIGNED,    [OPS_TYPE_INT64] = SIGNED,
    [OPS_TYPE_UINT2] = UNSIGNED,  [OPS_TYPE_UINT4] = UNSIGNED,  [OPS_TYPE_UINT8] = UNSIGNED,
    [OPS_TYPE_UINT16] = UNSIGNED, [OPS_TYPE_UINT32] = UNSIGNED, [OPS_TYPE_UINT64] = UNSIGNED,
};

static bool is_type(int32_t type) {
  return type > 0 && type < OPS_TYPE_COUNT;
}

const oc_float_format *oc_number_format(int32_t type) {
  return is_type(type) && formats[type].bits ? &formats[type] : NULL;
}

bool oc_number_is_integer(int32_t type) {
  return is_type(type) && int_kinds[type] != NOT_INTEGER;
}

int oc_number_bits(int32_t type) {
  return is_type(type) ? type_bits[type] : 0;
}

size_t oc_number_bytes(int32_t type, size_t count) {
  const size_t bits = (size_t)oc_number_bits(type);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

// Elements below a byte: a code of six bits may span two bytes, so two are read where it does.
static unsigned packed_word(const uint8_t *bytes, size_t at, size_t bits) {
  const bool spans = at % 8 + bits > 8;
  return bytes[at / 8] | (spans ? (unsigned)bytes[at / 8 + 1] << 8 : 0u);
}

uint64_t oc_number_code(int32_t type, const void *data, size_t index) {
  const size_t bits = (size_t)oc_number_bits(type);
  const uint8_t *bytes = data;
  if (bits < 8) {
    const size_t at = index * bits;
    return (packed_word(bytes, at, bits) >> (at % 8)) & ((1u << bits) - 1);
  }
  uint64_t code = 0;
  if (bits <= 64) memcpy(&code, bytes + index * (bits / 8), bits / 8);
  return code;
}

void oc_number_set_code(int32_t type, void *data, size_t index, uint64_t code) {
  const size_t bits = (size_t)oc_number_bits(type);
  uint8_t *bytes = data;
  if (bits < 8) {
    const size_t at = index * bits;
    const unsigned mask = ((1u << bits) - 1) << (at % 8);
    const unsigned word =
        (packed_word(bytes, at, bits) & ~mask) | (((unsigned)code << (at % 8)) & mask);
    bytes[at / 8] = (uint8_t)word;
    if (at % 8 + bits > 8) bytes[at / 8 + 1] = (uint8_t)(word >> 8);
    return;
  }
  if (bits <= 64) memcpy(bytes + index * (bits / 8), &code, bits / 8);
}

// The code without its sign, and the sign.
static uint64_t magnitude_of(const oc_float_format *f, uint64_t code, bool *out_negative) {
  const uint64_t sign = f->sign ? (uint64_t)1 << (f->bits - 1) : 0;
  *out_negative = (code & sign) != 0;
  return code & ~sign;
}

// The magnitude of the largest finite value.
static uint64_t highest_magnitude(const oc_float_format *f) {
  const uint64_t all = ((uint64_t)1 << (f->bits - (f->sign ? 1 : 0))) - 1;
  switch (f->top) {
    case OC_TOP_IEEE:
      return all - ((uint64_t)1 << f->fraction_bits);
    case OC_TOP_ONE_NAN:
      return all - 1;
    default:
      return all;
  }
}

static bool is_nan(const oc_float_format *f, uint64_t magnitude, bool negative) {
  if (f->top == OC_TOP_NEG_ZERO) return negative && magnitude == 0;
  if (f->top == OC_TOP_NUMBERS) return false;
  return magnitude > highest_magnitude(f) + (f->top == OC_TOP_IEEE ? 1 : 0);
}

oc_class oc_number_class(int32_t type, uint64_t code) {
  const oc_float_format *f = &formats[type];
  bool negative;
  const uint64_t magnitude = magnitude_of(f, code, &negative);
  if (is_nan(f, magnitude, negative)) return OC_NUMBER_NAN;
  if (magnitude > highest_magnitude(f)) return OC_NUMBER_INFINITE;
  if (!f->sign) return OC_NUMBER_NORMAL;  // float8e8m0 has powers of two only
  if (magnitude == 0) return OC_NUMBER_ZERO;
  return magnitude >> f->fraction_bits ? OC_NUMBER_NORMAL : OC_NUMBER_DENORMAL;
}

double oc_number_value(int32_t type, uint64_t code) {
  const oc_float_format *f = &formats[type];
  bool negative;
  const uint64_t magnitude = magnitude_of(f, code, &negative);
  const oc_class kind = oc_number_class(type, code);
  if (kind == OC_NUMBER_NAN) return NAN;
  const int exponent = (int)(magnitude >> f->fraction_bits);
  const uint64_t fraction = magnitude & (((uint64_t)1 << f->fraction_bits) - 1);
  double value;
  if (kind == OC_NUMBER_INFINITE) {
    value = INFINITY;
  } else if (exponent == 0 && f->sign) {
    value = ldexp((double)fraction, 1 - f->bias - f->fraction_bits);
  } else {
    const uint64_t whole = fraction | (uint64_t)1 << f->fraction_bits;
    value = ldexp((double)whole, exponent - f->bias - f->fraction_bits);
  }
  return negative ? -value : value;
}

double oc_number_highest(int32_t type) {
  return oc_number_value(type, highest_magnitude(&formats[type]));
}

double oc_number_smallest_normal(int32_t type) {
  const oc_float_format *f = &formats[type];
  return ldexp(1, (f->sign ? 1 : 0) - f->bias);
}

static uint64_t nan_code(const oc_float_format *f) {
  const uint64_t sign = (uint64_t)1 << (f->bits - 1);
  if (f->top == OC_TOP_NEG_ZERO) return sign;
  if (f->top == OC_TOP_NUMBERS) return highest_magnitude(f);
  if (f->top == OC_TOP_ONE_NAN) return highest_magnitude(f) + 1;
  return highest_magnitude(f) + 1 + ((uint64_t)1 << (f->fraction_bits - 1));
}

static uint64_t overflow_code(const oc_float_format *f, bool negative) {
  const uint64_t sign = f->sign && negative ? (uint64_t)1 << (f->bits - 1) : 0;
  if (f->top == OC_TOP_IEEE) return sign | (highest_magnitude(f) + 1);
  if (f->top == OC_TOP_NUMBERS) return sign | highest_magnitude(f);
  return nan_code(f);
}

// `value` >= 0 as a multiple of the spacing there, rounded to even; the result is a magnitude
// code since fraction and exponent field continue each other.
static uint64_t round_magnitude(const oc_float_format *f, double value) {
  const int least = (f->sign ? 1 : 0) - f->bias;  // exponent of the smallest normal value
  int exponent;
  if (value == 0) return 0;
  frexp(value, &exponent);
  exponent = exponent - 1 < least ? least : exponent - 1;
  const double scaled = ldexp(value, f->fraction_bits - exponent);  // below 2^(nf + 1): exact
  double whole = floor(scaled);
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1)) whole += 1;
  const uint64_t steps = (uint64_t)(exponent - least) << f->fraction_bits;
  const uint64_t offset = f->sign ? 0 : (uint64_t)1 << f->fraction_bits;
  return steps + (uint64_t)whole - offset;
}

uint64_t oc_number_nearest(int32_t type, double value) {
  const oc_float_format *f = &formats[type];
  const bool negative = signbit(value) != 0;
  if (isnan(value)) return nan_code(f);
  if (isinf(value)) return overflow_code(f, negative);
  if (!f->sign && fabs(value) < ldexp(1, -f->bias)) return 0;
  const uint64_t magnitude = round_magnitude(f, fabs(value));
  if (magnitude > highest_magnitude(f)) return overflow_code(f, negative);
  if (f->top == OC_TOP_NEG_ZERO && magnitude == 0) return 0;
  return magnitude | (f->sign && negative ? (uint64_t)1 << (f->bits - 1) : 0);
}

int64_t oc_number_order(int32_t type, uint64_t code, bool merge_denormals) {
  const oc_float_format *f = &formats[type];
  bool negative;
  int64_t magnitude = (int64_t)magnitude_of(f, code, &negative);
  if (merge_denormals && f->sign) {
    const int64_t below = ((int64_t)1 << f->fraction_bits) - 1;
    magnitude = magnitude > below ? magnitude - below : 0;
  }
  return negative ? -magnitude : magnitude;
}

uint64_t oc_number_ulps(int32_t type, uint64_t a, uint64_t b, bool merge_denormals) {
  const int64_t x = oc_number_order(type, a, merge_denormals);
  const int64_t y = oc_number_order(type, b, merge_denormals);
  return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

int64_t oc_number_int_lowest(int32_t type) {
  if (int_kinds[type] != SIGNED) return 0;
  return -(int64_t)(oc_number_int_highest(type)) - 1;
}

uint64_t oc_number_int_highest(int32_t type) {
  const int bits = type_bits[type] - (int_kinds[type] == SIGNED ? 1 : 0);
  return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static int64_t sign_extend(uint64_t code, int bits) {
  const uint64_t sign = (uint64_t)1 << (bits - 1);
  return (int64_t)((code ^ sign) - sign);
}

double oc_number_get(int32_t type, const void *data, size_t index) {
  const int bits = oc_number_bits(type);
  if (bits == 0 || bits > 64 || type == OPS_TYPE_COMPLEX64) return NAN;
  const uint64_t code = oc_number_code(type, data, index);
  if (formats[type].bits) return oc_number_value(type, code);
  if (type == OPS_TYPE_BOOL) return code != 0;
  return int_kinds[type] == SIGNED ? (double)sign_extend(code, bits) : (double)code;
}

static uint64_t nearest_integer(int32_t type, double value) {
  const double rounded = nearbyint(value);
  if (isnan(value)) return 0;
  if (int_kinds[type] == SIGNED) {
    const int64_t lowest = oc_number_int_lowest(type);
    if (rounded <= (double)lowest) return (uint64_t)lowest;
    if (rounded >= (double)oc_number_int_highest(type)) return oc_number_int_highest(type);
    return (uint64_t)(int64_t)rounded;
  }
  if (rounded <= 0) return 0;
  if (rounded >= (double)oc_number_int_highest(type)) return oc_number_int_highest(type);
  return (uint64_t)rounded;
}

void oc_number_set(int32_t type, void *data, size_t index, double value) {
  if (oc_number_format(type)) {
    oc_number_set_code(type, data, index, oc_number_nearest(type, value));
  } else if (type == OPS_TYPE_BOOL) {
    oc_number_set_code(type, data, index, value != 0);
  } else if (oc_number_is_integer(type)) {
    oc_number_set_code(type, data, index, nearest_integer(type, value));
  }
}

const char *oc_number_text(int32_t type, const void *data, size_t index, char *text,
                           size_t size) {
  const int bits = oc_number_bits(type);
  const uint64_t code = bits && bits <= 64 ? oc_number_code(type, data, index) : 0;
  if (oc_number_format(type)) {
    const int digits = formats[type].fraction_bits > 23 ? 17 : 9;
    snprintf(text, size, "%.*g", digits, oc_number_value(type, code));
  } else if (type == OPS_TYPE_BOOL && code <= 1) {
    snprintf(text, size, "%s", code ? "true" : "false");
  } else if (oc_number_is_integer(type) && int_kinds[type] == SIGNED) {
    snprintf(text, size, "%lld", (long long)sign_extend(code, bits));
  } else {
    snprintf(text, size, "%llu", (unsigned long long)code);
  }
  return text;
}

// SPDX-License-Identifier: Apache-2.0
//
// One table row per type. Floating formats are described by their fields, and one routine
// rounds to all of them: the quotient by the unit in the last place is brought to an integer by
// rint (nearest even), and the carry into the exponent comes out of the addition by itself.
#include "cases/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct type_row {
  const char *name;
  int32_t bits;
} type_row;

static const type_row kTypes[OPS_TYPE_COUNT] = {
#define ROW(number, name, bits) [number] = {name, bits},
    OPS_TYPE_LIST(ROW)
#undef ROW
};

static const type_row *find(int32_t type) {
  if (type <= 0 || type >= OPS_TYPE_COUNT || !kTypes[type].name) return NULL;
  return &kTypes[type];
}

const char *oc_element_name(int32_t type) {
  const type_row *row = find(type);
  return row ? row->name : "undefined";
}

int32_t oc_element_type(const char *name, size_t size) {
  for (int32_t type = 1; type < OPS_TYPE_COUNT; ++type) {
    const char *known = kTypes[type].name;
    if (known && strlen(known) == size && memcmp(known, name, size) == 0) return type;
  }
  return OPS_TYPE_UNDEFINED;
}

int32_t oc_element_bits(int32_t type) {
  const type_row *row = find(type);
  return row ? row->bits : 0;
}

bool oc_element_bytes(int32_t type, int64_t count, uint64_t *out_bytes) {
  const int32_t bits = oc_element_bits(type);
  uint64_t total;
  if (bits == 0 || count < 0) return false;
  if (__builtin_mul_overflow((uint64_t)count, (uint64_t)bits, &total)) return false;
  *out_bytes = total / 8 + (total % 8 != 0);
  return true;
}

// ---- Kinds ----------------------------------------------------------------------------------

#define SIGNED_TYPES                                                                           \
  (OPS_TYPE_BIT(OPS_TYPE_INT8) | OPS_TYPE_BIT(OPS_TYPE_INT16) | OPS_TYPE_BIT(OPS_TYPE_INT32) | \
   OPS_TYPE_BIT(OPS_TYPE_INT64) | OPS_TYPE_BIT(OPS_TYPE_INT4) | OPS_TYPE_BIT(OPS_TYPE_INT2))
#define COMPLEX_TYPES (OPS_TYPE_BIT(OPS_TYPE_COMPLEX64) | OPS_TYPE_BIT(OPS_TYPE_COMPLEX128))

static bool in_set(int32_t type, uint64_t set) {
  return find(type) && (set & OPS_TYPE_BIT(type)) != 0;
}

static const oc_element_format kFormats[OPS_TYPE_COUNT] = {
    [OPS_TYPE_FLOAT] = {8, 23, 127, 1, 0x7fc00000, 0x7f7fffff},
    [OPS_TYPE_DOUBLE] = {11, 52, 1023, 1, UINT64_C(0x7ff8000000000000),
                         UINT64_C(0x7fefffffffffffff)},
    [OPS_TYPE_FLOAT16] = {5, 10, 15, 1, 0x7e00, 0x7bff},
    [OPS_TYPE_BFLOAT16] = {8, 7, 127, 1, 0x7fc0, 0x7f7f},
    [OPS_TYPE_FLOAT8E4M3FN] = {4, 3, 7, 0, 0x7f, 0x7e},
    [OPS_TYPE_FLOAT8E4M3FNUZ] = {4, 3, 8, 0, 0x80, 0x7f},
    [OPS_TYPE_FLOAT8E5M2] = {5, 2, 15, 1, 0x7e, 0x7b},
    [OPS_TYPE_FLOAT8E5M2FNUZ] = {5, 2, 16, 0, 0x80, 0x7f},
    [OPS_TYPE_FLOAT4E2M1] = {2, 1, 1, 0, 0, 7},
    [OPS_TYPE_FLOAT8E8M0] = {8, 0, 127, 0, 0xff, 0xfe},
};

const oc_element_format *oc_element_format_of(int32_t type) {
  if (!find(type) || kFormats[type].exponent_bits == 0) return NULL;
  return &kFormats[type];
}

bool oc_element_is_floating(int32_t type) {
  return oc_element_format_of(type) || in_set(type, COMPLEX_TYPES);
}

bool oc_element_is_signed(int32_t type) {
  return in_set(type, SIGNED_TYPES);
}

int64_t oc_element_lowest(int32_t type) {
  const int32_t bits = oc_element_bits(type);
  return oc_element_is_signed(type) ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
}

uint64_t oc_element_highest(int32_t type) {
  const int32_t bits = oc_element_bits(type);
  if (type == OPS_TYPE_BOOL) return 1;
  if (bits == 0) return 0;
  return UINT64_MAX >> (64 - bits + (oc_element_is_signed(type) ? 1 : 0));
}

// ---- Raw bits -------------------------------------------------------------------------------

void oc_element_store_bits(int32_t type, void *data, uint64_t index, uint64_t bits) {
  const int32_t width = oc_element_bits(type);
  unsigned char *bytes = data;
  if (width >= 8) {
    const size_t size = (size_t)width / 8;
    const uint64_t words[2] = {bits, 0};  // the second: the imaginary part of complex128
    memcpy(bytes + index * size, words, size);
    return;
  }
  const uint64_t position = index * (uint64_t)width;
  const unsigned shift = (unsigned)(position % 8), mask = (1u << width) - 1;
  unsigned char *byte = &bytes[position / 8];
  *byte = (unsigned char)((*byte & ~(mask << shift)) | ((unsigned)bits & mask) << shift);
}

uint64_t oc_element_load_bits(int32_t type, const void *data, uint64_t index) {
  const int32_t width = oc_element_bits(type);
  const unsigned char *bytes = data;
  if (width >= 8) {
    const size_t size = (size_t)width / 8;
    uint64_t bits = 0;
    memcpy(&bits, bytes + index * size, size < sizeof bits ? size : sizeof bits);
    return bits;
  }
  const uint64_t position = index * (uint64_t)width;
  return (unsigned)bytes[position / 8] >> (position % 8) & ((1u << width) - 1);
}

// ---- Floating formats -----------------------------------------------------------------------

static uint64_t round_to_format(const oc_element_format *format, int32_t width, double value) {
  if (isnan(value)) return format->nan;
  const double magnitude = fabs(value);
  uint64_t bits;
  if (isinf(magnitude)) {
    bits = format->largest + (uint64_t)format->infinities;
  } else if (format->mantissa_bits == 0) {  // powers of two, no zero, no sign
    const int exponent = magnitude == 0 ? -format->bias : ilogb(magnitude);
    const int field = exponent + format->bias;
    return (uint64_t)(field < 0 ? 0 : field > 254 ? 254 : field);
  } else {
    const int lowest = 1 - format->bias;
    int exponent = magnitude == 0 ? lowest : ilogb(magnitude);
    if (exponent < lowest) exponent = lowest;
    const double quanta = rint(scalbn(magnitude, format->mantissa_bits - exponent));
    const uint64_t field = (uint64_t)(exponent - lowest);
    bits = (field << format->mantissa_bits) + (uint64_t)quanta;
    if (bits > format->largest) bits = format->largest + (uint64_t)format->infinities;
  }
  const bool negative_zero = bits != 0 || format->nan != 0x80;  // the FNUZ types have none
  const uint64_t sign = signbit(value) && negative_zero ? (uint64_t)1 << (width - 1) : 0;
  return sign | bits;
}

static double value_of_format(const oc_element_format *format, int32_t width, uint64_t bits) {
  if (format->mantissa_bits == 0)
    return bits == 0xff ? NAN : ldexp(1.0, (int)bits - format->bias);
  if (format->nan == 0x80 && bits == 0x80) return NAN;
  const uint64_t sign_bit = (uint64_t)1 << (width - 1);
  const double sign = bits & sign_bit ? -1.0 : 1.0;
  const uint64_t magnitude = bits & (sign_bit - 1);
  if (magnitude > format->largest) {
    return format->infinities && magnitude == format->largest + 1 ? sign * INFINITY : NAN;
  }
  const uint64_t one = (uint64_t)1 << format->mantissa_bits;
  const uint64_t mantissa = magnitude & (one - 1), field = magnitude >> format->mantissa_bits;
  const double significand = (double)(field ? mantissa + one : mantissa);
  const int exponent = (int)(field ? field : 1) - format->bias - format->mantissa_bits;
  return sign * ldexp(significand, exponent);
}

// ---- Values ---------------------------------------------------------------------------------

static void store_integer(int32_t type, void *data, uint64_t index, double value) {
  const int64_t low = oc_element_lowest(type);
  const uint64_t high = oc_element_highest(type);
  uint64_t bits;
  if (!(value > (double)low)) {  // also NaN
    bits = isnan(value) ? 0 : (uint64_t)low;
  } else if (value >= (double)high) {
    bits = high;
  } else {
    bits = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
  }
  oc_element_store_bits(type, data, index, bits);
}

void oc_element_store(int32_t type, void *data, uint64_t index, double value) {
  const oc_element_format *format = oc_element_format_of(type);
  if (type == OPS_TYPE_COMPLEX64) {
    const float parts[2] = {(float)value, 0};
    memcpy((char *)data + index * sizeof parts, parts, sizeof parts);
  } else if (type == OPS_TYPE_COMPLEX128) {
    const double parts[2] = {value, 0};
    memcpy((char *)data + index * sizeof parts, parts, sizeof parts);
  } else if (type == OPS_TYPE_DOUBLE) {
    memcpy((char *)data + index * sizeof value, &value, sizeof value);
  } else if (format) {
    const int32_t width = oc_element_bits(type);
    oc_element_store_bits(type, data, index, round_to_format(format, width, value));
  } else {
    store_integer(type, data, index, value);
  }
}

void oc_element_store_int(int32_t type, void *data, uint64_t index, int64_t value) {
  if (oc_element_is_floating(type)) {
    oc_element_store(type, data, index, (double)value);
    return;
  }
  const int64_t low = oc_element_lowest(type);
  const uint64_t high = oc_element_highest(type);
  uint64_t bits = (uint64_t)value;
  if (value < low) bits = (uint64_t)low;
  if (value > 0 && (uint64_t)value > high) bits = high;
  oc_element_store_bits(type, data, index, bits);
}

static double load_complex(int32_t type, const void *data, uint64_t index) {
  float narrow;
  double wide;
  if (type == OPS_TYPE_COMPLEX64) {
    memcpy(&narrow, (const char *)data + index * 8, sizeof narrow);
    return narrow;
  }
  memcpy(&wide, (const char *)data + index * 16, sizeof wide);
  return wide;
}

double oc_element_load(int32_t type, const void *data, uint64_t index) {
  if (in_set(type, COMPLEX_TYPES)) return load_complex(type, data, index);
  const oc_element_format *format = oc_element_format_of(type);
  const int32_t width = oc_element_bits(type);
  const uint64_t bits = oc_element_load_bits(type, data, index);
  if (format) return value_of_format(format, width, bits);
  if (!oc_element_is_signed(type)) return (double)bits;
  return (double)((int64_t)(bits << (64 - width)) >> (64 - width));
}

void oc_element_absolute(int32_t type, void *data, int64_t count) {
  const oc_element_format *format = oc_element_format_of(type);
  if (!format || format->mantissa_bits == 0) return;
  const uint64_t sign = (uint64_t)1 << (oc_element_bits(type) - 1);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = oc_element_load_bits(type, data, (uint64_t)i);
    if (format->nan != 0x80 || bits != 0x80) {
      oc_element_store_bits(type, data, (uint64_t)i, bits & ~sign);
    }
  }
}

void oc_element_print(int32_t type, const void *data, uint64_t index, char *text, size_t size) {
  if (oc_element_bits(type) == 0) {
    snprintf(text, size, "?");
  } else if (oc_element_is_floating(type)) {
    const bool wide = type == OPS_TYPE_DOUBLE || type == OPS_TYPE_COMPLEX128;
    snprintf(text, size, "%.*g", wide ? 17 : 9, oc_element_load(type, data, index));
  } else if (type == OPS_TYPE_UINT64) {
    snprintf(text, size, "%" PRIu64, oc_element_load_bits(type, data, index));
  } else {
    const int32_t width = oc_element_bits(type);
    uint64_t bits = oc_element_load_bits(type, data, index);
    if (oc_element_is_signed(type)) {
      bits = (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width));
    }
    snprintf(text, size, "%" PRId64, (int64_t)bits);
  }
}

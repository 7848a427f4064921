// SPDX-License-Identifier: Apache-2.0
//
// Element types as the harness sees them: decoding to double, encoding from double, classes and
// order. Written for the harness alone; no provider shares this arithmetic.
#ifndef OC_COMPARE_NUMBER_H_
#define OC_COMPARE_NUMBER_H_

#include <ops/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum oc_class {
  OC_NUMBER_NAN,
  OC_NUMBER_INFINITE,
  OC_NUMBER_ZERO,
  OC_NUMBER_DENORMAL,
  OC_NUMBER_NORMAL,
} oc_class;

// How the codes at the top of a floating format are used.
typedef enum oc_top_codes {
  OC_TOP_IEEE,      // an infinity, then NaN
  OC_TOP_ONE_NAN,   // all ones is NaN, no infinity (float8e4m3fn, float8e8m0)
  OC_TOP_NEG_ZERO,  // the code of -0 is NaN, no infinity (the fnuz types)
  OC_TOP_NUMBERS,   // every code is a number (float4e2m1)
} oc_top_codes;

typedef struct oc_float_format {
  int bits;           // of one element; 0: not a floating type
  int fraction_bits;  // nf of CONFORMANCE.md: 23 float, 10 float16, 7 bfloat16, 52 double
  int bias;
  bool sign;
  oc_top_codes top;
} oc_float_format;

// The format of a floating type; NULL for others.
const oc_float_format *oc_number_format(int32_t type);
bool oc_number_is_integer(int32_t type);  // bool is not one
// Bits of one element; 0 for strings and unknown types. Types below a byte are dense.
int oc_number_bits(int32_t type);
// Bytes of `count` elements.
size_t oc_number_bytes(int32_t type, size_t count);

// The code of element `index`, and storing one.
uint64_t oc_number_code(int32_t type, const void *data, size_t index);
void oc_number_set_code(int32_t type, void *data, size_t index, uint64_t code);

// The value of an element; exact but for 64-bit integers beyond 2^53. A bool is 0 or 1. Complex
// and string elements are NaN.
double oc_number_get(int32_t type, const void *data, size_t index);
// Stores the nearest value, ties to even. Overflow gives an infinity where there is one, else
// NaN, else the largest number; integers are clamped, NaN becomes 0 in them. A bool becomes
// value != 0. float8e8m0 takes the nearest power of two of the magnitude.
void oc_number_set(int32_t type, void *data, size_t index, double value);

// Of floating types.
oc_class oc_number_class(int32_t type, uint64_t code);
double oc_number_value(int32_t type, uint64_t code);
uint64_t oc_number_nearest(int32_t type, double value);  // the code that oc_number_set stores
double oc_number_highest(int32_t type);                  // largest finite value
double oc_number_smallest_normal(int32_t type);
// Codes as integers in the order of their values: neighbours differ by 1, +0 and -0 are both 0,
// an infinity follows the largest finite value. Not for NaN. With `merge_denormals` everything
// below the smallest normal value is 0, and that value is 1.
int64_t oc_number_order(int32_t type, uint64_t code, bool merge_denormals);
// The distance of two codes in that order.
uint64_t oc_number_ulps(int32_t type, uint64_t a, uint64_t b, bool merge_denormals);

// The range of an integer type; its largest value as unsigned.
int64_t oc_number_int_lowest(int32_t type);
uint64_t oc_number_int_highest(int32_t type);

// Writes an element for people: "1.5", "-inf", "12". Returns `text`.
const char *oc_number_text(int32_t type, const void *data, size_t index, char *text,
                           size_t size);

#endif  // OC_COMPARE_NUMBER_H_

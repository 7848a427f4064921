// SPDX-License-Identifier: Apache-2.0
//
// Single elements of every numeric type: size, storing, loading, printing. The harness's own
// arithmetic, shared with no provider. Strings have no elements here.
#ifndef OC_CASES_ELEMENT_H_
#define OC_CASES_ELEMENT_H_

#include <ops/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *oc_element_name(int32_t type);  // "float16"; "undefined" for a number out of range
int32_t oc_element_type(const char *name, size_t size);  // OPS_TYPE_UNDEFINED if unknown
int32_t oc_element_bits(int32_t type);                   // 0: no plain element
bool oc_element_is_floating(int32_t type);               // complex types included
bool oc_element_is_signed(int32_t type);                 // a signed integer

// Bytes of `count` dense elements. False on overflow and for types without elements.
bool oc_element_bytes(int32_t type, int64_t count, uint64_t *out_bytes);

// The least and the greatest value of an integer type (bool: 0 and 1), as int64 and, because
// uint64 does not fit, the greatest as uint64.
int64_t oc_element_lowest(int32_t type);
uint64_t oc_element_highest(int32_t type);

// Properties of a real floating type: mantissa bits without the hidden one, the largest
// exponent, the smallest normal exponent.
typedef struct oc_element_format {
  int32_t exponent_bits;
  int32_t mantissa_bits;
  int32_t bias;
  int32_t infinities;  // 1: IEEE; 0: none
  uint64_t nan;        // bit pattern of a NaN
  uint64_t largest;    // bit pattern of the largest finite value
} oc_element_format;
const oc_element_format *oc_element_format_of(int32_t type);  // NULL: not a real floating type

// Rounds to nearest even into the type. Floating: an overflow becomes infinity, or the largest
// value where there is none. Integers: truncated, saturated. Complex: real part, 0 imaginary.
void oc_element_store(int32_t type, void *data, uint64_t index, double value);
void oc_element_store_int(int32_t type, void *data, uint64_t index, int64_t value);
void oc_element_store_bits(int32_t type, void *data, uint64_t index, uint64_t bits);

// Exact, but for 64-bit integers beyond 2^53. Complex: the real part.
double oc_element_load(int32_t type, const void *data, uint64_t index);
uint64_t oc_element_load_bits(int32_t type, const void *data, uint64_t index);

// Replaces every element of a floating tensor by its absolute value; others are left alone.
void oc_element_absolute(int32_t type, void *data, int64_t count);

// The element as text: enough digits to tell it from its neighbours.
void oc_element_print(int32_t type, const void *data, uint64_t index, char *text, size_t size);

#endif  // OC_CASES_ELEMENT_H_

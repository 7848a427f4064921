// SPDX-License-Identifier: Apache-2.0
//
// Element types as rows of a table: how a row of elements is read, written and moved.
//
// A row is `n` elements that lie `step` elements apart, the first at index `first` from `base`;
// indices count elements, also of types narrower than a byte. Floating-point types are read
// into double exactly and written with one rounding, to nearest, ties to even. Integer types
// are read into int64_t exactly (uint64 as its two's complement bits) and written modulo
// 2^bits.
#ifndef REFERENCE_ELEMENT_H_
#define REFERENCE_ELEMENT_H_

#include <ops/ops.h>

#define REF_FLOAT 1
#define REF_SIGNED 2
#define REF_UNSIGNED 3
#define REF_BOOL 4
#define REF_COMPLEX 5
#define REF_STRING 6

typedef struct ref_element {
  const char *name;
  int32_t bits;  // 0: a host object
  int32_t kind;  // REF_…
  // NULL for complex numbers and strings, which are only moved.
  void (*load)(const void *base, int64_t first, int64_t step, int64_t n, double *out);
  void (*store)(void *base, int64_t first, int64_t step, int64_t n, const double *in);
  // NULL for floating-point types as well.
  void (*load_int)(const void *base, int64_t first, int64_t step, int64_t n, int64_t *out);
  void (*store_int)(void *base, int64_t first, int64_t step, int64_t n, const int64_t *in);
} ref_element;

// NULL if there is no such type.
const ref_element *ref_element_of(int32_t type);

// Copies a row of elements of `bits` bits unchanged. The rows must not overlap.
void ref_move_bits(int32_t bits, void *target, int64_t target_first, int64_t target_step,
                   const void *source, int64_t source_first, int64_t source_step, int64_t n);

// Casts of double with an overflow rule of their own: `saturate` clamps to the largest finite
// value, otherwise overflow gives infinity or, where the type has none, NaN. `type` is a
// floating-point type narrower than 32 bits.
uint32_t ref_encode(int32_t type, double value, int saturate);

// float8e8m0: a power of two. Rounds up, down or to nearest (ties up).
#define REF_ROUND_UP 0
#define REF_ROUND_DOWN 1
#define REF_ROUND_NEAREST 2
uint32_t ref_encode_e8m0(double value, int saturate, int rounding);

// The value truncated towards zero, clamped to [-2^63, 2^64); the bits of the latter half are
// those of uint64. NaN gives 0.
int64_t ref_truncate(double value);

// An integer as a double from which one more rounding to a narrower type is still correct: an
// inexact result has its last bit set (rounding to odd).
double ref_int_to_double_sticky(int64_t value, int is_unsigned);

#endif  // REFERENCE_ELEMENT_H_

// SPDX-License-Identifier: Apache-2.0
//
// Size arithmetic that cannot overflow silently. Each function returns 1 and stores the result,
// or returns 0 and leaves it alone.
#ifndef OPS_SUPPORT_CHECKED_H_
#define OPS_SUPPORT_CHECKED_H_

#include <stdint.h>

static inline int ops_checked_add(uint64_t a, uint64_t b, uint64_t *out_sum) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return 0;
  *out_sum = sum;
  return 1;
}

static inline int ops_checked_mul(uint64_t a, uint64_t b, uint64_t *out_product) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return 0;
  *out_product = product;
  return 1;
}

// Rounds `value` up to a multiple of `alignment`, a power of two.
static inline int ops_checked_align(uint64_t value, uint64_t alignment, uint64_t *out_aligned) {
  uint64_t sum;
  if (!ops_checked_add(value, alignment - 1, &sum)) return 0;
  *out_aligned = sum & ~(alignment - 1);
  return 1;
}

// The number of elements of a shape: 1 for rank 0, 0 if any dimension is 0. Fails on a negative
// dimension, and if the product of the non-zero dimensions exceeds INT64_MAX.
static inline int ops_checked_count(const int64_t *dims, int32_t rank, int64_t *out_count) {
  int64_t count = 1;
  int zero = 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return 0;
    if (dims[i] == 0) zero = 1;
    if (dims[i] > 0 && __builtin_mul_overflow(count, dims[i], &count)) return 0;
  }
  *out_count = zero ? 0 : count;
  return 1;
}

#endif  // OPS_SUPPORT_CHECKED_H_

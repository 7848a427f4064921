// SPDX-License-Identifier: Apache-2.0
//
// What a rotary embedding does to a head: pairs of numbers are turned by an angle each. Pair i
// of `half` is (i, i + half) or, interleaved, (2i, 2i + 1).
#ifndef REFERENCE_ROTARY_H_
#define REFERENCE_ROTARY_H_

#include <stdint.h>

static inline int64_t ref_rotary_first(int64_t i, int32_t interleaved) {
  return interleaved ? 2 * i : i;
}

static inline int64_t ref_rotary_second(int64_t i, int64_t half, int32_t interleaved) {
  return interleaved ? 2 * i + 1 : i + half;
}

// Turns (u, v) by the angle with this cosine and sine.
static inline void ref_rotary_turn(double cosine, double sine, double *u, double *v) {
  double x = *u, y = *v;
  *u = cosine * x - sine * y;
  *v = sine * x + cosine * y;
}

#endif  // REFERENCE_ROTARY_H_

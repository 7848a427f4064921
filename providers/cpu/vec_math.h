// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions without branches, for loops that a compiler vectorises.
//
// exp: x = k ln 2 + r with |r| <= ln 2 / 2, Taylor's series of e^r, scaling by 2^k in two steps
// so that denormal results are rounded once. expm1 likewise, without the leading one. erfc: for
// z >= 0 it is e^(-z^2) P(t) with t = 2 / (2 + z); P was fitted by Chebyshev interpolation at
// 400 points to a relative error of 1e-10. NaN passes through everything.
#ifndef CPU_VEC_MATH_H_
#define CPU_VEC_MATH_H_

#include <math.h>
#include <stdint.h>
#include <string.h>

#define CPU_INLINE static inline __attribute__((always_inline))

CPU_INLINE uint32_t vec_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

CPU_INLINE float vec_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

CPU_INLINE uint64_t vec_bits64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

CPU_INLINE double vec_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// Adding it leaves the nearest integer in the last bits of the sum.
#define VEC_ROUND_F 12582912.0f         // 1.5 * 2^23
#define VEC_ROUND_D 6755399441055744.0  // 1.5 * 2^52

// e^r - 1 for |r| <= ln 2 / 2.
CPU_INLINE float vec_expm1_series(float r) {
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  return r + r * r * p;
}

// x - k ln 2; ln 2 in two parts of which the first has ten bits.
CPU_INLINE float vec_reduce_f(float x, float k) {
  return (x - k * 0.693359375f) - k * -2.12194440054690583e-4f;
}

CPU_INLINE float vec_exp(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  const float shifted = x * 1.44269504088896341f + VEC_ROUND_F;
  const uint32_t k = vec_bits(shifted) - 0x4b400000u;
  const float p = 1.0f + vec_expm1_series(vec_reduce_f(x, shifted - VEC_ROUND_F));
  const uint32_t half = (uint32_t)((int32_t)k >> 1);
  return p * vec_float((half + 127u) << 23) * vec_float((k - half + 127u) << 23);
}

// e^x - 1, for x up to 40; below -30 the result is -1.
CPU_INLINE float vec_expm1(float x) {
  x = x > 40.0f ? 40.0f : x;
  x = x < -30.0f ? -30.0f : x;
  const float shifted = x * 1.44269504088896341f + VEC_ROUND_F;
  const uint32_t k = vec_bits(shifted) - 0x4b400000u;
  const float q = vec_expm1_series(vec_reduce_f(x, shifted - VEC_ROUND_F));
  const float scale = vec_float((k + 127u) << 23);
  return q * scale + (scale - 1.0f);
}

CPU_INLINE double vec_exp_d(double x) {
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  const double shifted = x * 1.44269504088896340736 + VEC_ROUND_D;
  const uint64_t k = vec_bits64(shifted) - 0x4338000000000000u;
  const double n = shifted - VEC_ROUND_D;
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // Halves of k by a shift of the biased value: arithmetic shifts of 64 bits are slow.
  const uint64_t half = ((k + 2048u) >> 1) - 1024u;
  return p * vec_double((half + 1023u) << 52) * vec_double((k - half + 1023u) << 52);
}

// erfc(z) for z >= 0.
CPU_INLINE double vec_erfc_tail(double z) {
  const double t = 2.0 / (2.0 + z);
  double p = -0.034737196142863365;
  p = p * t + 0.25679357566324168;
  p = p * t + -0.81469782456879569;
  p = p * t + 1.4101079098060014;
  p = p * t + -1.3903337505547295;
  p = p * t + 0.779769914947126;
  p = p * t + -0.37025698933434292;
  p = p * t + 0.19775521717605532;
  p = p * t + 0.15106830641004165;
  p = p * t + 0.25071098018885962;
  p = p * t + 0.28170218119231855;
  p = p * t + 0.28211830500752844;
  p = p * t + -6.2987111537626816e-07;
  const double value = p * vec_exp_d(-z * z);
  return z > 26.0 ? 0.0 : value;
}

// erf(z) for |z| <= 0.5: its power series.
CPU_INLINE double vec_erf_series(double z) {
  const double s = z * z;
  double p = 1.0 / 685440;
  p = p * s + -1.0 / 75600;
  p = p * s + 1.0 / 9360;
  p = p * s + -1.0 / 1320;
  p = p * s + 1.0 / 216;
  p = p * s + -1.0 / 42;
  p = p * s + 1.0 / 10;
  p = p * s + -1.0 / 3;
  p = p * s + 1.0;
  return z * p * 1.12837916709551257390;
}

CPU_INLINE double vec_erf(double z) {
  const double magnitude = z < 0 ? -z : z;
  const double tail = 1.0 - vec_erfc_tail(magnitude);
  const double far = z < 0 ? -tail : tail;
  return magnitude > 0.5 ? far : vec_erf_series(z);
}

CPU_INLINE double vec_erfc(double z) {
  const double tail = vec_erfc_tail(z < 0 ? -z : z);
  const double value = z < 0 ? 2.0 - tail : tail;
  return z != z ? z : value;
}

#endif  // CPU_VEC_MATH_H_

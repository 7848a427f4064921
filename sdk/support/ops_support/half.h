// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16, converted in software: exact one way, round to nearest even the other.
#ifndef OPS_SUPPORT_HALF_H_
#define OPS_SUPPORT_HALF_H_

#include <stdint.h>
#include <string.h>

static inline float ops_bits_to_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t ops_float_to_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float ops_half_to_float(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return ops_bits_to_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return ops_bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = (float)mantissa * 0x1p-24f;  // zero or denormal, exact in float
  return ops_bits_to_float(sign | ops_float_to_bits(magnitude));
}

static inline uint16_t ops_half_from_float(float value) {
  const uint32_t bits = ops_float_to_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);  // 65520 and above
  if (magnitude < 0x38800000u) {
    // Below the smallest normal: adding 0.5 puts the unit of float16 (2^-24) at the last bit of
    // the sum, so the hardware's rounding to nearest even is the one wanted.
    const float sum = ops_bits_to_float(magnitude) + 0.5f;
    return (uint16_t)(sign | (ops_float_to_bits(sum) - 0x3f000000u));
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

static inline float ops_bfloat16_to_float(uint16_t bfloat16) {
  return ops_bits_to_float((uint32_t)bfloat16 << 16);
}

static inline uint16_t ops_bfloat16_from_float(float value) {
  const uint32_t bits = ops_float_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif  // OPS_SUPPORT_HALF_H_

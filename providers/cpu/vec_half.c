// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16 to float, exactly, and back, to the nearest, ties to even. The same bits
// as the conversions of ops_support/half.h, by integer steps without branches.
#include "vec_isa.h"
#include "vec_math.h"

CPU_INLINE float widen_float16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu, shifted = magnitude << 13;
  const uint32_t small = vec_bits((float)(int32_t)magnitude * 0x1p-24f);  // zero or denormal
  const uint32_t normal = shifted + (112u << 23), special = shifted | 0x7f800000u;
  const uint32_t finite = magnitude < 0x400u ? small : normal;
  return vec_float(sign | (magnitude >= 0x7c00u ? special : finite));
}

CPU_INLINE uint16_t narrow_float16(float value) {
  const uint32_t bits = vec_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Below the smallest normal, adding 0.5 puts the unit of float16 at the last bit of the sum.
  const uint32_t small = vec_bits(vec_float(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x1ffu);
  const uint32_t finite = magnitude < 0x38800000u ? small : normal;
  const uint32_t number = magnitude >= 0x477ff000u ? 0x7c00u : finite;  // 65520 and above
  return (uint16_t)(sign | (magnitude > 0x7f800000u ? nan : number));
}

CPU_INLINE float widen_bfloat16(uint16_t half) {
  return vec_float((uint32_t)half << 16);
}

CPU_INLINE uint16_t narrow_bfloat16(float value) {
  const uint32_t bits = vec_bits(value);
  const uint32_t number = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, nan = bits >> 16 | 0x40u;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : number);
}

#define CONVERT(type)                                                                    \
  void CPU_ISA_NAME(cpu_vec_widen_##type)(const uint16_t *x, float *y, int64_t count) {  \
    CPU_SIMD_FOR y[i] = widen_##type(x[i]);                                              \
  }                                                                                      \
  void CPU_ISA_NAME(cpu_vec_narrow_##type)(const float *x, uint16_t *y, int64_t count) { \
    CPU_SIMD_FOR y[i] = narrow_##type(x[i]);                                             \
  }
CONVERT(float16)
CONVERT(bfloat16)

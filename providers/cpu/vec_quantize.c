// SPDX-License-Identifier: Apache-2.0
//
// Loops between numbers and quantised integers. Where the exact value decides a rounding, it is
// computed in double as the definition says; else in float. A float that is farther from a tie
// than its own error rounds to the same integer as the exact value, so both give the same.
#include <string.h>

#include "vec_isa.h"

// Adding and taking away 1.5 * 2^23 rounds to the nearest integer, ties to even, for magnitudes
// below 2^22. Nothing here is reassociated.
#define ROUNDING 12582912.0f

static inline float round_to_even(float value) {
  return (value + ROUNDING) - ROUNDING;
}

// NaN becomes `low`. Bounds are integers within reach of round_to_even.
static inline float clamp(float value, float low, float high) {
  value = value > low ? value : low;
  return value < high ? value : high;
}

static inline double clamp_exact(double value, double low, double high) {
  value = value > low ? value : low;
  return value < high ? value : high;
}

#define BLOCK 64

// ---- Sums
// ------------------------------------------------------------------------------------

// Three roundings of a magnitude up to 255: 3 * 2^-24 * 2^8, and room.
#define NEAR_TIE (0.5f - 0x1p-13f)

static void requantize_exactly(const cpu_vec_requantize *q, const int32_t *sums, uint8_t *y,
                               int64_t begin, int64_t count) {
  const double low = (q->is_signed ? -128 : 0) - q->zero, high = low + 255;
  for (int64_t i = begin; i < begin + count; ++i) {
    const double exact = (double)sums[i] * q->scale[i] / q->divisor;
    y[i] = (uint8_t)((int32_t)rint(clamp_exact(exact, low, high)) + q->zero);
  }
}

// Returns whether some value lies near a tie.
static int requantize_block(const cpu_vec_requantize *q, const int32_t *sums, uint8_t *y,
                            int64_t begin, int64_t count) {
  const int32_t zero = q->zero;
  const float low = (float)((q->is_signed ? -128 : 0) - zero), high = low + 255;
  const float *factor = q->factor;
  int near = 0;
#pragma omp simd reduction(| : near)
  for (int64_t i = begin; i < begin + count; ++i) {
    const float value = clamp((float)sums[i] * factor[i], low, high);
    const float rounded = round_to_even(value);
    near |= fabsf(value - rounded) > NEAR_TIE;
    y[i] = (uint8_t)((int32_t)rounded + zero);
  }
  return near;
}

void CPU_ISA_NAME(cpu_vec_requantize)(const cpu_vec_requantize *q, const int32_t *sums,
                                      uint8_t *y, int64_t count) {
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t piece = count - i < BLOCK ? count - i : BLOCK;
    if (requantize_block(q, sums, y, i, piece)) requantize_exactly(q, sums, y, i, piece);
  }
}

// ---- Two operands ---------------------------------------------------------------------------

// Addition of a, b in units of the result. The error of the float is that of three roundings of
// magnitudes up to 255 times the factors.
static inline double add_exactly(const cpu_vec_quantized *q, int32_t a, int32_t b) {
  return ((double)a * q->scale[0] + (double)b * q->scale[1]) / q->scale[2];
}

static inline double multiply_exactly(const cpu_vec_quantized *q, int32_t a, int32_t b) {
  return (double)a * q->scale[0] * ((double)b * q->scale[1]) / q->scale[2];
}

static inline float add_fast(float a, float b, float fa, float fb) {
  return a * fa + b * fb;
}

static inline float multiply_fast(float a, float b, float fa, float fb) {
  (void)fb;
  return a * b * fa;
}

// Factors of the float, and the distance from a tie up to which it is not trusted.
static float prepare_add(const cpu_vec_quantized *q, float *fa, float *fb) {
  *fa = (float)(q->scale[0] / q->scale[2]);
  *fb = (float)(q->scale[1] / q->scale[2]);
  return 255 * (fabsf(*fa) + fabsf(*fb)) * 0x1p-22f;
}

static float prepare_multiply(const cpu_vec_quantized *q, float *fa, float *fb) {
  *fa = (float)(q->scale[0] * q->scale[1] / q->scale[2]);
  *fb = 0;
  return 0x1p-13f;
}

// `type` is that of the elements; steps are constants wherever a block is inlined.
#define PAIR(name, type)                                                                       \
  static inline __attribute__((always_inline)) int name##_block_##type(                        \
      const cpu_vec_quantized *q, type *y, const type *a, const type *b, int64_t a_step,       \
      int64_t b_step, int64_t count) {                                                         \
    const int32_t za = q->zero[0], zb = q->zero[1], zero = q->zero[2];                         \
    const float low = (float)((q->is_signed ? -128 : 0) - zero), high = low + 255;             \
    float fa, fb;                                                                              \
    const float trusted = 0.5f - prepare_##name(q, &fa, &fb);                                  \
    int near = !(trusted > 0);                                                                 \
    _Pragma("omp simd reduction(| : near)") for (int64_t i = 0; i < count; ++i) {              \
      const float value =                                                                      \
          clamp(name##_fast((float)(a[i * a_step] - za), (float)(b[i * b_step] - zb), fa, fb), \
                low, high);                                                                    \
      const float rounded = round_to_even(value);                                              \
      near |= fabsf(value - rounded) > trusted;                                                \
      y[i] = (type)((int32_t)rounded + zero);                                                  \
    }                                                                                          \
    return near;                                                                               \
  }                                                                                            \
                                                                                               \
  static void name##_again_##type(const cpu_vec_quantized *q, type *y, const type *a,          \
                                  const type *b, int64_t a_step, int64_t b_step,               \
                                  int64_t count) {                                             \
    const double low = (q->is_signed ? -128 : 0) - q->zero[2], high = low + 255;               \
    for (int64_t i = 0; i < count; ++i) {                                                      \
      const double exact =                                                                     \
          name##_exactly(q, a[i * a_step] - q->zero[0], b[i * b_step] - q->zero[1]);           \
      y[i] = (type)((int32_t)rint(clamp_exact(exact, low, high)) + q->zero[2]);                \
    }                                                                                          \
  }                                                                                            \
                                                                                               \
  static void name##_##type(const cpu_vec_quantized *q, void *out, const void *left,           \
                            const void *right, int64_t a_step, int64_t b_step,                 \
                            int64_t total) {                                                   \
    for (int64_t begin = 0; begin < total; begin += BLOCK) {                                   \
      const int64_t count = total - begin < BLOCK ? total - begin : BLOCK;                     \
      type y[BLOCK];                                                                           \
      const type *a = (const type *)left + begin * a_step;                                     \
      const type *b = (const type *)right + begin * b_step;                                    \
      const int near = a_step && b_step ? name##_block_##type(q, y, a, b, 1, 1, count)         \
                       : a_step         ? name##_block_##type(q, y, a, b, 1, 0, count)         \
                                        : name##_block_##type(q, y, a, b, 0, b_step, count);           \
      if (near) name##_again_##type(q, y, a, b, a_step, b_step, count);                        \
      memcpy((type *)out + begin, y, (size_t)count);                                           \
    }                                                                                          \
  }

#define PAIRS(name)                                                                            \
  PAIR(name, int8_t)                                                                           \
  PAIR(name, uint8_t)                                                                          \
  void CPU_ISA_NAME(cpu_vec_quantized_##name)(const cpu_vec_quantized *q, uint8_t *y,          \
                                              const uint8_t *a, const uint8_t *b,              \
                                              int64_t a_step, int64_t b_step, int64_t count) { \
    (q->is_signed ? name##_int8_t : name##_uint8_t)(q, y, a, b, a_step, b_step, count);        \
  }
PAIRS(add)
PAIRS(multiply)

// ---- Real numbers ---------------------------------------------------------------------------

// The quotient is rounded to float, as the definition says.
#define QUANTIZE(type, least, most)                                                          \
  static inline __attribute__((always_inline)) void quantize_steps_##type(                   \
      const float *x, type *y, const float *scale, const type *zero, int64_t scale_step,     \
      int64_t zero_step, int64_t count) {                                                    \
    CPU_SIMD_FOR {                                                                           \
      const int32_t z = zero[i * zero_step];                                                 \
      const float value =                                                                    \
          clamp(x[i] / scale[i * scale_step], (float)((least)-z), (float)((most)-z));        \
      y[i] = (type)((int32_t)round_to_even(value) + z);                                      \
    }                                                                                        \
  }                                                                                          \
                                                                                             \
  static void quantize_##type(const float *x, void *y, const float *scale, const void *zero, \
                              int64_t scale_step, int64_t zero_step, int64_t count) {        \
    if (!scale_step)                                                                         \
      quantize_steps_##type(x, y, scale, zero, 0, 0, count);                                 \
    else if (!zero_step)                                                                     \
      quantize_steps_##type(x, y, scale, zero, 1, 0, count);                                 \
    else                                                                                     \
      quantize_steps_##type(x, y, scale, zero, 1, 1, count);                                 \
  }
QUANTIZE(int8_t, -128, 127)
QUANTIZE(uint8_t, 0, 255)
QUANTIZE(int16_t, -32768, 32767)
QUANTIZE(uint16_t, 0, 65535)

// `real` holds every difference of two such integers.
#define DEQUANTIZE(type, real)                                                                 \
  static inline __attribute__((always_inline)) void dequantize_steps_##type(                   \
      const type *y, float *x, const float *scale, const type *zero, int64_t scale_step,       \
      int64_t zero_step, int64_t count) {                                                      \
    CPU_SIMD_FOR x[i] =                                                                        \
        (float)(((real)y[i] - (real)zero[i * zero_step]) * (real)scale[i * scale_step]);       \
  }                                                                                            \
                                                                                               \
  static void dequantize_##type(const void *y, float *x, const float *scale, const void *zero, \
                                int64_t scale_step, int64_t zero_step, int64_t count) {        \
    if (!scale_step)                                                                           \
      dequantize_steps_##type(y, x, scale, zero, 0, 0, count);                                 \
    else if (!zero_step)                                                                       \
      dequantize_steps_##type(y, x, scale, zero, 1, 0, count);                                 \
    else                                                                                       \
      dequantize_steps_##type(y, x, scale, zero, 1, 1, count);                                 \
  }
DEQUANTIZE(int8_t, float)
DEQUANTIZE(uint8_t, float)
DEQUANTIZE(int16_t, float)
DEQUANTIZE(uint16_t, float)
DEQUANTIZE(int32_t, double)

const cpu_quantize_fn CPU_ISA_NAME(cpu_vec_quantize)[OPS_TYPE_COUNT] = {
    [OPS_TYPE_INT8] = quantize_int8_t,
    [OPS_TYPE_UINT8] = quantize_uint8_t,
    [OPS_TYPE_INT16] = quantize_int16_t,
    [OPS_TYPE_UINT16] = quantize_uint16_t,
};

const cpu_dequantize_fn CPU_ISA_NAME(cpu_vec_dequantize)[OPS_TYPE_COUNT] = {
    [OPS_TYPE_INT8] = dequantize_int8_t,   [OPS_TYPE_UINT8] = dequantize_uint8_t,
    [OPS_TYPE_INT16] = dequantize_int16_t, [OPS_TYPE_UINT16] = dequantize_uint16_t,
    [OPS_TYPE_INT32] = dequantize_int32_t,
};

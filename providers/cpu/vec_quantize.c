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

#if defined(__AVX512BW__)
#include <immintrin.h>

// Sixteen values at once.
#define LANES 16

typedef struct rounding {
  __m512 low, high, trusted;  // bounds before the zero point; distance from an integer
  __m512i zero;
} rounding;

static inline rounding rounding_of(int32_t is_signed, int32_t zero, float trusted) {
  const float low = (float)((is_signed ? -128 : 0) - zero);
  return (rounding){_mm512_set1_ps(low), _mm512_set1_ps(low + 255), _mm512_set1_ps(trusted),
                    _mm512_set1_epi32(zero)};
}

static inline __mmask16 lanes_of(int64_t count) {
  return (__mmask16)(count >= LANES ? 0xffff : (1u << count) - 1);
}

// Writes the wanted lanes; returns those that are not trusted.
static inline __mmask16 round_lanes(const rounding *r, __m512 value, uint8_t *y,
                                    __mmask16 wanted) {
  value = _mm512_min_ps(_mm512_max_ps(value, r->low), r->high);  // NaN: low
  const __m512i rounded =
      _mm512_cvt_roundps_epi32(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(value, _mm512_cvtepi32_ps(rounded)));
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded, r->zero));
  if (wanted == 0xffff)
    _mm_storeu_si128((__m128i *)(void *)y, bytes);
  else
    _mm_mask_storeu_epi8(y, wanted, bytes);
  return _mm512_mask_cmp_ps_mask(wanted, distance, r->trusted, _CMP_GT_OQ);
}
#endif

// ---- Sums of products -----------------------------------------------------------------------

// Three roundings of a magnitude up to 255: 3 * 2^-24 * 2^8, and room.
#define NEAR_TIE (0.5f - 0x1p-13f)

static uint8_t requantize_exactly(const cpu_vec_requantize *q, const int32_t *sums, int64_t i) {
  const double low = (q->is_signed ? -128 : 0) - q->zero, high = low + 255;
  const double exact = (double)sums[i] * q->scale[i] / q->divisor;
  return (uint8_t)((int32_t)rint(clamp_exact(exact, low, high)) + q->zero);
}

#if defined(__AVX512BW__)

// Lanes from element `i` on; `wanted` is a constant for whole vectors.
static inline __attribute__((always_inline)) void requantize_lanes(const cpu_vec_requantize *q,
                                                                   const rounding *rounding,
                                                                   const int32_t *sums,
                                                                   uint8_t *y, int64_t i,
                                                                   __mmask16 wanted) {
  const __m512 sum = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(wanted, sums + i));
  const __m512 factor = _mm512_maskz_loadu_ps(wanted, q->factor + i);
  uint32_t near = round_lanes(rounding, _mm512_mul_ps(sum, factor), y + i, wanted);
  for (; near; near &= near - 1) {
    const int64_t lane = i + __builtin_ctz(near);
    y[lane] = requantize_exactly(q, sums, lane);
  }
}

void CPU_ISA_NAME(cpu_vec_requantize)(const cpu_vec_requantize *q, const int32_t *sums,
                                      uint8_t *y, int64_t count) {
  const rounding rounding = rounding_of(q->is_signed, q->zero, NEAR_TIE);
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) requantize_lanes(q, &rounding, sums, y, i, 0xffff);
  if (i < count) requantize_lanes(q, &rounding, sums, y, i, lanes_of(count - i));
}

#else

// Returns whether some value lies near a tie.
static int requantize_block(const cpu_vec_requantize *q, const int32_t *sums, uint8_t *y,
                            int64_t begin, int64_t count) {
  const int32_t zero = q->zero;
  const float low = (float)((q->is_signed ? -128 : 0) - zero), high = low + 255;
  const float *factor = q->factor;
  float worst = 0;
#pragma omp simd reduction(max : worst)
  for (int64_t i = begin; i < begin + count; ++i) {
    const float value = clamp((float)sums[i] * factor[i], low, high);
    const float rounded = round_to_even(value);
    const float distance = fabsf(value - rounded);
    worst = distance > worst ? distance : worst;
    y[i] = (uint8_t)((int32_t)rounded + zero);
  }
  return worst > NEAR_TIE;
}

void CPU_ISA_NAME(cpu_vec_requantize)(const cpu_vec_requantize *q, const int32_t *sums,
                                      uint8_t *y, int64_t count) {
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t piece = count - i < BLOCK ? count - i : BLOCK;
    if (!requantize_block(q, sums, y, i, piece)) continue;
    for (int64_t k = i; k < i + piece; ++k) y[k] = requantize_exactly(q, sums, k);
  }
}

#endif

// ---- Two operands ---------------------------------------------------------------------------

// In units of the result.
static inline double add_exactly(const cpu_vec_quantized *q, int32_t a, int32_t b) {
  return ((double)a * q->scale[0] + (double)b * q->scale[1]) / q->scale[2];
}

static inline double multiply_exactly(const cpu_vec_quantized *q, int32_t a, int32_t b) {
  return (double)a * q->scale[0] * ((double)b * q->scale[1]) / q->scale[2];
}

// Factors of the float, and the distance from an integer up to which it is trusted: sums are
// off by three roundings of magnitudes up to 255 times the factors, products by that of the
// result.
typedef struct factors {
  float a, b, trusted;
} factors;

static factors factors_of_add(const cpu_vec_quantized *q) {
  factors f = {(float)(q->scale[0] / q->scale[2]), (float)(q->scale[1] / q->scale[2]), 0};
  f.trusted = 0.5f - 255 * (fabsf(f.a) + fabsf(f.b)) * 0x1p-22f;
  if (!(f.trusted > 0)) f.trusted = -1;
  return f;
}

static factors factors_of_multiply(const cpu_vec_quantized *q) {
  return (factors){(float)(q->scale[0] * q->scale[1] / q->scale[2]), 0, NEAR_TIE};
}

static int32_t byte_at(const uint8_t *x, int64_t i, int32_t is_signed) {
  return is_signed ? ((const int8_t *)x)[i] : x[i];
}

#define EXACT(name)                                                               \
  static uint8_t name##_again(const cpu_vec_quantized *q, int32_t a, int32_t b) { \
    const double low = (q->is_signed ? -128 : 0) - q->zero[2], high = low + 255;  \
    const double exact = name##_exactly(q, a - q->zero[0], b - q->zero[1]);       \
    return (uint8_t)((int32_t)rint(clamp_exact(exact, low, high)) + q->zero[2]);  \
  }
EXACT(add)
EXACT(multiply)

#if defined(__AVX512BW__)

static inline __m512 add_fast(__m512 a, __m512 b, __m512 fa, __m512 fb) {
  return _mm512_add_ps(_mm512_mul_ps(a, fa), _mm512_mul_ps(b, fb));
}

static inline __m512 multiply_fast(__m512 a, __m512 b, __m512 fa, __m512 fb) {
  (void)fb;
  return _mm512_mul_ps(_mm512_mul_ps(a, b), fa);
}

// The next elements less the zero point, or one for all of them.
static inline __m512 load_lanes(const uint8_t *x, int64_t step, __mmask16 wanted,
                                int32_t is_signed, __m512i zero) {
  const __m128i bytes = step ? _mm_maskz_loadu_epi8(wanted, x) : _mm_set1_epi8((char)x[0]);
  const __m512i numbers = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(numbers, zero));
}

// Results wait in `result` until the exact ones are known, since y may be an operand.
#define PAIRS(name)                                                                            \
  static inline __attribute__((always_inline)) void name##_piece(                              \
      const cpu_vec_quantized *q, const rounding *rounding, const factors *f, uint8_t *y,      \
      const uint8_t *a, const uint8_t *b, int64_t a_step, int64_t b_step, int32_t is_signed,   \
      __mmask16 wanted) {                                                                      \
    const __m512 left =                                                                        \
        load_lanes(a, a_step, wanted, is_signed, _mm512_set1_epi32(q->zero[0]));               \
    const __m512 right =                                                                       \
        load_lanes(b, b_step, wanted, is_signed, _mm512_set1_epi32(q->zero[1]));               \
    const __m512 value = name##_fast(left, right, _mm512_set1_ps(f->a), _mm512_set1_ps(f->b)); \
    uint8_t result[LANES];                                                                     \
    uint32_t near = round_lanes(rounding, value, result, 0xffff) & wanted;                     \
    for (; near; near &= near - 1) {                                                           \
      const int64_t k = __builtin_ctz(near);                                                   \
      result[k] = name##_again(q, byte_at(a, k * a_step, is_signed),                           \
                               byte_at(b, k * b_step, is_signed));                             \
    }                                                                                          \
    _mm_mask_storeu_epi8(y, wanted, _mm_loadu_si128((const __m128i *)(const void *)result));   \
  }                                                                                            \
                                                                                               \
  static inline __attribute__((always_inline)) void name##_lanes(                              \
      const cpu_vec_quantized *q, uint8_t *y, const uint8_t *a, const uint8_t *b,              \
      int64_t a_step, int64_t b_step, int32_t is_signed, int64_t count) {                      \
    const factors f = factors_of_##name(q);                                                    \
    const rounding rounding = rounding_of(is_signed, q->zero[2], f.trusted);                   \
    int64_t i = 0;                                                                             \
    for (; i + LANES <= count; i += LANES)                                                     \
      name##_piece(q, &rounding, &f, y + i, a + i * a_step, b + i * b_step, a_step, b_step,    \
                   is_signed, 0xffff);                                                         \
    if (i < count)                                                                             \
      name##_piece(q, &rounding, &f, y + i, a + i * a_step, b + i * b_step, a_step, b_step,    \
                   is_signed, lanes_of(count - i));                                            \
  }

#else

static inline float add_fast(float a, float b, const factors *f) {
  return a * f->a + b * f->b;
}

static inline float multiply_fast(float a, float b, const factors *f) {
  return a * b * f->a;
}

// Steps and sign are constants wherever this is inlined. Results wait in `result`, since y may
// be an operand.
#define PAIRS(name)                                                                         \
  static inline __attribute__((always_inline)) int name##_block(                            \
      const cpu_vec_quantized *q, const factors *f, uint8_t *y, const uint8_t *a,           \
      const uint8_t *b, int64_t a_step, int64_t b_step, int32_t is_signed, int64_t count) { \
    const int32_t za = q->zero[0], zb = q->zero[1], zero = q->zero[2];                      \
    const float low = (float)((is_signed ? -128 : 0) - zero), high = low + 255;             \
    float worst = 0;                                                                        \
    _Pragma("omp simd reduction(max : worst)") for (int64_t i = 0; i < count; ++i) {        \
      const float left = (float)(byte_at(a, i * a_step, is_signed) - za);                   \
      const float right = (float)(byte_at(b, i * b_step, is_signed) - zb);                  \
      const float value = clamp(name##_fast(left, right, f), low, high);                    \
      const float rounded = round_to_even(value);                                           \
      const float distance = fabsf(value - rounded);                                        \
      worst = distance > worst ? distance : worst;                                          \
      y[i] = (uint8_t)((int32_t)rounded + zero);                                            \
    }                                                                                       \
    return worst > f->trusted;                                                              \
  }                                                                                         \
                                                                                            \
  static inline __attribute__((always_inline)) void name##_lanes(                           \
      const cpu_vec_quantized *q, uint8_t *y, const uint8_t *a, const uint8_t *b,           \
      int64_t a_step, int64_t b_step, int32_t is_signed, int64_t total) {                   \
    const factors f = factors_of_##name(q);                                                 \
    for (int64_t begin = 0; begin < total; begin += BLOCK) {                                \
      const int64_t count = total - begin < BLOCK ? total - begin : BLOCK;                  \
      const uint8_t *left = a + begin * a_step, *right = b + begin * b_step;                \
      uint8_t result[BLOCK];                                                                \
      if (name##_block(q, &f, result, left, right, a_step, b_step, is_signed, count))       \
        for (int64_t i = 0; i < count; ++i)                                                 \
          result[i] = name##_again(q, byte_at(left, i * a_step, is_signed),                 \
                                   byte_at(right, i * b_step, is_signed));                  \
      memcpy(y + begin, result, (size_t)count);                                             \
    }                                                                                       \
  }

#endif

#define SIGNS(name, a_step, b_step)                                  \
  (q->is_signed ? name##_lanes(q, y, a, b, a_step, b_step, 1, count) \
                : name##_lanes(q, y, a, b, a_step, b_step, 0, count))

#define OPERATION(name)                                                                        \
  PAIRS(name)                                                                                  \
  void CPU_ISA_NAME(cpu_vec_quantized_##name)(const cpu_vec_quantized *q, uint8_t *y,          \
                                              const uint8_t *a, const uint8_t *b,              \
                                              int64_t a_step, int64_t b_step, int64_t count) { \
    if (a_step && b_step)                                                                      \
      SIGNS(name, 1, 1);                                                                       \
    else if (a_step)                                                                           \
      SIGNS(name, 1, 0);                                                                       \
    else if (b_step)                                                                           \
      SIGNS(name, 0, 1);                                                                       \
    else                                                                                       \
      SIGNS(name, 0, 0);                                                                       \
  }
OPERATION(add)
OPERATION(multiply)

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

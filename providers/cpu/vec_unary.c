// SPDX-License-Identifier: Apache-2.0
//
// Unary functions of float. Where a plain float formula would lose digits (a sum that cancels,
// a tail) the formula is evaluated in double and rounded once.
#include "vec_isa.h"
#include "vec_math.h"

CPU_INLINE float f_relu(float x, float a, float b) {
  (void)a, (void)b;
  return x < 0 ? 0.0f : x;
}
CPU_INLINE float f_leaky_relu(float x, float a, float b) {
  (void)b;
  return x < 0 ? a * x : x;
}
CPU_INLINE float f_elu(float x, float a, float b) {
  (void)b;
  return x < 0 ? a * vec_expm1(x) : x;
}
CPU_INLINE float f_selu(float x, float a, float b) {
  return x > 0 ? b * x : (float)((double)a * (double)b * (double)vec_expm1(x));
}
CPU_INLINE float f_clip(float x, float a, float b) {
  const float low = x < a ? a : x;
  return low > b ? b : low;
}
CPU_INLINE float f_sigmoid(float x, float a, float b) {
  (void)a, (void)b;
  const float z = vec_exp(-fabsf(x));
  return (x < 0 ? z : 1.0f) / (1.0f + z);
}
CPU_INLINE float f_hard_sigmoid(float x, float a, float b) {
  const double line = (double)a * (double)x + (double)b;
  const double low = line < 0 ? 0.0 : line;
  return (float)(low > 1 ? 1.0 : low);
}
CPU_INLINE float f_hard_swish(float x, float a, float b) {
  (void)a, (void)b;
  const double line = (double)x * (1.0 / 6) + 0.5;
  const double low = line < 0 ? 0.0 : line;
  return (float)((double)x * (low > 1 ? 1.0 : low));
}
CPU_INLINE float f_tanh(float x, float a, float b) {
  (void)a, (void)b;
  const float q = vec_expm1(2.0f * fabsf(x));
  const float y = q / (q + 2.0f);
  return x != x ? x : copysignf(y, x);
}
CPU_INLINE float f_softsign(float x, float a, float b) {
  (void)a, (void)b;
  const float y = x / (1.0f + fabsf(x));
  return fabsf(x) == INFINITY ? copysignf(1.0f, x) : y;
}
CPU_INLINE float f_erf(float x, float a, float b) {
  (void)a, (void)b;
  return (float)vec_erf(x);
}
CPU_INLINE float f_exp(float x, float a, float b) {
  (void)a, (void)b;
  return vec_exp(x);
}
CPU_INLINE float f_sqrt(float x, float a, float b) {
  (void)a, (void)b;
  return sqrtf(x);
}
CPU_INLINE float f_reciprocal(float x, float a, float b) {
  (void)a, (void)b;
  return 1.0f / x;
}
CPU_INLINE float f_abs(float x, float a, float b) {
  (void)a, (void)b;
  return fabsf(x);
}
CPU_INLINE float f_neg(float x, float a, float b) {
  (void)a, (void)b;
  return -x;
}
CPU_INLINE float f_floor(float x, float a, float b) {
  (void)a, (void)b;
  return floorf(x);
}
CPU_INLINE float f_ceil(float x, float a, float b) {
  (void)a, (void)b;
  return ceilf(x);
}
CPU_INLINE float f_round(float x, float a, float b) {
  (void)a, (void)b;
  return nearbyintf(x);
}
CPU_INLINE float f_gelu(float x, float a, float b) {
  (void)a, (void)b;
  return (float)(0.5 * (double)x * vec_erfc((double)x * -0.70710678118654752440));
}
CPU_INLINE float f_gelu_tanh(float x, float a, float b) {
  (void)a, (void)b;
  const double z = x;
  const double u = 0.79788456080286535588 * (z + 0.044715 * z * z * z);
  return (float)(z / (1.0 + vec_exp_d(-2.0 * u)));
}
CPU_INLINE float f_sign(float x, float a, float b) {
  (void)a, (void)b;
  const float positive = x > 0 ? 1.0f : x;
  return x < 0 ? -1.0f : positive;
}
CPU_INLINE float f_thresholded_relu(float x, float a, float b) {
  (void)b;
  const float kept = x != x ? x : 0.0f;
  return x > a ? x : kept;
}
CPU_INLINE float f_swish(float x, float a, float b) {
  (void)b;
  return (float)((double)x / (1.0 + vec_exp_d(-(double)a * (double)x)));
}
CPU_INLINE float f_mish(float x, float a, float b) {
  (void)a, (void)b;
  const double capped = x > 300.0f ? 300.0 : (double)x;
  const double e = vec_exp_d(capped), q = e * (e + 2.0);
  return (float)((double)x * (q / (q + 2.0)));
}
// The C library's functions are scalar; these loops do not vectorise.
CPU_INLINE float f_softplus(float x, float a, float b) {
  (void)a, (void)b;
  return (x > 0 ? x : 0.0f) + log1pf(expf(-fabsf(x)));
}
CPU_INLINE float f_log(float x, float a, float b) {
  (void)a, (void)b;
  return logf(x);
}
CPU_INLINE float f_sin(float x, float a, float b) {
  (void)a, (void)b;
  return sinf(x);
}
CPU_INLINE float f_cos(float x, float a, float b) {
  (void)a, (void)b;
  return cosf(x);
}

#define X(name)                                                                                \
  void CPU_ISA_NAME(cpu_vec_##name)(const float *x, float *y, int64_t count, const float *p) { \
    const float a = p[0], b = p[1];                                                            \
    CPU_SIMD_FOR y[i] = f_##name(x[i], a, b);                                                  \
  }
CPU_UNARY_LIST(X)
#undef X

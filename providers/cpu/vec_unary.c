// SPDX-License-Identifier: Apache-2.0
//
// Unary functions of float. Where a plain float formula would lose digits (a sum that cancels,
// a tail) the formula is evaluated in double and rounded once.
#include "vec_isa.h"
#include "vec_math.h"

// A function of x and two parameters, which few need; one that is a single expression.
#define FUNCTION(name)                                                \
  CPU_INLINE float f_##name(float x, __attribute__((unused)) float a, \
                            __attribute__((unused)) float b)
#define FORMULA(name, expression) \
  FUNCTION(name) {                \
    return (expression);          \
  }

FORMULA(relu, x < 0 ? 0.0f : x)
FORMULA(leaky_relu, x < 0 ? a * x : x)
FORMULA(elu, x < 0 ? a * vec_expm1(x) : x)
FORMULA(selu, x > 0 ? b * x : (float)((double)a * (double)b * (double)vec_expm1(x)))

FUNCTION(clip) {
  const float low = x < a ? a : x;
  return low > b ? b : low;
}

FUNCTION(sigmoid) {
  const float z = vec_exp(-fabsf(x));
  return (x < 0 ? z : 1.0f) / (1.0f + z);
}

FUNCTION(hard_sigmoid) {
  const double line = (double)a * (double)x + (double)b;
  const double low = line < 0 ? 0.0 : line;
  return (float)(low > 1 ? 1.0 : low);
}

FUNCTION(hard_swish) {
  const double line = (double)x * (1.0 / 6) + 0.5;
  const double low = line < 0 ? 0.0 : line;
  return (float)((double)x * (low > 1 ? 1.0 : low));
}

FUNCTION(tanh) {
  const float q = vec_expm1(2.0f * fabsf(x));
  const float y = q / (q + 2.0f);
  return x != x ? x : copysignf(y, x);
}

FUNCTION(softsign) {
  const float y = x / (1.0f + fabsf(x));
  return fabsf(x) == INFINITY ? copysignf(1.0f, x) : y;
}

FORMULA(erf, (float)vec_erf(x))
FORMULA(exp, vec_exp(x))
FORMULA(sqrt, sqrtf(x))
FORMULA(reciprocal, 1.0f / x)
FORMULA(abs, fabsf(x))
FORMULA(neg, -x)
FORMULA(floor, floorf(x))
FORMULA(ceil, ceilf(x))
FORMULA(round, nearbyintf(x))
FORMULA(gelu, (float)(0.5 * (double)x * vec_erfc((double)x * -0.70710678118654752440)))

FUNCTION(gelu_tanh) {
  const double z = x;
  const double u = 0.79788456080286535588 * (z + 0.044715 * z * z * z);
  return (float)(z / (1.0 + vec_exp_d(-2.0 * u)));
}

FUNCTION(sign) {
  const float positive = x > 0 ? 1.0f : x;
  return x < 0 ? -1.0f : positive;
}

FUNCTION(thresholded_relu) {
  const float kept = x != x ? x : 0.0f;
  return x > a ? x : kept;
}

FORMULA(swish, (float)((double)x / (1.0 + vec_exp_d(-(double)a * (double)x))))

FUNCTION(mish) {
  const double capped = x > 300.0f ? 300.0 : (double)x;
  const double e = vec_exp_d(capped), q = e * (e + 2.0);
  return (float)((double)x * (q / (q + 2.0)));
}

// The C library's functions are scalar; these loops do not vectorise.
FORMULA(softplus, (x > 0 ? x : 0.0f) + log1pf(expf(-fabsf(x))))
FORMULA(log, logf(x))
FORMULA(sin, sinf(x))
FORMULA(cos, cosf(x))

#define X(name)                                                                                \
  void CPU_ISA_NAME(cpu_vec_##name)(const float *x, float *y, int64_t count, const float *p) { \
    const float a = p[0], b = p[1];                                                            \
    CPU_SIMD_FOR y[i] = f_##name(x[i], a, b);                                                  \
  }
CPU_UNARY_LIST(X)
#undef X

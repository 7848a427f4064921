// SPDX-License-Identifier: Apache-2.0
//
// Floating-point formats narrower than 32 bits, described by data and coded by one routine.
//
// A code is sign, exponent, mantissa. The value is scaled so that one unit in the last place is
// 1, rounded by rint (to nearest, ties to even), and the rounded integer is added to the
// exponent field: a carry then moves into the exponent as it must.
#include "minifloat.h"

#include <math.h>

#define NO_CODE UINT32_MAX

typedef struct format {
  int32_t exponent_bits;
  int32_t mantissa_bits;
  int32_t bias;
  uint32_t max_code;       // of the largest finite value, sign aside
  uint32_t infinity_code;  // NO_CODE: none
  uint32_t nan_code;       // that encode writes; NO_CODE: none, NaN becomes -0
  int32_t negative_zero;   // whether the sign of zero is kept
} format;

// IEEE 754-2008 (float16), bfloat16, OCP 8-bit formats (E4M3FN, E5M2), the FNUZ formats of
// arXiv 2206.02915, OCP microscaling (E2M1, E2M3, E3M2).
static const format formats[OPS_TYPE_COUNT] = {
    [OPS_TYPE_FLOAT16] = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, 1},
    [OPS_TYPE_BFLOAT16] = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, 1},
    [OPS_TYPE_FLOAT8E4M3FN] = {4, 3, 7, 0x7e, NO_CODE, 0x7f, 1},
    [OPS_TYPE_FLOAT8E4M3FNUZ] = {4, 3, 8, 0x7f, NO_CODE, 0x80, 0},
    [OPS_TYPE_FLOAT8E5M2] = {5, 2, 15, 0x7b, 0x7c, 0x7e, 1},
    [OPS_TYPE_FLOAT8E5M2FNUZ] = {5, 2, 16, 0x7f, NO_CODE, 0x80, 0},
    [OPS_TYPE_FLOAT4E2M1] = {2, 1, 1, 0x7, NO_CODE, NO_CODE, 1},
    [OPS_TYPE_FLOAT6E2M3] = {2, 3, 1, 0x1f, NO_CODE, NO_CODE, 1},
    [OPS_TYPE_FLOAT6E3M2] = {3, 2, 3, 0x1f, NO_CODE, NO_CODE, 1},
};

static uint32_t overflow_code(const format *f, uint32_t sign, int saturate) {
  if (saturate) return sign | f->max_code;
  if (f->infinity_code != NO_CODE) return sign | f->infinity_code;
  if (f->nan_code == NO_CODE) return sign | f->max_code;
  return f->negative_zero ? sign | f->nan_code : f->nan_code;
}

uint32_t ref_encode(int32_t type, double value, int saturate) {
  if (type == OPS_TYPE_FLOAT8E8M0) return ref_encode_e8m0(value, saturate, REF_ROUND_UP);
  const format *f = &formats[type];
  uint32_t sign = signbit(value) ? 1u << (f->exponent_bits + f->mantissa_bits) : 0;
  if (isnan(value)) {
    if (f->nan_code == NO_CODE) return 1u << (f->exponent_bits + f->mantissa_bits);
    return f->negative_zero ? sign | f->nan_code : f->nan_code;
  }
  double magnitude = fabs(value);
  if (isinf(value)) return overflow_code(f, sign, saturate);
  if (magnitude == 0) return f->negative_zero ? sign : 0;
  int smallest = 1 - f->bias;
  int exponent = ilogb(magnitude);
  if (exponent < smallest) exponent = smallest;
  double steps = rint(ldexp(magnitude, f->mantissa_bits - exponent));
  int64_t code = ((int64_t)(exponent - smallest) << f->mantissa_bits) + (int64_t)steps;
  if (code > (int64_t)f->max_code) return overflow_code(f, sign, saturate);
  if (code == 0 && !f->negative_zero) return 0;
  return sign | (uint32_t)code;
}

double ref_decode(int32_t type, uint32_t code) {
  if (type == OPS_TYPE_FLOAT8E8M0) return code == 0xff ? NAN : ldexp(1.0, (int)code - 127);
  const format *f = &formats[type];
  uint32_t sign_bit = 1u << (f->exponent_bits + f->mantissa_bits);
  if (!f->negative_zero && code == f->nan_code) return NAN;
  uint32_t magnitude = code & (sign_bit - 1);
  double sign = code & sign_bit ? -1.0 : 1.0;
  if (magnitude == f->infinity_code) return sign * (double)INFINITY;
  if (magnitude > f->max_code) return copysign((double)NAN, sign);
  int32_t exponent = (int32_t)(magnitude >> f->mantissa_bits);
  int32_t mantissa = (int32_t)(magnitude & ((1u << f->mantissa_bits) - 1));
  if (exponent == 0)
    exponent = 1;
  else
    mantissa |= 1 << f->mantissa_bits;
  return sign * ldexp((double)mantissa, exponent - f->bias - f->mantissa_bits);
}

uint32_t ref_encode_e8m0(double value, int saturate, int rounding) {
  if (isnan(value)) return 0xff;
  double magnitude = fabs(value);
  if (magnitude == 0) return 0;
  if (isinf(magnitude)) return saturate ? 0xfe : 0xff;
  int exponent = ilogb(magnitude);
  double fraction = ldexp(magnitude, -exponent);  // in [1, 2)
  if ((rounding == REF_ROUND_UP && fraction > 1) ||
      (rounding == REF_ROUND_NEAREST && fraction >= 1.5))
    ++exponent;
  if (exponent > 127) return saturate ? 0xfe : 0xff;
  if (exponent < -127) return 0;
  return (uint32_t)(exponent + 127);
}

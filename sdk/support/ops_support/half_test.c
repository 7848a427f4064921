// SPDX-License-Identifier: Apache-2.0
//
// Conversions of float16 and bfloat16, all 65,536 codes and a quarter of a million floats. The
// hashes (FNV-1a, 64 bits, over the little-endian results in order, NaN left out) were computed
// from numpy's float16 and from ml_dtypes' bfloat16 by astype; ties are checked against the
// definition of rounding to nearest even.
#include <math.h>
#include <ops_support/half.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka needs the headers above first
#include <cmocka.h>

typedef struct format {
  float (*to_float)(uint16_t code);
  uint16_t (*from_float)(float value);
  uint16_t infinity;  // its code; larger magnitudes are NaN
  uint64_t hash_to, hash_from, hash_near;
} format;

static const format kHalf = {ops_half_to_float,
                             ops_half_from_float,
                             0x7c00,
                             UINT64_C(0xa7a575fd4882f925),
                             UINT64_C(0x919fae9852b19692),
                             UINT64_C(0x0078ca984583093c)};
static const format kBfloat16 = {
    ops_bfloat16_to_float,        ops_bfloat16_from_float,      0x7f80,
    UINT64_C(0x6d9e679a27bc81f5), UINT64_C(0xab773d877e18995c), UINT64_C(0x9964cdfa95b5aff3)};

static uint64_t hash(uint64_t hash, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    hash = (hash ^ (value >> 8 * i & 0xff)) * UINT64_C(0x100000001b3);
  return hash;
}
static const uint64_t kBasis = UINT64_C(0xcbf29ce484222325);

static void converts_every_code(void **state) {
  const format *f = *state;
  uint64_t sum = kBasis;
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = f->to_float((uint16_t)code);
    const int nan = (code & 0x7fff) > f->infinity;
    assert_int_equal(isnan(value) != 0, nan);
    if (!nan) sum = hash(sum, ops_float_to_bits(value), 4);
    // Back again: the code itself; of a NaN, a NaN of the same sign.
    const uint16_t back = f->from_float(value);
    if (!nan) assert_int_equal(back, code);
    assert_int_equal((back & 0x7fff) > f->infinity, nan);
    assert_int_equal(back >> 15, code >> 15);
  }
  assert_true(sum == f->hash_to);
}

// Floats of every exponent, in the order of a multiplicative sequence.
static void rounds_as_numpy_does(void **state) {
  const format *f = *state;
  uint64_t all = kBasis, near = kBasis;
  for (uint32_t i = 0; i < 1u << 18; ++i) {
    const float value = ops_bits_to_float(i * 2654435761u + 12345u);
    if (!isnan(value)) all = hash(all, f->from_float(value), 2);
    // From below the smallest float16 to beyond the largest.
    near = hash(near, f->from_float(ops_bits_to_float(0x32000000u + i * 1409u)), 2);
  }
  assert_true(all == f->hash_from);
  assert_true(near == f->hash_near);
}

// Between neighbours: the even one at the middle, the nearer one a float to either side. In
// double the middle is exact.
static void ties_go_to_even(void **state) {
  const format *f = *state;
  for (uint32_t sign = 0; sign < 2; ++sign) {
    for (uint32_t low = 0; low + 1 < f->infinity; ++low) {
      const uint16_t a = (uint16_t)(sign << 15 | low), b = (uint16_t)(a + 1);
      const float middle = (float)(((double)f->to_float(a) + f->to_float(b)) / 2);
      if (middle == f->to_float(a) || middle == f->to_float(b))
        continue;  // below float's steps
      assert_int_equal(f->from_float(middle), low % 2 ? b : a);
      assert_int_equal(f->from_float(nextafterf(middle, f->to_float(a))), a);
      assert_int_equal(f->from_float(nextafterf(middle, f->to_float(b))), b);
    }
  }
}

static void overflow_is_infinite(void **state) {
  const format *f = *state;
  // The largest finite value plus half a step, and the float below it.
  const float largest = f->to_float((uint16_t)(f->infinity - 1));
  const float step = largest - f->to_float((uint16_t)(f->infinity - 2));
  const double edge = (double)largest + (double)step / 2;
  assert_int_equal(f->from_float((float)edge), f->infinity);
  assert_int_equal(f->from_float(nextafterf((float)edge, 0)), f->infinity - 1);
  assert_int_equal(f->from_float(INFINITY), f->infinity);
  assert_int_equal(f->from_float(-INFINITY), f->infinity | 0x8000);
}

int main(void) {
#define OF(test, format_name) \
  { #test " " #format_name, test, NULL, NULL, (void *)&format_name }
  const struct CMUnitTest tests[] = {
      OF(converts_every_code, kHalf),  OF(converts_every_code, kBfloat16),
      OF(rounds_as_numpy_does, kHalf), OF(rounds_as_numpy_does, kBfloat16),
      OF(ties_go_to_even, kHalf),      OF(ties_go_to_even, kBfloat16),
      OF(overflow_is_infinite, kHalf), OF(overflow_is_infinite, kBfloat16),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

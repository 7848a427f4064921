// SPDX-License-Identifier: Apache-2.0
//
// The inverse normal distribution is algorithm AS 241 (PPND16) of Wichura, Applied Statistics
// 37 (1988): three rational approximations, relative error about 1e-16.
#include "random.h"

#include <math.h>
#include <string.h>

#define ROUNDS 10

ref_random ref_random_of(const ops_kernel *kernel) {
  ref_random random = {{0, 0}};
  const ref_attribute *seed = ref_attr(kernel, "seed");
  if (seed != NULL && seed->kind == OPS_ATTRIBUTE_FLOAT) {
    memcpy(&random.key[0], seed->floats, sizeof random.key[0]);
    return random;
  }
  if (seed != NULL && seed->kind == OPS_ATTRIBUTE_INT) {
    memcpy(random.key, seed->ints, sizeof random.key);
    return random;
  }
  // FNV-1a of the name, which leaves the second word other than 0.
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint64_t i = 0; i < kernel->name.size; ++i)
    hash = (hash ^ (unsigned char)kernel->name.data[i]) * 0x100000001B3u;
  random.key[0] = (uint32_t)hash;
  random.key[1] = (uint32_t)(hash >> 32) | 1;
  return random;
}

void ref_random_block(const ref_random *random, const uint32_t counter[4], uint32_t out[4]) {
  uint32_t key0 = random->key[0], key1 = random->key[1];
  uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
  for (int round = 0; round < ROUNDS; ++round) {
    uint64_t first = (uint64_t)a * 0xD2511F53u, second = (uint64_t)c * 0xCD9E8D57u;
    a = (uint32_t)(second >> 32) ^ b ^ key0;
    b = (uint32_t)second;
    c = (uint32_t)(first >> 32) ^ d ^ key1;
    d = (uint32_t)first;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

// 53 random bits.
static uint64_t bits_at(const ref_random *random, uint64_t index) {
  const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
  uint32_t block[4];
  ref_random_block(random, counter, block);
  return (uint64_t)(block[0] >> 5) << 26 | block[1] >> 6;
}

double ref_random_uniform(const ref_random *random, uint64_t index) {
  return (double)bits_at(random, index) * 0x1p-53;
}

double ref_random_normal(const ref_random *random, uint64_t index) {
  // The middle of one of 2^52 cells: never 0 or 1.
  return ref_inverse_normal(((double)(bits_at(random, index) >> 1) + 0.5) * 0x1p-52);
}

// ---- Functions
// -------------------------------------------------------------------------------

#define LOG2_HIGH 0x1.62e42fee00000p-1
#define LOG2_LOW 0x1.a39ef35793c76p-33

double ref_portable_log(double x) {
  int exponent;
  double m = frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // log m = 2 artanh s
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return (double)exponent * LOG2_HIGH + ((double)exponent * LOG2_LOW + 2 * s * sum);
}

double ref_portable_exp(double x) {
  if (!(x > -745)) return 0;
  double n = rint(x * 1.4426950408889634);
  double r = x - n * LOG2_HIGH - n * LOG2_LOW, sum = 1;
  for (int k = 18; k >= 1; --k) sum = 1 + r / k * sum;
  return ldexp(sum, (int)n);
}

static double polynomial(const double *c, double x) {
  double sum = c[7];
  for (int i = 6; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// Numerator and denominator near the middle, in the tails, far out.
static const double central[2][8] = {
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3},
    {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3}};
static const double tail[2][8] = {
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};
static const double far[2][8] = {
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15}};

double ref_inverse_normal(double p) {
  double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    return q * polynomial(central[0], r) / polynomial(central[1], r);
  }
  double r = sqrt(-ref_portable_log(q < 0 ? p : 1 - p));
  const double(*table)[8] = r <= 5 ? tail : far;
  r -= r <= 5 ? 1.6 : 5;
  double x = polynomial(table[0], r) / polynomial(table[1], r);
  return q < 0 ? -x : x;
}

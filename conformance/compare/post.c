// SPDX-License-Identifier: Apache-2.0
//
// The operators, with the limits that their contracts give them in the profile `standard`.
// Turning points: where x * g(x) is least, that is g(x) + x * g'(x) = 0.
#include "compare/post.h"

#include <math.h>
#include <stddef.h>

#include "compare/judge.h"

static double add(double x, double y) {
  return x + y;
}

static double subtract(double x, double y) {
  return x - y;
}

static double multiply(double x, double y) {
  return x * y;
}

static double relu(double x, double y) {
  (void)y;
  return x > 0 ? x : 0;
}

static double leaky_relu(double x, double y) {
  (void)y;
  return x >= 0 ? x : (double)0.125f * x;
}

static double clip(double x, double y) {
  (void)y;
  return fmin(fmax(x, OC_POST_LOW), OC_POST_HIGH);
}

static double sigmoid(double x, double y) {
  (void)y;
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double hard_sigmoid(double x, double y) {
  (void)y;
  return fmin(fmax((double)0.2f * x + 0.5, 0), 1);
}

static double hyperbolic(double x, double y) {
  (void)y;
  return tanh(x);
}

static double hard_swish(double x, double y) {
  (void)y;
  return x * fmin(fmax(x / 6 + 0.5, 0), 1);
}

static double elu(double x, double y) {
  (void)y;
  return x >= 0 ? x : expm1(x);
}

static double softplus(double x, double y) {
  (void)y;
  return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double exponential(double x, double y) {
  (void)y;
  return exp(x);
}

static double magnitude(double x, double y) {
  (void)y;
  return fabs(x);
}

static double negative(double x, double y) {
  (void)y;
  return -x;
}

static double gelu(double x, double y) {
  (void)y;
  return x * 0.5 * erfc(-x * M_SQRT1_2);
}

static double swish(double x, double y) {
  return x * sigmoid(x, y);
}

static double mish(double x, double y) {
  return x * tanh(softplus(x, y));
}

#define SMOOTH NAN
static const oc_post kPosts[] = {
    {"Relu", 14, OC_POST_ALONE, relu, SMOOTH, 0, 0, {{NULL, 0}}},
    {"Add", 14, OC_POST_TENSOR, add, SMOOTH, 1, 0, {{NULL, 0}}},
    {"Sigmoid", 13, OC_POST_ALONE, sigmoid, SMOOTH, 34, 0, {{NULL, 0}}},
    {"Clip", 13, OC_POST_BOUNDS, clip, SMOOTH, 0, 0, {{NULL, 0}}},
    {"Mul", 14, OC_POST_TENSOR, multiply, SMOOTH, 1, 0, {{NULL, 0}}},
    {"Tanh", 13, OC_POST_ALONE, hyperbolic, SMOOTH, 5, 0, {{NULL, 0}}},
    {"LeakyRelu", 16, OC_POST_ALONE, leaky_relu, SMOOTH, 1, 0, {{"alpha", 0.125f}}},
    {"Gelu", 20, OC_POST_ALONE, gelu, -0.7517915246935645, 18, 54, {{NULL, 0}}},
    {"HardSwish", 14, OC_POST_ALONE, hard_swish, -1.5, 4, 12, {{NULL, 0}}},
    {"Swish", 24, OC_POST_ALONE, swish, -1.2784645427610738, 34, 34, {{"alpha", 1}}},
    {"Sub", 14, OC_POST_TENSOR, subtract, SMOOTH, 1, 0, {{NULL, 0}}},
    {"HardSigmoid",
     6,
     OC_POST_ALONE,
     hard_sigmoid,
     SMOOTH,
     2,
     2,
     {{"alpha", 0.2f}, {"beta", 0.5f}}},
    {"Elu", 6, OC_POST_ALONE, elu, SMOOTH, 18, 18, {{"alpha", 1}}},
    {"Mish", 18, OC_POST_ALONE, mish, -1.1924312145154894, 34, 34, {{NULL, 0}}},
    {"Softplus", 1, OC_POST_ALONE, softplus, SMOOTH, 18, 18, {{NULL, 0}}},
    {"Exp", 13, OC_POST_ALONE, exponential, SMOOTH, 32, 0, {{NULL, 0}}},
    {"Abs", 13, OC_POST_ALONE, magnitude, 0, 0, 0, {{NULL, 0}}},
    {"Neg", 13, OC_POST_ALONE, negative, SMOOTH, 0, 0, {{NULL, 0}}},
};

const oc_post *oc_posts(size_t *out_count) {
  *out_count = sizeof(kPosts) / sizeof(*kPosts);
  return kPosts;
}

// How far the result may be off, where its magnitude is at most `most`.
static double widen_by(const oc_post *post, int32_t type, int32_t accumulate, double most) {
  if (!isfinite(most)) return 0;
  const oc_float_format *inner = oc_number_format(accumulate);
  const double ulp = oc_compare_ulp_limit(post->ulp, type, accumulate);
  const double absolute = post->scale * exp2(-inner->fraction_bits);
  const bool rounds = post->ulp > 0;  // else the value is one that was there before
  return fmax(ulp * oc_judge_unit(type, most), absolute) +
         (rounds ? oc_judge_unit(type, most) : 0);
}

static void apply_one(const oc_post *post, double operand, double *lower, double *upper) {
  const double a = post->value(*lower, operand), b = post->value(*upper, operand);
  const bool turns = *lower < post->turn && post->turn < *upper;
  const double c = turns ? post->value(post->turn, operand) : a;
  *lower = fmin(fmin(a, b), c);
  *upper = fmax(fmax(a, b), c);
}

void oc_post_apply(const oc_post *post, int32_t type, int32_t accumulate, const double *operand,
                   double *lower, double *upper, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (isnan(lower[i]) || isnan(upper[i])) continue;  // stays: NaN is wanted, or anything goes
    apply_one(post, operand ? operand[i] : 0, &lower[i], &upper[i]);
    const double most = fmax(fabs(lower[i]), fabs(upper[i]));
    const double more = widen_by(post, type, accumulate, most);
    lower[i] -= more;
    upper[i] += more;
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// Intervals through chains, and the judge `fused`. Expected values: images by hand where they
// are exact, turning points by bisection of a derivative that is taken numerically in long
// double.
#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"
#include "compare/post.h"

static const oc_post *find(const char *op) {
  size_t count;
  const oc_post *posts = oc_posts(&count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(posts[i].op, op) == 0) return &posts[i];
  }
  fail_msg("there is no %s", op);
  return NULL;
}

// ULP of float: 2^-23 in [1, 2), 2^-22 in [2, 4), 2^-24 in [0.5, 1), 2^-25 in [0.25, 0.5).
static void maps_intervals(void **state) {
  static const struct {
    const char *op;
    double operand, lower, upper, low, high;  // before; after, without the operator's own limit
    double more;                              // that limit
  } rows[] = {
      {"Relu", 0, -1, 2, 0, 2, 0},
      {"Relu", 0, -3, -2, 0, 0, 0},
      {"Neg", 0, -1, 2, -2, 1, 0},
      {"Abs", 0, -3, 2, 0, 3, 0},
      {"Abs", 0, -3, -2, 2, 3, 0},
      {"Clip", 0, -1, 0.25, -0.5, 0.25, 0},
      {"Clip", 0, 0.5, 9, 0.5, 0.75, 0},
      {"Add", 0.5, 1, 2, 1.5, 2.5, 2 * 0x1p-22},  // 1 ULP and one rounding, of 2.5
      {"Sub", 0.5, 1, 2, 0.5, 1.5, 2 * 0x1p-23},
      {"Mul", -0.5, 1, 2, -1, -0.5, 2 * 0x1p-23},
      {"Mul", 0.5, -1, 1, -0.5, 0.5, 2 * 0x1p-24},
      {"LeakyRelu", 0, -8, 1, -1, 1, 2 * 0x1p-23},
      {"HardSigmoid", 0, -9, 9, 0, 1, 3 * 0x1p-23},
      // x * clip(x / 6 + 0.5, 0, 1): its least value, -0.375, is at -1.5.
      {"HardSwish", 0, -3, 0, -0.375, 0, 12 * 0x1p-23 + 0x1p-25},
      {"HardSwish", 0, 3, 4, 3, 4, 5 * 0x1p-21},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    double lower = rows[i].lower, upper = rows[i].upper;
    oc_post_apply(find(rows[i].op), OPS_TYPE_FLOAT, OPS_TYPE_FLOAT, &rows[i].operand, &lower,
                  &upper, 1);
    if (lower != rows[i].low - rows[i].more || upper != rows[i].high + rows[i].more) {
      fail_msg("row %zu %s: [%.17g, %.17g]", i, rows[i].op, lower, upper);
    }
  }
}

static void narrow_types_get_their_rounding(void **state) {
  // float16, sums in float: 1 + 1 * 2^-13 ULP of 2^-10 for Add, and one more for keeping it.
  const double operand = 0, ulp = 0x1p-10;
  double lower = 1, upper = 1;
  (void)state;
  oc_post_apply(find("Add"), OPS_TYPE_FLOAT16, OPS_TYPE_FLOAT, &operand, &lower, &upper, 1);
  assert_true(upper == 1 + (2 + 0x1p-13) * ulp && lower == 1 - (2 + 0x1p-13) * ulp);
}

static void nan_and_infinity_run_through(void **state) {
  double lower[2] = {NAN, INFINITY}, upper[2] = {NAN, INFINITY};
  (void)state;
  oc_post_apply(find("Relu"), OPS_TYPE_FLOAT, OPS_TYPE_FLOAT, NULL, lower, upper, 2);
  assert_true(isnan(lower[0]) && isnan(upper[0]));
  assert_true(lower[1] == INFINITY && upper[1] == INFINITY);
}

// The functions that turn, written from their definitions in long double.
static long double gelu(long double x) {
  return x * (1 + erfl(x / sqrtl(2))) / 2;
}

static long double swish(long double x) {
  return x / (1 + expl(-x));
}

static long double mish(long double x) {
  return x * tanhl(logl(1 + expl(x)));
}

static long double least_of(long double (*f)(long double)) {
  long double low = -3, high = 0;
  for (int i = 0; i < 100; ++i) {
    const long double middle = (low + high) / 2, h = 1e-5L;
    const long double slope = f(middle + h) - f(middle - h);
    if (slope < 0) low = middle;
    if (slope >= 0) high = middle;
  }
  return low;
}

static void turning_points_are_where_the_slope_is_nothing(void **state) {
  static const struct {
    const char *op;
    long double (*f)(long double);
  } rows[] = {{"Gelu", gelu}, {"Swish", swish}, {"Mish", mish}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const oc_post *post = find(rows[i].op);
    const double least = (double)least_of(rows[i].f);
    if (fabs(post->turn - least) > 1e-8) fail_msg("%s: %.15g", post->op, least);
    for (double x = -6; x <= 6; x += 0.37) {
      assert_true(fabs(post->value(x, 0) - (double)rows[i].f(x)) < 1e-14);
    }
  }
}

static void smooth_functions_are_what_they_are_called(void **state) {
  (void)state;
  for (double x = -9; x <= 9; x += 0.43) {
    assert_true(fabs(find("Sigmoid")->value(x, 0) - (double)(1 / (1 + expl(-x)))) < 1e-15);
    assert_true(fabs(find("Softplus")->value(x, 0) - (double)logl(1 + expl(x))) < 2e-15);
    assert_true(fabs(find("Elu")->value(x, 0) - (x < 0 ? (double)expl(x) - 1 : x)) < 1e-15);
    assert_true(fabs(find("Tanh")->value(x, 0) - (double)tanhl(x)) < 1e-15);
    assert_true(fabs(find("Exp")->value(x, 0) / (double)expl(x) - 1) < 1e-15);
  }
}

static oc_verdict fused1(float got, double lower, double upper) {
  oc_comparison out;
  ops_error error = OPS_ERROR_INIT;
  const float expected = (float)(lower + (upper - lower) / 2);
  const oc_compare_input input = {.judge = OC_JUDGE_FUSED,
                                  .type = OPS_TYPE_FLOAT,
                                  .accumulate = OPS_TYPE_FLOAT,
                                  .count = 1,
                                  .got = &got,
                                  .expected = &expected,
                                  .lower = &lower,
                                  .upper = &upper};
  if (oc_compare(&input, &out, &error) != OPS_OK) fail_msg("%s", error.message);
  return out.verdict;
}

static void results_lie_inside(void **state) {
  (void)state;
  assert_int_equal(fused1(1, 1, 2), OC_MATCH);
  assert_int_equal(fused1(2, 1, 2), OC_MATCH);
  assert_int_equal(fused1(nextafterf(2, 3), 1, 2), OC_MISMATCH);
  assert_int_equal(fused1(nextafterf(1, 0), 1, 2), OC_MISMATCH);
  assert_int_equal(fused1(NAN, 1, 2), OC_MISMATCH);
  assert_int_equal(fused1(NAN, NAN, NAN), OC_MATCH);
  assert_int_equal(fused1(1, NAN, NAN), OC_MISMATCH);
  assert_int_equal(fused1(INFINITY, 1e38, 4e38), OC_MATCH);
  assert_int_equal(fused1(-INFINITY, 1e38, 4e38), OC_MISMATCH);
  assert_int_equal(fused1(INFINITY, INFINITY, INFINITY), OC_MATCH);
  assert_int_equal(fused1(0, 0, 0), OC_MATCH);
  assert_int_equal(fused1(1e-30f, 0, 0), OC_MISMATCH);
}

// reference +- limit, per judge: 3 ULP of 1.5; 2 KSB b 2^-24 with K = 4, b = 2; 4 deviations.
static void judges_give_their_intervals(void **state) {
  const float expected = 1.5f;
  const double wide = 1.5, magnitude = 2, deviation = 0x1p-20;
  double lower, upper;
  oc_compare_input input = {.judge = OC_JUDGE_ULP,
                            .type = OPS_TYPE_FLOAT,
                            .accumulate = OPS_TYPE_FLOAT,
                            .count = 1,
                            .expected = &expected,
                            .wide = &wide,
                            .magnitude = &magnitude,
                            .deviation = &deviation,
                            .ulp = 3,
                            .k = 4};
  (void)state;
  assert_true(oc_compare_interval(&input, &lower, &upper));
  assert_true(lower == 1.5 - 3 * 0x1p-23 && upper == 1.5 + 3 * 0x1p-23);
  input.absolute = 0.25;
  assert_true(oc_compare_interval(&input, &lower, &upper) && upper == 1.75);
  input.judge = OC_JUDGE_DOT;
  assert_true(oc_compare_interval(&input, &lower, &upper) && upper == 1.5 + 8 * 0x1p-23);
  input.judge = OC_JUDGE_CONDITIONED;
  assert_true(oc_compare_interval(&input, &lower, &upper));
  assert_true(upper == 1.5 + 4 * 0x1p-20 + 0x1p-23);
  input.judge = OC_JUDGE_EXACT;
  assert_true(oc_compare_interval(&input, &lower, &upper) && lower == 1.5 && upper == 1.5);
  input.type = OPS_TYPE_INT32;
  assert_false(oc_compare_interval(&input, &lower, &upper));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_intervals),
      cmocka_unit_test(narrow_types_get_their_rounding),
      cmocka_unit_test(nan_and_infinity_run_through),
      cmocka_unit_test(turning_points_are_where_the_slope_is_nothing),
      cmocka_unit_test(smooth_functions_are_what_they_are_called),
      cmocka_unit_test(results_lie_inside),
      cmocka_unit_test(judges_give_their_intervals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

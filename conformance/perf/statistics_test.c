// SPDX-License-Identifier: Apache-2.0
//
// Rank tests and intervals against scipy 1.17.1 and numpy 2.4 (the calls stand beside the
// figures), and Holm's adjustment against its definition.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "perf/rank.h"
#include "perf/series.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const double kA[] = {0.104, 0.071, 0.145, 0.141, 0.098, 0.115, 0.03,  0.076,
                            0.131, 0.15,  0.12,  0.079, 0.102, 0.146, 0.052, 0.18,
                            0.109, 0.08,  0.068, 0.064, 0.158, 0.052, 0.078, 0.125,
                            0.059, 0.062, 0.204, 0.113, 0.101, 0.227};
static const double kB[] = {0.06,   0.043, 0.055, 0.043, 0.025, -0.074, 0.046, 0.014,
                            0.081,  0.06,  0.074, 0.004, 0.038, 0.073,  -0.02, 0.015,
                            -0.002, 0.028, 0.017, 0.006, 0.053, 0.041,  0.053, 0.046};
static const double kTied[] = {1, 1, 2, 2, 2, 3, -1, -2, 5, 5, 5, 0, 4, 4, -3, 6, 7, 7, -7, 8};
static const double kOther[] = {0, 1, 1, 2, 2, -1, 3, 4, 4, 5, 0, 0, 7};

static void assert_near(double found, double expected, double relative) {
  if (fabs(found - expected) <= relative * fabs(expected)) return;
  fail_msg("expected %.17g, found %.17g", expected, found);
}

// scipy.stats.wilcoxon(a - shift, alternative="greater", correction=True, method="approx")
static void signed_rank_agrees_with_scipy(void **state) {
  (void)state;
  const struct {
    double shift, p;
  } rows[] = {{0, 9.121139997297392e-07},
              {0.1, 0.28233167763071076},
              {0.125, 0.9789555620718143},
              {0.2, 0.9999987630816534}};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    assert_near(oc_rank_signed(kA, COUNT(kA), rows[i].shift), rows[i].p, 1e-9);
  }
  assert_near(oc_rank_signed(kTied, COUNT(kTied), 0), 0.00655204075233534, 1e-9);
}

// scipy.stats.mannwhitneyu(a, b + shift, alternative="greater", method="asymptotic")
static void two_sample_agrees_with_scipy(void **state) {
  (void)state;
  const struct {
    double shift, p;
  } rows[] = {{0, 3.919242238375983e-08},
              {0.07, 0.5416012164045341},
              {0.1, 0.9951380599647347},
              {0.2, 0.999999998620401}};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    assert_near(oc_rank_two_sample(kA, COUNT(kA), kB, COUNT(kB), rows[i].shift), rows[i].p,
                1e-9);
  }
  assert_near(oc_rank_two_sample(kTied, COUNT(kTied), kOther, COUNT(kOther), 0),
              0.2704994003323835, 1e-9);
}

static void nothing_to_rank_proves_nothing(void **state) {
  (void)state;
  const double same[] = {2, 2, 2};
  assert_true(oc_rank_signed(NULL, 0, 0) == 1);
  assert_true(oc_rank_signed(same, 3, 2) == 1);
  assert_true(oc_rank_two_sample(same, 3, NULL, 0, 0) == 1);
  assert_true(oc_rank_two_sample(same, 3, same, 3, 0) == 1);
}

// From the definition: sorted 0.005, 0.01, 0.02, 0.04, 0.3 times 5, 4, 3, 2, 1 is 0.025, 0.04,
// 0.06, 0.08, 0.3; made monotone, and in the second row 0.03 * 2 and 0.04 * 1.
static void holm_adjusts(void **state) {
  (void)state;
  double p[] = {0.01, 0.3, 0.005, 0.04, 0.02};
  const double expected[] = {0.04, 0.3, 0.025, 0.08, 0.06};
  assert_int_equal(oc_rank_holm(p, COUNT(p)), 0);
  for (size_t i = 0; i < COUNT(p); ++i) assert_near(p[i], expected[i], 1e-12);
  double monotone[] = {0.04, 0.03, 0.9};
  assert_int_equal(oc_rank_holm(monotone, 3), 0);
  assert_near(monotone[0], 0.09, 1e-12);
  assert_near(monotone[1], 0.09, 1e-12);
  assert_near(monotone[2], 0.9, 1e-12);
  assert_int_equal(oc_rank_holm(NULL, 0), 0);
}

// numpy.quantile(a, q)
static void quantiles_agree_with_numpy(void **state) {
  (void)state;
  const struct {
    double q, value;
  } rows[] = {{0, 0.03},      {0.05, 0.052},  {0.25, 0.07225}, {0.5, 0.103},
              {0.75, 0.1385}, {0.95, 0.1932}, {1, 0.227}};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    double copy[COUNT(kA)];
    memcpy(copy, kA, sizeof copy);
    assert_near(oc_series_quantile(copy, COUNT(copy), rows[i].q), rows[i].value, 1e-12);
  }
  double none[1];
  assert_true(isnan(oc_series_quantile(none, 0, 0.5)));
}

// Limits of an interval are order statistics of resamples: one step of the data may lie between
// 2,000 of them and the 200,000 of the figures.
static void assert_interval(oc_perf_estimate found, double value, double low, double high,
                            double slack) {
  assert_true(found.given);
  assert_near(found.value, value, 1e-12);
  if (fabs(found.low - low) > slack || fabs(found.high - high) > slack) {
    fail_msg("expected about [%g, %g], found [%g, %g]", low, high, found.low, found.high);
  }
}

// scipy.stats.bootstrap((a,), numpy.median, confidence_level=0.99, method="percentile",
// n_resamples=100000): [0.076, 0.131]. One block: only rounds are drawn.
static void one_block_is_the_plain_bootstrap(void **state) {
  (void)state;
  const oc_series series = {.values = kA, .blocks = 1, .rounds = COUNT(kA), .runs = 1};
  assert_interval(oc_series_estimate(&series, NULL, 0.5, 1), 0.103, 0.076, 0.131, 0.004);
}

static const double kX[] = {1, 2, 3, 4, 5, 6, 10, 11, 15, 7, 8, 9};
static const double kY[] = {0.6, 0.9, 1.5, 2.2, 2.5, 2.8, 5.0, 5.8, 7.6, 3.2, 4.0, 4.6};

// numpy: 200,000 draws of 4 blocks and 3 rounds in each, quantiles 0.005 and 0.995 of the
// median, of the ratio of medians drawn together, and of the difference of medians drawn apart.
static void blocks_are_drawn_whole(void **state) {
  (void)state;
  const oc_series x = {.values = kX, .blocks = 4, .rounds = 3, .runs = 1};
  const oc_series y = {.values = kY, .blocks = 4, .rounds = 3, .runs = 1};
  assert_interval(oc_series_estimate(&x, NULL, 0.5, 2), 6.5, 2, 11, 0.51);
  assert_interval(oc_series_estimate(&x, &y, 0.5, 3), 2.1666666666666665, 1.81818182,
                  2.22222222, 0.02);
  assert_interval(oc_series_difference(&x, &y, 4), 3.5, -2.6, 9.15, 0.6);
}

static void runs_stay_in_their_round(void **state) {
  (void)state;
  // Two rounds of three equal runs: every resample has medians 1, 2 or the mean of both.
  const double values[] = {1, 1, 1, 2, 2, 2};
  const oc_series series = {.values = values, .blocks = 1, .rounds = 2, .runs = 3};
  assert_interval(oc_series_estimate(&series, NULL, 0.5, 5), 1.5, 1, 2, 1e-12);
}

static void the_same_seed_gives_the_same_interval(void **state) {
  (void)state;
  const oc_series series = {.values = kA, .blocks = 5, .rounds = 6, .runs = 1};
  const oc_perf_estimate once = oc_series_estimate(&series, NULL, 0.95, 9);
  const oc_perf_estimate twice = oc_series_estimate(&series, NULL, 0.95, 9);
  assert_true(once.given && twice.given);
  assert_true(once.value == twice.value && once.low == twice.low && once.high == twice.high);
  const oc_series none = {.values = kA};
  assert_false(oc_series_estimate(&none, NULL, 0.5, 9).given);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signed_rank_agrees_with_scipy),
      cmocka_unit_test(two_sample_agrees_with_scipy),
      cmocka_unit_test(nothing_to_rank_proves_nothing),
      cmocka_unit_test(holm_adjusts),
      cmocka_unit_test(quantiles_agree_with_numpy),
      cmocka_unit_test(one_block_is_the_plain_bootstrap),
      cmocka_unit_test(blocks_are_drawn_whole),
      cmocka_unit_test(runs_stay_in_their_round),
      cmocka_unit_test(the_same_seed_gives_the_same_interval),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

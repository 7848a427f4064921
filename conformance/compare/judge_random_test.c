// SPDX-License-Identifier: Apache-2.0
//
// The judge `random` on draws of a generator of the test's own (xorshift64*, Vigna 2016; normal
// by Box and Muller): right laws pass, each wrong one is found by the statistic that is meant
// for it.
#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"

static oc_comparison run(const oc_compare_input *input) {
  oc_comparison out;
  ops_error error = OPS_ERROR_INIT;
  if (oc_compare(input, &out, &error) != OPS_OK) fail_msg("%s", error.message);
  return out;
}

#define N 20000

static uint64_t generator = 88172645463325252u;

static double draw(void) {
  generator ^= generator >> 12;
  generator ^= generator << 25;
  generator ^= generator >> 27;
  return (double)((generator * 2685821657736338717u) >> 11) * 0x1p-53;
}

static double draw_normal(void) {
  const double u = 1 - draw(), v = draw();
  return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static float values[N];
static double numbers[N];
static const float zeros[N];

static oc_comparison judge(const oc_random_law *law) {
  return run(&(oc_compare_input){.judge = OC_JUDGE_RANDOM,
                                 .type = OPS_TYPE_FLOAT,
                                 .accumulate = OPS_TYPE_FLOAT,
                                 .count = N,
                                 .got = values,
                                 .expected = zeros,
                                 .law = law,
                                 .trivial = true});
}

static void expect(const oc_random_law *law, const char *metric) {
  const oc_comparison out = judge(law);
  if (!metric && out.verdict != OC_MATCH) fail_msg("%s: %g", out.metric, out.error);
  if (!metric) return;
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, metric);
}

static void uniform_draws(void **state) {
  const oc_random_law law = {.kind = OC_LAW_UNIFORM, .a = -1, .b = 3};
  (void)state;
  for (int i = 0; i < N; ++i) values[i] = (float)(-1 + 4 * draw());
  expect(&law, NULL);
  const oc_random_law shifted = {.kind = OC_LAW_UNIFORM, .a = -1, .b = 3.2};
  assert_int_equal(judge(&shifted).verdict, OC_MISMATCH);
  values[7] = 3.001f;
  expect(&law, "range");
  values[7] = NAN;
  expect(&law, "range");
  for (int i = 0; i < N; ++i) values[i] = (float)(-1 + 4 * sqrt(draw()));
  assert_int_equal(judge(&law).verdict, OC_MISMATCH);
  for (int i = 0; i < N; ++i) values[i] = i % 2 ? -values[i - 1] + 2 : (float)(-1 + 4 * draw());
  expect(&law, "neighbours");  // pairs around the middle, 1
  for (int i = 0; i < N; ++i) values[i] = 1;
  assert_int_equal(judge(&law).verdict, OC_MISMATCH);
}

static void normal_draws(void **state) {
  const oc_random_law law = {.kind = OC_LAW_NORMAL, .a = 2, .b = 0.5};
  (void)state;
  for (int i = 0; i < N; ++i) values[i] = (float)(2 + 0.5 * draw_normal());
  expect(&law, NULL);
  for (int i = 0; i < N; ++i) numbers[i] = draw_normal();
  for (int i = 0; i < N; ++i) values[i] = (float)(2.05 + 0.5 * numbers[i]);
  expect(&law, "mean");
  for (int i = 0; i < N; ++i) values[i] = (float)(2 + 0.55 * numbers[i]);
  assert_int_equal(judge(&law).verdict, OC_MISMATCH);
  // Mean 0 and variance 1, skewed: -log(u) - 1.
  for (int i = 0; i < N; ++i) values[i] = (float)(2 + 0.5 * (-log(1 - draw()) - 1));
  assert_int_equal(judge(&law).verdict, OC_MISMATCH);
  // Mean 0, variance 1, no skew, but uniform.
  for (int i = 0; i < N; ++i) values[i] = (float)(2 + 0.5 * sqrt(12) * (draw() - 0.5));
  assert_int_equal(judge(&law).verdict, OC_MISMATCH);
  values[3] = INFINITY;
  expect(&law, "range");
}

static void bernoulli_draws(void **state) {
  const oc_random_law law = {.kind = OC_LAW_BERNOULLI, .of = numbers, .count = N};
  (void)state;
  for (int i = 0; i < N; ++i) {
    numbers[i] = i % 10 == 0 ? 0 : i % 10 == 1 ? 1 : draw();
    values[i] = draw() < numbers[i];
  }
  expect(&law, NULL);
  for (int i = 0; i < N; ++i) values[i] = draw() < 1 - numbers[i];
  for (int i = 0; i < N; i += 10) values[i] = 0, values[i + 1] = 1;
  expect(&law, "share");  // right on average, wrong in each bin
  values[20] = 1;         // where the probability is 0
  expect(&law, "range");
  values[20] = 0.5f;
  expect(&law, "range");
}

static void dropped_and_kept(void **state) {
  const oc_random_law law = {.kind = OC_LAW_DROPPED, .of = numbers, .count = N, .share = 0.25};
  const oc_random_law kept = {.kind = OC_LAW_KEPT, .share = 0.25};
  (void)state;
  for (int i = 0; i < N; ++i) {
    numbers[i] = (float)(draw() - 0.5);
    values[i] = draw() < 0.75 ? (float)(numbers[i] / 0.75) : 0;
  }
  expect(&law, NULL);
  const oc_random_law other = {.kind = OC_LAW_DROPPED, .of = numbers, .count = N, .share = 0.5};
  expect(&other, "range");  // scaled by another share
  for (int i = 0; i < N; ++i) values[i] = draw() < 0.5 ? (float)(numbers[i] / 0.75) : 0;
  expect(&law, "share");
  for (int i = 0; i < N; ++i) values[i] = (float)numbers[i];
  expect(&law, "range");  // not scaled
  for (int i = 0; i < N; ++i) values[i] = draw() < 0.75;
  expect(&kept, NULL);
  for (int i = 0; i < N; ++i) values[i] = draw() < 0.7;
  expect(&kept, "share");
  for (int i = 0; i < N; ++i) values[i] = i % 4 != 3;  // the right share, in turn
  expect(&kept, "neighbours");
}

static void categorical_draws(void **state) {
  // Shares 1/2, 1/3, 1/6 and 1/6, 1/6, 2/3 in two rows.
  const double logits[6] = {log(3), log(2), 0, -1, -1, -1 + log(4)};
  const oc_random_law law = {
      .kind = OC_LAW_CATEGORICAL, .of = logits, .count = 6, .classes = 3};
  (void)state;
  for (int i = 0; i < N; ++i) {
    const double u = draw();
    values[i] = i < N / 2 ? (u > 0.5) + (u > 5.0 / 6) : (u > 1.0 / 6) + (u > 1.0 / 3);
  }
  expect(&law, NULL);
  values[11] = 3;
  expect(&law, "range");
  values[11] = 0.5f;
  expect(&law, "range");
  for (int i = 0; i < N; ++i) values[i] = (float)(int)(3 * draw());
  expect(&law, "share");
}

// The guard: zeros and means do not pass, and a permutation is no objection.
static void guard_knows_permutations(void **state) {
  const oc_random_law law = {.kind = OC_LAW_UNIFORM, .a = 0, .b = 1};
  (void)state;
  for (int i = 0; i < N; ++i) values[i] = (float)draw();
  oc_compare_input input = {.judge = OC_JUDGE_RANDOM,
                            .type = OPS_TYPE_FLOAT,
                            .count = N,
                            .got = values,
                            .expected = values,
                            .law = &law};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.count = 20;  // too few for statistics: zeros would pass
  assert_int_equal(run(&input).verdict, OC_UNTRUSTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uniform_draws),     cmocka_unit_test(normal_draws),
      cmocka_unit_test(bernoulli_draws),   cmocka_unit_test(dropped_and_kept),
      cmocka_unit_test(categorical_draws), cmocka_unit_test(guard_knows_permutations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

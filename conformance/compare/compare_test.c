// SPDX-License-Identifier: Apache-2.0
//
// Judges, special values and the triviality guard. Limits and distances are worked out by hand
// from the rules in CONFORMANCE.md; codes are written in hexadecimal so that steps are visible.
#include "compare/compare.h"

#include <float.h>
#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const oc_special_rules standard = {false, false, false, true};
static const oc_special_rules strict = {false, false, false, false};

static oc_comparison run(const oc_compare_input *input) {
  oc_comparison out;
  ops_error error = OPS_ERROR_INIT;
  if (oc_compare(input, &out, &error) != OPS_OK) fail_msg("%s", error.message);
  return out;
}

// One float against another with the judge ulp; no guard for a single element.
static oc_comparison ulp1(float expected, float got, double limit, oc_special_rules rules) {
  return run(&(oc_compare_input){.judge = OC_JUDGE_ULP,
                                 .type = OPS_TYPE_FLOAT,
                                 .accumulate = OPS_TYPE_FLOAT,
                                 .count = 1,
                                 .got = &got,
                                 .expected = &expected,
                                 .ulp = limit,
                                 .special = rules});
}

static float step(float value, int steps) {
  for (; steps > 0; --steps) value = nextafterf(value, INFINITY);
  for (; steps < 0; ++steps) value = nextafterf(value, -INFINITY);
  return value;
}

static void ulp_counts_steps(void **state) {
  (void)state;
  for (int steps = -4; steps <= 4; ++steps) {
    const oc_comparison out = ulp1(1, step(1, steps), 3, strict);
    assert_int_equal(out.verdict, steps < -3 || steps > 3 ? OC_MISMATCH : OC_MATCH);
    assert_true(out.error == (steps < 0 ? -steps : steps));
    assert_true(out.limit == 3);
  }
  assert_int_equal(ulp1(1, step(1, 3), 2.5, strict).verdict, OC_MISMATCH);
  assert_int_equal(ulp1(1, -1, 1e9, strict).verdict, OC_MISMATCH);  // 2 * 0x3f800000 steps
  assert_int_equal(ulp1(1, 1, 0, strict).verdict, OC_MATCH);
}

static void special_values_follow_the_rules(void **state) {
  const oc_special_rules any = {true, true, false, true};
  const oc_special_rules distinct = {false, false, true, true};
  const struct {
    float expected, got;
    double limit;
    oc_special_rules rules;
    oc_verdict verdict;
  } rows[] = {
      {NAN, NAN, 0, strict, OC_MATCH},
      {NAN, -NAN, 0, strict, OC_MATCH},
      {NAN, 1, 1e30, standard, OC_MISMATCH},
      {NAN, 1, 0, any, OC_MATCH},
      {1, NAN, 1e30, any, OC_MISMATCH},
      {INFINITY, NAN, 1e30, standard, OC_MISMATCH},
      {INFINITY, INFINITY, 0, strict, OC_MATCH},
      {INFINITY, -INFINITY, 100, standard, OC_MISMATCH},
      {INFINITY, 5, 100, any, OC_MATCH},
      {INFINITY, FLT_MAX, 1, standard, OC_MATCH},
      {INFINITY, FLT_MAX, 0, standard, OC_MISMATCH},
      {FLT_MAX, INFINITY, 1, standard, OC_MATCH},
      {0.0f, -0.0f, 0, strict, OC_MATCH},
      {0.0f, -0.0f, 100, distinct, OC_MISMATCH},
      {-0.0f, -0.0f, 0, distinct, OC_MATCH},
      {1e-40f, 0, 0, standard, OC_MATCH},
      {1e-40f, 0, 0, strict, OC_MISMATCH},
      {1e-40f, -2e-42f, 0, standard, OC_MATCH},
      {0, 1e-40f, 0, standard, OC_MATCH},
      {FLT_MIN, 0, 1, standard, OC_MATCH},
      {FLT_MIN, 0, 1, strict, OC_MISMATCH},
      {2 * FLT_MIN, 0, 100, standard, OC_MISMATCH},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const oc_comparison out = ulp1(rows[i].expected, rows[i].got, rows[i].limit, rows[i].rules);
    if (out.verdict != rows[i].verdict) fail_msg("row %zu: error %g", i, out.error);
  }
}

static void narrow_types_get_their_rounding(void **state) {
  (void)state;
  // 1 + 34 * 2^(10 - 23) and 1 + 34 * 2^(7 - 23); same type: 34.
  assert_true(oc_compare_ulp_limit(34, OPS_TYPE_FLOAT16, OPS_TYPE_FLOAT) == 1 + 34.0 / 8192);
  assert_true(oc_compare_ulp_limit(34, OPS_TYPE_BFLOAT16, OPS_TYPE_FLOAT) == 1 + 34.0 / 65536);
  assert_true(oc_compare_ulp_limit(34, OPS_TYPE_FLOAT, OPS_TYPE_FLOAT) == 34);
  assert_true(oc_compare_ulp_limit(34, OPS_TYPE_DOUBLE, OPS_TYPE_FLOAT) == 34);
  assert_true(oc_compare_ulp_limit(1e9, OPS_TYPE_FLOAT16, OPS_TYPE_FLOAT) == 32);  // 2^(10/2)
  const uint16_t expected = 0x3c00, one = 0x3c01, two = 0x3c02;
  oc_compare_input input = {.judge = OC_JUDGE_ULP,
                            .type = OPS_TYPE_FLOAT16,
                            .accumulate = OPS_TYPE_FLOAT,
                            .count = 1,
                            .got = &one,
                            .expected = &expected,
                            .ulp = 34};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.got = &two;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
}

static void absolute_limit_passes_besides(void **state) {
  const float expected = 1e-5f, got = 9e-4f;
  oc_compare_input input = {.judge = OC_JUDGE_ULP,
                            .type = OPS_TYPE_FLOAT,
                            .accumulate = OPS_TYPE_FLOAT,
                            .count = 1,
                            .got = &got,
                            .expected = &expected,
                            .absolute = 0x1p-10};
  (void)state;
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.absolute = 0x1p-11;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
}

static void worst_element_is_named(void **state) {
  float expected[10], got[10];
  (void)state;
  for (int i = 0; i < 10; ++i) expected[i] = got[i] = (float)(i + 1);
  got[3] = step(got[3], 5);
  got[7] = step(got[7], -9);
  const oc_comparison out = run(&(oc_compare_input){.judge = OC_JUDGE_ULP,
                                                    .type = OPS_TYPE_FLOAT,
                                                    .accumulate = OPS_TYPE_FLOAT,
                                                    .count = 10,
                                                    .got = got,
                                                    .expected = expected,
                                                    .ulp = 4});
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_int_equal(out.wrong, 2);
  assert_int_equal(out.worst, 7);
  assert_true(out.error == 9);
  assert_string_equal(out.expected, "8");
  assert_string_equal(out.got, "7.99999571");  // 8 - 9 * 2^-21 = 7.99999570846…
}

static void exact_compares_codes(void **state) {
  const int64_t big[2] = {9007199254740993, -1}, near[2] = {9007199254740992, -1};
  const uint8_t bits[2] = {0x21, 0x03}, other[2] = {0x21, 0x13};
  oc_compare_input input = {.judge = OC_JUDGE_EXACT,
                            .type = OPS_TYPE_INT64,
                            .count = 2,
                            .got = near,
                            .expected = big};
  (void)state;
  const oc_comparison out = run(&input);
  assert_int_equal(out.verdict, OC_MISMATCH);  // differ only beyond the precision of double
  assert_string_equal(out.expected, "9007199254740993");
  input.got = big;
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input = (oc_compare_input){.judge = OC_JUDGE_EXACT,
                             .type = OPS_TYPE_UINT4,
                             .count = 3,
                             .got = other,
                             .expected = bits};
  assert_int_equal(run(&input).verdict, OC_MATCH);  // the fourth nibble is padding
  input.count = 4;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
  const float zeros[2] = {0.0f, NAN}, negative[2] = {-0.0f, NAN};
  input = (oc_compare_input){.judge = OC_JUDGE_EXACT,
                             .type = OPS_TYPE_FLOAT,
                             .count = 2,
                             .got = negative,
                             .expected = zeros};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.special.signed_zero_distinct = true;
  assert_int_equal(run(&input).verdict, OC_MISMATCH);
}

#define DOTS 100
// A dot comparison of DOTS results around 1 with b = 2: the unit is 2 * 2^-24 = 2^-23.
typedef struct dot_fixture {
  float expected[DOTS];
  float got[DOTS];
  double wide[DOTS];
  double magnitude[DOTS];
  oc_compare_input input;
} dot_fixture;

static void dot_setup(dot_fixture *f, double k) {
  for (int i = 0; i < DOTS; ++i) {
    f->wide[i] = 1 + (i % 7) / 16.0;
    f->expected[i] = f->got[i] = (float)f->wide[i];
    f->magnitude[i] = 2;
  }
  f->input = (oc_compare_input){.judge = OC_JUDGE_DOT,
                                .type = OPS_TYPE_FLOAT,
                                .accumulate = OPS_TYPE_FLOAT,
                                .count = DOTS,
                                .got = f->got,
                                .expected = f->expected,
                                .wide = f->wide,
                                .magnitude = f->magnitude,
                                .k = k};
}

static void dot_bounds_each_error(void **state) {
  dot_fixture f;
  (void)state;
  dot_setup(&f, 4);  // |err| <= 8 units of 2^-23
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  f.got[5] += 8 * 0x1p-23f;
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  f.got[5] += 0x1p-23f;
  const oc_comparison out = run(&f.input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, "dot error");
  assert_int_equal(out.worst, 5);
  assert_true(out.error == 9 && out.limit == 8);
}

static void dot_bounds_variance_and_bias(void **state) {
  dot_fixture f;
  (void)state;
  dot_setup(&f, 4);
  // Squares: limit 1.6 * 4 * 100 = 640. 100 errors of +-3 give 900, of +-2 give 400.
  for (int i = 0; i < DOTS; ++i) f.got[i] = f.expected[i] + (i % 2 ? 2 : -2) * 0x1p-23f;
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  for (int i = 0; i < DOTS; ++i) f.got[i] = f.expected[i] + (i % 2 ? 3 : -3) * 0x1p-23f;
  oc_comparison out = run(&f.input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, "dot variance");
  assert_true(fabs(out.error - 900) < 1e-9 && fabs(out.limit - 640) < 1e-9);
  // Sum: limit sqrt(6400) = 80. 100 errors of +1 give 100, and 100 squares.
  for (int i = 0; i < DOTS; ++i) f.got[i] = f.expected[i] + 0x1p-23f;
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  f.input.random_fill = true;
  out = run(&f.input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, "dot bias");
  assert_true(fabs(out.limit - 80) < 1e-9);
  f.input.count = 63;  // too few for statistics
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
}

static void dot_knows_its_edges(void **state) {
  dot_fixture f;
  (void)state;
  dot_setup(&f, 4);
  f.magnitude[3] = 0;
  f.wide[3] = 0;
  f.expected[3] = 0;
  f.got[3] = 1e-30f;
  assert_int_equal(run(&f.input).verdict, OC_MISMATCH);  // b = 0 means exactly 0
  f.got[3] = 0;
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  f.got[3] = NAN;
  assert_int_equal(run(&f.input).verdict, OC_MISMATCH);
  f.magnitude[3] = 1e39;  // beyond float: partial sums may overflow
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  f.magnitude[3] = 2;
  f.wide[3] = NAN;
  assert_int_equal(run(&f.input).verdict, OC_MATCH);
  f.got[3] = 0;
  assert_int_equal(run(&f.input).verdict, OC_MISMATCH);
  f.got[3] = f.expected[3] = 1;
  f.wide[3] = 1;
  f.got[4] = INFINITY;
  assert_int_equal(run(&f.input).verdict, OC_MISMATCH);
}

// float16 results accumulated in float: KSB = ceil(K / 2^6.5), so K = 90 has KSB 1 and K = 91
// has 2.
static void dot_credits_wide_accumulation(void **state) {
  const uint16_t expected = 0x3c00, got = 0x3c02;  // 1 and 1 + 2^-9
  const double wide = 1, magnitude = 2;            // unit 2 * 2^-11 = 2^-10: err 2
  oc_compare_input input = {.judge = OC_JUDGE_DOT,
                            .type = OPS_TYPE_FLOAT16,
                            .accumulate = OPS_TYPE_FLOAT,
                            .count = 1,
                            .got = &got,
                            .expected = &expected,
                            .wide = &wide,
                            .magnitude = &magnitude,
                            .k = 90};
  (void)state;
  oc_comparison out = run(&input);
  assert_int_equal(out.verdict, OC_MATCH);
  assert_true(out.limit == 2 && out.error == 2);
  input.k = 91;
  assert_true(run(&input).limit == 4);
  input.k = 90;
  input.exact = true;
  out = run(&input);
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, "equal");
}

// What the guard says of float values that match themselves.
static oc_comparison guarded(const float *values, size_t count, double limit) {
  return run(&(oc_compare_input){.judge = OC_JUDGE_ULP,
                                 .type = OPS_TYPE_FLOAT,
                                 .accumulate = OPS_TYPE_FLOAT,
                                 .count = count,
                                 .got = values,
                                 .expected = values,
                                 .ulp = limit});
}

static void guard_finds_trivial_cases(void **state) {
  const float zeros[8] = {0};
  const float equal[8] = {3, 3, 3, 3, 3, 3, 3, 3};
  const float alternating[8] = {1, 2, 1, 2, 1, 2, 1, 2};
  const float useful[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  (void)state;
  oc_comparison out = guarded(zeros, 8, 1);
  assert_int_equal(out.verdict, OC_UNTRUSTED);
  assert_string_equal(out.trivial, "zeros");
  out = guarded(equal, 8, 1);
  assert_int_equal(out.verdict, OC_UNTRUSTED);
  assert_string_equal(out.trivial, "the mean of the expected values");
  assert_int_equal(guarded(alternating, 8, 1).verdict, OC_MATCH);
  // 2^23 steps lie between 1 and 2, between 2 and 4 …: a limit of 2^24 lets neighbours swap.
  out = guarded(alternating, 8, 0x1p23);
  assert_int_equal(out.verdict, OC_UNTRUSTED);
  assert_int_equal(guarded(useful, 8, 4).verdict, OC_MATCH);
  assert_null(guarded(useful, 8, 4).trivial);
  assert_int_equal(guarded(zeros, 7, 1).verdict, OC_MATCH);  // too few to guard
  assert_int_equal(guarded(NULL, 0, 1).verdict, OC_MATCH);
  oc_compare_input input = {.judge = OC_JUDGE_EXACT,
                            .type = OPS_TYPE_FLOAT,
                            .count = 8,
                            .got = equal,
                            .expected = equal,
                            .trivial = true};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.trivial = false;
  assert_int_equal(run(&input).verdict, OC_UNTRUSTED);
}

static void guard_finds_permutations(void **state) {
  // Large values with one small one: zeros and the mean fail, a shift by one passes only when
  // the limit spans the neighbours' distance.
  const float steps[8] = {1.0f, 1.0000001f, 1.0000002f, 1.0000004f,
                          1.0f, 1.0000001f, 1.0000002f, 100.0f};
  (void)state;
  assert_int_equal(guarded(steps, 8, 3).verdict, OC_MATCH);
  const uint8_t truths[9] = {1, 1, 1, 1, 1, 1, 1, 1, 0};
  oc_compare_input input = {.judge = OC_JUDGE_EXACT,
                            .type = OPS_TYPE_BOOL,
                            .count = 9,
                            .got = truths,
                            .expected = truths};
  assert_int_equal(run(&input).verdict, OC_MATCH);
  input.count = 8;
  assert_int_equal(run(&input).verdict, OC_UNTRUSTED);
}

static void refuses_what_it_cannot_judge(void **state) {
  const float value = 1;
  oc_comparison out;
  ops_error error = OPS_ERROR_INIT;
  oc_compare_input input = {.judge = OC_JUDGE_RANDOM,
                            .type = OPS_TYPE_FLOAT,
                            .count = 1,
                            .got = &value,
                            .expected = &value};
  (void)state;
  assert_int_equal(oc_compare(&input, &out, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "laws for the judge \"random\""));
  input.judge = OC_JUDGE_EXACT;
  input.type = OPS_TYPE_STRING;
  assert_int_equal(oc_compare(&input, &out, &error), OPS_ERROR_UNSUPPORTED);
  input.judge = OC_JUDGE_DOT;
  input.type = OPS_TYPE_FLOAT;
  assert_int_equal(oc_compare(&input, &out, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "magnitudes"));
  input.judge = OC_JUDGE_ULP;
  input.got = NULL;
  assert_int_equal(oc_compare(&input, &out, &error), OPS_ERROR_INVALID_ARGUMENT);
}

static void integers_are_always_exact(void **state) {
  const int32_t expected = 5, got = 6;
  (void)state;
  const oc_comparison out = run(&(oc_compare_input){.judge = OC_JUDGE_ULP,
                                                    .type = OPS_TYPE_INT32,
                                                    .accumulate = OPS_TYPE_INT32,
                                                    .count = 1,
                                                    .got = &got,
                                                    .expected = &expected,
                                                    .ulp = 1000});
  assert_int_equal(out.verdict, OC_MISMATCH);
  assert_string_equal(out.metric, "equal");
}

static void profiles_and_contracts_make_rules(void **state) {
  oc_precision precision = {0};
  (void)state;
  assert_true(oc_special_resolve(OC_PROFILE_STANDARD, &precision).denormal_any);
  assert_false(oc_special_resolve(OC_PROFILE_STRICT, &precision).denormal_any);
  assert_true(oc_special_resolve(OC_PROFILE_EMBEDDED, &precision).nan_any);
  precision.denormal = OC_DENORMAL_PRESERVE;
  precision.nan = OC_NAN_PROPAGATE;
  precision.infinity = OC_INFINITY_EXACT;
  precision.signed_zero = OC_SIGNED_ZERO_DISTINCT;
  const oc_special_rules rules = oc_special_resolve(OC_PROFILE_EMBEDDED, &precision);
  assert_false(rules.denormal_any || rules.nan_any || rules.infinity_any);
  assert_true(rules.signed_zero_distinct);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ulp_counts_steps),
      cmocka_unit_test(special_values_follow_the_rules),
      cmocka_unit_test(narrow_types_get_their_rounding),
      cmocka_unit_test(absolute_limit_passes_besides),
      cmocka_unit_test(worst_element_is_named),
      cmocka_unit_test(exact_compares_codes),
      cmocka_unit_test(dot_bounds_each_error),
      cmocka_unit_test(dot_bounds_variance_and_bias),
      cmocka_unit_test(dot_knows_its_edges),
      cmocka_unit_test(dot_credits_wide_accumulation),
      cmocka_unit_test(guard_finds_trivial_cases),
      cmocka_unit_test(guard_finds_permutations),
      cmocka_unit_test(refuses_what_it_cannot_judge),
      cmocka_unit_test(integers_are_always_exact),
      cmocka_unit_test(profiles_and_contracts_make_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

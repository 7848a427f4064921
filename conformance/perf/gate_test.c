// SPDX-License-Identifier: Apache-2.0
//
// The gate on samples that are made, not measured: the right verdict is known because the
// speeds are. Noise comes from a generator of its own, so that every run of the test is the
// same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "perf/gate.h"
#include "perf/maturity.h"

// What the samples of one record are made from; times in seconds.
typedef struct making {
  double candidate;
  double yardstick;
  double noise;     // relative, of each run
  double luck;      // relative, of each process
  double drift;     // the machine is so much slower in the last round than in the first
  uint32_t blocks;  // of 5 rounds of 6 runs
  uint64_t seed;
} making;

static double unit(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*seed >> 11) * 0x1p-53;
}

// Between -1 and 1, more often near 0.
static double wobble(uint64_t *seed) {
  return unit(seed) + unit(seed) - 1;
}

static oc_perf_record *make(const making *how) {
  oc_perf_record *record = calloc(1, sizeof *record);
  uint64_t seed = how->seed + 1;
  const double speeds[OC_PERF_ROLES] = {how->candidate, how->candidate, how->yardstick};
  assert_non_null(record);
  record->blocks = how->blocks;
  record->rounds = 5;
  record->runs = 6;
  for (uint32_t block = 0; block < how->blocks; ++block) {
    for (int role = 0; role < OC_PERF_ROLES; ++role) {
      const double process = speeds[role] * (1 + how->luck * wobble(&seed));
      record->present[role] = speeds[role] > 0;
      record->first_run[role][block] = 3 * process;
      record->prepare[role][block] = 5 * process;
      for (uint32_t i = 0; i < 30; ++i) {
        const double machine = 1 + how->drift * (block * 5 + i / 6) / (how->blocks * 5.0);
        record->hot[role][block * 30 + i] =
            process * machine * (1 + how->noise * fabs(wobble(&seed)));
      }
    }
  }
  return record;
}

typedef struct verdict {
  oc_perf_point point;
  oc_perf_record *record;
} verdict;

// The verdict on a record in a first or second measurement, alone or beside `others` points of
// the same samples.
static void judge(const making *how, oc_perf_terms terms, uint32_t attempts,
                  verdict *out_verdict) {
  static const oc_performance entry = {.name = "made"};
  ops_error error = OPS_ERROR_INIT;
  if (!terms.entry) terms.entry = &entry;
  *out_verdict = (verdict){.point = {.id = "made", .attempts = attempts}};
  out_verdict->record = make(how);
  assert_int_equal(oc_perf_summarise(out_verdict->record, &terms, &out_verdict->point, &error),
                   OPS_OK);
  assert_int_equal(oc_perf_decide(&out_verdict->point, &terms, 1, &error), OPS_OK);
}

static void expect(const making *how, oc_perf_terms terms, uint32_t attempts,
                   oc_perf_verdict expected) {
  verdict found;
  judge(how, terms, attempts, &found);
  free(found.record);
  if (found.point.verdict == expected) return;
  fail_msg("expected %s, found %s: %s", oc_perf_verdict_name(expected),
           oc_perf_verdict_name(found.point.verdict), found.point.reason);
}

static const oc_perf_terms kAgainst = {.against = true};

static void equal_speed_is_no_regression(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const making how = {1e-3, 1e-3, 0.05, 0.02, 0.5, 12, seed};
    expect(&how, kAgainst, 1, OC_PERF_OK);
  }
}

static void fifteen_per_cent_are_seen(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const making how = {1.15e-3, 1e-3, 0.05, 0.02, 0.5, 12, seed};
    expect(&how, kAgainst, 1, OC_PERF_REGRESSION);
  }
}

static void noise_beyond_the_margin_is_inconclusive(void **state) {
  (void)state;
  const making how = {1.15e-3, 1e-3, 0.05, 0.6, 0, 12, 1};
  expect(&how, kAgainst, 1, OC_PERF_INCONCLUSIVE);
  const oc_perf_point points[] = {{.verdict = OC_PERF_OK},
                                  {.verdict = OC_PERF_INCONCLUSIVE},
                                  {.verdict = OC_PERF_REGRESSION}};
  assert_int_equal(oc_perf_exit_code(points, 1), 0);
  assert_int_equal(oc_perf_exit_code(points, 2), 3);
  assert_int_equal(oc_perf_exit_code(points, 3), 2);
}

static void without_a_reference_nothing_is_gated(void **state) {
  (void)state;
  const making slow = {2e-3, 1e-3, 0.05, 0.02, 0, 12, 1},
               alone = {1e-3, 0, 0.05, 0.02, 0, 12, 1};
  expect(&slow, (oc_perf_terms){0}, 1, OC_PERF_UNGATED);
  expect(&alone, kAgainst, 1, OC_PERF_UNGATED);
}

// A baseline of one day, a machine half as fast the next day: the ratio of ratios sees the
// provider alone.
static void baselines_survive_another_speed(void **state) {
  (void)state;
  const making then = {1e-3, 2e-3, 0.05, 0.02, 0.3, 12, 7};
  const making same = {2e-3, 4e-3, 0.05, 0.02, 0.3, 12, 8};
  const making slower = {2.3e-3, 4e-3, 0.05, 0.02, 0.3, 12, 9};
  ops_error error = OPS_ERROR_INIT;
  verdict first;
  oc_baseline_point base;
  judge(&then, (oc_perf_terms){0}, 1, &first);
  assert_int_equal(oc_perf_baseline_point(first.record, &first.point, &base, &error), OPS_OK);
  const oc_perf_terms terms = {.baseline = &base};
  expect(&same, terms, 1, OC_PERF_OK);
  expect(&slower, terms, 1, OC_PERF_REGRESSION);
  free(first.record);
  free(base.id);
  free(base.log_ms);
  free(base.log_ratios);
}

static void budgets_are_milliseconds(void **state) {
  (void)state;
  const making how = {1e-3, 1e-3, 0.01, 0.01, 0, 12, 3};  // p95 just above 1 ms, first run 3 ms
  const oc_performance wide = {.name = "w", .budget_p95_ms = 2, .budget_first_run_ms = 4};
  const oc_performance tight = {.name = "t", .budget_p95_ms = 2, .budget_first_run_ms = 2};
  expect(&how, (oc_perf_terms){.entry = &wide}, 1, OC_PERF_UNGATED);
  expect(&how, (oc_perf_terms){.entry = &tight}, 1, OC_PERF_OVER_BUDGET);
  // The device's own budget goes before the contract's.
  const oc_performance general = {.name = "g", .budget_prepare_ms = 1};
  oc_baseline_point own = {.budget = {.prepare_ms = 20}};
  verdict found;
  judge(&how, (oc_perf_terms){.entry = &general}, 1, &found);
  assert_int_equal(found.point.verdict, OC_PERF_OVER_BUDGET);
  assert_non_null(strstr(found.point.reason, "prepare_ms"));
  assert_int_equal(oc_perf_baseline_point(found.record, &found.point, &own, NULL), OPS_OK);
  own.budget.prepare_ms = 20;
  expect(&how, (oc_perf_terms){.entry = &general, .baseline = &own}, 1, OC_PERF_OK);
  free(found.record);
  free(own.id);
  free(own.log_ms);
  free(own.log_ratios);
}

// Stages by their definition in CONFORMANCE.md: 80 %, 120 % and post-operations, a baseline.
static void stages_ask_for_each_other(void **state) {
  (void)state;
  static const struct {
    double ratio;
    bool correct, absorbs;
    oc_perf_verdict verdict;
    int32_t stage;
  } rows[] = {{1.0, false, true, OC_PERF_UNMEASURED, 0}, {1.3, true, true, OC_PERF_UNGATED, 1},
              {1.2, true, true, OC_PERF_UNGATED, 2},     {0.8, true, false, OC_PERF_OK, 2},
              {0.8, true, true, OC_PERF_UNGATED, 3},     {0.8, true, true, OC_PERF_OK, 4},
              {1.0, true, true, OC_PERF_OK, 2}};
  static const oc_performance entry = {.name = "stages"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    oc_perf_point point = {.ratio = {true, rows[i].ratio, 0, 9}, .verdict = rows[i].verdict};
    point.gate.reference = OC_PERF_REFERENCE_BASELINE;
    oc_perf_set_stage(&entry, rows[i].correct, rows[i].absorbs, &point);
    assert_int_equal(point.stage, rows[i].stage);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_speed_is_no_regression),
      cmocka_unit_test(fifteen_per_cent_are_seen),
      cmocka_unit_test(noise_beyond_the_margin_is_inconclusive),
      cmocka_unit_test(without_a_reference_nothing_is_gated),
      cmocka_unit_test(baselines_survive_another_speed),
      cmocka_unit_test(budgets_are_milliseconds),
      cmocka_unit_test(stages_ask_for_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

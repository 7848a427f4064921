// SPDX-License-Identifier: Apache-2.0
//
// Summaries and verdicts.
#include "perf/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "perf/rank.h"

#define MILLISECONDS 1e3

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for statistics");
}

// ---- Series of a record ---------------------------------------------------------------------

static size_t round_count(const oc_perf_record *record) {
  return (size_t)record->blocks * record->rounds;
}

static oc_series hot_of(const oc_perf_record *record, oc_perf_role role) {
  return (oc_series){.values = record->hot[role],
                     .blocks = record->blocks,
                     .rounds = record->rounds,
                     .runs = record->runs};
}

static double median_of(const double *values, size_t count) {
  double copy[OC_PERF_MAX_RUNS];
  memcpy(copy, values, count * sizeof *copy);
  return oc_series_quantile(copy, count, 0.5);
}

// ln of each round's median in milliseconds.
static void log_medians(const oc_perf_record *record, oc_perf_role role, double *out_logs) {
  for (size_t i = 0; i < round_count(record); ++i) {
    const double *runs = record->hot[role] + i * record->runs;
    out_logs[i] = log(median_of(runs, record->runs) * MILLISECONDS + 1e-12);
  }
}

// ln of the ratio of each round's medians.
static void log_ratios(const oc_perf_record *record, oc_perf_role above, oc_perf_role below,
                       double *out_logs) {
  double other[OC_PERF_MAX_BLOCKS * OC_PERF_MAX_ROUNDS];
  log_medians(record, above, out_logs);
  log_medians(record, below, other);
  for (size_t i = 0; i < round_count(record); ++i) out_logs[i] -= other[i];
}

static oc_perf_estimate exp_of(oc_perf_estimate logs) {
  if (!logs.given) return logs;
  return (oc_perf_estimate){true, exp(logs.value), exp(logs.low), exp(logs.high)};
}

static oc_perf_estimate scaled(oc_perf_estimate estimate, double factor) {
  estimate.value *= factor;
  estimate.low *= factor;
  estimate.high *= factor;
  return estimate;
}

// The effect that noise alone can look like: how far an interval around 1 reaches.
static double reach_of(oc_perf_estimate ratio) {
  if (!ratio.given) return 0;
  const double low = fmax(ratio.low, 1e-6);
  return fmax(fmax(ratio.high, 1 / low) - 1, 0);
}

// ---- Times ----------------------------------------------------------------------------------

static oc_perf_times times_of(const double *values, size_t count) {
  oc_perf_times times = {.samples = count};
  double *sorted = count ? calloc(count, sizeof *sorted) : NULL;
  if (!sorted) return (oc_perf_times){0};
  memcpy(sorted, values, count * sizeof *sorted);
  times.minimum_ms = oc_series_quantile(sorted, count, 0) * MILLISECONDS;
  times.median_ms = oc_series_quantile(sorted, count, 0.5) * MILLISECONDS;
  times.p95_ms = oc_series_quantile(sorted, count, 0.95) * MILLISECONDS;
  times.spread =
      (oc_series_quantile(sorted, count, 0.75) - oc_series_quantile(sorted, count, 0.25)) *
      MILLISECONDS / times.median_ms;
  free(sorted);
  return times;
}

// Jitter of each round is its slowest run less its median; what is stated is the series' 95th
// percentile less its median, with an interval of the same kind.
static oc_perf_estimate jitter_of(oc_perf_estimate p95, double median_ms) {
  if (!p95.given) return p95;
  return (oc_perf_estimate){true, p95.value - median_ms, p95.low - median_ms,
                            p95.high - median_ms};
}

static void fill_side(const oc_perf_record *record, oc_perf_role role, uint64_t seed,
                      oc_perf_side *side) {
  if (!record->present[role] || record->blocks == 0) return;
  const oc_series hot = hot_of(record, role);
  const oc_series first = {record->first_run[role], record->blocks, 1, 1};
  const oc_series prepare = {record->prepare[role], record->blocks, 1, 1};
  side->present = true;
  side->preempted = record->preempted[role];
  side->times[OC_PERF_HOT] = times_of(hot.values, oc_series_count(&hot));
  side->times[OC_PERF_WARM] =
      times_of(record->warm[role], round_count(record) * OC_PERF_WARM_RUNS);
  side->times[OC_PERF_COLD] =
      times_of(record->cold[role], (size_t)record->blocks * OC_PERF_COLD_RUNS);
  side->first_run_ms = scaled(oc_series_estimate(&first, NULL, 0.5, seed), MILLISECONDS);
  side->prepare_ms = scaled(oc_series_estimate(&prepare, NULL, 0.5, seed + 1), MILLISECONDS);
  if (oc_series_count(&hot) < OC_PERF_P95_SAMPLES) return;
  side->p95_ms = scaled(oc_series_estimate(&hot, NULL, 0.95, seed + 2), MILLISECONDS);
  side->jitter_ms = jitter_of(side->p95_ms, side->times[OC_PERF_HOT].median_ms);
}

// ---- Against a reference --------------------------------------------------------------------

typedef struct work {
  const oc_perf_record *record;
  const oc_perf_terms *terms;
  oc_perf_point *point;
  double logs[OC_PERF_MAX_BLOCKS * OC_PERF_MAX_ROUNDS];  // candidate : yardstick, or ms
} work;

static oc_series series_of(const oc_perf_record *record, const double *logs) {
  return (oc_series){logs, record->blocks, record->rounds, 1};
}

// Two independent estimates on a scale of ratios: their quotient, intervals as of log-normal
// distributions.
static oc_perf_estimate quotient(oc_perf_estimate now, oc_perf_estimate before) {
  if (!now.given || !before.given || now.low <= 0 || before.low <= 0) {
    return (oc_perf_estimate){0};
  }
  const double value = log(now.value / before.value);
  const double reach = hypot(log(now.high / now.low), log(before.high / before.low)) / 2;
  return exp_of((oc_perf_estimate){true, value, value - reach, value + reach});
}

static oc_perf_estimate p95_ratio(const oc_perf_record *record, oc_perf_role below,
                                  uint64_t seed) {
  const oc_series above = hot_of(record, OC_PERF_CANDIDATE), other = hot_of(record, below);
  if (!record->present[below] || oc_series_count(&above) < OC_PERF_P95_SAMPLES) {
    return (oc_perf_estimate){0};
  }
  return oc_series_estimate(&above, &other, 0.95, seed);
}

static void compare_with_yardstick(work *work) {
  oc_perf_gate *gate = &work->point->gate;
  gate->reference = OC_PERF_REFERENCE_AGAINST;
  gate->change = work->point->ratio;
  gate->change_p95 = p95_ratio(work->record, OC_PERF_YARDSTICK, work->terms->seed + 4);
  gate->p_value_raw =
      oc_rank_signed(work->logs, round_count(work->record), log1p(gate->margin));
}

static void compare_with_baseline(work *work, bool in_yardsticks) {
  const oc_baseline_point *base = work->terms->baseline;
  oc_perf_gate *gate = &work->point->gate;
  const double *before = in_yardsticks ? base->log_ratios : base->log_ms;
  const oc_series now = series_of(work->record, work->logs);
  const oc_series then = {before, base->blocks, base->rounds, 1};
  gate->reference = in_yardsticks ? OC_PERF_REFERENCE_BASELINE : OC_PERF_REFERENCE_ABSOLUTE;
  gate->change = exp_of(oc_series_difference(&now, &then, work->terms->seed + 5));
  gate->change_p95 =
      quotient(in_yardsticks ? p95_ratio(work->record, OC_PERF_YARDSTICK, work->terms->seed + 4)
                             : work->point->candidate.p95_ms,
               base->p95);
  gate->p_value_raw = oc_rank_two_sample(work->logs, round_count(work->record), before,
                                         base->blocks * base->rounds, log1p(gate->margin));
  gate->floor = fmax(gate->floor, base->floor);
  gate->floor_p95 = fmax(gate->floor_p95, base->floor_p95);
}

static void fill_gate(work *work) {
  const oc_perf_terms *terms = work->terms;
  const oc_performance *entry = terms->entry;
  oc_perf_gate *gate = &work->point->gate;
  const bool yardstick = work->record->present[OC_PERF_YARDSTICK];
  double twin[OC_PERF_MAX_BLOCKS * OC_PERF_MAX_ROUNDS];
  log_ratios(work->record, OC_PERF_CANDIDATE, OC_PERF_TWIN, twin);
  const oc_series noise = series_of(work->record, twin);
  gate->margin = entry->regress_median > 0 ? entry->regress_median : OC_PERF_DEFAULT_MARGIN;
  gate->margin_p95 = entry->regress_p95 > 0 ? entry->regress_p95 : OC_PERF_DEFAULT_MARGIN;
  gate->floor = reach_of(exp_of(oc_series_estimate(&noise, NULL, 0.5, terms->seed + 6)));
  gate->floor_p95 = reach_of(p95_ratio(work->record, OC_PERF_TWIN, terms->seed + 7));
  gate->p_value_raw = 1;
  gate->p_value = 1;
  if (terms->baseline) {
    compare_with_baseline(work, yardstick && terms->baseline->log_ratios);
  } else if (terms->against && yardstick) {
    compare_with_yardstick(work);
  }
}

int32_t oc_perf_summarise(const oc_perf_record *record, const oc_perf_terms *terms,
                          oc_perf_point *point, ops_error *error) {
  work *now = calloc(1, sizeof *now);
  if (!now) return no_memory(error);
  *now = (work){.record = record, .terms = terms, .point = point};
  fill_side(record, OC_PERF_CANDIDATE, terms->seed, &point->candidate);
  fill_side(record, OC_PERF_YARDSTICK, terms->seed, &point->yardstick);
  const oc_baseline_point *base = terms->baseline;
  if (record->present[OC_PERF_YARDSTICK]) {
    log_ratios(record, OC_PERF_CANDIDATE, OC_PERF_YARDSTICK, now->logs);
    const oc_series ratios = series_of(record, now->logs);
    point->ratio = exp_of(oc_series_estimate(&ratios, NULL, 0.5, terms->seed + 3));
  }
  if (!record->present[OC_PERF_YARDSTICK] || (base && !base->log_ratios)) {
    log_medians(record, OC_PERF_CANDIDATE, now->logs);
  }
  fill_gate(now);
  free(now);
  return OPS_OK;
}

// ---- Verdicts -------------------------------------------------------------------------------

typedef enum finding { FINE, AMBIGUOUS, BROKEN } finding;

// How a median stands: see the top of gate.h.
static finding judge_median(const oc_perf_gate *gate) {
  const oc_perf_estimate *change = &gate->change;
  const double limit = 1 + gate->margin;
  if (!change->given) return AMBIGUOUS;
  const bool seen = change->value - 1 > gate->floor;
  const bool ranked = gate->p_value < OC_PERF_SIGNIFICANCE;
  if (change->low > limit && ranked && seen) return BROKEN;
  if (change->value <= limit && change->high <= limit + gate->margin) return FINE;
  return AMBIGUOUS;
}

// A tail is judged where its own interval is clear, and never alone makes a point ambiguous:
// on a shared machine most tails are the neighbours'.
static finding judge_p95(const oc_perf_gate *gate, uint32_t attempts) {
  const oc_perf_estimate *change = &gate->change_p95;
  if (!change->given || change->low <= 1 + gate->margin_p95) return FINE;
  if (change->value - 1 <= gate->floor_p95) return FINE;
  return attempts > 1 ? BROKEN : AMBIGUOUS;
}

typedef struct budget_row {
  const char *name;
  double limit;
  const oc_perf_estimate *found;
} budget_row;

static double choose(double own, double general) {
  return own > 0 ? own : general;
}

// The first budget that is not kept; the device's own goes before the contract's.
static finding judge_budgets(const oc_perf_point *point, const oc_perf_terms *terms,
                             char *reason, size_t size) {
  static const oc_budget none = {0};
  const oc_budget *own = terms->baseline ? &terms->baseline->budget : &none;
  const oc_performance *entry = terms->entry;
  const oc_perf_side *side = &point->candidate;
  const budget_row rows[] = {
      {"p95_ms", choose(own->p95_ms, entry->budget_p95_ms), &side->p95_ms},
      {"first_run_ms", choose(own->first_run_ms, entry->budget_first_run_ms),
       &side->first_run_ms},
      {"jitter_ms", choose(own->jitter_ms, entry->budget_jitter_ms), &side->jitter_ms},
      {"prepare_ms", choose(own->prepare_ms, entry->budget_prepare_ms), &side->prepare_ms}};
  finding worst = FINE;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const budget_row *row = &rows[i];
    if (row->limit <= 0 || !row->found->given || row->found->value <= row->limit) continue;
    const finding found = row->found->low > row->limit ? BROKEN : AMBIGUOUS;
    if (found <= worst) continue;
    worst = found;
    snprintf(reason, size, "%s is %.4g [%.4g, %.4g], its budget is %.4g", row->name,
             row->found->value, row->found->low, row->found->high, row->limit);
  }
  return worst;
}

static void print_change(const oc_perf_gate *gate, const oc_perf_estimate *change,
                         const char *what, double margin, char *text, size_t size) {
  snprintf(text, size, "%s %+.1f %% [%+.1f, %+.1f] against %s, allowed are %.3g %%", what,
           100 * (change->value - 1), 100 * (change->low - 1), 100 * (change->high - 1),
           oc_perf_reference_name(gate->reference), 100 * margin);
}

static void settle(oc_perf_point *point, const oc_perf_terms *terms) {
  const oc_perf_gate *gate = &point->gate;
  const bool gated = gate->reference != OC_PERF_REFERENCE_NONE;
  const size_t size = sizeof point->reason;
  const finding median = gated ? judge_median(gate) : FINE;
  const finding tail = gated ? judge_p95(gate, point->attempts) : FINE;
  const finding budget = judge_budgets(point, terms, point->reason, size);
  if (median == BROKEN || tail == BROKEN) {
    const bool first = median == BROKEN;
    point->verdict = OC_PERF_REGRESSION;
    print_change(gate, first ? &gate->change : &gate->change_p95, first ? "median" : "p95",
                 first ? gate->margin : gate->margin_p95, point->reason, size);
  } else if (budget == BROKEN) {
    point->verdict = OC_PERF_OVER_BUDGET;
  } else if (median == AMBIGUOUS || tail == AMBIGUOUS || budget == AMBIGUOUS) {
    point->verdict = OC_PERF_INCONCLUSIVE;
    if (median == AMBIGUOUS) {
      print_change(gate, &gate->change, "median", gate->margin, point->reason, size);
    } else if (tail == AMBIGUOUS) {
      print_change(gate, &gate->change_p95, "p95", gate->margin_p95, point->reason, size);
    }
  } else {
    point->verdict = gated ? OC_PERF_OK : OC_PERF_UNGATED;
    point->reason[0] = 0;
    if (gated) print_change(gate, &gate->change, "median", gate->margin, point->reason, size);
  }
}

int32_t oc_perf_decide(oc_perf_point *points, const oc_perf_terms *terms, size_t count,
                       ops_error *error) {
  double *p_values = calloc(count + 1, sizeof *p_values);
  size_t gated = 0;
  if (!p_values) return no_memory(error);
  for (size_t i = 0; i < count; ++i) {
    if (points[i].gate.reference != OC_PERF_REFERENCE_NONE) {
      p_values[gated++] = points[i].gate.p_value_raw;
    }
  }
  const int failed = oc_rank_holm(p_values, gated);
  gated = 0;
  for (size_t i = 0; i < count && !failed; ++i) {
    oc_perf_point *point = &points[i];
    if (!point->candidate.present) continue;
    if (point->gate.reference != OC_PERF_REFERENCE_NONE) {
      point->gate.p_value = p_values[gated++];
    }
    settle(point, &terms[i]);
  }
  free(p_values);
  return failed ? no_memory(error) : OPS_OK;
}

int32_t oc_perf_exit_code(const oc_perf_point *points, size_t count) {
  int32_t code = 0;
  for (size_t i = 0; i < count; ++i) {
    if (points[i].verdict == OC_PERF_REGRESSION || points[i].verdict == OC_PERF_OVER_BUDGET) {
      return 2;
    }
    if (points[i].verdict == OC_PERF_INCONCLUSIVE) code = 3;
  }
  return code;
}

// ---- For the next baseline ------------------------------------------------------------------

int32_t oc_perf_baseline_point(const oc_perf_record *record, const oc_perf_point *point,
                               oc_baseline_point *out_point, ops_error *error) {
  const size_t rounds = round_count(record);
  const bool yardstick = record->present[OC_PERF_YARDSTICK] != 0;
  *out_point = (oc_baseline_point){.blocks = record->blocks,
                                   .rounds = record->rounds,
                                   .floor = point->gate.floor,
                                   .floor_p95 = point->gate.floor_p95};
  out_point->id = strdup(point->id);
  out_point->log_ms = calloc(rounds + 1, sizeof *out_point->log_ms);
  if (yardstick) out_point->log_ratios = calloc(rounds + 1, sizeof *out_point->log_ratios);
  if (!out_point->id || !out_point->log_ms || (yardstick && !out_point->log_ratios)) {
    free(out_point->id);
    free(out_point->log_ms);
    free(out_point->log_ratios);
    return no_memory(error);
  }
  log_medians(record, OC_PERF_CANDIDATE, out_point->log_ms);
  out_point->p95 = point->candidate.p95_ms;
  if (yardstick) {
    log_ratios(record, OC_PERF_CANDIDATE, OC_PERF_YARDSTICK, out_point->log_ratios);
    out_point->p95 = p95_ratio(record, OC_PERF_YARDSTICK, 4);
  }
  return OPS_OK;
}

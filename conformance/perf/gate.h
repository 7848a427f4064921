// SPDX-License-Identifier: Apache-2.0
//
// From samples to verdicts.
//
//   summarise   one point: times, ratio to the yardstick, change against the reference, floor
//   decide      all points together, since p-values are corrected for their number
//
// A median regression needs three witnesses: the rank test over rounds (corrected), the lower
// end of the bootstrap interval beyond the margin, and a change larger than the twin's noise. A
// point whose interval leaves room for twice the margin, or whose witnesses disagree, is
// ambiguous.
#ifndef OC_PERF_GATE_H_
#define OC_PERF_GATE_H_

#include <ops/status.h>

#include "contract/contract.h"
#include "perf/baseline.h"
#include "perf/record.h"

#define OC_PERF_SIGNIFICANCE 0.05
#define OC_PERF_DEFAULT_MARGIN 0.05
#define OC_PERF_P95_SAMPLES 200  // fewer say nothing about a 95th percentile

// What a point is compared with.
typedef struct oc_perf_terms {
  const oc_performance *entry;
  const oc_baseline_point *baseline;  // NULL: none, or not in it
  bool against;                       // without a baseline the yardstick is the reference
  uint64_t seed;                      // of the bootstrap
} oc_perf_terms;

// Fills everything of `point` that follows from the record: times, ratio, gate (p_value not yet
// corrected) and budgets' estimates. `point` begins with id, op, type, inputs set.
// OUT_OF_MEMORY.
int32_t oc_perf_summarise(const oc_perf_record *record, const oc_perf_terms *terms,
                          oc_perf_point *point, ops_error *error);

// Corrects the p-values of `points` (those with samples) and settles verdict and reason.
// INCONCLUSIVE here means: measure once more if attempts == 1. OUT_OF_MEMORY.
int32_t oc_perf_decide(oc_perf_point *points, const oc_perf_terms *terms, size_t count,
                       ops_error *error);

// 2 if any point is a regression or over a budget, else 3 if any is inconclusive, else 0.
int32_t oc_perf_exit_code(const oc_perf_point *points, size_t count);

// What a baseline keeps of a point: the series that later runs are compared with. The arrays
// are the caller's (free).
int32_t oc_perf_baseline_point(const oc_perf_record *record, const oc_perf_point *point,
                               oc_baseline_point *out_point, ops_error *error);

#endif  // OC_PERF_GATE_H_

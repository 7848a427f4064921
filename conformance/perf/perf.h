// SPDX-License-Identifier: Apache-2.0
//
// What a performance run has found: plain data, for reports. Nothing here computes.
//
// A *point* is an entry of a contract's `performance:` list: one node of a stated shape. Each
// is measured in rounds; in a round the candidate, its twin (the candidate once more, in a
// process of its own) and the yardstick run one after the other, in random order. What is
// compared is the ratio of a round, candidate : yardstick, so that a machine that speeds up or
// slows down moves both. The twin's ratio to the candidate is 1 but for noise: it says what can
// be seen at all. docs/performance.md explains every number for users.
#ifndef OC_PERF_PERF_H_
#define OC_PERF_PERF_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OC_PERF_MAX_POINTS 1024  // of one run

// X(constant, name in reports, what it means)
#define OC_PERF_VERDICT_LIST(X)                                                         \
  X(OC_PERF_UNMEASURED, "unmeasured", "did not run; the result of its case says why")   \
  X(OC_PERF_UNGATED, "ungated", "measured; there is nothing that it is compared with")  \
  X(OC_PERF_OK, "ok", "no slower than allowed")                                         \
  X(OC_PERF_REGRESSION, "regression", "slower than its reference by more than allowed") \
  X(OC_PERF_OVER_BUDGET, "over_budget", "slower than a budget in milliseconds")         \
  X(OC_PERF_INCONCLUSIVE, "inconclusive", "measured twice; noise hides the answer")
#define OC_PERF_VERDICT_ITEM(constant, name, meaning) constant,
typedef enum oc_perf_verdict {
  OC_PERF_VERDICT_LIST(OC_PERF_VERDICT_ITEM) OC_PERF_VERDICT_COUNT
} oc_perf_verdict;

// How the caches stand when a run begins.
#define OC_PERF_STATE_LIST(X)                                                         \
  X(OC_PERF_HOT, "hot", "the same arguments ran just before; what the gate compares") \
  X(OC_PERF_WARM, "warm", "other arguments of the same shape ran just before")        \
  X(OC_PERF_COLD, "cold", "the host's caches were swept")
#define OC_PERF_STATE_ITEM(constant, name, meaning) constant,
typedef enum oc_perf_state {
  OC_PERF_STATE_LIST(OC_PERF_STATE_ITEM) OC_PERF_STATE_COUNT
} oc_perf_state;

// A number with the interval in which it lies with 99 % confidence (bootstrap over processes
// and rounds). given == false: not measured, the rest is 0.
typedef struct oc_perf_estimate {
  bool given;
  double value;
  double low;
  double high;
} oc_perf_estimate;

// Times of single runs in one state. samples == 0: none.
typedef struct oc_perf_times {
  size_t samples;
  double minimum_ms;
  double median_ms;
  double p95_ms;
  double spread;  // (75th - 25th percentile) / median
} oc_perf_times;

typedef struct oc_perf_side {
  bool present;
  size_t preempted;  // timed runs during which the scheduler took the core away
  oc_perf_times times[OC_PERF_STATE_COUNT];
  oc_perf_estimate first_run_ms;  // the first execute after prepare, in a fresh process
  oc_perf_estimate prepare_ms;
  oc_perf_estimate jitter_ms;  // hot: 95th percentile - median
  oc_perf_estimate p95_ms;     // hot
} oc_perf_side;

// What the gate compared: ratio > 1 means that the candidate is slower than its reference.
#define OC_PERF_REFERENCE_LIST(X)                                                           \
  X(OC_PERF_REFERENCE_NONE, "none", "nothing")                                              \
  X(OC_PERF_REFERENCE_AGAINST, "against", "the library named by --against")                 \
  X(OC_PERF_REFERENCE_BASELINE, "baseline", "the baseline, both in units of the yardstick") \
  X(OC_PERF_REFERENCE_ABSOLUTE, "absolute",                                                 \
    "the baseline in milliseconds: no yardstick runs it")
#define OC_PERF_REFERENCE_ITEM(constant, name, meaning) constant,
typedef enum oc_perf_reference {
  OC_PERF_REFERENCE_LIST(OC_PERF_REFERENCE_ITEM) OC_PERF_REFERENCE_COUNT
} oc_perf_reference;

typedef struct oc_perf_gate {
  oc_perf_reference reference;
  oc_perf_estimate change;      // of the median: 1.15 is 15 % slower than the reference
  oc_perf_estimate change_p95;  // not given: fewer than 200 samples on either side
  double p_value;               // rank test of "slower by more than the margin", Holm-corrected
  double p_value_raw;           // the same before the correction
  double margin;                // 0.05 is five per cent
  double margin_p95;
  double floor;  // the smallest effect that can be seen, from the twin: 0.02 is two per cent
  double floor_p95;  // of the 95th percentile
} oc_perf_gate;

typedef struct oc_perf_point {
  const char *id;    // "Softmax-13/float/attention_rows": borrowed from the list of cases
  char op[128];      // "Softmax", "com.microsoft.Gelu"
  const char *type;  // "float"
  char inputs[320];  // "float[12, 128, 128]"
  oc_perf_verdict verdict;
  char reason[400];   // of the verdict, in words
  uint32_t attempts;  // 2: ambiguous at first, measured once more
  oc_perf_side candidate;
  oc_perf_side yardstick;  // not present: it does not claim the node
  oc_perf_estimate ratio;  // candidate : yardstick, medians of hot runs
  oc_perf_gate gate;
  double flops;  // of one run, as the contract counts; 0: not given
  double bytes;
  double share_of_flops;  // of the device's peak, at the hot median; 0: unknown
  double share_of_bandwidth;
  double share_of_roofline;  // fastest time that both peaks allow : hot median
  double stage_baseline;     // shares of the yardstick's speed that stages 2 and 3 ask for
  double stage_optimized;
  int32_t stage;  // maturity, 0 (not correct) to 4
} oc_perf_point;

// Maturity of an operator: the least stage of its points.
typedef struct oc_perf_operator {
  const char *op;  // borrowed from a point
  int32_t stage;
  const char *why;  // what keeps it from the next stage; static
} oc_perf_operator;

// What the device can do at most, by its own word or by measuring the host.
typedef struct oc_perf_peak {
  double flops_per_second;  // float32; 0: unknown
  double bytes_per_second;
  bool flops_measured;  // by the harness; else the provider says so
  bool bytes_measured;
} oc_perf_peak;

typedef struct oc_perf_results {
  oc_perf_point *points;
  size_t count;
  oc_perf_operator *operators;
  size_t operator_count;
  oc_perf_peak peak;
  char yardstick_name[64];
  char yardstick_version[64];
  char yardstick_path[512];
  char yardstick_hash[65];
  char fingerprint[128];  // of the candidate's device
  const char *baseline;   // the file, or NULL
  bool against;           // --against was given: without a baseline it is the gate's reference
  uint32_t workers;       // threads that the host lends each provider
  int32_t exit_code;      // 0, 2 or 3
} oc_perf_results;

const char *oc_perf_verdict_name(oc_perf_verdict verdict);
const char *oc_perf_verdict_meaning(oc_perf_verdict verdict);
const char *oc_perf_state_name(oc_perf_state state);
const char *oc_perf_reference_name(oc_perf_reference reference);

#endif  // OC_PERF_PERF_H_

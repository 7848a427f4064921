// SPDX-License-Identifier: Apache-2.0
//
// The checks. Each is one function in one file and one row of the table in check.c; its name
// stands in reports. A check returns true to go on, or ends the trial and returns false.
#ifndef OC_CHECKS_CHECK_H_
#define OC_CHECKS_CHECK_H_

#include "checks/trial.h"

// When a check is asked.
typedef enum oc_point {
  OC_POINT_CLAIM,      // the candidate has answered
  OC_POINT_PREPARED,   // output shapes are stated
  OC_POINT_COMPLETED,  // after each run, before the inputs are taken away
  OC_POINT_RAN,        // after each run, outputs read into trial->got[trial->run]
  OC_POINT_DONE,       // after the runs of the plain node
  OC_POINT_OTHER,      // reported by the trial itself or by the harness; never called
} oc_point;

// On how many cases of each operator and type a check is asked, by tier: see sample.h.
#define OC_REACH_ALL UINT16_MAX
typedef struct oc_reach {
  uint16_t merge, full, exhaustive;
} oc_reach;
#define OC_EVERY_CASE \
  { OC_REACH_ALL, OC_REACH_ALL, OC_REACH_ALL }

typedef struct oc_check {
  const char *name;
  const char *what;  // one sentence for people
  oc_point point;
  bool (*run)(oc_trial *trial);  // NULL: OC_POINT_OTHER
  // The ids of contracts/provider that it covers, separated by spaces; NULL: it judges the
  // harness, or the contract of an operator, not the provider.
  const char *clauses;
  oc_reach reach;  // {0, 0, 0}: not asked of cases of operators
} oc_check;

const oc_check *oc_checks(size_t *out_count);

// The row of a check by its name, or NULL.
const oc_check *oc_checks_find(const char *name);

// Asks every check of a point, in the order of the table, until one ends the trial.
bool oc_checks_ask(oc_trial *trial, oc_point point);

// Notes in the result that a check was asked; oc_checks_ask does so for the rows of its point
// and for what the trial itself looks after at that point. See ran.c.
void oc_checks_note(oc_result *result, const char *name);
void oc_checks_note_point(oc_result *result, oc_point point);

// The rows of the table.
bool oc_check_claim(oc_trial *trial);
bool oc_check_declaration(oc_trial *trial);
bool oc_check_shape(oc_trial *trial);
bool oc_check_guard(oc_trial *trial);
bool oc_check_inputs(oc_trial *trial);
bool oc_check_values(oc_trial *trial);
bool oc_check_invariants(oc_trial *trial);
bool oc_check_determinism(oc_trial *trial);
bool oc_check_concurrency(oc_trial *trial);
bool oc_check_prepares(oc_trial *trial);
bool oc_check_alignment(oc_trial *trial);
bool oc_check_strides(oc_trial *trial);
bool oc_check_state(oc_trial *trial);
bool oc_check_unknown_shapes(oc_trial *trial);
bool oc_check_two_shapes(oc_trial *trial);
bool oc_check_constants(oc_trial *trial);
bool oc_check_precision(oc_trial *trial);
bool oc_check_order(oc_trial *trial);
bool oc_check_capture(oc_trial *trial);
bool oc_check_allocation(oc_trial *trial);
bool oc_check_leak(oc_trial *trial);
bool oc_check_thread_count(oc_trial *trial);

// Fills the result's output, element, expected and got with the first difference of two outputs
// of one shape; returns the element.
int64_t oc_check_print_difference(oc_trial *trial, size_t index, const oc_array *want,
                                  const oc_array *got);

const char *oc_check_claim_name(int32_t answer);  // "SUPPORTED"

// Asked before the checks of every point, and once more when the kernel is gone.
bool oc_check_environment(oc_trial *trial);

// Names that are used outside the table's functions.
#define OC_CHECK_CLAIM "claim"
#define OC_CHECK_STATUS "status"
#define OC_CHECK_CONCURRENCY "concurrency"
#define OC_CHECK_UNWRITTEN "unwritten"
#define OC_CHECK_VALUES "values"
#define OC_CHECK_GUARD "guard"
#define OC_CHECK_INPUTS "inputs"
#define OC_CHECK_ASYNC "async"
#define OC_CHECK_ERROR "error_path"
#define OC_CHECK_TRIVIAL "trivial"
#define OC_CHECK_ORACLE "oracle"
#define OC_CHECK_PROCESS "process"
#define OC_CHECK_TIME "time"
#define OC_CHECK_LIFECYCLE "lifecycle"
#define OC_CHECK_PREPARES "prepares"
#define OC_CHECK_ALIGNMENT "alignment"
#define OC_CHECK_STRIDES "strides"
#define OC_CHECK_STATE "state"
#define OC_CHECK_UNKNOWN_SHAPES "unknown_shapes"
#define OC_CHECK_TWO_SHAPES "two_shapes"
#define OC_CHECK_CONSTANTS "constants"
#define OC_CHECK_PRECISION "precision"
#define OC_CHECK_ORDER "order"
#define OC_CHECK_CAPTURE "capture"
#define OC_CHECK_ALLOCATION "allocation"
#define OC_CHECK_LEAK "leak"
#define OC_CHECK_STREAMS "streams"
#define OC_CHECK_SCHEMA "schema"
#define OC_CHECK_POST_OPS "post_ops"
#define OC_CHECK_RECORD "record"
#define OC_CHECK_GROUPS "groups"
#define OC_CHECK_REWRITE "rewrite"
#define OC_CHECK_THREAD_COUNT "thread_count"
#define OC_CHECK_NEGOTIATION "negotiation"
#define OC_CHECK_OPERATOR "operator"
#define OC_CHECK_REQUIRE "require"
#define OC_CHECK_WAIVERS "waivers"
#define OC_CHECK_ENVIRONMENT "environment"
#define OC_CHECK_HARNESS "harness"

#endif  // OC_CHECKS_CHECK_H_

// SPDX-License-Identifier: Apache-2.0
//
// Samples of one point, in memory that the harness and the measuring processes share. Times are
// seconds.
#ifndef OC_PERF_RECORD_H_
#define OC_PERF_RECORD_H_

#include <ops/status.h>
#include <stdint.h>

#include "perf/series.h"

// Who runs. The twin is the candidate in a process of its own.
typedef enum oc_perf_role {
  OC_PERF_CANDIDATE,
  OC_PERF_TWIN,
  OC_PERF_YARDSTICK,
  OC_PERF_ROLES
} oc_perf_role;

#define OC_PERF_MAX_BLOCKS 24  // a repeated measurement has twice the blocks of a first one
#define OC_PERF_MAX_ROUNDS 5   // in a block
#define OC_PERF_MAX_RUNS 21    // in a round, the same number for each set of inputs
#define OC_PERF_WARM_RUNS 3    // in a round
#define OC_PERF_COLD_RUNS 2    // in a block

// Row-major in the order block, round, run, dense for the counts given.
typedef struct oc_perf_record {
  uint32_t blocks;  // completed
  uint32_t rounds;
  uint32_t runs;
  int32_t present[OC_PERF_ROLES];
  uint32_t
      preempted[OC_PERF_ROLES];  // timed runs during which the scheduler took the core away
  double hot[OC_PERF_ROLES][OC_PERF_MAX_BLOCKS * OC_PERF_MAX_ROUNDS * OC_PERF_MAX_RUNS];
  double warm[OC_PERF_ROLES][OC_PERF_MAX_BLOCKS * OC_PERF_MAX_ROUNDS * OC_PERF_WARM_RUNS];
  double cold[OC_PERF_ROLES][OC_PERF_MAX_BLOCKS * OC_PERF_COLD_RUNS];
  double first_run[OC_PERF_ROLES][OC_PERF_MAX_BLOCKS];
  double prepare[OC_PERF_ROLES][OC_PERF_MAX_BLOCKS];
  int32_t absorbs;  // the candidate's definition declares the contract's post-operations
  char yardstick_absent[320];  // why the yardstick did not run
} oc_perf_record;

// One record for each of `count` points, zeroed, shared with forks.
int32_t oc_perf_records_create(size_t count, oc_perf_record **out_records, ops_error *error);
void oc_perf_records_destroy(oc_perf_record *records, size_t count);  // accepts NULL

#endif  // OC_PERF_RECORD_H_

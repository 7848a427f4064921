// SPDX-License-Identifier: Apache-2.0
//
// Measures one point. Runs in a worker of the pool, which opens no provider but the oracle, and
// closes it before anything is measured; the actors are its children.
#ifndef OC_PERF_MEASURE_H_
#define OC_PERF_MEASURE_H_

#include "perf/actor.h"

#define OC_PERF_BLOCKS 12          // of a first measurement
#define OC_PERF_POINT_SECONDS 8.0  // about, of a first measurement; slow points take fewer runs

typedef struct oc_perf_bench {
  const oc_perf_points *points;
  oc_perf_record *records;      // per point
  oc_target_options candidate;  // yardstick and oracle likewise
  oc_target_options yardstick;
  oc_target_options oracle;
  oc_profile_id profile;
  uint64_t seed;
  uint32_t blocks;
} oc_perf_bench;

// PASS: measured, and every output was right. Fills records[index].
void oc_perf_measure(const oc_perf_bench *bench, oc_beacon *beacon, uint32_t index,
                     oc_result *result);

#endif  // OC_PERF_MEASURE_H_

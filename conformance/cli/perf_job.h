// SPDX-License-Identifier: Apache-2.0
//
// The worker of --mode perf. It never opens a provider in its own process while it measures:
// who candidate and yardstick are is found out in a process that ends before.
#ifndef OC_CLI_PERF_JOB_H_
#define OC_CLI_PERF_JOB_H_

#include "perf/measure.h"
#include "runner/worker.h"

// What opening finds out, in memory shared with the harness.
typedef struct oc_perf_facts {
  oc_identity yardstick;
  double peak_flops;  // float32, as the candidate's device states it; 0: it does not
  double peak_bytes;
  int32_t device_kind;  // OPS_DEVICE_…
} oc_perf_facts;

typedef struct oc_perf_job {
  oc_perf_bench bench;
  oc_perf_facts *facts;
} oc_perf_job;

// Borrows `job`, which must outlive the pool.
oc_worker_job oc_perf_job_worker(const oc_perf_job *job);

#endif  // OC_CLI_PERF_JOB_H_

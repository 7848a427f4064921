// SPDX-License-Identifier: Apache-2.0
//
// Workers that run a list of cases. Each case is answered exactly once.
//
// A worker that dies, hangs beyond the timeout or answers nonsense costs the case it was
// working on: CRASH or TIMEOUT, explained by its beacon and by what it printed. A fresh worker
// takes over. A case that did not pass is repeated once, alone, in a fresh worker: if it passes
// then it is FLAKY. The process of the harness itself never loads a provider.
#ifndef OC_RUNNER_POOL_H_
#define OC_RUNNER_POOL_H_

#include "runner/worker.h"

#define OC_POOL_MAX_JOBS 256
#define OC_POOL_MAX_PRIVATE 4
#define OC_POOL_MAX_RETRIES 64         // repeated cases of one run
#define OC_POOL_MAX_TIMEOUT_RETRIES 4  // of these, cases that hung

typedef struct oc_pool_options {
  uint32_t jobs;
  double timeout;       // seconds for one case
  double open_timeout;  // seconds to open, and to close
  oc_worker_job job;
  const int *private_files;  // descriptors of the harness that workers have no business with
  size_t private_file_count;
} oc_pool_options;

// Called in the harness. `refused`: the first worker could not open the providers; nothing was
// run and no result follows. `result` also brings findings about the provider as a whole, with
// case_index OC_NO_CASE, each at most once.
typedef struct oc_pool_events {
  void *context;
  void (*hello)(void *context, const oc_hello *hello);  // once, before the first result
  void (*refused)(void *context, const ops_error *error);
  void (*result)(void *context, const oc_result *result);
  // Asked several times a second. False: all workers are killed and the run ends, with no
  // result of what was not finished. NULL: true.
  bool (*go_on)(void *context);
  // A worker hangs and is about to be killed. NULL: nobody wants to look at it.
  void (*hang)(void *context, pid_t pid, uint32_t index);
} oc_pool_events;

// Runs `indices`; with none, opens and closes once. An error means that the harness itself
// failed: no memory, no process.
int32_t oc_pool_run(const oc_pool_options *options, const oc_pool_events *events,
                    const uint32_t *indices, size_t count, ops_error *error);

#endif  // OC_RUNNER_POOL_H_

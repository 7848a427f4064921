// SPDX-License-Identifier: Apache-2.0
//
// Check `thread_count`: a definition that declares bitwise determinism gives the same bits in
// another instance, whose host runs parallel loops on another number of threads.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

#define OTHER_WORKERS 3  // the bench has 2, or what the run asks for

// A bench of its own, of which the candidate alone is another.
static bool open_other(oc_trial *trial, oc_bench *bench) {
  ops_error error = OPS_ERROR_INIT;
  oc_target_options options = trial->bench->candidate_options;
  options.workers = options.workers == OTHER_WORKERS ? 1 : OTHER_WORKERS;
  *bench = *trial->bench;
  memset(&bench->candidate, 0, sizeof bench->candidate);
  const int32_t status = oc_target_open(&bench->candidate, &options, &error);
  return status == OPS_OK || oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_THREAD_COUNT,
                                          "opening another instance ends with %s: %.500s",
                                          ops_status_name(status), error.message);
}

static bool run(oc_side *side) {
  bool claimed;
  const oc_node_options options = {.constants = side->trial->constants,
                                   .outputs = side->trial->shapes};
  if (!oc_side_claim(side, &options, &claimed)) return false;
  if (!claimed) return oc_side_end(side, "another instance does not claim the node");
  return oc_side_create_kernel(side) && oc_side_prepare(side) &&
         oc_side_open(side, OC_PLACE_END) && oc_side_run(side, 0, 0) &&
         oc_side_same_bits(side, OC_RUN_FIRST);
}

bool oc_check_thread_count(oc_trial *trial) {
  if (trial->kernel.def->determinism < OPS_DETERMINISM_BITWISE) return true;
  oc_bench *bench = calloc(1, sizeof *bench);
  oc_side *side = oc_side_create(trial, OC_RUN_THREADS, OC_CHECK_THREAD_COUNT);
  bool good = bench && side && open_other(trial, bench);
  if (good) {
    side->own.bench = bench;
    good = run(side);
    oc_side_close(side);
    oc_target_close(&bench->candidate, NULL);
  }
  oc_side_destroy(side);
  free(bench);
  return good;
}

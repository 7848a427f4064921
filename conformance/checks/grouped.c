// SPDX-License-Identifier: Apache-2.0
//
// A compiled group has no definition: nothing is declared for it, so nothing is asked of it but
// what every kernel owes, right values and untouched surroundings.
#include "checks/grouped.h"

#include "checks/chained.h"
#include "checks/check.h"
#include "checks/steps.h"
#include "ops_support/error.h"

// Asked twice, a proposal is the same.
static bool claim_alone(oc_trial *trial, uint64_t constants, bool *out_taken) {
  ops_error error = OPS_ERROR_INIT;
  bool again;
  const oc_node_options options = {
      .constants = constants, .outputs = trial->shapes, .group = true};
  oc_trial_close_kernel(trial);
  trial->constants = constants;
  if (!oc_step_open(trial, &options)) return false;
  int32_t status = oc_kernel_claim_group(&trial->kernel, out_taken, &error);
  if (status == OPS_OK) status = oc_kernel_claim_group(&trial->kernel, &again, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "the claim of a group", status, &error);
  if (again == *out_taken) return true;
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CLAIM,
                      "asked twice for a group of the node alone, expected the same answer, "
                      "found first %s, then %s",
                      *out_taken ? "a group" : "none", again ? "a group" : "none");
}

static bool run_alone(oc_trial *trial, uint64_t constants, bool *out_ran) {
  bool taken, declined;
  if (!claim_alone(trial, constants, &taken)) return false;
  if (!taken) return true;
  if (!oc_step_prepare(trial, &declined)) return false;
  if (declined) return true;
  *out_ran = true;
  return oc_step_run_plain(trial);
}

void oc_grouped_judge(oc_trial *trial, uint64_t constants, uint64_t weights) {
  bool alone = false, fixed = false, chained = false;
  if (!run_alone(trial, constants, &alone)) return;
  if (weights != constants && !run_alone(trial, weights, &fixed)) return;
  if (!oc_chained_run(trial, NULL, constants, weights, &chained)) return;
  if (!alone && !fixed && !chained) {
    oc_result_end(trial->result, OC_STATUS_UNSUPPORTED, "",
                  "claimed only in groups; alone or with an operator behind it no group is "
                  "proposed and compiled");
    return;
  }
  trial->result->status = OC_STATUS_PASS;
}

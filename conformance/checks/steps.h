// SPDX-License-Identifier: Apache-2.0
//
// The steps of a trial, for those that run variants of a case: each returns true to go on, or
// ends the trial and returns false.
#ifndef OC_CHECKS_STEPS_H_
#define OC_CHECKS_STEPS_H_

#include "checks/trial.h"

// A view of the node for the candidate, and its claim. Of a group nothing is asked yet.
bool oc_step_open(oc_trial *trial, const oc_node_options *options);
// Create or compile, then prepare. A group may be DECLINED: then *out_declined is true and
// nothing is prepared; with NULL that fails as any other answer does.
bool oc_step_prepare(oc_trial *trial, bool *out_declined);
// Argument memory for a run, placed as its row says; then the run with its checks.
bool oc_step_launch(oc_trial *trial, oc_run_kind run, const ops_alias *alias);
bool oc_step_run(oc_trial *trial, oc_run_kind run);
// Where the kernel offers private layouts: prepares it for the first of them and runs it.
bool oc_step_layout(oc_trial *trial, oc_run_kind run);
// First run, same addresses, other addresses, and the checks that compare them.
bool oc_step_run_plain(oc_trial *trial);

// Ends the trial because of what a call has answered.
bool oc_step_fail(oc_trial *trial, const char *step, int32_t status, const ops_error *error);

#endif  // OC_CHECKS_STEPS_H_

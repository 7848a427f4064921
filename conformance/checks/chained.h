// SPDX-License-Identifier: Apache-2.0
//
// A case with operators behind it: as the chain of post-operations that its definition absorbs,
// or as a group of nodes. The judge `fused` tells what may come out.
#ifndef OC_CHECKS_CHAINED_H_
#define OC_CHECKS_CHAINED_H_

#include "checks/trial.h"

// Runs the case once more with one or two operators behind it, which ones the case's seed
// tells: of those that `def` declares the first that is claimed; without a `def` the first that
// the provider takes into a group with the node. *out_ran: whether there was one. Only cases
// with random fills and outputs of moderate size are run; expected values must be there.
// Returns false where it has ended the trial.
bool oc_chained_run(oc_trial *trial, const ops_kernel_def *def, bool *out_ran);
void oc_chained_finish(oc_chain *chain);

// The input of the judge for output 0 of the running chain; the rest is as for the node.
void oc_chained_limits(const oc_trial *trial, oc_compare_input *input);

#endif  // OC_CHECKS_CHAINED_H_

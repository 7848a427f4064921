// SPDX-License-Identifier: Apache-2.0
//
// A case with operators behind it: as the chain of post-operations that its definition absorbs,
// or as a group of nodes. The judge `fused` tells what may come out.
#ifndef OC_CHECKS_CHAINED_H_
#define OC_CHECKS_CHAINED_H_

#include "checks/trial.h"
#include "compare/post.h"

// Runs the case once more with one or two operators behind it, which ones the case's seed
// tells: of those that `def` declares the first that is claimed; without a `def` the first that
// the provider takes into a group with the node. Above tier merge, behind a row of the
// contract, each that `def` declares. Inputs in the mask `constants` are constants; where
// `weights` has more of them, these are as well in a second try. *out_ran: whether there was
// one. Only cases with random fills and outputs of moderate size are run; expected values must
// be there. Returns false where it has ended the trial.
bool oc_chained_run(oc_trial *trial, const ops_kernel_def *def, uint64_t constants,
                    uint64_t weights, bool *out_ran);
void oc_chained_finish(oc_chain *chain);

// The input of the judge for output 0 of the running chain; the rest is as for the node.
void oc_chained_limits(const oc_trial *trial, oc_compare_input *input);

// Whether the definition says that it absorbs the operator.
bool oc_chained_declares(const ops_kernel_def *def, const oc_post *post);
// Asks for the node's claim with `post` behind it; trial->expected needs the output's type and
// shape alone. Returns false where it has ended the trial.
bool oc_chained_claims(oc_trial *trial, const oc_post *post, uint64_t constants,
                       bool *out_claimed);

#endif  // OC_CHECKS_CHAINED_H_

// SPDX-License-Identifier: Apache-2.0
//
// Nodes that are claimed only as part of a group.
#ifndef OC_CHECKS_GROUPED_H_
#define OC_CHECKS_GROUPED_H_

#include "checks/trial.h"

// Judges a case whose claim is ONLY_IN_GROUP: as a group of one, if the provider takes that,
// with its other inputs as constants too, then together with an operator behind it. Ends the
// trial: UNSUPPORTED where no such group is taken. `constants` are those with which it was
// claimed.
void oc_grouped_judge(oc_trial *trial, uint64_t constants, uint64_t weights);

#endif  // OC_CHECKS_GROUPED_H_

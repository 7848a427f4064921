// SPDX-License-Identifier: Apache-2.0
//
// How far the oracle's results move when its intermediates are rounded at random: what the
// judge `conditioned` allows follows from it.
#ifndef OC_CHECKS_SHAKEN_H_
#define OC_CHECKS_SHAKEN_H_

#include "checks/oracle.h"

#define OC_SHAKEN_RUNS 8

// Fills expected->wide and expected->deviation of every output of a floating type. The oracle
// is opened once per run with the instance options perturb=SEED and perturb_to=TYPE, the latter
// the type that the contract accumulates in. UNSUPPORTED: it has no such options.
int32_t oc_shaken_ask(oc_expected *expected, const oc_question *plain, ops_error *error);

#endif  // OC_CHECKS_SHAKEN_H_

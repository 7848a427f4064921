// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a case, kept away from thresholds where its judge is `decision`.
#ifndef OC_CHECKS_DECIDED_H_
#define OC_CHECKS_DECIDED_H_

#include "checks/trial.h"

// As oc_inputs_init. With the judge `decision` inputs that decide are drawn again, with other
// seeds, while moving them by twice 2^-16 makes the oracle decide otherwise; contents that the
// contract fixes and exact-integer fills are dyadic and stay. PRECONDITION: no draw is far
// enough.
int32_t oc_decided_inputs(oc_inputs *inputs, oc_bench *bench, const oc_case *item,
                          ops_error *error);

#endif  // OC_CHECKS_DECIDED_H_

// SPDX-License-Identifier: Apache-2.0
//
// Asking the oracle.
#ifndef OC_CHECKS_EXPECTED_H_
#define OC_CHECKS_EXPECTED_H_

#include "checks/trial.h"

// The shapes of the outputs as the oracle's prepare states them; not present where only a run
// tells. Contents are zero. UNSUPPORTED: the oracle does not claim the case.
int32_t oc_expected_shapes(oc_array *out_shapes, oc_bench *bench, const oc_case *item,
                           const oc_inputs *inputs, ops_error *error);

// Expected outputs of `item` on `inputs`, and for the judge dot the bound's b: the oracle once
// more, in double, on the absolute values of floating inputs and attributes. UNSUPPORTED: the
// oracle does not claim the case.
int32_t oc_expected_init(oc_expected *expected, oc_bench *bench, const oc_case *item,
                         const oc_inputs *inputs, ops_error *error);
void oc_expected_finish(oc_expected *expected);

// Bit i: the contract fixes the contents of input i. Such inputs are constants for the oracle:
// it may need to know them.
uint64_t oc_expected_constants(const oc_case *item, const oc_inputs *inputs);

#endif  // OC_CHECKS_EXPECTED_H_

// SPDX-License-Identifier: Apache-2.0
//
// How right the outputs of a case must be: the contract's judge with its limits evaluated.
#ifndef OC_CHECKS_LIMITS_H_
#define OC_CHECKS_LIMITS_H_

#include "checks/trial.h"

// Fills everything but `got`. Borrows `expected`. Errors are those of evaluating expressions.
int32_t oc_limits_of(oc_compare_input *out_input, const oc_case *item,
                     const oc_expected *expected, oc_profile_id profile, size_t output,
                     ops_error *error);

// The same by the contract alone, for an output of no elements. An error where an expression
// asks for shapes of outputs, or the contract does not say the type.
int32_t oc_limits_by_contract(oc_compare_input *out_input, const oc_case *item,
                              oc_profile_id profile, size_t output, ops_error *error);

#endif  // OC_CHECKS_LIMITS_H_

// SPDX-License-Identifier: Apache-2.0
//
// Check `error_path`: nodes and data outside the contract.
#ifndef OC_CHECKS_ERROR_CASE_H_
#define OC_CHECKS_ERROR_CASE_H_

#include "checks/trial.h"

// Judges trial->item, an error case. A provider that does not claim the valid node of the same
// row is not asked. The node must be refused by the claim, or by create, prepare or execute
// with the status that the contract names; outputs keep their poison; afterwards the valid node
// runs as ever, on the same kernel if there is one and only data were wrong.
void oc_error_case_judge(oc_trial *trial);

#endif  // OC_CHECKS_ERROR_CASE_H_

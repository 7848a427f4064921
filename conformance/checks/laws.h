// SPDX-License-Identifier: Apache-2.0
//
// The laws of a contract, evaluated for the inputs of a case.
#ifndef OC_CHECKS_LAWS_H_
#define OC_CHECKS_LAWS_H_

#include "checks/oracle.h"

// Fills expected->laws for every output that the contract has a law for. INVALID_MODEL: an
// input that a law names is not there, or of another size than the law needs.
int32_t oc_laws_resolve(oc_expected *expected, const oc_question *plain, ops_error *error);

#endif  // OC_CHECKS_LAWS_H_

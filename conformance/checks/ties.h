// SPDX-License-Identifier: Apache-2.0
//
// Which quantised results lie near a tie.
#ifndef OC_CHECKS_TIES_H_
#define OC_CHECKS_TIES_H_

#include "checks/oracle.h"

// Fills expected->lower and expected->upper: the oracle's results with the numbers that it
// rounds moved down and up by 2^-10 of a step (instance option tie_shift). An oracle that has
// no such option says nothing about ties: they stay NULL.
int32_t oc_ties_ask(oc_expected *expected, const oc_question *plain, ops_error *error);

#endif  // OC_CHECKS_TIES_H_

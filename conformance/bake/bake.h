// SPDX-License-Identifier: Apache-2.0
//
// A case as a model with data, for runtimes that the harness cannot reach.
#ifndef OC_BAKE_BAKE_H_
#define OC_BAKE_BAKE_H_

#include "checks/trial.h"

// Stores case number `index` of the bench below `folder`: PASS when it lies there. Of the bench
// only the oracle is asked. UNTRUSTED: the oracle has no value; NOT_RUN: it cannot be written.
void oc_bake_run(oc_bench *bench, const char *folder, uint32_t index, oc_result *result);

#endif  // OC_BAKE_BAKE_H_

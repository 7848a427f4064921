// SPDX-License-Identifier: Apache-2.0
//
// One question to the oracle: a node, its inputs, and in which arithmetic.
#ifndef OC_CHECKS_ORACLE_H_
#define OC_CHECKS_ORACLE_H_

#include "checks/trial.h"

typedef struct oc_question {
  oc_target *oracle;
  oc_beacon *beacon;  // or NULL
  const oc_case *item;
  const oc_inputs *inputs;
  int32_t widen;  // floating type variables and their inputs become this type; 0: they stay
  bool absolute;  // floating inputs and attributes by their absolute values
} oc_question;

// Claim to prepare. UNSUPPORTED: the oracle does not claim the node. The caller finishes
// `kernel` in any case.
int32_t oc_oracle_prepare(const oc_question *question, oc_kernel *kernel, ops_error *error);

// Claim to outputs, which the caller owns also where it fails; `widen` and `absolute` are not
// looked at.
int32_t oc_oracle_run(const oc_question *question, oc_array *outputs, ops_error *error);

// The outputs as doubles, one new array each, which the caller frees also where it fails.
int32_t oc_oracle_run_wide(const oc_question *question, double **out_doubles, ops_error *error);

// Opens the oracle's library once more with instance options. UNSUPPORTED: it does not take
// them; `what` says in the message who asked.
int32_t oc_oracle_open(oc_target *out_target, const oc_target *oracle, const char *what,
                       const ops_key_value *options, uint64_t count, ops_error *error);

#endif  // OC_CHECKS_ORACLE_H_

// SPDX-License-Identifier: Apache-2.0
//
// A small graph that is evaluated on the oracle node by node, as it is built: values are
// tensors with numbers, contents known at once. For what is not a case of a contract, such as
// the two sides of a provider's rewrite rule.
#ifndef OC_CHECKS_SCRATCH_H_
#define OC_CHECKS_SCRATCH_H_

#include "checks/trial.h"

#define OC_SCRATCH_MAX_VALUES 64

typedef struct oc_scratch {
  oc_target *oracle;
  oc_array values[OC_SCRATCH_MAX_VALUES];
  bool constant[OC_SCRATCH_MAX_VALUES];  // a constant of the graph, not an input of it
  int64_t strides[OC_SCRATCH_MAX_VALUES][OPS_MAX_RANK];
  ops_type_info types[OC_SCRATCH_MAX_VALUES];
  ops_constant contents[OC_SCRATCH_MAX_VALUES];
  size_t count;
} oc_scratch;

void oc_scratch_init(oc_scratch *scratch, oc_target *oracle);
void oc_scratch_finish(oc_scratch *scratch);

// Adds a value with zeroed contents; *out_value is its number.
int32_t oc_scratch_add(oc_scratch *scratch, int32_t type, int32_t rank, const int64_t *dims,
                       bool constant, int64_t *out_value, ops_error *error);

// A view of a value as an operand of a node; -1 is an absent one.
ops_operand oc_scratch_operand(oc_scratch *scratch, int64_t value);

// Runs `node` on the oracle. Of its inputs the numbers of the values are used, and of its
// outputs the count; *out_values receives the numbers of the results. UNSUPPORTED: the oracle
// has no such operator, or its shapes are known only afterwards.
int32_t oc_scratch_run(oc_scratch *scratch, const ops_node *node, int64_t *out_values,
                       ops_error *error);

#endif  // OC_CHECKS_SCRATCH_H_

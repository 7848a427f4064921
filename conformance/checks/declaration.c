// SPDX-License-Identifier: Apache-2.0
//
// Check `declaration`: what a definition says of itself must be enough for the contract.
#include "checks/check.h"

typedef struct declared_row {
  int32_t declared;  // OPS_DETERMINISM_…
  oc_determinism as;
} declared_row;

bool oc_check_declaration(oc_trial *trial) {
  static const declared_row rows[] = {
      {OPS_DETERMINISM_NONE, OC_DETERMINISM_NONE},
      {OPS_DETERMINISM_RUN, OC_DETERMINISM_RUN},
      {OPS_DETERMINISM_BITWISE, OC_DETERMINISM_BITWISE},
  };
  static const char *const names[] = {"none", "run", "bitwise"};
  const ops_kernel_def *def = trial->kernel.def;
  const oc_execution *asked = &trial->item->contract->execution;
  const int32_t count = (int32_t)(sizeof rows / sizeof *rows);
  if (def->determinism < 0 || def->determinism >= count) {
    return oc_trial_end(trial, OC_STATUS_FAIL, "declaration",
                        "expected one of the OPS_DETERMINISM_ numbers 0 to 2, found %d",
                        def->determinism);
  }
  if (rows[def->determinism].as < asked->determinism) {
    return oc_trial_end(trial, OC_STATUS_FAIL, "declaration",
                        "determinism: the contract asks for '%s', the definition declares '%s'",
                        names[asked->determinism], names[def->determinism]);
  }
  if (trial->item->contract->scheduling.async == OC_ASYNC_FORBIDDEN &&
      (def->flags & OPS_KERNEL_ASYNC)) {
    return oc_trial_end(trial, OC_STATUS_FAIL, "declaration",
                        "async: the contract forbids it, the definition declares it");
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
//
// Check `inputs`: memory that cannot be made read-only is compared with what was written to it.
// A write to memory that can ends the process and is reported under the same name.
#include "checks/check.h"
#include "ops_support/error.h"

bool oc_check_inputs(oc_trial *trial) {
  for (size_t i = 0; i < trial->inputs.count; ++i) {
    if (trial->launch->alias_input == (int32_t)i) continue;
    ops_error error = OPS_ERROR_INIT;
    bool changed = false;
    const int32_t status =
        oc_launch_input_changed(trial->launch, i, &trial->inputs.items[i], &changed, &error);
    if (status != OPS_OK) {
      return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_STATUS,
                          "reading back ends with %s: %.500s", ops_status_name(status),
                          error.message);
    }
    if (changed) {
      return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_INPUTS, "%s: input %zu was written",
                          oc_run_name(trial->run), i);
    }
  }
  return true;
}

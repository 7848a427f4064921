// SPDX-License-Identifier: Apache-2.0
//
// Check `guard`: bytes around the arguments, where no page without access rights lies, are as
// they were. An access that does reach such a page ends the process and is reported by the
// harness under the same name.
#include "checks/check.h"
#include "ops_support/error.h"

bool oc_check_guard(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  bool damaged = false;
  const char *what = "";
  int32_t index = 0;
  int64_t offset = 0;
  const int32_t status =
      oc_launch_find_damage(trial->launch, &damaged, &what, &index, &offset, &error);
  if (status != OPS_OK) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_STATUS,
                        "reading back ends with %s: %.500s", ops_status_name(status),
                        error.message);
  }
  if (!damaged) return true;
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_GUARD,
                      "%s: byte %lld of %s %d, which is outside of it, was written",
                      oc_run_name(trial->run), (long long)offset, what, index);
}

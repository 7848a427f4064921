// SPDX-License-Identifier: Apache-2.0
//
// Check `prepares`: what a shape costs is paid in prepare. Execute takes no memory from the
// host, and it does not allocate again what prepare did, which is how preparing anew, unasked,
// shows from outside.
#include "checks/check.h"
#include "checks/side.h"

bool oc_check_prepares(oc_trial *trial) {
  const uint64_t blocks = trial->launch->allocated;
  if (blocks == 0) return true;
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_PREPARES,
                      "%s: execute took %llu block(s) of memory from the host; expected none: "
                      "what it needs is stated by prepare as workspace",
                      oc_run_name(trial->run), (unsigned long long)blocks);
}

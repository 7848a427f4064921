// SPDX-License-Identifier: Apache-2.0
//
// Check `environment`: the thread that called the provider rounds, flushes, traps and blocks
// signals as before. It is put right at once, so that oracle and judge are not affected.
#include "runner/environment.h"

#include "checks/check.h"

bool oc_check_environment(oc_trial *trial) {
  const char *changed = oc_environment_restore(&trial->bench->environment);
  if (!changed) return true;
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ENVIRONMENT,
                      "%s: changed and not put back: %s", oc_run_name(trial->run), changed);
}

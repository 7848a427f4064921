// SPDX-License-Identifier: Apache-2.0
//
// Check `claim`: the first answer is in trial->kernel.claim; ask again and compare.
#include <string.h>

#include "checks/check.h"
#include "ops_support/error.h"

const char *oc_check_claim_name(int32_t answer) {
  static const char *const names[] = {[OPS_CLAIM_UNSUPPORTED] = "UNSUPPORTED",
                                      [OPS_CLAIM_SUPPORTED] = "SUPPORTED",
                                      [OPS_CLAIM_ONLY_IN_GROUP] = "ONLY_IN_GROUP"};
  const int32_t count = (int32_t)(sizeof names / sizeof *names);
  return answer >= 0 && answer < count ? names[answer] : "an answer that does not exist";
}

static const char *text_of(const ops_claim *claim) {
  return claim->text[0] ? claim->text : "without a text";
}

static bool same_claim(const oc_kernel *kernel, const ops_claim *first,
                       const ops_kernel_def *first_def) {
  const ops_claim *second = &kernel->claim;
  return first->answer == second->answer && first->reason == second->reason &&
         first->preference == second->preference && first_def == kernel->def &&
         strncmp(first->text, second->text, sizeof first->text) == 0;
}

bool oc_check_claim(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  const ops_claim first = trial->kernel.claim;
  const ops_kernel_def *first_def = trial->kernel.def;
  const int32_t status = oc_kernel_claim(&trial->kernel, &error);
  if (status != OPS_OK) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CLAIM,
                        "asked again, the claim ends with %s: %.500s", ops_status_name(status),
                        error.message);
  }
  if (!same_claim(&trial->kernel, &first, first_def)) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CLAIM,
                        "asked twice, expected the same answer, definition, reason, text and "
                        "preference, found first %s (%.200s), then %s (%.200s)",
                        oc_check_claim_name(first.answer), text_of(&first),
                        oc_check_claim_name(trial->kernel.claim.answer),
                        text_of(&trial->kernel.claim));
  }
  if (first.answer == OPS_CLAIM_UNSUPPORTED) {
    return oc_trial_end(trial, OC_STATUS_UNSUPPORTED, "", "%.250s",
                        first.text[0] ? first.text : "no reason given");
  }
  if (first.answer == OPS_CLAIM_ONLY_IN_GROUP && !trial->bench->candidate.provider->group) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CLAIM,
                        "claimed only as part of a group, by a provider that has no functions "
                        "for groups");
  }
  if (first.answer != OPS_CLAIM_SUPPORTED && first.answer != OPS_CLAIM_ONLY_IN_GROUP) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CLAIM,
                        "expected one of the OPS_CLAIM_ answers 0 to 2, found %d",
                        first.answer);
  }
  return true;
}

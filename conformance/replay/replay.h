// SPDX-License-Identifier: Apache-2.0
//
// One baked case on a provider.
#ifndef OC_REPLAY_REPLAY_H_
#define OC_REPLAY_REPLAY_H_

#include "replay/case_file.h"
#include "runner/target.h"

typedef enum oc_replay_verdict {
  OC_REPLAY_PASS,
  OC_REPLAY_FAIL,
  OC_REPLAY_UNSUPPORTED,
  OC_REPLAY_UNTRUSTED
} oc_replay_verdict;

typedef struct oc_replay_result {
  oc_replay_verdict verdict;
  char message[700];
} oc_replay_result;

// Claim, create, prepare, execute, compare with the stored values. An error is one of the
// harness; what the provider does wrong is in the result.
int32_t oc_replay_run(oc_target *target, const oc_baked *baked, oc_replay_result *out_result,
                      ops_error *error);

#endif  // OC_REPLAY_REPLAY_H_

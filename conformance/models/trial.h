// SPDX-License-Identifier: Apache-2.0
//
// A model at one level of the optimizer, from placement to verdict. For workers.
#ifndef OC_MODELS_TRIAL_H_
#define OC_MODELS_TRIAL_H_

#include "models/expected.h"
#include "models/list.h"
#include "runner/beacon.h"
#include "runner/result.h"

typedef struct oc_model_bench {
  const oc_model_list *list;
  oc_beacon *beacon;
  oc_model_oracle oracle;
  opsrt_provider_spec providers[2];  // the one on trial, the oracle behind it
  oc_profile_id profile;
  int nodes;  // as oc_nodes_file gives it
  // Made with the first case.
  bool asked;
  oc_model_inputs inputs;
  oc_model_expected expected;
  int32_t expected_status;
  char expected_error[OPS_ERROR_MESSAGE_MAX];
} oc_model_bench;

void oc_model_trial_run(oc_model_bench *bench, uint32_t index, oc_result *out_result);
void oc_model_bench_finish(oc_model_bench *bench);

// Names of checks in reports.
#define OC_MODEL_CHECK_INPUTS "inputs"        // the model can be asked at all
#define OC_MODEL_CHECK_SESSION "session"      // the model loads with the provider in front
#define OC_MODEL_CHECK_PLACEMENT "placement"  // asked twice, the provider claims the same nodes
#define OC_MODEL_CHECK_RUN "run"              // both runs succeed
#define OC_MODEL_CHECK_VALUES "values"        // outputs agree with the oracle's
#define OC_MODEL_CHECK_REPEAT "determinism"   // the second run gives as many right values

#endif  // OC_MODELS_TRIAL_H_

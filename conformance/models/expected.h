// SPDX-License-Identifier: Apache-2.0
//
// What the oracle alone gives for a model, and how far that moves when its intermediates are
// rounded at random.
#ifndef OC_MODELS_EXPECTED_H_
#define OC_MODELS_EXPECTED_H_

#include <opsrt/opsrt.h>
#include <stdbool.h>

#include "models/draw.h"

#define OC_MODEL_SHAKEN_RUNS 8

// Of one output that is a tensor of numbers.
typedef struct oc_model_motion {
  double *plain;      // the values as numbers
  double *deviation;  // floating types: the largest of the perturbed runs; else NULL
  bool *moves;        // other types: perturbed runs gave something else there; else NULL
  int64_t count;
  bool judged;  // 0: strings, sequences, maps: compared for equality
} oc_model_motion;

typedef struct oc_model_expected {
  opsrt_session *session;  // of the plain run; owns names
  opsrt_result *plain;
  oc_model_motion *motions;  // one for each output
  uint64_t count;
} oc_model_expected;

// How the oracle is asked.
typedef struct oc_model_oracle {
  const char *model;    // path
  const char *library;  // of the oracle
  const char *provider_dir;
} oc_model_oracle;

// Draws the inputs, then runs plain and perturbed. UNSUPPORTED where inputs cannot be drawn;
// INVALID_ARGUMENT where a perturbed run gives an output of another shape: the model decides
// shapes by values that move; else what the runtime says.
int32_t oc_model_expected_init(const oc_model_oracle *oracle, uint64_t seed,
                               oc_model_inputs *out_inputs, oc_model_expected *out_expected,
                               ops_error *error);
void oc_model_expected_finish(oc_model_expected *expected);  // accepts a zeroed one

#endif  // OC_MODELS_EXPECTED_H_

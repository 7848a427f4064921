// SPDX-License-Identifier: Apache-2.0
//
// Inputs for a model, drawn from a seed.
#ifndef OC_MODELS_DRAW_H_
#define OC_MODELS_DRAW_H_

#include <opsrt/opsrt.h>

#define OC_MODEL_MAX_INPUTS 1024
#define OC_MODEL_MAX_ELEMENTS ((int64_t)1 << 30)  // of one input

typedef struct oc_model_inputs {
  opsrt_value *values;  // of the inputs that have no default
  size_t count;
} oc_model_inputs;

// A dimension that is free is 1. Floating values are uniform in [-1, 1), integers 0 to 3 (which
// are legal indices nearly everywhere), bool both, strings "a" to "d". UNSUPPORTED, with the
// input's name, for what is no tensor, has no known rank, or is too large; OUT_OF_MEMORY.
int32_t oc_model_inputs_draw(const opsrt_session *session, uint64_t seed,
                             oc_model_inputs *out_inputs, ops_error *error);
void oc_model_inputs_finish(oc_model_inputs *inputs);  // accepts a zeroed one

#endif  // OC_MODELS_DRAW_H_

// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#define ATTENTION_INPUTS                                                           \
  ARG("Q", "T1", FLOATS, 0), ARG("K", "T1", FLOATS, 0), ARG("V", "T2", FLOATS, 0), \
      ARG("attn_mask", "U", FLOATS | BOOL, OPS_ARG_OPTIONAL),                      \
      ARG("past_key", "T1", FLOATS, OPS_ARG_OPTIONAL),                             \
      ARG("past_value", "T2", FLOATS, OPS_ARG_OPTIONAL)
#define ATTENTION_OUTPUTS                                                                \
  OUTPUTS(ARG("Y", "T1", FLOATS, 0), ARG("present_key", "T1", FLOATS, OPS_ARG_OPTIONAL), \
          ARG("present_value", "T2", FLOATS, OPS_ARG_OPTIONAL))

#define GPU_ATTENTION_ROWS                                                                \
  ROW("Attention", 23, 23, gpu_attention, INPUTS(ATTENTION_INPUTS), ATTENTION_OUTPUTS),   \
      ROW("Attention", 24, 0, gpu_attention,                                              \
          INPUTS(ATTENTION_INPUTS,                                                        \
                 ARG("nonpad_kv_seqlen", "tensor(int64)", BIT(INT64), OPS_ARG_OPTIONAL)), \
          ATTENTION_OUTPUTS)

// SPDX-License-Identifier: Apache-2.0
#include "normalize.h"

#define GPU_NORMALIZE_ROWS                                                                 \
  ROW("LayerNormalization", 17, 0, gpu_normalize_LayerNormalization.base,                  \
      INPUTS(IN("X", FLOATS), IN("Scale", FLOATS), OPTIONAL("B", FLOATS)),                 \
      OUTPUTS(IN("Y", FLOATS), ARG("Mean", "U", F32, OPS_ARG_OPTIONAL),                    \
              ARG("InvStdDev", "U", F32, OPS_ARG_OPTIONAL))),                              \
      ROW("RMSNormalization", 23, 0, gpu_normalize_RMSNormalization.base,                  \
          INPUTS(IN("X", FLOATS), ARG("scale", "V", FLOATS, 0)),                           \
          OUTPUTS(ARG("Y", "V", FLOATS, 0))),                                              \
      ROW("InstanceNormalization", 6, 0, gpu_normalize_InstanceNormalization.base,         \
          INPUTS(IN("input", FLOATS), IN("scale", FLOATS), IN("B", FLOATS)),               \
          OUTPUTS(IN("output", FLOATS))),                                                  \
      ROW("GroupNormalization", 18, 0, gpu_normalize_GroupNormalization.base,              \
          INPUTS(IN("X", FLOATS), IN("scale", FLOATS), IN("bias", FLOATS)),                \
          OUTPUTS(IN("Y", FLOATS))),                                                       \
      ROW("MeanVarianceNormalization", 9, 0, gpu_normalize_MeanVarianceNormalization.base, \
          INPUTS(IN("X", FLOATS)), OUTPUTS(IN("Y", FLOATS)), IN_PLACE(MAY_ALIAS(0))),      \
      ROW("LpNormalization", 1, 0, gpu_normalize_LpNormalization.base,                     \
          INPUTS(IN("input", FLOATS)), OUTPUTS(IN("output", FLOATS)), IN_PLACE(MAY_ALIAS(0)))

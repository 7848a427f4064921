// SPDX-License-Identifier: Apache-2.0
#include "channels.h"

// In training it has more outputs, which are not claimed.
#define BATCH_NORMALIZATION(since, until, scale, statistic)                               \
  ROW("BatchNormalization", since, until, gpu_batch_normalization,                        \
      INPUTS(IN("X", FLOATS), ARG("scale", scale, FLOATS, 0), ARG("B", scale, FLOATS, 0), \
             ARG("mean", statistic, FLOATS, 0), ARG("var", statistic, FLOATS, 0)),        \
      OUTPUTS(IN("Y", FLOATS)), IN_PLACE(MAY_ALIAS(0)))

#define GPU_CHANNELS_ROWS                                                      \
  BATCH_NORMALIZATION(6, 13, "T", "T"), BATCH_NORMALIZATION(14, 14, "T", "U"), \
      BATCH_NORMALIZATION(15, 0, "T1", "T2"),                                  \
      ROW("LRN", 1, 0, gpu_lrn, INPUTS(IN("X", FLOATS)), OUTPUTS(IN("Y", FLOATS)))

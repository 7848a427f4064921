// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#define SOFTMAX(op)                                                                      \
  ROW(op, 1, 0, gpu_softmax, INPUTS(IN("input", FLOATS)), OUTPUTS(IN("output", FLOATS)), \
      IN_PLACE(MAY_ALIAS(0)))

#define GPU_SOFTMAX_ROWS SOFTMAX("Softmax"), SOFTMAX("LogSoftmax"), SOFTMAX("Hardmax")

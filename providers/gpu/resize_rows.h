// SPDX-License-Identifier: Apache-2.0
#include "resize.h"

#define RESIZE_SCALES ON_HOST("scales", "tensor(float)", F32, OPS_ARG_OPTIONAL)
#define RESIZE(op, since, until, ...)                                    \
  ROW(op, since, until, gpu_resize, INPUTS(IN("X", MOVED), __VA_ARGS__), \
      OUTPUTS(IN("Y", MOVED)))

#define GPU_RESIZE_ROWS                                                                     \
  RESIZE("Resize", 10, 10, RESIZE_SCALES),                                                  \
      RESIZE("Resize", 11, 0, ARG("roi", "T2", F32 | F64 | BIT(FLOAT16), OPS_ARG_OPTIONAL), \
             RESIZE_SCALES, SHAPE_OPTIONAL("sizes")),                                       \
      ROW("Upsample", 7, 8, gpu_resize, INPUTS(IN("X", MOVED)), OUTPUTS(IN("Y", MOVED))),   \
      RESIZE("Upsample", 9, 9, RESIZE_SCALES)

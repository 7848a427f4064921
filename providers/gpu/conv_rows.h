// SPDX-License-Identifier: Apache-2.0
#include "conv.h"

#define GPU_CONV_ROWS                                                                          \
  ROW("Conv", 1, 0, gpu_conv, INPUTS(IN("X", FLOATS), IN("W", FLOATS), OPTIONAL("B", FLOATS)), \
      OUTPUTS(IN("Y", FLOATS))),                                                               \
      ROW("ConvTranspose", 1, 0, gpu_conv_transpose,                                           \
          INPUTS(IN("X", FLOATS), IN("W", FLOATS), OPTIONAL("B", FLOATS)),                     \
          OUTPUTS(IN("Y", FLOATS))),                                                           \
      ROW("ConvInteger", 10, 0, gpu_conv_integer,                                              \
          INPUTS(ARG("x", "T1", BYTES, 0), ARG("w", "T2", BYTES, 0),                           \
                 ARG("x_zero_point", "T1", BYTES, OPS_ARG_OPTIONAL),                           \
                 ARG("w_zero_point", "T2", BYTES, OPS_ARG_OPTIONAL)),                          \
          OUTPUTS(ARG("y", "T3", BIT(INT32), 0))),                                             \
      ROW("QLinearConv", 10, 0, gpu_qlinear_conv,                                              \
          INPUTS(ARG("x", "T1", BYTES, 0), ARG("x_scale", "", F32, 0),                         \
                 ARG("x_zero_point", "T1", BYTES, 0), ARG("w", "T2", BYTES, 0),                \
                 ARG("w_scale", "", F32, 0), ARG("w_zero_point", "T2", BYTES, 0),              \
                 ARG("y_scale", "", F32, 0), ARG("y_zero_point", "T3", BYTES, 0),              \
                 ARG("B", "T4", BIT(INT32), OPS_ARG_OPTIONAL)),                                \
          OUTPUTS(ARG("y", "T3", BYTES, 0)))

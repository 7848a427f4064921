// SPDX-License-Identifier: Apache-2.0
#include "quantize.h"

#define CODES (BIT(INT8) | BIT(UINT8) | BIT(INT16) | BIT(UINT16))
#define SCALES (F32 | HALVES)

#define GPU_QUANTIZE_ROWS                                                                \
  ROW("QuantizeLinear", 10, 0, gpu_quantize,                                             \
      INPUTS(ARG("x", "T1", SCALES, 0), ARG("y_scale", "T2", SCALES, 0),                 \
             ARG("y_zero_point", "T3", CODES, OPS_ARG_OPTIONAL)),                        \
      OUTPUTS(ARG("y", "T3", CODES, 0))),                                                \
      ROW("DequantizeLinear", 10, 0, gpu_dequantize,                                     \
          INPUTS(ARG("x", "T1", CODES | BIT(INT32), 0), ARG("x_scale", "T2", SCALES, 0), \
                 ARG("x_zero_point", "T1", CODES | BIT(INT32), OPS_ARG_OPTIONAL)),       \
          OUTPUTS(ARG("y", "T3", SCALES, 0))),                                           \
      ROW("DynamicQuantizeLinear", 11, 0, gpu_dynamic_quantize,                          \
          INPUTS(ARG("x", "T1", F32, 0)),                                                \
          OUTPUTS(ARG("y", "T2", BIT(UINT8), 0), ARG("y_scale", "", F32, 0),             \
                  ARG("y_zero_point", "T2", BIT(UINT8), 0)))

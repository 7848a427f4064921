// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#define WIDE_INTEGERS (INDEX | BIT(UINT32) | BIT(UINT64))
#define BYTES (BIT(INT8) | BIT(UINT8))
#define FACTORS (FLOATS | WIDE_INTEGERS)

#define GPU_PRODUCT_ROWS                                                             \
  ROW("MatMul", 1, 0, gpu_matmul, INPUTS(IN("A", FACTORS), IN("B", FACTORS)),        \
      OUTPUTS(IN("Y", FACTORS))),                                                    \
      ROW("Gemm", 1, 10, gpu_gemm,                                                   \
          INPUTS(IN("A", FACTORS), IN("B", FACTORS), IN("C", FACTORS)),              \
          OUTPUTS(IN("Y", FACTORS))),                                                \
      ROW("Gemm", 11, 0, gpu_gemm,                                                   \
          INPUTS(IN("A", FACTORS), IN("B", FACTORS), OPTIONAL("C", FACTORS)),        \
          OUTPUTS(IN("Y", FACTORS))),                                                \
      ROW("MatMulInteger", 10, 0, gpu_matmul_integer,                                \
          INPUTS(ARG("A", "T1", BYTES, 0), ARG("B", "T2", BYTES, 0),                 \
                 ARG("a_zero_point", "T1", BYTES, OPS_ARG_OPTIONAL),                 \
                 ARG("b_zero_point", "T2", BYTES, OPS_ARG_OPTIONAL)),                \
          OUTPUTS(ARG("Y", "T3", BIT(INT32), 0))),                                   \
      ROW("QLinearMatMul", 10, 0, gpu_qlinear_matmul,                                \
          INPUTS(ARG("a", "T1", BYTES, 0), ARG("a_scale", "TS", F32, 0),             \
                 ARG("a_zero_point", "T1", BYTES, 0), ARG("b", "T2", BYTES, 0),      \
                 ARG("b_scale", "TS", F32, 0), ARG("b_zero_point", "T2", BYTES, 0),  \
                 ARG("y_scale", "TS", F32, 0), ARG("y_zero_point", "T3", BYTES, 0)), \
          OUTPUTS(ARG("y", "T3", BYTES, 0)))

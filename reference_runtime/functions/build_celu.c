// SPDX-License-Identifier: Apache-2.0
//
// Celu before opset 28: alpha * Elu(x / alpha) with Elu's own alpha 1.
#include "functions/table.h"

int32_t rt_build_celu(rt_text *text, const rt_node *node, ops_error *error) {
  (void)node;
  (void)error;
  rt_text_add(text,
              "(X) => (Y) {\n"
              "alpha = Constant <value_float: float = @alpha> ()\n"
              "scaled = Div (X, alpha)\n"
              "elu = Elu <alpha: float = 1> (scaled)\n"
              "Y = Mul (alpha, elu)\n}");
  return OPS_OK;
}

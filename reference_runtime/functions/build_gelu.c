// SPDX-License-Identifier: Apache-2.0
//
// Gelu: x * Phi(x) by erf, or by its approximation with tanh.
#include "functions/table.h"

#define SQRT_HALF 0.70710678118654752440
#define SQRT_TWO_OVER_PI 0.79788456080286535588

int32_t rt_build_gelu(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 0);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text, "(X) => (Y) {\n");
  rt_text_constant(text, "half", type, 0.5);
  rt_text_constant(text, "one", type, 1);
  if (rt_attrs_string_is(&node->op.attrs, "approximate", "tanh")) {
    rt_text_constant(text, "cubic", type, 0.044715);
    rt_text_constant(text, "scale", type, SQRT_TWO_OVER_PI);
    rt_text_add(text,
                "square = Mul (X, X)\n"
                "cube = Mul (square, X)\n"
                "term = Mul (cubic, cube)\n"
                "sum = Add (X, term)\n"
                "argument = Mul (scale, sum)\n"
                "odd = Tanh (argument)\n");
  } else {
    rt_text_constant(text, "scale", type, SQRT_HALF);
    rt_text_add(text, "argument = Mul (X, scale)\nodd = Erf (argument)\n");
  }
  rt_text_add(text,
              "doubled = Add (one, odd)\n"
              "half_X = Mul (half, X)\n"
              "Y = Mul (half_X, doubled)\n}");
  return OPS_OK;
}

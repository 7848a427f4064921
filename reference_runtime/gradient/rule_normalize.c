// SPDX-License-Identifier: Apache-2.0
//
// Operators that behave differently in training, in their form for inference.
//   BatchNormalization   Y = (X - mean) r scale + B with r = 1 / sqrt(var + epsilon), per
//   channel Dropout              Y = X
#include <ops_support/error.h>

#include "gradient/rules.h"

int32_t rt_rule_batch_normalization(const rt_node *node, rt_text *text, rt_text *derivatives,
                                    ops_error *error) {
  int64_t axes[OPS_MAX_RANK] = {0};
  const int32_t rank = rt_rule_rank(node, 0);
  if (rank < 2) return rt_rule_refuse(node, "the rank of its input", error);
  if (rt_attrs_int(&node->op.attrs, "training_mode", 0) || node->output_count > 1 ||
      node->op.opset < 9)
    return rt_rule_refuse(node, "the form for inference", error);
  for (int32_t i = 2; i < rank; ++i) axes[i - 1] = i;
  rt_text_ints(text, "rest", axes, (uint32_t)rank - 1);
  rt_text_add(text,
              "epsilon_float = Constant <value_float: float = @epsilon> ()\n"
              "epsilon = CastLike (epsilon_float, X4)\n"
              "half_float = Constant <value: tensor = float {-0.5}> ()\n"
              "half = CastLike (half_float, X0)\n"
              "positive = Add (X4, epsilon)\n"
              "root = Sqrt (positive)\n"
              "r_row = Reciprocal (root)\n"
              "r = Unsqueeze (r_row, rest)\n"
              "scale = Unsqueeze (X1, rest)\n"
              "mean = Unsqueeze (X3, rest)\n"
              "deviation = Sub (X0, mean)\n"
              "scaled = Mul (G0, scale)\n"
              "a = Mul (scaled, r)\n"
              "normal = Mul (deviation, r)\n"
              "by_scale = Mul (G0, normal)\n"
              "b = ReduceSum <keepdims: int = 0> (by_scale, rest)\n"
              "c = ReduceSum <keepdims: int = 0> (G0, rest)\n"
              "a_sum = ReduceSum <keepdims: int = 0> (a, rest)\n"
              "d = Neg (a_sum)\n"
              "r_square = Mul (r, r)\n"
              "by_variance = Mul (normal, scaled)\n"
              "steep = Mul (by_variance, r_square)\n"
              "less = Mul (steep, half)\n"
              "e = ReduceSum <keepdims: int = 0> (less, rest)\n");
  rt_text_add(derivatives, "a, b, c, d, e");
  return OPS_OK;
}

int32_t rt_rule_dropout(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error) {
  (void)text;
  const rt_constant *training =
      rt_node_input(node, 2) ? rt_value_constant(rt_node_input(node, 2)) : NULL;
  int64_t is_training = 0;
  const int is_known = !rt_node_input(node, 2) ||
                       (training && rt_constant_read_ints(training, &is_training, 1) == 1);
  if (!is_known || is_training) return rt_rule_refuse(node, "the form for inference", error);
  rt_text_add(derivatives, "G0");
  for (uint32_t i = 1; i < node->input_count; ++i) rt_text_add(derivatives, ", _");
  return OPS_OK;
}

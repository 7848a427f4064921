// SPDX-License-Identifier: Apache-2.0
//
// GroupNormalization: mean and variance over the channels of a group and all positions. Scale
// and bias belong to groups before opset 21 and to channels from then on.
#include <ops_support/error.h>

#include "functions/table.h"

int32_t rt_build_group_normalization(rt_text *text, const rt_node *node, ops_error *error) {
  const rt_attrs *attrs = &node->op.attrs;
  const int by_channel = node->op.opset >= 21;
  const int32_t type = rt_function_type(node, 0);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  OPS_RETURN_IF_ERROR(rt_function_positive(node, "num_groups", error));
  const int32_t stash =
      by_channel ? (int32_t)rt_attrs_int(attrs, "stash_type", OPS_TYPE_FLOAT) : type;
  const int64_t groups[] = {0, rt_attrs_int(attrs, "num_groups", 1), -1};
  const int64_t channels[] = {0, 0, -1}, factors[] = {1, -1, 1}, last = 2;
  rt_text_add(text, "(X, scale, bias) => (Y) {\nshape = Shape (X)\n");
  rt_text_ints(text, "groups", groups, 3);
  rt_text_ints(text, "channels", channels, 3);
  rt_text_ints(text, "factors", factors, 3);
  rt_text_ints(text, "axes", &last, 1);
  rt_text_constant(text, "epsilon", stash, rt_attrs_float(attrs, "epsilon", 1e-5f));
  rt_text_add(text,
              "stashed = Cast <to: int = %d> (X)\n"
              "grouped = Reshape (stashed, groups)\n"
              "mean = ReduceMean (grouped, axes)\n"
              "deviation = Sub (grouped, mean)\n"
              "squares = Mul (deviation, deviation)\n"
              "variance = ReduceMean (squares, axes)\n"
              "positive = Add (variance, epsilon)\n"
              "root = Sqrt (positive)\n"
              "quotient = Div (deviation, root)\n"
              "whole = Reshape (quotient, shape)\n"
              "normalized = Cast <to: int = %d> (whole)\n"
              "rows = Reshape (normalized, %s)\n"
              "scales = Reshape (scale, factors)\n"
              "biases = Reshape (bias, factors)\n"
              "scaled = Mul (rows, scales)\n"
              "shifted = Add (scaled, biases)\n"
              "Y = Reshape (shifted, shape)\n}",
              stash, type, by_channel ? "channels" : "groups");
  return OPS_OK;
}

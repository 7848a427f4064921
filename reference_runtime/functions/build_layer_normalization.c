// SPDX-License-Identifier: Apache-2.0
//
// LayerNormalization and RMSNormalization: over the axes from `axis` to the last, in the
// element type of the attribute stash_type. The variance is the mean of squared deviations.
#include "functions/table.h"

// `axes`, known now or computed from the rank of X.
static void add_axes(rt_text *text, const rt_node *node) {
  int64_t axes[OPS_MAX_RANK];
  const int32_t rank = rt_function_rank(node, 0);
  const int64_t axis = rt_attrs_int(&node->op.attrs, "axis", -1);
  const int64_t first = axis < 0 && rank >= 0 ? axis + rank : axis;
  uint32_t count = 0;
  if (rank >= 0 && first >= 0) {
    for (int64_t i = first; i < rank; ++i) axes[count++] = i;
    rt_text_ints(text, "axes", axes, count);
    return;
  }
  rt_text_add(text,
              "shape = Shape (X)\nrank = Size (shape)\n"
              "axis = Constant <value: tensor = int64 {%lld}> ()\n"
              "one = Constant <value: tensor = int64 {1}> ()\n",
              (long long)axis);
  if (axis < 0)
    rt_text_add(text, "first = Add (rank, axis)\naxes = Range (first, rank, one)\n");
  else
    rt_text_add(text, "axes = Range (axis, rank, one)\n");
}

// From `deviation`: `inverse`, 1 / sqrt(mean(deviation^2) + epsilon), and `normalized` in the
// type of X.
static void add_norm(rt_text *text, int32_t type, int32_t stash, float epsilon,
                     const char *inverse) {
  rt_text_constant(text, "epsilon", stash, epsilon);
  rt_text_add(text,
              "squares = Mul (deviation, deviation)\n"
              "variance = ReduceMean (squares, axes)\n"
              "positive = Add (variance, epsilon)\n"
              "root = Sqrt (positive)\n"
              "%s = Reciprocal (root)\n"
              "quotient = Div (deviation, root)\n"
              "normalized = Cast <to: int = %d> (quotient)\n",
              inverse, type);
}

static int32_t stash_of(const rt_node *node) {
  return (int32_t)rt_attrs_int(&node->op.attrs, "stash_type", OPS_TYPE_FLOAT);
}

int32_t rt_build_layer_normalization(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 0), stash = stash_of(node);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text, "(X, Scale, B) => (Y, Mean, InvStdDev) {\n");
  add_axes(text, node);
  rt_text_add(text,
              "stashed = Cast <to: int = %d> (X)\n"
              "Mean = ReduceMean (stashed, axes)\n"
              "deviation = Sub (stashed, Mean)\n",
              stash);
  add_norm(text, type, stash, rt_attrs_float(&node->op.attrs, "epsilon", 1e-5f), "InvStdDev");
  const int has_bias = rt_function_has(node, 2);
  rt_text_add(text, "%s = Mul (normalized, Scale)\n", has_bias ? "scaled" : "Y");
  rt_text_add(text, "%s}", has_bias ? "Y = Add (scaled, B)\n" : "");
  return OPS_OK;
}

int32_t rt_build_rms_normalization(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 0), stash = stash_of(node);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text, "(X, scale) => (Y) {\n");
  add_axes(text, node);
  rt_text_add(text, "deviation = Cast <to: int = %d> (X)\n", stash);
  add_norm(text, type, stash, rt_attrs_float(&node->op.attrs, "epsilon", 1e-5f), "inverse");
  rt_text_add(text, "Y = Mul (normalized, scale)\n}");
  return OPS_OK;
}

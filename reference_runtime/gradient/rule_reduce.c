// SPDX-License-Identifier: Apache-2.0
//
// Reductions and what works along an axis. A sum's derivative is the same for every element
// that was summed: G is given the reduced axes back with length 1 and expanded.
#include <string.h>

#include "gradient/rules.h"

// `axes` of a reduction: its second input, its attribute, or all of them. 0: there are none to
// reduce, the operator copies.
static int add_axes(const rt_node *node, rt_text *text) {
  uint32_t count;
  const int64_t *axes = rt_attrs_ints(&node->op.attrs, "axes", &count);
  if (rt_node_input(node, 1)) {
    rt_text_add(text, "axes = Identity (X1)\n");
  } else if (axes) {
    rt_text_ints(text, "axes", axes, count);
  } else {
    if (rt_attrs_int(&node->op.attrs, "noop_with_empty_axes", 0)) return 0;
    rt_text_add(text,
                "zero = Constant <value: tensor = int64 {0}> ()\n"
                "one = Constant <value: tensor = int64 {1}> ()\n"
                "x_shape = Shape (X0)\nrank = Size (x_shape)\n"
                "axes = Range (zero, rank, one)\n");
  }
  return 1;
}

// ReduceSum and ReduceMean. Where the axes are not kept, the shape that keeps them is that of
// another reduction of X: right for axes computed at run time, and for none that mean all.
int32_t rt_rule_reduce(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error) {
  (void)error;
  const int is_mean = strcmp(node->op.name, "ReduceMean") == 0;
  rt_text_add(derivatives, node->input_count > 1 ? "%s, _" : "%s", "a");
  if (!add_axes(node, text)) {
    rt_text_add(text, "a = Identity (G0)\n");
    return OPS_OK;
  }
  const int empty_is_none = rt_attrs_int(&node->op.attrs, "noop_with_empty_axes", 0) != 0;
  if (rt_attrs_int(&node->op.attrs, "keepdims", 1))
    rt_text_add(text, "kept = Identity (Y0)\n");
  else
    rt_text_add(
        text,
        "kept = ReduceSum <keepdims: int = 1, noop_with_empty_axes: int = %d> (X0, axes)\n",
        empty_is_none);
  rt_text_add(text,
              "kept_shape = Shape (kept)\n"
              "shape = Shape (X0)\n"
              "rows = Reshape <allowzero: int = 1> (G0, kept_shape)\n"
              "%s = Expand (rows, shape)\n",
              is_mean ? "whole" : "a");
  if (is_mean)
    rt_text_add(text,
                "all_int = Size (X0)\nrest_int = Size (kept)\n"
                "all = CastLike (all_int, G0)\nrest = CastLike (rest_int, G0)\n"
                "count = Div (all, rest)\na = Div (whole, count)\n");
  return OPS_OK;
}

// ReduceMax and ReduceMin: elements that attain the extreme share the derivative equally.
int32_t rt_rule_reduce_extreme(const rt_node *node, rt_text *text, rt_text *derivatives,
                               ops_error *error) {
  (void)error;
  rt_text_add(derivatives, node->input_count > 1 ? "%s, _" : "%s", "a");
  if (!add_axes(node, text)) {
    rt_text_add(text, "a = Identity (G0)\n");
    return OPS_OK;
  }
  const int empty_is_none = rt_attrs_int(&node->op.attrs, "noop_with_empty_axes", 0) != 0;
  rt_text_add(
      text,
      "kept = %s <keepdims: int = 1, noop_with_empty_axes: int = %d> (X0, axes)\n"
      "kept_shape = Shape (kept)\n"
      "rows = Reshape <allowzero: int = 1> (G0, kept_shape)\n"
      "is_extreme = Equal (X0, kept)\n"
      "hits = CastLike (is_extreme, G0)\n"
      "count = ReduceSum <keepdims: int = 1, noop_with_empty_axes: int = %d> (hits, axes)\n"
      "share = Div (rows, count)\n"
      "a = Mul (hits, share)\n",
      node->op.name, empty_is_none, empty_is_none);
  return OPS_OK;
}

// CumSum: the sum from the other end.
int32_t rt_rule_cum_sum(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error) {
  (void)error;
  rt_text_add(text, "a = CumSum <exclusive: int = @exclusive, reverse: int = %d> (G0, X1)\n",
              !rt_attrs_int(&node->op.attrs, "reverse", 0));
  rt_text_add(derivatives, "a, _");
  return OPS_OK;
}

// Softmax: Y (G - sum(G Y)). LogSoftmax: G - exp(Y) sum(G). Before opset 13 over all axes from
// `axis` on, from then on along it.
int32_t rt_rule_softmax(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error) {
  int64_t axes[OPS_MAX_RANK];
  uint32_t count = 1;
  const int is_old = node->op.opset < 13;
  const int32_t rank = rt_rule_rank(node, 0);
  axes[0] = rt_attrs_int(&node->op.attrs, "axis", is_old ? 1 : -1);
  if (is_old && rank < 0) return rt_rule_refuse(node, "the rank of its input", error);
  if (is_old && axes[0] < 0) axes[0] += rank;
  if (is_old && (axes[0] < 0 || axes[0] > rank))
    return rt_rule_refuse(node, "an axis of its input", error);
  while (is_old && axes[0] + count < rank) {
    axes[count] = axes[0] + count;
    ++count;
  }
  rt_text_ints(text, "axes", axes, is_old && axes[0] >= rank ? 0 : count);
  rt_text_add(derivatives, "a");
  static const char *const sum =
      "sum = ReduceSum <keepdims: int = 1, noop_with_empty_axes: int = 1> (%s, axes)\n";
  if (strcmp(node->op.name, "Softmax") == 0) {
    rt_text_add(text, "weighted = Mul (G0, Y0)\n");
    rt_text_add(text, sum, "weighted");
    rt_text_add(text, "deviation = Sub (G0, sum)\na = Mul (Y0, deviation)\n");
  } else {
    rt_text_add(text, sum, "G0");
    rt_text_add(text, "share = Exp (Y0)\ncommon = Mul (share, sum)\na = Sub (G0, common)\n");
  }
  return OPS_OK;
}

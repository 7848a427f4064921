// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements: the derivative moves them back. Operators that choose: the
// derivative goes to what was chosen. And sums of any number of inputs.
#include "gradient/rules.h"

int32_t rt_rule_transpose(const rt_node *node, rt_text *text, rt_text *derivatives,
                          ops_error *error) {
  (void)error;
  uint32_t count;
  const int64_t *perm = rt_attrs_ints(&node->op.attrs, "perm", &count);
  rt_text_add(derivatives, "a");
  if (!perm) {
    rt_text_add(text, "a = Transpose (G0)\n");  // the axes reversed, which undoes itself
    return OPS_OK;
  }
  rt_text_add(text, "a = Transpose <perm: ints = [");
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < count; ++k)
      if (perm[k] == i) rt_text_add(text, "%s%u", i ? ", " : "", k);
  rt_text_add(text, "]> (G0)\n");
  return OPS_OK;
}

int32_t rt_rule_concat(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error) {
  const int32_t rank = rt_rule_rank(node, 0);
  int64_t axis = rt_attrs_int(&node->op.attrs, "axis", 1);
  if (axis < 0 && rank < 0) return rt_rule_refuse(node, "the rank of its inputs", error);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= OPS_MAX_RANK)
    return rt_rule_refuse(node, "an axis of its inputs", error);
  rt_text sizes = {0}, parts = {0};
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const char *comma = i ? ", " : "";
    rt_text_add(text, "size%u = Shape <start: int = %lld, end: int = %lld> (X%u)\n", i,
                (long long)axis, (long long)axis + 1, i);
    rt_text_add(&sizes, "%ssize%u", comma, i);
    rt_text_add(&parts, "%spart%u", comma, i);
    rt_text_add(derivatives, "%spart%u", comma, i);
  }
  text->failed |= sizes.failed | parts.failed;
  if (!text->failed)
    rt_text_add(text,
                "sizes = Concat <axis: int = 0> (%s)\n"
                "%s = Split <axis: int = %lld> (G0, sizes)\n",
                sizes.data, parts.data, (long long)axis);
  rt_text_finish(&sizes);
  rt_text_finish(&parts);
  return OPS_OK;
}

int32_t rt_rule_split(const rt_node *node, rt_text *text, rt_text *derivatives,
                      ops_error *error) {
  (void)error;
  rt_text_add(text, "a = Concat <axis: int = @axis> (");
  for (uint32_t i = 0; i < node->output_count; ++i)
    rt_text_add(text, "%sG%u", i ? ", " : "", i);
  rt_text_add(text, ")\n");
  rt_text_add(derivatives, node->input_count > 1 ? "%s, _" : "%s", "a");
  return OPS_OK;
}

int32_t rt_rule_sum(const rt_node *node, rt_text *text, rt_text *derivatives,
                    ops_error *error) {
  (void)text;
  (void)error;
  for (uint32_t i = 0; i < node->input_count; ++i)
    rt_text_add(derivatives, "%sG0", i ? ", " : "");
  return OPS_OK;
}

int32_t rt_rule_mean(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error) {
  (void)error;
  rt_text_add(text,
              "count_float = Constant <value: tensor = float {%u}> ()\n"
              "count = CastLike (count_float, G0)\n"
              "share = Div (G0, count)\n",
              node->input_count);
  for (uint32_t i = 0; i < node->input_count; ++i)
    rt_text_add(derivatives, "%sshare", i ? ", " : "");
  return OPS_OK;
}

// min(max(X, low), high): the derivative goes to what was taken. The bounds are inputs from
// opset 11 on, attributes before.
int32_t rt_rule_clip(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error) {
  (void)error;
  const int is_old = node->op.opset < 11;
  const int has_low = is_old || rt_node_input(node, 1);
  const int has_high = is_old || rt_node_input(node, 2);
  const char *low = is_old ? "low" : "X1", *high = is_old ? "high" : "X2";
  rt_text_add(text,
              "zero_float = Constant <value: tensor = float {0}> ()\n"
              "zero = CastLike (zero_float, X0)\n");
  if (is_old)
    rt_text_add(text,
                "low_float = Constant <value_float: float = @min> ()\n"
                "low = CastLike (low_float, X0)\n"
                "high_float = Constant <value_float: float = @max> ()\n"
                "high = CastLike (high_float, X0)\n");
  if (has_low)
    rt_text_add(text, "below = Less (X0, %s)\nraised = Where (below, %s, X0)\n", low, low);
  if (has_high)
    rt_text_add(text,
                "above = Greater (%s, %s)\n"
                "g = Where (above, zero, G0)\n"
                "by_high = Where (above, G0, zero)\n",
                has_low ? "raised" : "X0", high);
  else
    rt_text_add(text, "g = Identity (G0)\n");
  if (has_low)
    rt_text_add(text, "a = Where (below, zero, g)\nby_low = Where (below, g, zero)\n");
  else
    rt_text_add(text, "a = Identity (g)\n");
  rt_text_add(derivatives, "a");
  if (node->input_count > 1) rt_text_add(derivatives, has_low ? ", by_low" : ", _");
  if (node->input_count > 2) rt_text_add(derivatives, has_high ? ", by_high" : ", _");
  return OPS_OK;
}

// Max and Min: inputs that attain the extreme share the derivative equally.
int32_t rt_rule_extreme(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error) {
  (void)error;
  rt_text terms = {0};
  for (uint32_t i = 0; i < node->input_count; ++i) {
    rt_text_add(text, "equal%u = Equal (X%u, Y0)\nhit%u = CastLike (equal%u, G0)\n", i, i, i,
                i);
    rt_text_add(&terms, "%shit%u", i ? ", " : "", i);
    rt_text_add(derivatives, "%sa%u", i ? ", " : "", i);
  }
  rt_text_add(text, "hits = Sum (%s)\nshare = Div (G0, hits)\n",
              terms.failed ? "" : terms.data);
  for (uint32_t i = 0; i < node->input_count; ++i)
    rt_text_add(text, "a%u = Mul (share, hit%u)\n", i, i);
  text->failed |= terms.failed;
  rt_text_finish(&terms);
  return OPS_OK;
}

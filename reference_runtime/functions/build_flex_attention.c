// SPDX-License-Identifier: Apache-2.0
//
// FlexAttention: softmax(score_mod(Q K^T scale)) with prob_mod, times V. Scores and
// probabilities have the element type softmax_precision. Where several heads of Q share one of
// K and V, the heads of Q are split into (head of K, member of its group), so that K and V
// broadcast and are not repeated.
#include "functions/table.h"

static int32_t precision_of(const rt_node *node, int32_t type) {
  const int32_t otherwise = type == OPS_TYPE_DOUBLE ? OPS_TYPE_DOUBLE : OPS_TYPE_FLOAT;
  return (int32_t)rt_attrs_int(&node->op.attrs, "softmax_precision", otherwise);
}

static void add_heads(rt_text *text) {
  rt_text_add(
      text,
      "batch = Shape <start: int = 0, end: int = 1> (Q)\n"
      "q_heads = Shape <start: int = 1, end: int = 2> (Q)\n"
      "q_length = Shape <start: int = 2, end: int = 3> (Q)\n"
      "head_size = Shape <start: int = 3, end: int = 4> (Q)\n"
      "kv_heads = Shape <start: int = 1, end: int = 2> (K)\n"
      "kv_length = Shape <start: int = 2, end: int = 3> (K)\n"
      "v_size = Shape <start: int = 3, end: int = 4> (V)\n"
      "members = Div (q_heads, kv_heads)\n"
      "q_shape = Concat <axis: int = 0> (batch, kv_heads, members, q_length, head_size)\n"
      "grouped_shape = Concat <axis: int = 0> "
      "(batch, kv_heads, members, q_length, kv_length)\n"
      "score_shape = Concat <axis: int = 0> (batch, q_heads, q_length, kv_length)\n"
      "y_shape = Concat <axis: int = 0> (batch, q_heads, q_length, v_size)\n"
      "group_axis = Constant <value: tensor = int64[1] {2}> ()\n");
}

static void add_scale(rt_text *text, const rt_node *node, int32_t precision) {
  if (rt_attrs_find(&node->op.attrs, "scale")) {
    rt_text_constant(text, "scale", precision, rt_attrs_float(&node->op.attrs, "scale", 1));
    return;
  }
  rt_text_add(text,
              "size = Cast <to: int = %d> (head_size)\n"
              "root = Sqrt (size)\n"
              "scale = Reciprocal (root)\n",
              precision);
}

// `to` is the body `name` of `from`, or `from` itself.
static void add_body(rt_text *text, const rt_node *node, const char *name, const char *from,
                     const char *to) {
  const char *op = rt_attrs_graph(&node->op.attrs, name) ? "@" : "Identity";
  rt_text_add(text, "%s = %s%s (%s)\n", to, op, op[0] == '@' ? name : "", from);
}

int32_t rt_build_flex_attention(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 0), precision = precision_of(node, type);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text, "(Q, K, V) => (Y) {\n");
  add_heads(text);
  add_scale(text, node, precision);
  rt_text_add(text,
              "queries = Reshape <allowzero: int = 1> (Q, q_shape)\n"
              "keys = Unsqueeze (K, group_axis)\n"
              "transposed = Transpose <perm: ints = [0, 1, 2, 4, 3]> (keys)\n"
              "products = MatMul (queries, transposed)\n"
              "raised = Cast <to: int = %d> (products)\n"
              "grouped_scores = Mul (raised, scale)\n"
              "scores = Reshape <allowzero: int = 1> (grouped_scores, score_shape)\n",
              precision);
  add_body(text, node, "score_mod", "scores", "modified_scores");
  rt_text_add(text, "probabilities = Softmax <axis: int = -1> (modified_scores)\n");
  add_body(text, node, "prob_mod", "probabilities", "weights");
  rt_text_add(text,
              "grouped_weights = Reshape <allowzero: int = 1> (weights, grouped_shape)\n"
              "values = Unsqueeze (V, group_axis)\n"
              "raised_values = Cast <to: int = %d> (values)\n"
              "sums = MatMul (grouped_weights, raised_values)\n"
              "raised_Y = Reshape <allowzero: int = 1> (sums, y_shape)\n"
              "Y = Cast <to: int = %d> (raised_Y)\n}",
              precision, type);
  return OPS_OK;
}

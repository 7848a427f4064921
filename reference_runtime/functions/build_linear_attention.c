// SPDX-License-Identifier: Apache-2.0
//
// LinearAttention: a Scan over the positions with a state of [batch, kv head, d_k, d_v].
//   decay  S = exp(g) S                        (gated rules)
//   write  S = S + k (x) u, u = v or beta (v - S^T k)   (delta rules)
//   read   o = scale S^T q, by every query head of the group
#include <ops_support/error.h>
#include <stdio.h>

#include "functions/table.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct linear {
  const rt_node *node;
  rt_text *text;
  int32_t type, state_type, precision;
  int is_gated, is_delta;
} linear;

// `to`: `from` in the computing type, its last axis split as `shape` says.
static void add_split(const linear *l, const char *from, const char *to, const char *shape,
                      int axes) {
  rt_text_add(l->text,
              "wide_%s = Cast <to: int = %d> (%s)\n"
              "%s_shape = Constant <value: tensor = int64[%d] {0, 0, %s}> ()\n"
              "%s = Reshape (wide_%s, %s_shape)\n",
              to, l->precision, from, to, axes, shape, to, to, to);
}

static void add_inputs(const linear *l) {
  const rt_attrs *attrs = &l->node->op.attrs;
  const long long heads = rt_attrs_int(attrs, "kv_num_heads", 1);
  const long long q_heads = rt_attrs_int(attrs, "q_num_heads", 1);
  char shape[96];
  snprintf(shape, sizeof shape, "%lld, %lld, -1", heads, q_heads / heads);
  add_split(l, "query", "q", shape, 5);
  snprintf(shape, sizeof shape, "%lld, -1", heads);
  add_split(l, "key", "k", shape, 4);
  add_split(l, "value", "v", shape, 4);
  if (l->is_gated) add_split(l, "decay", "g", shape, 4);
  if (l->is_delta) rt_text_add(l->text, "b = Cast <to: int = %d> (beta)\n", l->precision);
  rt_text_add(l->text, "d_k = Shape <start: int = 3, end: int = 4> (k)\n");
  if (rt_function_has(l->node, PAST)) {
    rt_text_add(l->text, "start = Cast <to: int = %d> (past_state)\n", l->precision);
    return;
  }
  rt_text_constant(l->text, "nought", l->precision, 0);
  rt_text_add(l->text,
              "batch = Shape <start: int = 0, end: int = 1> (k)\n"
              "heads = Shape <start: int = 2, end: int = 3> (k)\n"
              "d_v = Shape <start: int = 3, end: int = 4> (v)\n"
              "state_shape = Concat <axis: int = 0> (batch, heads, d_k, d_v)\n"
              "start = Expand (nought, state_shape)\n");
}

static void add_step(const linear *l) {
  const char *gate = l->is_gated ? ", gt" : "", *beta = l->is_delta ? ", bt" : "";
  rt_text_add(l->text,
              "<body: graph = step (S, qt, kt, vt%s%s) => (next, o) {\n"
              "last = Constant <value: tensor = int64[1] {-1}> ()\n"
              "before_last = Constant <value: tensor = int64[1] {-2}> ()\n"
              "column = Unsqueeze (kt, last)\n"
              "v_row = Unsqueeze (vt, before_last)\n",
              gate, beta);
  if (l->is_gated)
    rt_text_add(l->text,
                "shrink = Exp (gt)\nshrink_column = Unsqueeze (shrink, last)\n"
                "kept = Mul (S, shrink_column)\n");
  else
    rt_text_add(l->text, "kept = Identity (S)\n");
  if (l->is_delta)
    rt_text_add(l->text,
                "k_row = Unsqueeze (kt, before_last)\n"
                "recalled = MatMul (k_row, kept)\n"
                "error = Sub (v_row, recalled)\n"
                "both = Constant <value: tensor = int64[2] {-2, -1}> ()\n"
                "rate = Unsqueeze (bt, both)\n"
                "u = Mul (rate, error)\n");
  else
    rt_text_add(l->text, "u = Identity (v_row)\n");
  rt_text_add(l->text,
              "written = Mul (column, u)\n"
              "next = Add (kept, written)\n"
              "o = MatMul (qt, next)\n}, ");
}

static void add_scan(const linear *l) {
  const int inputs = 3 + l->is_gated + l->is_delta;
  rt_text_add(l->text, "end, read = Scan ");
  add_step(l);
  rt_text_add(l->text,
              "num_scan_inputs: int = %d, scan_input_axes: ints = [1, 1, 1%s%s], "
              "scan_output_axes: ints = [1]> (start, q, k, v%s%s)\n",
              inputs, l->is_gated ? ", 1" : "", l->is_delta ? ", 1" : "",
              l->is_gated ? ", g" : "", l->is_delta ? ", b" : "");
}

static void add_results(const linear *l) {
  const float scale = rt_attrs_float(&l->node->op.attrs, "scale", 0);
  if (scale != 0)
    rt_text_constant(l->text, "scale", l->precision, scale);
  else
    rt_text_add(l->text,
                "size = Cast <to: int = %d> (d_k)\nroot = Sqrt (size)\n"
                "scale = Reciprocal (root)\n",
                l->precision);
  rt_text_add(l->text,
              "scaled = Mul (read, scale)\n"
              "pack = Constant <value: tensor = int64[3] {0, 0, -1}> ()\n"
              "packed = Reshape (scaled, pack)\n"
              "output = Cast <to: int = %d> (packed)\n"
              "present_state = Cast <to: int = %d> (end)\n}",
              l->type, l->state_type);
}

int32_t rt_build_linear_attention(rt_text *text, const rt_node *node, ops_error *error) {
  const rt_attrs *attrs = &node->op.attrs;
  const int32_t type = rt_function_type(node, QUERY), past = rt_function_type(node, PAST);
  const rt_value *present = rt_node_output(node, 1);
  if (!type) return rt_function_unknown(node, QUERY, "element type", error);
  OPS_RETURN_IF_ERROR(rt_function_positive(node, "kv_num_heads", error));
  OPS_RETURN_IF_ERROR(rt_function_positive(node, "q_num_heads", error));
  linear l = {
      node,
      text,
      type,
      past ? past : type,
      type == OPS_TYPE_DOUBLE || past == OPS_TYPE_DOUBLE ? OPS_TYPE_DOUBLE : OPS_TYPE_FLOAT,
      !rt_attrs_string_is(attrs, "update_rule", "linear") &&
          !rt_attrs_string_is(attrs, "update_rule", "delta"),
      !rt_attrs_string_is(attrs, "update_rule", "linear") &&
          !rt_attrs_string_is(attrs, "update_rule", "gated")};
  if (!past && present && present->type.kind == RT_TYPE_TENSOR && present->type.elem_type)
    l.state_type = present->type.elem_type;
  rt_text_add(text,
              "(query, key, value, past_state, decay, beta) => (output, present_state) {\n");
  add_inputs(&l);
  add_scan(&l);
  add_results(&l);
  return OPS_OK;
}

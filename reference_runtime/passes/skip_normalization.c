// SPDX-License-Identifier: Apache-2.0
//
// Add of two equal shapes + LayerNormalization or RMSNormalization over the last dimension is
// SkipLayerNormalization or SkipSimplifiedLayerNormalization of com.microsoft, which gives the
// sum, too, where others read it.
#include "passes/pattern.h"

static const char *const roots[] = {"LayerNormalization", "RMSNormalization", NULL};

static int is_constant_vector(const rt_value *value) {
  return !value || (rt_value_constant(value) && rt_pass_rank(value) == 1);
}

static const char *check(const rt_node *sum, const rt_node *node) {
  const int32_t rank = rt_pass_rank(node->operands[0]);
  if (!rt_pass_same_type(sum->operands[0], sum->operands[1])) return "the sum broadcasts";
  if (rank != 2 && rank != 3) return "the result has neither two nor three dimensions";
  if (rt_pass_axis(rt_attrs_int(&node->op.attrs, "axis", -1), rank) != rank - 1)
    return "it goes over more than the last dimension";
  if (!rt_node_input(node, 1) || !is_constant_vector(rt_node_input(node, 1)) ||
      !is_constant_vector(rt_node_input(node, 2)))
    return "scale or bias is not constant";
  if (rt_attrs_int(&node->op.attrs, "stash_type", 1) != 1)
    return "it is computed in another type";
  return rt_pass_one_output(node) ? NULL : "its statistics are read";
}

static int32_t put_in_place(rt_pass_context *context, rt_node *fused, rt_node *sum,
                            rt_node *node, ops_error *error) {
  rt_pass_hit(context, "Add '%s' + %s '%s': made %s", sum->name, node->op.name, node->name,
              fused->op.name);
  OPS_RETURN_IF_ERROR(rt_pass_replace(context, node, fused->outputs[0], error));
  if (sum->removed) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_value_replace_uses(sum->outputs[0], fused->outputs[3], error));
  return rt_pass_drop(context, sum, error);
}

static int32_t fuse(rt_pass_context *context, rt_node *sum, rt_node *node, ops_error *error) {
  const int layer = rt_pass_is(node, "LayerNormalization");
  const int shared = rt_value_sole_consumer(sum->outputs[0]) != node;
  const float epsilon = rt_attrs_float(&node->op.attrs, "epsilon", 1e-5f);
  rt_value *inputs[] = {sum->operands[0], sum->operands[1], node->operands[1],
                        rt_node_input(node, 2)};
  const char *names[] = {node->name, "", "", sum->name};
  const rt_attr attr = {
      .name = "epsilon", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &epsilon};
  const rt_node_desc desc = {
      .name = node->name,
      .op = layer ? "SkipLayerNormalization" : "SkipSimplifiedLayerNormalization",
      .domain = "com.microsoft",
      .opset = 1,
      .inputs = inputs,
      .input_count = layer && inputs[3] ? 4 : 3,
      .output_names = names,
      .output_count = shared ? 4 : 1,
      .attrs = &attr,
      .attr_count = 1};
  rt_node *const replaced[] = {sum, node};
  rt_node *fused;
  const char *why;
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, sum->next, replaced, 2, &fused, error));
  OPS_RETURN_IF_ERROR(rt_pass_claimed(context, fused, replaced, 2, &why, error));
  if (!why) return put_in_place(context, fused, sum, node, error);
  rt_pass_miss(context, "Add '%s' + %s '%s': not made %s, %s", sum->name, node->op.name,
               node->name, desc.op, why);
  return rt_graph_remove_node(node->graph, fused, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (node->post_count || node->op.domain[0] || !rt_node_output(node, 0)) return OPS_OK;
  rt_node *sum = rt_pass_producer(rt_node_input(node, 0), "Add");
  if (!sum || sum->input_count != 2) return OPS_OK;
  const char *why = check(sum, node);
  if (!why) return fuse(context, sum, node, error);
  rt_pass_miss(context, "Add '%s' + %s '%s': not merged, %s", sum->name, node->op.name,
               node->name, why);
  return OPS_OK;
}

const rt_pass rt_pass_skip_normalization = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// x·sigmoid(α·x) is Swish of opset 24: α = 1 is SiLU, α = 1.702 the quick form of Gelu.
#include "passes/pattern.h"

static const char *const roots[] = {"Sigmoid", NULL};

#define SWISH_OPSET 24

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  double alpha = 1;
  if (!rt_pass_is(node, "Sigmoid") || !rt_node_input(node, 0)) return OPS_OK;
  rt_node *product = rt_pass_next(node, "Mul");
  rt_value *x = product ? rt_pass_other(product, node->outputs[0]) : NULL;
  if (!x) return OPS_OK;
  rt_value *argument = node->operands[0];
  const int scaled = argument != x;
  if (scaled && rt_pass_with_any_scalar(argument, "Mul", &alpha) != x) return OPS_OK;
  if (!rt_pass_same_type(x, product->outputs[0]) || !rt_pass_is_real(x)) return OPS_OK;
  rt_node *nodes[3] = {node, product, NULL};
  if (scaled) {
    nodes[0] = argument->producer;
    nodes[1] = node;
    nodes[2] = product;
  }
  const uint32_t count = scaled ? 3 : 2;
  if (!rt_pass_is_closed(nodes, count)) {
    rt_pass_miss(context,
                 "Sigmoid '%s' + Mul '%s': not made Swish, others read what is between",
                 node->name, product->name);
    return OPS_OK;
  }
  const float factor = (float)alpha;
  const rt_attr attr = {.name = "alpha", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &factor};
  const rt_node_desc desc = {.op = "Swish",
                             .opset = SWISH_OPSET,
                             .inputs = &x,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, nodes, count, &fused, error));
  if (fused)
    rt_pass_hit(context, "Sigmoid '%s' + Mul '%s': made Swish", node->name, product->name);
  return OPS_OK;
}

const rt_pass rt_pass_swish = {.roots = roots, .visit = visit};

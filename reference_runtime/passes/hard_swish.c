// SPDX-License-Identifier: Apache-2.0
//
// x·HardSigmoid(x) with α = 1/6 and β = 1/2, which is x·clip(x + 3, 0, 6)/6 where that is
// written out, is HardSwish of opset 14.
#include "passes/pattern.h"

static const char *const roots[] = {"HardSigmoid", "Clip", NULL};

#define HARD_SWISH_OPSET 14

static int32_t fuse(rt_pass_context *context, rt_value *x, rt_node *const *nodes,
                    uint32_t count, ops_error *error) {
  const rt_node *first = nodes[0];
  rt_node *fused;
  if (!rt_pass_is_closed(nodes, count) || !rt_pass_same_type(x, nodes[count - 1]->outputs[0])) {
    rt_pass_miss(context, "%s '%s': not made HardSwish, others read what is between",
                 first->op.name, first->name);
    return OPS_OK;
  }
  const rt_node_desc desc = {.op = "HardSwish",
                             .opset = HARD_SWISH_OPSET,
                             .inputs = &x,
                             .input_count = 1,
                             .output_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, nodes, count, &fused, error));
  if (fused) rt_pass_hit(context, "%s '%s': made HardSwish", first->op.name, first->name);
  return OPS_OK;
}

static int is_bound(const rt_node *clip, const char *name, uint32_t index, double wanted) {
  if (clip->op.opset < 11)
    return fabs(rt_attrs_float(&clip->op.attrs, name, NAN) - wanted) <= 1e-6;
  double found;
  return rt_pass_scalar(rt_node_input(clip, index), &found) && found == wanted;
}

// clip(x + 3, 0, 6), times x and by 6 in either order.
static int32_t visit_clip(rt_pass_context *context, rt_node *clip, ops_error *error) {
  rt_node *nodes[4] = {NULL, clip, NULL, NULL};
  rt_value *x = rt_pass_with_scalar(rt_node_input(clip, 0), "Add", 3);
  if (!x || !is_bound(clip, "min", 1, 0) || !is_bound(clip, "max", 2, 6)) return OPS_OK;
  nodes[0] = clip->operands[0]->producer;
  rt_node *next = rt_pass_next(clip, "Mul"), *last;
  const rt_value *value = clip->outputs[0];
  if (next && rt_pass_other(next, value) == x) {
    nodes[2] = next;
    last = rt_pass_next(next, "Div");
    if (!last) last = rt_pass_next(next, "Mul");
    if (!last) return OPS_OK;
    const rt_value *product = next->outputs[0];
    if (rt_pass_with_scalar(last->outputs[0], "Div", 6) != product &&
        rt_pass_with_scalar(last->outputs[0], "Mul", 1.0 / 6) != product)
      return OPS_OK;
  } else {
    if (!next) next = rt_pass_next(clip, "Div");
    if (!next || (rt_pass_with_scalar(next->outputs[0], "Div", 6) != value &&
                  rt_pass_with_scalar(next->outputs[0], "Mul", 1.0 / 6) != value))
      return OPS_OK;
    nodes[2] = next;
    last = rt_pass_next(next, "Mul");
    if (!last || rt_pass_other(last, next->outputs[0]) != x) return OPS_OK;
  }
  nodes[3] = last;
  return fuse(context, x, nodes, 4, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (rt_pass_is(node, "Clip")) return visit_clip(context, node, error);
  if (!rt_pass_is(node, "HardSigmoid") || !rt_node_input(node, 0)) return OPS_OK;
  rt_node *product = rt_pass_next(node, "Mul");
  if (!product || rt_pass_other(product, node->outputs[0]) != node->operands[0]) return OPS_OK;
  const double alpha = rt_attrs_float(&node->op.attrs, "alpha", 0.2f);
  const double beta = rt_attrs_float(&node->op.attrs, "beta", 0.5f);
  if (fabs(alpha - 1.0 / 6) > 1e-5 || beta != 0.5) {
    rt_pass_miss(
        context,
        "HardSigmoid '%s' + Mul '%s': not made HardSwish, alpha and beta are %g and %g",
        node->name, product->name, alpha, beta);
    return OPS_OK;
  }
  rt_node *const nodes[] = {node, product};
  return fuse(context, node->operands[0], nodes, 2, error);
}

const rt_pass rt_pass_hard_swish = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// x / c is x · (1/c), which is faster and rounds twice. Where 1/c is zero, infinite or denormal
// it stays.
#include <float.h>

#include "passes/pattern.h"

static const char *const roots[] = {"Div", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  double divisor;
  rt_value *reciprocal;
  rt_node *product;
  if (!rt_pass_is(node, "Div") || node->input_count != 2 || !rt_node_output(node, 0))
    return OPS_OK;
  rt_value *right = node->operands[1];
  const int32_t type = rt_pass_elem(right);
  if (!right || !rt_value_constant(right) ||
      (type != OPS_TYPE_FLOAT && type != OPS_TYPE_DOUBLE))
    return OPS_OK;
  if (!rt_pass_scalar(right, &divisor) || rt_pass_rank(right) > 1) {
    rt_pass_miss(context, "Div '%s': not made Mul, the divisor is no scalar", node->name);
    return OPS_OK;
  }
  if (!(fabs(divisor) <= FLT_MAX / 4) || !(fabs(1 / divisor) <= FLT_MAX / 4)) {
    rt_pass_miss(context, "Div '%s': not made Mul, 1/%g has no full precision", node->name,
                 divisor);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_pass_add_scalar(node->graph, right->name, type,
                                         rt_pass_rank(right) == 1, 1 / divisor, &reciprocal,
                                         error));
  rt_value *inputs[] = {node->operands[0], reciprocal};
  const rt_node_desc desc = {.op = "Mul",
                             .opset = node->op.opset,
                             .inputs = inputs,
                             .input_count = 2,
                             .output_count = 1};
  const char *name = node->name;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, &node, 1, &product, error));
  if (!product) return rt_pass_drop_value(reciprocal, error);
  rt_pass_hit(context, "Div '%s': made Mul", name);
  return OPS_OK;
}

const rt_pass rt_pass_div_by_constant = {.roots = roots, .visit = visit};

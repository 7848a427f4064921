// SPDX-License-Identifier: Apache-2.0
//
// Add of a vector for the last dimension + Gelu is BiasGelu of com.microsoft, or FastGelu where
// Gelu has the form with tanh.
#include "passes/pattern.h"

static const char *const roots[] = {"Gelu", NULL};

static int is_bias(const rt_value *bias, const rt_value *x) {
  const int32_t rank = rt_pass_rank(x);
  return rank > 0 && rt_pass_rank(bias) == 1 && rt_pass_elem(bias) == rt_pass_elem(x) &&
         rt_dim_equal(bias->type.dims[0], x->type.dims[rank - 1]);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  rt_node *sum = rt_pass_producer(rt_node_input(node, 0), "Add"), *fused;
  if (!rt_pass_is(node, "Gelu") || !sum || sum->input_count != 2) return OPS_OK;
  for (uint32_t i = 0; i < 2; ++i) {
    rt_value *inputs[] = {sum->operands[i], sum->operands[1 - i]};
    if (!is_bias(inputs[1], inputs[0])) continue;
    if (rt_value_sole_consumer(sum->outputs[0]) != node) {
      rt_pass_miss(context, "Add '%s' + Gelu '%s': not merged, others read what is between",
                   sum->name, node->name);
      return OPS_OK;
    }
    const int fast = rt_attrs_string_is(&node->op.attrs, "approximate", "tanh");
    const rt_node_desc desc = {.op = fast ? "FastGelu" : "BiasGelu",
                               .domain = "com.microsoft",
                               .opset = 1,
                               .inputs = inputs,
                               .input_count = 2,
                               .output_count = 1};
    rt_node *const replaced[] = {sum, node};
    OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, replaced, 2, &fused, error));
    if (fused)
      rt_pass_hit(context, "Add '%s' + Gelu '%s': made %s", sum->name, node->name, desc.op);
    return OPS_OK;
  }
  return OPS_OK;
}

const rt_pass rt_pass_bias_gelu = {.roots = roots, .visit = visit};

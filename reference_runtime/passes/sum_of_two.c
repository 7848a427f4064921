// SPDX-License-Identifier: Apache-2.0
//
// Sum of two tensors is Add, and of one the tensor: fewer operators for all that follows to
// know.
#include "passes/pass.h"

static const char *const roots[] = {"Sum", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  rt_node *sum;
  // Before opset 8 the operands have one shape, before 7 Add does not broadcast by itself.
  if (!rt_pass_is(node, "Sum") || node->op.opset < 8 || !rt_node_output(node, 0)) return OPS_OK;
  if (node->input_count == 1 && node->operands[0]) {
    rt_pass_hit(context, "Sum '%s': removed, it has one operand", node->name);
    return rt_pass_replace(context, node, node->operands[0], error);
  }
  if (node->input_count != 2) return OPS_OK;
  const rt_node_desc desc = {.name = node->name,
                             .op = "Add",
                             .inputs = node->operands,
                             .input_count = 2,
                             .output_count = 1};
  rt_pass_hit(context, "Sum '%s': made Add", node->name);
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, &sum, error));
  return rt_pass_replace(context, node, sum->outputs[0], error);
}

const rt_pass rt_pass_sum_of_two = {.roots = roots, .visit = visit};

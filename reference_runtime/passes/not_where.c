// SPDX-License-Identifier: Apache-2.0
//
// Where(Not(c), a, b) is Where(c, b, a).
#include "passes/pass.h"

static const char *const roots[] = {"Where", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (!rt_pass_is(node, "Where") || node->input_count != 3) return OPS_OK;
  rt_node *negation = rt_pass_producer(node->operands[0], "Not");
  if (!negation || !rt_node_input(negation, 0)) return OPS_OK;
  rt_value *yes = node->operands[1], *no = node->operands[2];
  rt_pass_hit(context, "Not '%s' + Where '%s': branches exchanged", negation->name, node->name);
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 0, negation->operands[0], error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 1, no, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 2, yes, error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(node, negation, error));
  return rt_pass_drop(context, negation, error);
}

const rt_pass rt_pass_not_where = {.roots = roots, .visit = visit};

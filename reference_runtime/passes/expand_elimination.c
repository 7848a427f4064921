// SPDX-License-Identifier: Apache-2.0
//
// An Expand or Tile to the shape that is there already.
#include "passes/pass.h"

static const char *const roots[] = {"Expand", "Tile", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if ((!rt_pass_is(node, "Expand") && !rt_pass_is(node, "Tile")) || !rt_node_input(node, 0) ||
      !rt_node_output(node, 0))
    return OPS_OK;
  if (rt_pass_same_type(node->operands[0], node->outputs[0])) {
    rt_pass_hit(context, "%s '%s': removed, the shape is there already", node->op.name,
                node->name);
    return rt_pass_replace(context, node, node->operands[0], error);
  }
  return OPS_OK;
}

const rt_pass rt_pass_expand_elimination = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
#include "passes/pass.h"

static const char *const roots[] = {"Identity", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  rt_value *input = rt_node_input(node, 0);
  if (!rt_pass_is(node, "Identity") || !input || !rt_node_output(node, 0)) return OPS_OK;
  rt_pass_hit(context, "Identity '%s': removed", node->name);
  return rt_pass_replace(context, node, input, error);
}

const rt_pass rt_pass_identity = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// A Pad by nothing. Pads may be negative, so that equal shapes alone do not say it.
#include "passes/pass.h"

static const char *const roots[] = {"Pad", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t pads[2 * OPS_MAX_RANK];
  if (!rt_pass_is(node, "Pad") || !rt_node_input(node, 0) || !rt_node_output(node, 0))
    return OPS_OK;
  const int64_t count = rt_pass_ints(node, "pads", 1, pads, 2 * OPS_MAX_RANK);
  if (count < 0) {
    rt_pass_miss(context, "Pad '%s': not removed, pads are not constant", node->name);
    return OPS_OK;
  }
  for (int64_t i = 0; i < count; ++i)
    if (pads[i] != 0) return OPS_OK;
  rt_pass_hit(context, "Pad '%s': removed, it adds nothing", node->name);
  return rt_pass_replace(context, node, node->operands[0], error);
}

const rt_pass rt_pass_pad_elimination = {.roots = roots, .visit = visit};

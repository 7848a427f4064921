// SPDX-License-Identifier: Apache-2.0
//
// A Slice of all elements in their order: its result has the shape of its input, and every step
// is 1 (with -1 the shape is the same and the order is not).
#include "passes/pass.h"

static const char *const roots[] = {"Slice", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t steps[OPS_MAX_RANK];
  if (!rt_pass_is(node, "Slice") || !rt_node_input(node, 0) || !rt_node_output(node, 0) ||
      !rt_pass_same_type(node->operands[0], node->outputs[0]))
    return OPS_OK;
  if (rt_node_input(node, 4)) {
    const int64_t count = rt_pass_ints(node, "steps", 4, steps, OPS_MAX_RANK);
    int ones = count >= 0;
    for (int64_t i = 0; i < count; ++i) ones = ones && steps[i] == 1;
    if (!ones) {
      rt_pass_miss(context, "Slice '%s': not removed, %s", node->name,
                   count < 0 ? "steps are not constant" : "a step is not 1");
      return OPS_OK;
    }
  }
  rt_pass_hit(context, "Slice '%s': removed, it takes everything", node->name);
  return rt_pass_replace(context, node, node->operands[0], error);
}

const rt_pass rt_pass_slice_elimination = {.roots = roots, .visit = visit};

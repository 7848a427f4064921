// SPDX-License-Identifier: Apache-2.0
//
// Dropout outside of training gives its input. Before opset 7 an attribute said whether it
// trains.
#include "passes/pass.h"

static const char *const roots[] = {"Dropout", NULL};

static const char *why_not(const rt_node *node) {
  double training = 0;
  const rt_value *mode = rt_node_input(node, 2);
  if (node->op.opset < 7 && rt_attrs_int(&node->op.attrs, "is_test", 0) == 0)
    return "it trains";
  if (mode && !rt_pass_scalar(mode, &training)) return "training_mode is not constant";
  if (training != 0) return "it trains";
  return rt_pass_one_output(node) ? NULL : "its mask is read";
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  rt_value *input = rt_node_input(node, 0);
  if (!rt_pass_is(node, "Dropout") || !input) return OPS_OK;
  const char *why = why_not(node);
  if (why) {
    rt_pass_miss(context, "Dropout '%s': not removed, %s", node->name, why);
    return OPS_OK;
  }
  rt_pass_hit(context, "Dropout '%s': removed", node->name);
  return rt_pass_replace(context, node, input, error);
}

const rt_pass rt_pass_dropout = {.roots = roots, .visit = visit};

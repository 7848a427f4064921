// SPDX-License-Identifier: Apache-2.0
//
// Nodes, constants and captures that nothing reads. Backwards, so that one walk finds chains.
#include "passes/pass.h"

static int is_dead(const rt_node *node) {
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i] && rt_value_is_used(node->outputs[i])) return 0;
  return 1;
}

static int32_t drop_values(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  for (rt_value *value = graph->first_value, *next; value; value = next) {
    next = value->next;
    const int removable = value->kind == RT_VALUE_CONSTANT || value->kind == RT_VALUE_CAPTURE;
    if (!removable || rt_value_is_used(value)) continue;
    rt_pass_hit(context, "%s '%s': removed, nothing reads it",
                value->kind == RT_VALUE_CONSTANT ? "constant" : "capture", value->name);
    OPS_RETURN_IF_ERROR(rt_graph_remove_value(graph, value, error));
  }
  return OPS_OK;
}

static int32_t run(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  for (rt_node *node = graph->last, *prev; node; node = prev) {
    prev = node->prev;
    if (!is_dead(node)) continue;
    rt_pass_hit(context, "%s '%s': removed, nothing reads its results", node->op.name,
                node->name);
    OPS_RETURN_IF_ERROR(rt_graph_remove_node(graph, node, error));
  }
  return drop_values(context, graph, error);
}

const rt_pass rt_pass_dead_nodes = {.run = run};

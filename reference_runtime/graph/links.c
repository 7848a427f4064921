// SPDX-License-Identifier: Apache-2.0
//
// The two directions of each link between values and nodes, and the functions that change them.
//
// A use is found by searching a value's uses from the end, where the newest are; edits that
// replace all uses take them from the end and so stay linear.
#include <ops_support/error.h>
#include <string.h>

#include "graph/store.h"

// --- Uses ------------------------------------------------------------------------------------

int rt_value_reserve_uses(rt_value *value, uint32_t extra) {
  uint32_t wanted = value->use_capacity ? value->use_capacity : 2;
  if (extra > UINT32_MAX / 4 - value->use_count) return 0;
  if (value->use_count + extra <= value->use_capacity) return 1;
  while (wanted < value->use_count + extra) wanted *= 2;
  rt_use *uses = rt_store_alloc(rt_graph_arena(value->graph), wanted, sizeof *uses);
  if (!uses) return 0;
  if (value->use_count > 0) memcpy(uses, value->uses, value->use_count * sizeof *uses);
  value->uses = uses;
  value->use_capacity = wanted;
  return 1;
}

void rt_value_link_use(rt_value *value, rt_node *node, uint32_t operand) {
  value->uses[value->use_count++] = (rt_use){node, operand};
}

static rt_use *find_use(const rt_value *value, const rt_node *node, uint32_t operand) {
  for (uint32_t i = value->use_count; i-- > 0;) {
    if (value->uses[i].node == node && value->uses[i].operand == operand)
      return &value->uses[i];
  }
  return NULL;
}

void rt_value_unlink_use(rt_value *value, const rt_node *node, uint32_t operand) {
  rt_use *use = find_use(value, node, operand);
  if (use) *use = value->uses[--value->use_count];
}

int rt_value_defined_before(const rt_value *value, const rt_graph *graph,
                            const rt_node *before) {
  if (value->removed || value->graph != graph) return 0;
  return value->kind != RT_VALUE_OUTPUT || !before || value->producer->order < before->order;
}

// --- Operands --------------------------------------------------------------------------------

int rt_node_open_operands(rt_node *node, uint32_t at, uint32_t extra) {
  if (extra > UINT32_MAX / 2 - node->operand_count) return 0;
  const uint32_t count = node->operand_count + extra;
  rt_value **operands = rt_store_alloc(rt_graph_arena(node->graph), count, sizeof *operands);
  if (!operands) return 0;
  for (uint32_t i = node->operand_count; i-- > 0;) {
    const uint32_t to = i < at ? i : i + extra;
    operands[to] = node->operands[i];
    if (to != i && operands[to]) find_use(operands[to], node, i)->operand = to;
  }
  node->operands = operands;
  node->operand_count = count;
  return 1;
}

void rt_node_close_operands(rt_node *node, uint32_t at, uint32_t count) {
  for (uint32_t i = at; i < at + count; ++i) {
    if (node->operands[i]) rt_value_unlink_use(node->operands[i], node, i);
  }
  for (uint32_t i = at + count; i < node->operand_count; ++i) {
    rt_value *value = node->operands[i];
    node->operands[i - count] = value;
    if (value) find_use(value, node, i)->operand = i - count;
  }
  node->operand_count -= count;
}

// The capture that operand number `operand` feeds, or NULL.
static rt_value *capture_of_operand(const rt_node *node, uint32_t operand) {
  uint32_t first = node->operand_count - node->capture_count;
  if (operand < first) return NULL;
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    const rt_graph *body = rt_node_body(node, i);
    if (operand - first < body->capture_count) return body->captures[operand - first];
    first += body->capture_count;
  }
  return NULL;
}

static int32_t check_operand(const rt_node *node, const rt_value *value, ops_error *error) {
  if (rt_value_defined_before(value, node->graph, node)) return OPS_OK;
  return ops_error_set(
      error, OPS_ERROR_INVALID_ARGUMENT,
      "node '%s' (%s) cannot read '%s': expected a value of its own graph that "
      "is computed before it",
      node->name, node->op.name, value->name);
}

int32_t rt_node_set_operand(rt_node *node, uint32_t operand, rt_value *value,
                            ops_error *error) {
  if (node->removed || operand >= node->operand_count) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "node '%s' (%s) has %u operands, asked for number %u", node->name,
                         node->op.name, node->operand_count, operand);
  }
  rt_value *capture = capture_of_operand(node, operand);
  if (capture && !value) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "node '%s' (%s): a captured value cannot be omitted", node->name,
                         node->op.name);
  }
  if (value) {
    OPS_RETURN_IF_ERROR(check_operand(node, value, error));
    if (!rt_value_reserve_uses(value, 1)) return rt_graph_no_memory(error);
  }
  if (node->operands[operand]) rt_value_unlink_use(node->operands[operand], node, operand);
  node->operands[operand] = value;
  if (value) rt_value_link_use(value, node, operand);
  if (capture) capture->outer = value;
  return OPS_OK;
}

int32_t rt_node_set_input_count(rt_node *node, uint32_t count, ops_error *error) {
  const uint32_t old = node->input_count;
  if (count > old) {
    if (!rt_node_open_operands(node, old, count - old)) return rt_graph_no_memory(error);
  } else {
    rt_node_close_operands(node, count, old - count);
  }
  node->input_count = count;
  rt_post *posts = (rt_post *)node->posts;
  for (uint32_t i = 0; i < node->post_count; ++i) posts[i].first_operand += count - old;
  return OPS_OK;
}

// --- Replacing -------------------------------------------------------------------------------

static int32_t check_replacement(const rt_value *from, const rt_value *to, ops_error *error) {
  if (to->removed || to->graph != from->graph) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "'%s' cannot replace '%s': expected a value of the same graph",
                         to->name, from->name);
  }
  for (uint32_t i = 0; i < from->use_count; ++i) {
    OPS_RETURN_IF_ERROR(check_operand(from->uses[i].node, to, error));
  }
  return OPS_OK;
}

int32_t rt_value_replace_uses(rt_value *from, rt_value *to, ops_error *error) {
  if (from == to) return OPS_OK;
  OPS_RETURN_IF_ERROR(check_replacement(from, to, error));
  if (!rt_value_reserve_uses(to, from->use_count)) return rt_graph_no_memory(error);
  while (from->use_count > 0) {
    const rt_use use = from->uses[from->use_count - 1];
    OPS_RETURN_IF_ERROR(rt_node_set_operand(use.node, use.operand, to, error));
  }
  for (uint32_t i = 0; from->output_count > 0 && i < from->graph->output_count; ++i) {
    if (from->graph->outputs[i] == from) {
      OPS_RETURN_IF_ERROR(rt_graph_set_output(from->graph, i, to, error));
    }
  }
  return OPS_OK;
}

int32_t rt_graph_set_output(rt_graph *graph, uint32_t index, rt_value *value,
                            ops_error *error) {
  if (index >= graph->output_count || value->removed || value->graph != graph) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "graph '%s' has %u outputs; number %u cannot become '%s'", graph->name,
                         graph->output_count, index, value->name);
  }
  graph->outputs[index]->output_count--;
  graph->outputs[index] = value;
  value->output_count++;
  return OPS_OK;
}

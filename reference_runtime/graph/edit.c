// SPDX-License-Identifier: Apache-2.0
//
// Adding, removing, moving and changing nodes.
//
// Order numbers grow along the node list with gaps, so that inserting is cheap; when a gap is
// used up the list is numbered anew.
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

#include "graph/store.h"

#define ORDER_GAP ((uint64_t)1 << 40)
// A new node stands this far behind the one before it at most, so that many can be put in one
// by one before the same node.
#define ORDER_STEP ((uint64_t)1 << 20)

// --- The list --------------------------------------------------------------------------------

static void number_anew(rt_graph *graph) {
  uint64_t order = 0;
  for (rt_node *node = graph->first; node; node = node->next) node->order = order += ORDER_GAP;
}

static void link_node(rt_graph *graph, rt_node *node, rt_node *before) {
  node->next = before;
  node->prev = before ? before->prev : graph->last;
  *(node->prev ? &node->prev->next : &graph->first) = node;
  *(before ? &before->prev : &graph->last) = node;
  const uint64_t low = node->prev ? node->prev->order : 0;
  const uint64_t half = before ? (before->order - low) / 2 : ORDER_GAP;
  node->order = low + (before && half > ORDER_STEP ? ORDER_STEP : half);
  if (node->order == low) number_anew(graph);
}

// The node keeps its own `next`, so that a loop over the list may remove the node it stands at.
static void unlink_node(rt_graph *graph, rt_node *node) {
  *(node->prev ? &node->prev->next : &graph->first) = node->next;
  *(node->next ? &node->next->prev : &graph->last) = node->prev;
}

// --- Adding ----------------------------------------------------------------------------------

static int32_t check_inputs(const rt_graph *graph, const rt_node_desc *desc,
                            const rt_node *before, ops_error *error) {
  for (uint32_t i = 0; i < desc->input_count; ++i) {
    const rt_value *value = desc->inputs[i];
    if (value && !rt_value_defined_before(value, graph, before)) {
      return ops_error_set(
          error, OPS_ERROR_INVALID_ARGUMENT,
          "new node '%s' (%s) cannot read '%s': expected a value of graph '%s' "
          "that is computed before its place",
          desc->name ? desc->name : "", desc->op, value->name, graph->name);
    }
  }
  return OPS_OK;
}

static int32_t check_body(const rt_graph *graph, const rt_graph *body, const rt_node *before,
                          ops_error *error) {
  if (body->parent != graph || body->owner) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "body '%s': expected one created for graph '%s' and not used yet",
                         body->name, graph->name);
  }
  for (uint32_t i = 0; i < body->capture_count; ++i) {
    if (!rt_value_defined_before(body->captures[i]->outer, graph, before)) {
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "body '%s' captures '%s', which is computed after its node",
                           body->name, body->captures[i]->outer->name);
    }
  }
  return OPS_OK;
}

static int32_t check_bodies(const rt_graph *graph, const rt_node_desc *desc,
                            const rt_node *before, ops_error *error) {
  for (uint32_t i = 0; i < desc->attr_count; ++i) {
    const rt_attr *attr = &desc->attrs[i];
    if (attr->kind != RT_ATTR_GRAPH && attr->kind != RT_ATTR_GRAPHS) continue;
    for (uint32_t j = 0; j < attr->count; ++j) {
      OPS_RETURN_IF_ERROR(check_body(graph, attr->graphs[j], before, error));
    }
  }
  return OPS_OK;
}

static int32_t set_op(rt_graph *graph, rt_op *op, const char *name, const char *domain,
                      int32_t opset, ops_error *error) {
  const char *name_copy = rt_store_string(rt_graph_arena(graph), name, strlen(name));
  const char *domain_copy = rt_store_string(rt_graph_arena(graph), domain, strlen(domain));
  if (!name_copy || !domain_copy) return rt_graph_no_memory(error);
  op->name = name_copy;
  op->domain = domain_copy;
  op->opset = opset;
  return OPS_OK;
}

static const char *node_name(rt_graph *graph, const rt_node_desc *desc, uint32_t id) {
  if (desc->name && *desc->name) {
    return rt_store_string(rt_graph_arena(graph), desc->name, strlen(desc->name));
  }
  const uint64_t room = strlen(desc->op) + 16;
  char *name = rt_store_alloc(rt_graph_arena(graph), room, 1);
  if (name) snprintf(name, room, "%s_%u", desc->op, id);
  return name;
}

// Fills the operands: inputs, then the captures of every body.
static int collect_operands(rt_node *node, const rt_node_desc *desc) {
  uint64_t count = desc->input_count;
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    count += rt_node_body(node, i)->capture_count;
  }
  if (count > UINT32_MAX / 4) return 0;
  node->operands = rt_store_alloc(rt_graph_arena(node->graph), count, sizeof *node->operands);
  if (!node->operands) return 0;
  node->operand_count = (uint32_t)count;
  node->input_count = desc->input_count;
  node->capture_count = (uint32_t)count - desc->input_count;
  if (desc->input_count > 0) {
    memcpy(node->operands, desc->inputs, desc->input_count * sizeof *desc->inputs);
  }
  rt_value **next = node->operands + desc->input_count;
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    const rt_graph *body = rt_node_body(node, i);
    for (uint32_t j = 0; j < body->capture_count; ++j) *next++ = body->captures[j]->outer;
  }
  return 1;
}

static void unlink_operands(rt_node *node, uint32_t count) {
  while (count-- > 0) {
    if (node->operands[count]) rt_value_unlink_use(node->operands[count], node, count);
  }
}

static int link_operands(rt_node *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    rt_value *value = node->operands[i];
    if (value && !rt_value_reserve_uses(value, 1)) {
      unlink_operands(node, i);
      return 0;
    }
    if (value) rt_value_link_use(value, node, i);
  }
  return 1;
}

static void discard_value(rt_value *value) {
  rt_graph *graph = value->graph;
  *(value->prev ? &value->prev->next : &graph->first_value) = value->next;
  *(value->next ? &value->next->prev : &graph->last_value) = value->prev;
  graph->value_count--;
  rt_names_remove(&graph->store->names, value->name);
  rt_constant_release(value->constant);
  value->constant = NULL;
  value->removed = 1;
}

static rt_value *new_output(rt_node *node, uint32_t index, const char *name) {
  rt_value *value = rt_graph_new_value(node->graph, RT_VALUE_OUTPUT, name ? name : node->name);
  if (!value) return NULL;
  value->producer = node;
  value->output_index = index;
  node->outputs[index] = value;
  return value;
}

static int make_outputs(rt_node *node, const rt_node_desc *desc) {
  node->outputs =
      rt_store_alloc(rt_graph_arena(node->graph), desc->output_count, sizeof *node->outputs);
  if (!node->outputs) return 0;
  node->output_count = desc->output_count;
  for (uint32_t i = 0; i < desc->output_count; ++i) {
    const char *name = desc->output_names ? desc->output_names[i] : NULL;
    if ((!name || *name) && !new_output(node, i, name)) {
      for (uint32_t j = 0; j < i; ++j) {
        if (node->outputs[j]) discard_value(node->outputs[j]);
      }
      return 0;
    }
  }
  return 1;
}

rt_node_desc rt_node_describe(const rt_node *node) {
  return (rt_node_desc){.name = node->name,
                        .op = node->op.name,
                        .domain = node->op.domain,
                        .opset = node->op.opset,
                        .inputs = node->operands,
                        .input_count = node->input_count,
                        .output_count = node->output_count,
                        .attrs = node->op.attrs.items,
                        .attr_count = node->op.attrs.count};
}

int32_t rt_graph_add_node(rt_graph *graph, const rt_node_desc *desc, rt_node *before,
                          rt_node **out_node, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_inputs(graph, desc, before, error));
  OPS_RETURN_IF_ERROR(check_bodies(graph, desc, before, error));
  rt_node *node = rt_store_alloc(rt_graph_arena(graph), 1, sizeof *node);
  if (!node) return rt_graph_no_memory(error);
  node->graph = graph;
  node->id = graph->root->node_limit;
  node->name = node_name(graph, desc, node->id);
  node->path = "";
  if (!node->name) return rt_graph_no_memory(error);
  OPS_RETURN_IF_ERROR(
      set_op(graph, &node->op, desc->op, desc->domain ? desc->domain : "", desc->opset, error));
  OPS_RETURN_IF_ERROR(
      rt_graph_copy_attrs(graph, desc->attrs, desc->attr_count, &node->op.attrs.items, error));
  node->op.attrs.count = desc->attr_count;
  if (!collect_operands(node, desc) || !link_operands(node)) return rt_graph_no_memory(error);
  if (!make_outputs(node, desc)) {
    unlink_operands(node, node->operand_count);
    return rt_graph_no_memory(error);
  }
  graph->root->node_limit++;
  graph->node_count++;
  link_node(graph, node, before);
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) rt_node_body(node, i)->owner = node;
  if (out_node) *out_node = node;
  return OPS_OK;
}

int32_t rt_node_add_output(rt_node *node, const char *name, rt_value **out_value,
                           ops_error *error) {
  rt_store_arena *arena = rt_graph_arena(node->graph);
  rt_value **outputs = rt_store_alloc(arena, (uint64_t)node->output_count + 1, sizeof *outputs);
  if (!outputs) return rt_graph_no_memory(error);
  if (node->output_count > 0) {
    memcpy(outputs, node->outputs, node->output_count * sizeof *outputs);
  }
  node->outputs = outputs;
  rt_value *value = new_output(node, node->output_count, name);
  if (!value) return rt_graph_no_memory(error);
  node->output_count++;
  if (out_value) *out_value = value;
  return OPS_OK;
}

static rt_node_desc one_to_one(const rt_node_desc *desc, rt_value *const *input) {
  rt_node_desc copy = *desc;
  copy.inputs = input;
  copy.input_count = 1;
  copy.output_names = NULL;
  copy.output_count = 1;
  return copy;
}

int32_t rt_graph_insert_on_use(rt_graph *graph, rt_use use, const rt_node_desc *desc,
                               rt_node **out_node, ops_error *error) {
  rt_node *node;
  if (use.node->graph != graph || use.operand >= use.node->operand_count ||
      !use.node->operands[use.operand]) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "operand %u of node '%s' is no edge of graph '%s'", use.operand,
                         use.node->name, graph->name);
  }
  rt_value *value = use.node->operands[use.operand];
  const rt_node_desc full = one_to_one(desc, &value);
  OPS_RETURN_IF_ERROR(rt_graph_add_node(graph, &full, use.node, &node, error));
  if (out_node) *out_node = node;
  return rt_node_set_operand(use.node, use.operand, node->outputs[0], error);
}

int32_t rt_graph_insert_on_output(rt_graph *graph, uint32_t index, const rt_node_desc *desc,
                                  rt_node **out_node, ops_error *error) {
  rt_node *node;
  if (index >= graph->output_count) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "graph '%s' has %u outputs, asked for number %u", graph->name,
                         graph->output_count, index);
  }
  const rt_node_desc full = one_to_one(desc, &graph->outputs[index]);
  OPS_RETURN_IF_ERROR(rt_graph_add_node(graph, &full, NULL, &node, error));
  if (out_node) *out_node = node;
  return rt_graph_set_output(graph, index, node->outputs[0], error);
}

// --- Removing and moving ---------------------------------------------------------------------

int32_t rt_graph_remove_node(rt_graph *graph, rt_node *node, ops_error *error) {
  if (node->removed || node->graph != graph) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "node '%s' is not in graph '%s', so it cannot be removed", node->name,
                         graph->name);
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] && rt_value_is_used(node->outputs[i])) {
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "node '%s' (%s) cannot be removed: its output '%s' is still read",
                           node->name, node->op.name, node->outputs[i]->name);
    }
  }
  unlink_operands(node, node->operand_count);
  for (uint32_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i]) discard_value(node->outputs[i]);
  }
  unlink_node(graph, node);
  graph->node_count--;
  node->removed = 1;
  return OPS_OK;
}

// Takes a capture out of its body and out of the operands of the body's owner.
static void remove_capture(rt_graph *body, const rt_value *capture) {
  uint32_t at = 0;
  while (body->captures[at] != capture) ++at;
  if (body->owner) {
    rt_node_close_operands(body->owner, rt_node_first_capture(body->owner, body) + at, 1);
    body->owner->capture_count--;
  }
  body->capture_count--;
  memmove(&body->captures[at], &body->captures[at + 1],
          (body->capture_count - at) * sizeof *body->captures);
}

int32_t rt_graph_remove_value(rt_graph *graph, rt_value *value, ops_error *error) {
  const int removable = value->kind == RT_VALUE_CONSTANT || value->kind == RT_VALUE_CAPTURE;
  if (value->removed || value->graph != graph || !removable || rt_value_is_used(value)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "value '%s' cannot be removed: expected a constant or a capture of "
                         "graph '%s' that nothing reads",
                         value->name, graph->name);
  }
  if (value->kind == RT_VALUE_CAPTURE) remove_capture(graph, value);
  discard_value(value);
  return OPS_OK;
}

// 1 if `node` may stand before `before`.
static int may_stand(const rt_graph *graph, const rt_node *node, const rt_node *before) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const rt_value *value = node->operands[i];
    if (value && !rt_value_defined_before(value, graph, before)) return 0;
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const rt_value *value = node->outputs[i];
    for (uint32_t j = 0; value && j < value->use_count; ++j) {
      if (!before || value->uses[j].node->order < before->order) return 0;
    }
  }
  return 1;
}

int32_t rt_graph_move_node(rt_graph *graph, rt_node *node, rt_node *before, ops_error *error) {
  if (node == before) return OPS_OK;
  if (node->removed || node->graph != graph || !may_stand(graph, node, before)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "node '%s' (%s) cannot move: it would stand before something it reads "
                         "or behind something that reads it",
                         node->name, node->op.name);
  }
  unlink_node(graph, node);
  link_node(graph, node, before);
  return OPS_OK;
}

int32_t rt_node_omit_output(rt_node *node, uint32_t index, ops_error *error) {
  rt_value *value = rt_node_output(node, index);
  if (!value) return OPS_OK;
  if (rt_value_is_used(value)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "output '%s' of node '%s' (%s) cannot be omitted: it is still read",
                         value->name, node->name, node->op.name);
  }
  discard_value(value);
  node->outputs[index] = NULL;
  return OPS_OK;
}

int32_t rt_value_rename(rt_value *value, const char *name, ops_error *error) {
  rt_graph *graph = value->graph;
  if (strcmp(value->name, name) == 0) return OPS_OK;
  const char *copy = rt_graph_free_name(graph, name);
  if (!copy || !rt_names_put(&graph->store->names, copy, value)) {
    return rt_graph_no_memory(error);
  }
  rt_names_remove(&graph->store->names, value->name);
  value->name = copy;
  return OPS_OK;
}

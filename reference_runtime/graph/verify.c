// SPDX-License-Identifier: Apache-2.0
//
// Proves the invariants of a graph. What a function of this folder broke is a bug, hence
// INTERNAL.
#include <ops_support/error.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph/store.h"

static int32_t broken(ops_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int32_t broken(ops_error *error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ops_error_set_v(error, OPS_ERROR_INTERNAL, format, args);
  va_end(args);
  return OPS_ERROR_INTERNAL;
}

#define REQUIRE(condition, ...)                          \
  do {                                                   \
    if (!(condition)) return broken(error, __VA_ARGS__); \
  } while (0)

static int32_t verify_graph(const rt_graph *graph, uint8_t *seen_nodes, uint8_t *seen_values,
                            ops_error *error);

// --- Values ----------------------------------------------------------------------------------

static int32_t verify_kind(const rt_value *value, ops_error *error) {
  const rt_graph *graph = value->graph;
  switch (value->kind) {
    case RT_VALUE_INPUT:
      break;
    case RT_VALUE_CONSTANT:
      REQUIRE(value->constant, "constant '%s' has no data", value->name);
      break;
    case RT_VALUE_OUTPUT:
      REQUIRE(value->producer && !value->producer->removed && value->producer->graph == graph,
              "value '%s' has no producer in graph '%s'", value->name, graph->name);
      REQUIRE(rt_node_output(value->producer, value->output_index) == value,
              "value '%s' is not output %u of its producer '%s'", value->name,
              value->output_index, value->producer->name);
      break;
    case RT_VALUE_CAPTURE:
      REQUIRE(graph->parent && value->outer && value->outer->graph == graph->parent &&
                  !value->outer->removed,
              "capture '%s' stands for no value of the graph around '%s'", value->name,
              graph->name);
      break;
    default:
      return broken(error, "value '%s' has unknown kind %d", value->name, value->kind);
  }
  return OPS_OK;
}

static int32_t verify_value(const rt_value *value, uint8_t *seen, ops_error *error) {
  const rt_graph *graph = value->graph;
  REQUIRE(!value->removed, "removed value '%s' is still listed", value->name);
  REQUIRE(value->id < graph->root->value_limit && !seen[value->id],
          "value '%s' has id %u, which is used twice or beyond the limit %u", value->name,
          value->id, graph->root->value_limit);
  seen[value->id] = 1;
  REQUIRE(value->name && *value->name && rt_graph_find_value(graph, value->name) == value,
          "value '%s' is not found by its name in graph '%s'", value->name, graph->name);
  OPS_RETURN_IF_ERROR(verify_kind(value, error));
  for (uint32_t i = 0; i < value->use_count; ++i) {
    const rt_use use = value->uses[i];
    REQUIRE(!use.node->removed && use.node->graph == graph &&
                use.operand < use.node->operand_count &&
                use.node->operands[use.operand] == value,
            "value '%s' lists a use, operand %u of '%s', that does not read it", value->name,
            use.operand, use.node->name);
  }
  uint32_t outputs = 0;
  for (uint32_t i = 0; i < graph->output_count; ++i) outputs += graph->outputs[i] == value;
  REQUIRE(outputs == value->output_count, "value '%s' counts as %u outputs, is %u", value->name,
          value->output_count, outputs);
  return OPS_OK;
}

// --- Nodes -----------------------------------------------------------------------------------

static int has_use(const rt_value *value, const rt_node *node, uint32_t operand) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < value->use_count; ++i) {
    found += value->uses[i].node == node && value->uses[i].operand == operand;
  }
  return found == 1;
}

static int32_t verify_operands(const rt_node *node, ops_error *error) {
  REQUIRE((uint64_t)node->input_count + node->post_operand_count + node->capture_count ==
              node->operand_count,
          "node '%s': its ranges of operands do not add up to %u", node->name,
          node->operand_count);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const rt_value *value = node->operands[i];
    if (!value) continue;
    REQUIRE(rt_value_defined_before(value, node->graph, node),
            "node '%s' (%s) reads '%s', which is removed, of another graph or computed later",
            node->name, node->op.name, value->name);
    REQUIRE(has_use(value, node, i),
            "node '%s' reads '%s', which does not list operand %u once", node->name,
            value->name, i);
  }
  return OPS_OK;
}

static int32_t verify_posts(const rt_node *node, ops_error *error) {
  uint32_t next = node->input_count;
  for (uint32_t i = 0; i < node->post_count; ++i) {
    const rt_post *post = &node->posts[i];
    REQUIRE(post->input_count > 0 && post->chained < post->input_count &&
                post->first_operand == next,
            "node '%s': post-operation %u (%s) has wrong operands", node->name, i,
            post->op.name);
    next += post->input_count - 1;
  }
  REQUIRE(next == node->input_count + node->post_operand_count,
          "node '%s': its post-operations have %u operands, expected %u", node->name,
          next - node->input_count, node->post_operand_count);
  return OPS_OK;
}

static int32_t verify_bodies(const rt_node *node, uint8_t *seen_nodes, uint8_t *seen_values,
                             ops_error *error) {
  uint32_t at = node->operand_count - node->capture_count;
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    const rt_graph *body = rt_node_body(node, i);
    REQUIRE(
        body->owner == node && body->parent == node->graph && body->root == node->graph->root,
        "body '%s' of node '%s' belongs elsewhere", body->name, node->name);
    for (uint32_t j = 0; j < body->capture_count; ++j, ++at) {
      REQUIRE(at < node->operand_count && node->operands[at] == body->captures[j]->outer,
              "node '%s': operand %u is not what its body '%s' captures as '%s'", node->name,
              at, body->name, body->captures[j]->name);
    }
    OPS_RETURN_IF_ERROR(verify_graph(body, seen_nodes, seen_values, error));
  }
  REQUIRE(at == node->operand_count, "node '%s' has %u operands beyond its captures",
          node->name, node->operand_count - at);
  return OPS_OK;
}

static int32_t verify_node(const rt_node *node, uint8_t *seen_nodes, uint8_t *seen_values,
                           ops_error *error) {
  const rt_graph *graph = node->graph;
  REQUIRE(!node->removed && *node->name, "node '%s' is removed or has no name", node->name);
  REQUIRE(node->id < graph->root->node_limit && !seen_nodes[node->id],
          "node '%s' has id %u, which is used twice or beyond the limit %u", node->name,
          node->id, graph->root->node_limit);
  seen_nodes[node->id] = 1;
  REQUIRE(!node->prev || node->prev->order < node->order,
          "node '%s' is out of order in graph '%s'", node->name, graph->name);
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const rt_value *value = node->outputs[i];
    REQUIRE(!value || (value->kind == RT_VALUE_OUTPUT && value->producer == node &&
                       value->output_index == i && !value->removed),
            "node '%s': output %u ('%s') does not point back", node->name, i, value->name);
  }
  OPS_RETURN_IF_ERROR(verify_operands(node, error));
  OPS_RETURN_IF_ERROR(verify_posts(node, error));
  return verify_bodies(node, seen_nodes, seen_values, error);
}

// --- Graphs ----------------------------------------------------------------------------------

static int32_t verify_lists(const rt_graph *graph, ops_error *error) {
  for (uint32_t i = 0; i < graph->input_count; ++i) {
    const rt_value *value = graph->inputs[i];
    REQUIRE(value->graph == graph && value->kind == RT_VALUE_INPUT && !value->removed,
            "input %u of graph '%s' is no input value", i, graph->name);
  }
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_value *value = graph->outputs[i];
    REQUIRE(value && value->graph == graph && !value->removed,
            "output '%s' of graph '%s' is no value of it", graph->output_names[i], graph->name);
  }
  for (uint32_t i = 0; i < graph->capture_count; ++i) {
    const rt_value *value = graph->captures[i];
    REQUIRE(value->graph == graph && value->kind == RT_VALUE_CAPTURE && !value->removed,
            "capture %u of graph '%s' is no capture", i, graph->name);
  }
  return OPS_OK;
}

static int32_t verify_graph(const rt_graph *graph, uint8_t *seen_nodes, uint8_t *seen_values,
                            ops_error *error) {
  uint32_t nodes = 0, values = 0, special[RT_VALUE_CAPTURE + 1] = {0};
  OPS_RETURN_IF_ERROR(verify_lists(graph, error));
  for (const rt_value *value = graph->first_value; value; value = value->next, ++values) {
    REQUIRE(
        value->graph == graph && (value->next ? value->next->prev : graph->last_value) == value,
        "value '%s' is wrongly linked in graph '%s'", value->name, graph->name);
    OPS_RETURN_IF_ERROR(verify_value(value, seen_values, error));
    special[value->kind]++;
  }
  REQUIRE(special[RT_VALUE_INPUT] == graph->input_count &&
              special[RT_VALUE_CAPTURE] == graph->capture_count && values == graph->value_count,
          "graph '%s' counts its values, inputs or captures wrongly", graph->name);
  for (const rt_node *node = graph->first; node; node = node->next, ++nodes) {
    REQUIRE(node->graph == graph && (node->next ? node->next->prev : graph->last) == node,
            "node '%s' is wrongly linked in graph '%s'", node->name, graph->name);
    OPS_RETURN_IF_ERROR(verify_node(node, seen_nodes, seen_values, error));
  }
  REQUIRE(nodes == graph->node_count, "graph '%s' counts %u nodes, has %u", graph->name,
          graph->node_count, nodes);
  return OPS_OK;
}

int32_t rt_graph_verify(const rt_graph *graph, ops_error *error) {
  uint8_t *seen_nodes = calloc(graph->root->node_limit + (size_t)1, 1);
  uint8_t *seen_values = calloc(graph->root->value_limit + (size_t)1, 1);
  const int32_t status = seen_nodes && seen_values
                             ? verify_graph(graph, seen_nodes, seen_values, error)
                             : rt_graph_no_memory(error);
  free(seen_nodes);
  free(seen_values);
  return status;
}

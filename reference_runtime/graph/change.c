// SPDX-License-Identifier: Apache-2.0
//
// Changing what a node computes: operator, attributes, post-operations, origins. Lists are
// copied when they change; the old ones stay in the arena until the tree goes.
#include <ops_support/error.h>
#include <string.h>

#include "graph/store.h"

int32_t rt_node_set_op(rt_node *node, const char *op, const char *domain, int32_t opset,
                       ops_error *error) {
  rt_store_arena *arena = rt_graph_arena(node->graph);
  const char *name = op ? rt_store_string(arena, op, strlen(op)) : node->op.name;
  const char *where = domain ? rt_store_string(arena, domain, strlen(domain)) : node->op.domain;
  if (!name || !where) return rt_graph_no_memory(error);
  node->op.name = name;
  node->op.domain = where;
  if (opset != 0) node->op.opset = opset;
  return OPS_OK;
}

// --- Attributes ------------------------------------------------------------------------------

static int is_body(const rt_attr *attr) {
  return attr && (attr->kind == RT_ATTR_GRAPH || attr->kind == RT_ATTR_GRAPHS);
}

static int32_t no_body(const rt_node *node, const char *name, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "attribute '%s' of node '%s' (%s) is a body, which cannot be changed: "
                       "make a new node",
                       name, node->name, node->op.name);
}

int32_t rt_node_set_attr(rt_node *node, const rt_attr *attr, ops_error *error) {
  const rt_attr *old = rt_attrs_find(&node->op.attrs, attr->name), *copy;
  const uint32_t count = node->op.attrs.count;
  if (is_body(attr) || is_body(old)) return no_body(node, attr->name, error);
  rt_attr *items =
      rt_store_alloc(rt_graph_arena(node->graph), (uint64_t)count + 1, sizeof *items);
  if (!items) return rt_graph_no_memory(error);
  OPS_RETURN_IF_ERROR(rt_graph_copy_attrs(node->graph, attr, 1, &copy, error));
  if (count > 0) memcpy(items, node->op.attrs.items, count * sizeof *items);
  const uint32_t at = old ? (uint32_t)(old - node->op.attrs.items) : count;
  items[at] = *copy;
  node->op.attrs = (rt_attrs){items, old ? count : count + 1};
  return OPS_OK;
}

int32_t rt_node_set_attr_int(rt_node *node, const char *name, int64_t value, ops_error *error) {
  const rt_attr attr = {.name = name, .kind = RT_ATTR_INT, .count = 1, .ints = &value};
  return rt_node_set_attr(node, &attr, error);
}

int32_t rt_node_set_attr_ints(rt_node *node, const char *name, const int64_t *values,
                              uint32_t count, ops_error *error) {
  const rt_attr attr = {.name = name, .kind = RT_ATTR_INTS, .count = count, .ints = values};
  return rt_node_set_attr(node, &attr, error);
}

int32_t rt_node_set_attr_float(rt_node *node, const char *name, float value, ops_error *error) {
  const rt_attr attr = {.name = name, .kind = RT_ATTR_FLOAT, .count = 1, .floats = &value};
  return rt_node_set_attr(node, &attr, error);
}

int32_t rt_node_set_attr_string(rt_node *node, const char *name, const char *value,
                                ops_error *error) {
  const ops_str text = {value, strlen(value)};
  const rt_attr attr = {.name = name, .kind = RT_ATTR_STRING, .count = 1, .strings = &text};
  return rt_node_set_attr(node, &attr, error);
}

int32_t rt_node_remove_attr(rt_node *node, const char *name, ops_error *error) {
  const rt_attr *old = rt_attrs_find(&node->op.attrs, name);
  const uint32_t count = node->op.attrs.count;
  if (!old) return OPS_OK;
  if (is_body(old)) return no_body(node, name, error);
  rt_attr *items =
      rt_store_copy(rt_graph_arena(node->graph), node->op.attrs.items, count, sizeof *items);
  if (!items) return rt_graph_no_memory(error);
  const uint32_t at = (uint32_t)(old - node->op.attrs.items);
  memmove(&items[at], &items[at + 1], (count - at - 1) * sizeof *items);
  node->op.attrs = (rt_attrs){items, count - 1};
  return OPS_OK;
}

// --- Post-operations -------------------------------------------------------------------------

static int32_t check_operands(const rt_node *node, rt_value *const *operands, uint32_t count,
                              ops_error *error) {
  for (uint32_t i = 0; i < count; ++i) {
    if (operands[i] && !rt_value_defined_before(operands[i], node->graph, node)) {
      return ops_error_set(
          error, OPS_ERROR_INVALID_ARGUMENT,
          "post-operation of node '%s' (%s) cannot read '%s': expected a value "
          "that is computed before the node; move the node first",
          node->name, node->op.name, operands[i]->name);
    }
  }
  return OPS_OK;
}

static int32_t copy_op(rt_graph *graph, const rt_op *op, rt_op *out_op, ops_error *error) {
  rt_store_arena *arena = rt_graph_arena(graph);
  rt_op copy = *op;
  copy.name = rt_store_string(arena, op->name, strlen(op->name));
  copy.domain = rt_store_string(arena, op->domain, strlen(op->domain));
  if (!copy.name || !copy.domain) return rt_graph_no_memory(error);
  OPS_RETURN_IF_ERROR(
      rt_graph_copy_attrs(graph, op->attrs.items, op->attrs.count, &copy.attrs.items, error));
  *out_op = copy;
  return OPS_OK;
}

int32_t rt_node_append_post(rt_node *node, const rt_op *op, rt_value *const *operands,
                            uint32_t operand_count, uint32_t chained, ops_error *error) {
  if (chained > operand_count) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "post-operation %s of node '%s': the chained input is number %u of %u",
                         op->name, node->name, chained, operand_count + 1);
  }
  OPS_RETURN_IF_ERROR(check_operands(node, operands, operand_count, error));
  rt_post *posts = rt_store_alloc(rt_graph_arena(node->graph), (uint64_t)node->post_count + 1,
                                  sizeof *posts);
  if (!posts) return rt_graph_no_memory(error);
  const uint32_t at = node->input_count + node->post_operand_count;
  posts[node->post_count] =
      (rt_post){.input_count = operand_count + 1, .chained = chained, .first_operand = at};
  OPS_RETURN_IF_ERROR(copy_op(node->graph, op, &posts[node->post_count].op, error));
  for (uint32_t i = 0; i < operand_count; ++i) {
    if (operands[i] && !rt_value_reserve_uses(operands[i], operand_count)) {
      return rt_graph_no_memory(error);
    }
  }
  if (!rt_node_open_operands(node, at, operand_count)) return rt_graph_no_memory(error);
  for (uint32_t i = 0; i < operand_count; ++i) {
    node->operands[at + i] = operands[i];
    if (operands[i]) rt_value_link_use(operands[i], node, at + i);
  }
  if (node->post_count > 0) memcpy(posts, node->posts, node->post_count * sizeof *posts);
  node->posts = posts;
  node->post_count++;
  node->post_operand_count += operand_count;
  return OPS_OK;
}

int32_t rt_node_clear_posts(rt_node *node, ops_error *error) {
  (void)error;
  rt_node_close_operands(node, node->input_count, node->post_operand_count);
  node->post_operand_count = 0;
  node->post_count = 0;
  node->posts = NULL;
  return OPS_OK;
}

// Adds a node for post-operation `index`, which reads `chained`.
static int32_t add_detached(rt_node *node, uint32_t index, rt_value *chained,
                            rt_node **out_node, ops_error *error) {
  rt_store_arena scratch = {0};
  const rt_post *post = &node->posts[index];
  rt_value **inputs = rt_store_alloc(&scratch, post->input_count, sizeof *inputs);
  if (!inputs) return rt_graph_no_memory(error);
  for (uint32_t i = 0, at = post->first_operand; i < post->input_count; ++i)
    inputs[i] = i == post->chained ? chained : node->operands[at++];
  const rt_node_desc desc = {.op = post->op.name,
                             .domain = post->op.domain,
                             .opset = post->op.opset,
                             .inputs = inputs,
                             .input_count = post->input_count,
                             .output_count = 1,
                             .attrs = post->op.attrs.items,
                             .attr_count = post->op.attrs.count};
  rt_node *before = *out_node ? (*out_node)->next : node->next;
  int32_t status = rt_graph_add_node(node->graph, &desc, before, out_node, error);
  if (status == OPS_OK) status = rt_node_add_origins_of(*out_node, node, error);
  if (status == OPS_OK) status = rt_node_set_path(*out_node, node->path, error);
  rt_store_finish(&scratch);
  return status;
}

int32_t rt_node_detach_posts(rt_node *node, ops_error *error) {
  static const rt_type nothing = {0};
  if (node->post_count == 0) return OPS_OK;
  rt_value *inner = node->outputs[0], *outer = NULL;
  rt_node *first = NULL, *last = NULL;
  for (uint32_t i = 0; i < node->post_count; ++i) {
    // The first one's link comes when everything else reads the last.
    OPS_RETURN_IF_ERROR(add_detached(node, i, outer, &last, error));
    if (i == 0) first = last;
    outer = last->outputs[0];
  }
  const char *name = inner->name;
  OPS_RETURN_IF_ERROR(rt_value_replace_uses(inner, outer, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(first, node->posts[0].chained, inner, error));
  OPS_RETURN_IF_ERROR(rt_value_set_declared(outer, &inner->declared, error));
  OPS_RETURN_IF_ERROR(rt_value_set_type(outer, &inner->type, error));
  inner->declared = nothing;
  OPS_RETURN_IF_ERROR(rt_value_set_type(inner, &nothing, error));
  OPS_RETURN_IF_ERROR(rt_value_rename(inner, outer->name, error));
  OPS_RETURN_IF_ERROR(rt_value_rename(outer, name, error));
  return rt_node_clear_posts(node, error);
}

// --- Origins ---------------------------------------------------------------------------------

int32_t rt_node_add_origin(rt_node *node, const char *name, ops_error *error) {
  rt_store_arena *arena = rt_graph_arena(node->graph);
  for (uint32_t i = 0; i < node->origin_count; ++i) {
    if (strcmp(node->origins[i], name) == 0) return OPS_OK;
  }
  const char **origins =
      rt_store_alloc(arena, (uint64_t)node->origin_count + 1, sizeof *origins);
  const char *copy = rt_store_string(arena, name, strlen(name));
  if (!origins || !copy) return rt_graph_no_memory(error);
  if (node->origin_count > 0) {
    memcpy(origins, node->origins, node->origin_count * sizeof *origins);
  }
  origins[node->origin_count++] = copy;
  node->origins = origins;
  return OPS_OK;
}

int32_t rt_node_add_origins_of(rt_node *node, const rt_node *from, ops_error *error) {
  node->flags |= from->flags;
  if (from->origin_count == 0) return rt_node_add_origin(node, from->name, error);
  for (uint32_t i = 0; i < from->origin_count; ++i) {
    OPS_RETURN_IF_ERROR(rt_node_add_origin(node, from->origins[i], error));
  }
  return OPS_OK;
}

int32_t rt_node_set_path(rt_node *node, const char *path, ops_error *error) {
  const char *copy = rt_store_string(rt_graph_arena(node->graph), path, strlen(path));
  if (!copy) return rt_graph_no_memory(error);
  node->path = copy;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Copies of bodies: the nodes of a body put into another graph (where a function calls a body
// of the node that it expands), and a body copied whole for another node.
//
// A map says what a value of the source is in the copy. Constants and outputs of copied nodes
// enter it as they are copied; a capture is what its outer value is; any other value lies
// around the source and stands for itself.
#include <ops_support/error.h>
#include <string.h>

#include "graph/builder.h"

typedef struct cloner {
  rt_builder *b;
  rt_value **map;              // by id of the source's value
  uint32_t limit;              // values made later are none of the source's
  const rt_call_frame *frame;  // gives names and origins; may be NULL
} cloner;

static int32_t clone_graph(cloner *c, rt_graph *from, rt_graph *to, rt_node *before);

static int32_t cloner_init(cloner *c, rt_builder *b, const rt_graph *root) {
  *c = (cloner){.b = b, .limit = root->value_limit};
  c->map = rt_store_alloc(&b->scratch, c->limit, sizeof *c->map);
  return c->map ? OPS_OK : rt_build_no_memory(b);
}

// What `value` is, as `graph` sees it.
static int32_t find(const cloner *c, rt_value *value, rt_graph *graph, rt_value **out_value) {
  rt_value *found = value->id < c->limit ? c->map[value->id] : NULL;
  while (!found && value->kind == RT_VALUE_CAPTURE) {
    value = value->outer;
    found = value->id < c->limit ? c->map[value->id] : NULL;
  }
  return rt_build_bring_into(c->b, graph, found ? found : value, out_value);
}

static int32_t find_all(const cloner *c, rt_value *const *values, uint32_t count,
                        rt_graph *graph, rt_value ***out_values) {
  rt_value **found = rt_store_alloc(&c->b->scratch, count, sizeof *found);
  *out_values = found;
  if (!found) return rt_build_no_memory(c->b);
  for (uint32_t i = 0; i < count; ++i)
    if (values[i]) OPS_RETURN_IF_ERROR(find(c, values[i], graph, &found[i]));
  return OPS_OK;
}

// "call/name" where nodes come into the graph of a call.
static const char *name_of(const cloner *c, const rt_graph *to, const char *name) {
  if (!c->frame || to != c->frame->node->graph) return name;
  const uint64_t room = strlen(c->frame->prefix) + strlen(name) + 2;
  char *full = rt_store_alloc(&c->b->scratch, room, 1);
  if (full) snprintf(full, room, "%s/%s", c->frame->prefix, name);
  return full;
}

static int32_t clone_body(cloner *c, rt_graph *from, rt_graph *parent, rt_graph **out_body) {
  ops_error *error = c->b->error;
  rt_graph *body;
  OPS_RETURN_IF_ERROR(rt_graph_create_body(parent, from->name, &body, error));
  for (uint32_t i = 0; i < from->input_count; ++i) {
    rt_value *input = from->inputs[i], *copy;
    OPS_RETURN_IF_ERROR(rt_graph_add_input(body, input->name, &input->declared, &copy, error));
    if (input->constant)
      OPS_RETURN_IF_ERROR(rt_graph_set_input_default(copy, input->constant, error));
    c->map[input->id] = copy;
  }
  OPS_RETURN_IF_ERROR(clone_graph(c, from, body, NULL));
  for (uint32_t i = 0; i < from->output_count; ++i) {
    rt_value *output;
    OPS_RETURN_IF_ERROR(find(c, from->outputs[i], body, &output));
    OPS_RETURN_IF_ERROR(rt_graph_add_output(body, from->output_names[i], output,
                                            &from->output_types[i], error));
  }
  *out_body = body;
  return OPS_OK;
}

// Attributes as they are, with copies of bodies.
static int32_t clone_attrs(cloner *c, const rt_attrs *from, rt_graph *to,
                           const rt_attr **out_attrs) {
  rt_attr *attrs = rt_store_alloc(&c->b->scratch, from->count, sizeof *attrs);
  *out_attrs = attrs;
  if (!attrs) return rt_build_no_memory(c->b);
  for (uint32_t i = 0; i < from->count; ++i) {
    attrs[i] = from->items[i];
    if (attrs[i].kind != RT_ATTR_GRAPH && attrs[i].kind != RT_ATTR_GRAPHS) continue;
    rt_graph **bodies = rt_store_alloc(&c->b->scratch, attrs[i].count, sizeof *bodies);
    if (!bodies) return rt_build_no_memory(c->b);
    for (uint32_t k = 0; k < attrs[i].count; ++k)
      OPS_RETURN_IF_ERROR(clone_body(c, attrs[i].graphs[k], to, &bodies[k]));
    attrs[i].graphs = bodies;
  }
  return OPS_OK;
}

static int32_t clone_posts(const cloner *c, const rt_node *from, rt_node *node) {
  for (uint32_t i = 0; i < from->post_count; ++i) {
    const rt_post *post = &from->posts[i];
    rt_value **operands;
    OPS_RETURN_IF_ERROR(find_all(c, from->operands + post->first_operand, post->input_count - 1,
                                 node->graph, &operands));
    OPS_RETURN_IF_ERROR(rt_node_append_post(node, &post->op, operands, post->input_count - 1,
                                            post->chained, c->b->error));
  }
  return OPS_OK;
}

static int32_t trace(const cloner *c, const rt_node *from, rt_node *node) {
  if (!c->frame) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(node, from, c->b->error));
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(node, c->frame->node, c->b->error));
  return rt_node_set_path(node, c->frame->path, c->b->error);
}

static int32_t clone_node(cloner *c, const rt_node *from, rt_graph *to, rt_node *before) {
  rt_value **inputs;
  rt_node *node;
  const char **names = rt_store_alloc(&c->b->scratch, from->output_count, sizeof *names);
  rt_node_desc desc = rt_node_describe(from);
  desc.name = name_of(c, to, from->name);
  desc.output_names = names;
  if (!names || !desc.name) return rt_build_no_memory(c->b);
  for (uint32_t i = 0; i < from->output_count; ++i) {
    names[i] = from->outputs[i] ? name_of(c, to, from->outputs[i]->name) : "";
    if (!names[i]) return rt_build_no_memory(c->b);
  }
  OPS_RETURN_IF_ERROR(find_all(c, from->operands, from->input_count, to, &inputs));
  OPS_RETURN_IF_ERROR(clone_attrs(c, &from->op.attrs, to, &desc.attrs));
  desc.inputs = inputs;
  OPS_RETURN_IF_ERROR(rt_graph_add_node(to, &desc, before, &node, c->b->error));
  for (uint32_t i = 0; i < from->output_count; ++i) {
    if (!from->outputs[i]) continue;
    c->map[from->outputs[i]->id] = node->outputs[i];
    OPS_RETURN_IF_ERROR(
        rt_value_set_declared(node->outputs[i], &from->outputs[i]->declared, c->b->error));
  }
  OPS_RETURN_IF_ERROR(clone_posts(c, from, node));
  return trace(c, from, node);
}

static int32_t clone_graph(cloner *c, rt_graph *from, rt_graph *to, rt_node *before) {
  const rt_scope place = {.graph = to};
  for (rt_value *value = from->first_value; value; value = value->next) {
    if (value->kind != RT_VALUE_CONSTANT) continue;
    const char *name = name_of(c, to, value->name);
    if (!name) return rt_build_no_memory(c->b);
    OPS_RETURN_IF_ERROR(
        rt_graph_add_constant(to, name, value->constant, &c->map[value->id], c->b->error));
  }
  for (const rt_node *node = from->first; node; node = node->next) {
    OPS_RETURN_IF_ERROR(rt_build_check_size(c->b, &place));
    OPS_RETURN_IF_ERROR(clone_node(c, node, to, before));
  }
  return OPS_OK;
}

int32_t rt_build_clone_body(rt_builder *b, rt_graph *body, rt_graph *parent,
                            rt_graph **out_body) {
  cloner c;
  OPS_RETURN_IF_ERROR(cloner_init(&c, b, parent->root));
  return clone_body(&c, body, parent, out_body);
}

int32_t rt_graph_copy_nodes(rt_graph *graph, const rt_node_copy *copy, ops_error *error) {
  rt_builder b;
  rt_builder_init(&b, NULL, RT_MODEL_MAX_IR_VERSION, error);
  const rt_call_frame frame = {.node = copy->origin, .prefix = copy->name, .path = copy->path};
  cloner c = {.b = &b, .map = copy->map, .limit = copy->map_count, .frame = &frame};
  int32_t status = OPS_OK;
  // Values in bodies need entries of the map, too: all are there, the map covers the tree.
  for (uint32_t i = 0; status == OPS_OK && i < copy->count; ++i)
    status = clone_node(&c, copy->nodes[i], graph, copy->before);
  rt_builder_finish(&b);
  return status;
}

// --- Calls of bodies -------------------------------------------------------------------------

int rt_build_is_body_call(const rt_scope *s, const rt_model_node *node) {
  return s->frame && s->frame->node && node->op_type.size && node->op_type.data[0] == '@';
}

static int32_t bind_outputs(rt_builder *b, rt_scope *s, const rt_model_node *node,
                            const cloner *c, const rt_graph *body) {
  for (size_t i = 0; i < node->output_count; ++i) {
    rt_value *value;
    const char *name = rt_build_text(b, node->outputs[i]);
    if (!name) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(find(c, body->outputs[i], s->graph, &value));
    OPS_RETURN_IF_ERROR(rt_build_bind(b, s, name, value));
  }
  return OPS_OK;
}

int32_t rt_build_body_call(rt_builder *b, rt_scope *s, const rt_model_node *node) {
  const char *name = rt_build_text(b, node->op_type);
  if (!name) return rt_build_no_memory(b);
  const rt_node *owner = s->frame->node;
  rt_graph *body = rt_attrs_graph(&owner->op.attrs, name + 1);
  if (!body || body->input_count != node->input_count ||
      body->output_count < node->output_count)
    return ops_error_set_cause(
        b->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
        "%s%s '%s': expected a body '%s' with %zu inputs and %zu outputs, "
        "found %u and %u",
        owner->path, owner->op.name, owner->name, name + 1, node->input_count,
        node->output_count, body ? body->input_count : 0, body ? body->output_count : 0);
  cloner c;
  rt_value **inputs;
  OPS_RETURN_IF_ERROR(cloner_init(&c, b, s->graph->root));
  c.frame = s->frame;
  OPS_RETURN_IF_ERROR(rt_build_inputs(b, s, node, &inputs));
  for (uint32_t i = 0; i < body->input_count; ++i) c.map[body->inputs[i]->id] = inputs[i];
  OPS_RETURN_IF_ERROR(clone_graph(&c, body, s->graph, s->before));
  return bind_outputs(b, s, node, &c, body);
}

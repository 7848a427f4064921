// SPDX-License-Identifier: Apache-2.0
//
// Making graphs, values and nodes, and looking things up. Everything is allocated first and
// linked last, so that a failure leaves the graph as it was.
#include "graph/graph.h"

#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "graph/store.h"

int32_t rt_graph_no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "out of memory while a graph is built");
}

// --- Graphs ----------------------------------------------------------------------------------

static void destroy_one(rt_graph *graph) {
  for (rt_value *value = graph->first_value; value; value = value->next) {
    rt_constant_release(value->constant);
  }
  rt_names_finish(&graph->store->names);
  free(graph->store);
}

void rt_graph_destroy(rt_graph *graph) {
  if (!graph) return;
  rt_graph_store *store = graph->store;
  for (uint32_t i = 0; i < store->body_count; ++i) destroy_one(store->bodies[i]);
  for (uint32_t i = 0; i < store->held_count; ++i) rt_constant_release(store->held[i]);
  rt_symbols_destroy(graph->symbols);
  ops_regions *regions = graph->regions;
  rt_store_arena arena = store->arena;
  destroy_one(graph);
  ops_regions_release(regions);
  rt_store_finish(&arena);  // holds `graph` itself
}

int32_t rt_graph_create(const char *name, rt_graph **out_graph, ops_error *error) {
  *out_graph = NULL;
  rt_graph_store *store = calloc(1, sizeof *store);
  if (!store) return rt_graph_no_memory(error);
  rt_graph *graph = rt_store_alloc(&store->arena, 1, sizeof *graph);
  if (!graph) {
    free(store);
    return rt_graph_no_memory(error);
  }
  graph->root = graph;
  graph->store = store;
  graph->name = rt_store_string(&store->arena, name ? name : "", name ? strlen(name) : 0);
  graph->regions = ops_regions_create();
  if (!graph->name || !graph->regions || rt_symbols_create(&graph->symbols, NULL) != OPS_OK) {
    rt_graph_destroy(graph);
    return rt_graph_no_memory(error);
  }
  *out_graph = graph;
  return OPS_OK;
}

int32_t rt_graph_create_body(rt_graph *parent, const char *name, rt_graph **out_body,
                             ops_error *error) {
  rt_graph_store *root = parent->root->store;
  *out_body = NULL;
  rt_graph **bodies = rt_store_grow(&root->arena, root->bodies, root->body_count,
                                    &root->body_capacity, sizeof *bodies);
  if (!bodies) return rt_graph_no_memory(error);
  root->bodies = bodies;
  rt_graph *body = rt_store_alloc(&root->arena, 1, sizeof *body);
  const char *copy = rt_store_string(&root->arena, name ? name : "", name ? strlen(name) : 0);
  if (!body || !copy) return rt_graph_no_memory(error);
  body->store = calloc(1, sizeof *body->store);
  if (!body->store) return rt_graph_no_memory(error);
  body->name = copy;
  body->root = parent->root;
  body->parent = parent;
  body->symbols = parent->symbols;
  bodies[root->body_count++] = body;
  *out_body = body;
  return OPS_OK;
}

// --- Copies into the arena -------------------------------------------------------------------

int32_t rt_graph_copy_type(rt_graph *graph, const rt_type *type, rt_type *out_type,
                           ops_error *error) {
  rt_type copy = *type;
  if (type->dims && type->rank > 0) {
    copy.dims = rt_store_copy(rt_graph_arena(graph), type->dims, (uint64_t)type->rank,
                              sizeof *type->dims);
    if (!copy.dims) return rt_graph_no_memory(error);
  }
  if (type->element) {
    rt_type *element = rt_store_alloc(rt_graph_arena(graph), 1, sizeof *element);
    if (!element) return rt_graph_no_memory(error);
    OPS_RETURN_IF_ERROR(rt_graph_copy_type(graph, type->element, element, error));
    copy.element = element;
  }
  *out_type = copy;
  return OPS_OK;
}

static int hold_constant(rt_graph *graph, rt_constant *constant) {
  rt_graph_store *root = graph->root->store;
  rt_constant **held = rt_store_grow(&root->arena, root->held, root->held_count,
                                     &root->held_capacity, sizeof *held);
  if (!held) return 0;
  root->held = held;
  held[root->held_count++] = rt_constant_retain(constant);
  return 1;
}

static int copy_strings(rt_store_arena *arena, const rt_attr *from, rt_attr *to) {
  ops_str *strings = rt_store_alloc(arena, from->count, sizeof *strings);
  to->strings = strings;
  for (uint32_t i = 0; strings && i < from->count; ++i) {
    strings[i].size = from->strings[i].size;
    strings[i].data = rt_store_string(arena, from->strings[i].data, from->strings[i].size);
    if (!strings[i].data) return 0;
  }
  return strings != NULL;
}

static int copy_tensors(rt_graph *graph, const rt_attr *from, rt_attr *to) {
  to->tensors =
      rt_store_copy(rt_graph_arena(graph), from->tensors, from->count, sizeof *from->tensors);
  for (uint32_t i = 0; to->tensors && i < from->count; ++i) {
    if (!hold_constant(graph, from->tensors[i])) return 0;
  }
  return to->tensors != NULL;
}

static int copy_types(rt_graph *graph, const rt_attr *from, rt_attr *to) {
  rt_type *types = rt_store_alloc(rt_graph_arena(graph), from->count, sizeof *types);
  to->types = types;
  for (uint32_t i = 0; types && i < from->count; ++i) {
    if (rt_graph_copy_type(graph, &from->types[i], &types[i], NULL) != OPS_OK) return 0;
  }
  return types != NULL;
}

static int copy_attr(rt_graph *graph, const rt_attr *from, rt_attr *to) {
  rt_store_arena *arena = rt_graph_arena(graph);
  *to = *from;
  to->name = rt_store_string(arena, from->name, strlen(from->name));
  if (!to->name) return 0;
  switch (from->kind) {
    case RT_ATTR_FLOAT:
    case RT_ATTR_FLOATS:
      to->floats = rt_store_copy(arena, from->floats, from->count, sizeof(float));
      return to->floats != NULL;
    case RT_ATTR_INT:
    case RT_ATTR_INTS:
      to->ints = rt_store_copy(arena, from->ints, from->count, sizeof(int64_t));
      return to->ints != NULL;
    case RT_ATTR_STRING:
    case RT_ATTR_STRINGS:
      return copy_strings(arena, from, to);
    case RT_ATTR_TYPE:
    case RT_ATTR_TYPES:
      return copy_types(graph, from, to);
    case RT_ATTR_GRAPH:
    case RT_ATTR_GRAPHS:
      to->graphs = rt_store_copy(arena, from->graphs, from->count, sizeof *from->graphs);
      return to->graphs != NULL;
    default:
      return copy_tensors(graph, from, to);
  }
}

int32_t rt_graph_copy_attrs(rt_graph *graph, const rt_attr *attrs, uint32_t count,
                            const rt_attr **out_attrs, ops_error *error) {
  rt_attr *copies = rt_store_alloc(rt_graph_arena(graph), count, sizeof *copies);
  if (!copies) return rt_graph_no_memory(error);
  for (uint32_t i = 0; i < count; ++i) {
    if (!copy_attr(graph, &attrs[i], &copies[i])) return rt_graph_no_memory(error);
  }
  *out_attrs = copies;
  return OPS_OK;
}

const char *rt_graph_free_name(rt_graph *graph, const char *hint) {
  const uint64_t length = strlen(hint);
  if (length > 0 && !rt_names_find(&graph->store->names, hint)) {
    return rt_store_string(rt_graph_arena(graph), hint, length);
  }
  char *name = rt_store_alloc(rt_graph_arena(graph), length + 24, 1);
  if (!name) return NULL;
  do {
    snprintf(name, length + 24, "%s#%llu", hint,
             (unsigned long long)graph->root->store->next_suffix++);
  } while (rt_names_find(&graph->store->names, name));
  return name;
}

// --- Values ----------------------------------------------------------------------------------

// A value linked into the list and the name table, but to nothing else; NULL: no memory.
rt_value *rt_graph_new_value(rt_graph *graph, int32_t kind, const char *name) {
  rt_value *value = rt_store_alloc(rt_graph_arena(graph), 1, sizeof *value);
  const char *copy = rt_graph_free_name(graph, name && *name ? name : "value");
  if (!value || !copy || !rt_names_put(&graph->store->names, copy, value)) return NULL;
  value->id = graph->root->value_limit++;
  value->kind = kind;
  value->name = copy;
  value->graph = graph;
  value->contents_count = -1;
  value->prev = graph->last_value;
  *(graph->last_value ? &graph->last_value->next : &graph->first_value) = value;
  graph->last_value = value;
  graph->value_count++;
  return value;
}

static int append_value(rt_graph *graph, rt_value ***array, uint32_t *count, uint32_t *capacity,
                        rt_value *value) {
  rt_value **grown =
      rt_store_grow(rt_graph_arena(graph), *array, *count, capacity, sizeof *grown);
  if (!grown) return 0;
  *array = grown;
  if (value) grown[(*count)++] = value;
  return 1;
}

int32_t rt_graph_add_input(rt_graph *graph, const char *name, const rt_type *type,
                           rt_value **out_value, ops_error *error) {
  rt_type copy = {0};
  if (type) OPS_RETURN_IF_ERROR(rt_graph_copy_type(graph, type, &copy, error));
  if (!append_value(graph, &graph->inputs, &graph->input_count, &graph->store->input_capacity,
                    NULL)) {
    return rt_graph_no_memory(error);
  }
  rt_value *value = rt_graph_new_value(graph, RT_VALUE_INPUT, name);
  if (!value) return rt_graph_no_memory(error);
  value->type = value->declared = copy;
  graph->inputs[graph->input_count++] = value;
  if (out_value) *out_value = value;
  return OPS_OK;
}

// Sets the type that the constant has.
static int32_t set_constant_type(rt_value *value, const rt_constant *constant,
                                 ops_error *error) {
  rt_dim dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < constant->rank; ++i) dims[i] = rt_dim_const(constant->dims[i]);
  const rt_type type = rt_type_tensor(constant->elem_type, constant->rank, dims);
  return rt_value_set_type(value, &type, error);
}

int32_t rt_graph_add_constant(rt_graph *graph, const char *name, rt_constant *constant,
                              rt_value **out_value, ops_error *error) {
  rt_value *value = rt_graph_new_value(graph, RT_VALUE_CONSTANT, name);
  if (!value) return rt_graph_no_memory(error);
  value->constant = rt_constant_retain(constant);
  if (out_value) *out_value = value;
  return set_constant_type(value, constant, error);
}

int32_t rt_graph_set_input_default(rt_value *input, rt_constant *constant, ops_error *error) {
  if (input->kind != RT_VALUE_INPUT) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "value '%s' is no input, so it cannot have a default", input->name);
  }
  rt_constant_retain(constant);
  rt_constant_release(input->constant);
  input->constant = constant;
  return input->type.kind == RT_TYPE_UNKNOWN ? set_constant_type(input, constant, error)
                                             : OPS_OK;
}

int32_t rt_graph_freeze_input(rt_graph *graph, rt_value *input, ops_error *error) {
  uint32_t at = 0;
  while (at < graph->input_count && graph->inputs[at] != input) ++at;
  if (graph->parent || at == graph->input_count || !input->constant) {
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "value '%s' cannot be frozen: expected an input of the main graph that "
        "has a default",
        input->name);
  }
  graph->input_count--;
  memmove(&graph->inputs[at], &graph->inputs[at + 1],
          (graph->input_count - at) * sizeof *graph->inputs);
  input->kind = RT_VALUE_CONSTANT;
  return set_constant_type(input, input->constant, error);
}

int32_t rt_graph_add_capture(rt_graph *body, rt_value *outer, rt_value **out_value,
                             ops_error *error) {
  if (outer->removed || outer->graph != body->parent) {
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "body '%s' cannot capture '%s': expected a value of the graph around it", body->name,
        outer->name);
  }
  for (uint32_t i = 0; i < body->capture_count; ++i) {
    if (body->captures[i]->outer == outer) {
      *out_value = body->captures[i];
      return OPS_OK;
    }
  }
  if (!append_value(body, &body->captures, &body->capture_count, &body->store->capture_capacity,
                    NULL)) {
    return rt_graph_no_memory(error);
  }
  rt_node *owner = body->owner;
  if (owner && !rt_value_defined_before(outer, owner->graph, owner)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "body '%s' cannot capture '%s': it is computed after node '%s'",
                         body->name, outer->name, owner->name);
  }
  const uint32_t at = owner ? rt_node_first_capture(owner, body) + body->capture_count : 0;
  if (owner && (!rt_value_reserve_uses(outer, 1) || !rt_node_open_operands(owner, at, 1))) {
    return rt_graph_no_memory(error);
  }
  rt_value *value = rt_graph_new_value(body, RT_VALUE_CAPTURE, outer->name);
  if (!value) {
    if (owner) rt_node_close_operands(owner, at, 1);
    return rt_graph_no_memory(error);
  }
  value->outer = outer;
  value->type = outer->type;
  value->contents = outer->contents;
  value->contents_count = outer->contents_count;
  if (owner) {
    owner->capture_count++;
    owner->operands[at] = outer;
    rt_value_link_use(outer, owner, at);
  }
  body->captures[body->capture_count++] = value;
  *out_value = value;
  return OPS_OK;
}

int32_t rt_graph_add_output(rt_graph *graph, const char *name, rt_value *value,
                            const rt_type *declared, ops_error *error) {
  rt_store_arena *arena = rt_graph_arena(graph);
  rt_graph_store *store = graph->store;
  rt_type type = {0};
  if (value->removed || value->graph != graph) {
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "output '%s' of graph '%s': expected a value of this graph, found '%s'",
        name ? name : "", graph->name, value->name);
  }
  if (declared) OPS_RETURN_IF_ERROR(rt_graph_copy_type(graph, declared, &type, error));
  const char *label = name && *name ? name : value->name;
  const char *copy = rt_store_string(arena, label, strlen(label));
  uint32_t capacities[3] = {store->output_capacity, store->output_capacity,
                            store->output_capacity};
  const uint32_t count = graph->output_count;
  rt_value **outputs =
      rt_store_grow(arena, graph->outputs, count, &capacities[0], sizeof *outputs);
  const char **names =
      rt_store_grow(arena, graph->output_names, count, &capacities[1], sizeof *names);
  rt_type *types =
      rt_store_grow(arena, graph->output_types, count, &capacities[2], sizeof *types);
  if (!copy || !outputs || !names || !types) return rt_graph_no_memory(error);
  graph->outputs = outputs;
  graph->output_names = names;
  graph->output_types = types;
  store->output_capacity = capacities[0];
  outputs[count] = value;
  names[count] = copy;
  types[count] = type;
  graph->output_count++;
  value->output_count++;
  return OPS_OK;
}

int32_t rt_value_set_type(rt_value *value, const rt_type *type, ops_error *error) {
  return rt_graph_copy_type(value->graph, type, &value->type, error);
}

int32_t rt_value_set_declared(rt_value *value, const rt_type *type, ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_graph_copy_type(value->graph, type, &value->declared, error));
  if (value->type.kind == RT_TYPE_UNKNOWN) value->type = value->declared;
  return OPS_OK;
}

int32_t rt_value_set_contents(rt_value *value, const rt_dim *contents, int64_t count,
                              ops_error *error) {
  if (count < 0) {
    value->contents = NULL;
    value->contents_count = -1;
    return OPS_OK;
  }
  const rt_dim *copy =
      rt_store_copy(rt_graph_arena(value->graph), contents, (uint64_t)count, sizeof *contents);
  if (!copy) return rt_graph_no_memory(error);
  value->contents = copy;
  value->contents_count = count;
  return OPS_OK;
}

// --- Looking things up -----------------------------------------------------------------------

rt_value *rt_graph_find_value(const rt_graph *graph, const char *name) {
  return rt_names_find(&graph->store->names, name);
}

rt_node *rt_graph_find_node(const rt_graph *graph, const char *name) {
  rt_node *node = graph->first;
  while (node && strcmp(node->name, name) != 0) node = node->next;
  return node;
}

rt_value *rt_node_input(const rt_node *node, uint32_t index) {
  return index < node->input_count ? node->operands[index] : NULL;
}

rt_value *rt_node_output(const rt_node *node, uint32_t index) {
  return index < node->output_count ? node->outputs[index] : NULL;
}

rt_constant *rt_value_constant(const rt_value *value) {
  while (value && value->kind == RT_VALUE_CAPTURE) value = value->outer;
  return value && value->kind == RT_VALUE_CONSTANT ? value->constant : NULL;
}

int rt_value_is_used(const rt_value *value) {
  return value->use_count > 0 || value->output_count > 0;
}

rt_node *rt_value_sole_consumer(const rt_value *value) {
  if (value->use_count != 1 || value->output_count > 0) return NULL;
  rt_node *node = value->uses[0].node;
  const uint32_t first_capture = node->operand_count - node->capture_count;
  return value->uses[0].operand < first_capture ? node : NULL;
}

uint32_t rt_node_body_count(const rt_node *node) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->op.attrs.count; ++i) {
    const rt_attr *attr = &node->op.attrs.items[i];
    if (attr->kind == RT_ATTR_GRAPH || attr->kind == RT_ATTR_GRAPHS) count += attr->count;
  }
  return count;
}

rt_graph *rt_node_body(const rt_node *node, uint32_t index) {
  for (uint32_t i = 0; i < node->op.attrs.count; ++i) {
    const rt_attr *attr = &node->op.attrs.items[i];
    if (attr->kind != RT_ATTR_GRAPH && attr->kind != RT_ATTR_GRAPHS) continue;
    if (index < attr->count) return attr->graphs[index];
    index -= attr->count;
  }
  return NULL;
}

uint32_t rt_node_first_capture(const rt_node *node, const rt_graph *body) {
  uint32_t at = node->input_count + node->post_operand_count;
  for (uint32_t i = 0;; ++i) {
    const rt_graph *each = rt_node_body(node, i);
    if (!each || each == body) return at;
    at += each->capture_count;
  }
}

int rt_node_precedes(const rt_node *a, const rt_node *b) {
  return a->order < b->order;
}

// SPDX-License-Identifier: Apache-2.0
//
// Views are built bottom-up: types, constants, operands, attributes, nodes, graphs. Each is
// made once and kept by the id of its node or value. A failed allocation of the arena is
// noticed where the pointer is first used.
#include "partition/view.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"
#include "partition/custom.h"
#include "partition/defaults.h"

#define MAX_SYMBOL_TEXT 256

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the view of a graph");
}

// NULL, which a failed copy leaves, is noticed with bump.failed.
static ops_str text_of(const char *text) {
  return (ops_str){text, text ? strlen(text) : 0};
}

int32_t rt_views_init(rt_views *views, const rt_graph *root, ops_error *error) {
  return rt_views_init_room(views, root, 0, error);
}

int32_t rt_views_init_room(rt_views *views, const rt_graph *root, uint32_t room,
                           ops_error *error) {
  const uint64_t nodes = (uint64_t)root->node_limit + room;
  const uint64_t values = (uint64_t)root->value_limit + room;
  *views = (rt_views){.graph = root, .node_room = nodes, .value_room = values};
  views->nodes = rt_bump_new(&views->bump, nodes, sizeof *views->nodes);
  views->types = rt_bump_new(&views->bump, values, sizeof *views->types);
  views->constants = rt_bump_new(&views->bump, values, sizeof *views->constants);
  return views->bump.failed ? exhausted(error) : OPS_OK;
}

int rt_views_have_room(const rt_views *views) {
  return views->graph->node_limit <= views->node_room &&
         views->graph->value_limit <= views->value_room;
}

static void forget_values(rt_views *views, rt_value *const *values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!values[i]) continue;
    views->types[values[i]->id] = NULL;
    views->constants[values[i]->id] = NULL;
  }
}

void rt_views_forget(rt_views *views, const rt_node *node) {
  views->nodes[node->id] = NULL;
  forget_values(views, node->operands, node->operand_count);
  forget_values(views, node->outputs, node->output_count);
}

void rt_views_finish(rt_views *views) {
  for (uint64_t i = 0; i < views->owned_count; ++i) ops_value_release(views->owned[i]);
  free(views->owned);
  rt_bump_finish(&views->bump);
  *views = (rt_views){0};
}

// ---- Types ----------------------------------------------------------------------------------

int32_t rt_view_kind(const rt_type *type) {
  switch (type->kind) {
    case RT_TYPE_TENSOR:
      return type->elem_type == OPS_TYPE_STRING ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR;
    case RT_TYPE_SPARSE_TENSOR:
      return OPS_VALUE_SPARSE;
    case RT_TYPE_SEQUENCE:
      return OPS_VALUE_SEQUENCE;
    case RT_TYPE_OPTIONAL:
      return OPS_VALUE_OPTIONAL;
    case RT_TYPE_MAP:
      return OPS_VALUE_MAP;
    default:
      return 0;
  }
}

static int has_dims(const rt_type *type) {
  const int tensor = type->kind == RT_TYPE_TENSOR || type->kind == RT_TYPE_SPARSE_TENSOR;
  return tensor && type->rank >= 0;
}

static void fill_dims(rt_views *views, const rt_type *type, ops_type_info *info) {
  const uint64_t rank = (uint64_t)type->rank;
  int64_t *dims = rt_bump_new(&views->bump, rank, sizeof *dims);
  ops_str *symbols = rt_bump_new(&views->bump, rank, sizeof *symbols);
  if (!dims || !symbols) return;
  int symbolic = 0;
  for (uint64_t i = 0; i < rank; ++i) {
    const rt_dim dim = type->dims[i];
    dims[i] = rt_dim_is_const(dim) ? dim.value : -1;
    if (rt_dim_is_const(dim) || rt_dim_is_unknown(dim)) continue;
    char text[MAX_SYMBOL_TEXT];
    rt_dim_format(views->graph->symbols, dim, text, sizeof text);
    symbols[i] = text_of(rt_bump_text(&views->bump, text_of(text)));
    symbolic = 1;
  }
  info->dims = dims;
  info->symbols = symbolic ? symbols : NULL;
}

static const ops_type_info *make_type(rt_views *views, const rt_type *type) {
  ops_type_info *info = rt_bump_new(&views->bump, 1, sizeof *info);
  if (!info) return NULL;
  info->struct_size = sizeof *info;
  info->kind = rt_view_kind(type);
  info->type = type->elem_type;
  info->rank = -1;
  if (has_dims(type)) {
    info->rank = type->rank;
    fill_dims(views, type, info);
  }
  if (type->element) info->element = make_type(views, type->element);
  return info;
}

int32_t rt_views_type(rt_views *views, const rt_value *value, const ops_type_info **out_type,
                      ops_error *error) {
  const ops_type_info **slot = &views->types[value->id];
  if (!*slot) *slot = make_type(views, &value->type);
  *out_type = *slot;
  return views->bump.failed ? exhausted(error) : OPS_OK;
}

// ---- Constants ------------------------------------------------------------------------------

// 1 if every provider that may look takes contents wherever they lie.
static int may_be_unaligned(const rt_views *views) {
  for (uint32_t i = 0; i < views->device_count; ++i)
    if (!(views->devices[i]->info.flags & OPS_DEVICE_UNALIGNED_CONSTANTS)) return 0;
  return views->device_count > 0;
}

static ops_tensor tensor_of(rt_views *views, const rt_constant *constant, const void *data) {
  int64_t *strides = rt_bump_new(&views->bump, (uint64_t)constant->rank, sizeof *strides);
  if (strides) ops_strides_contiguous(constant->rank, constant->dims, strides);
  return (ops_tensor){.dims = constant->dims,
                      .strides = strides,
                      .memory = (void *)data,
                      .byte_size = constant->size,
                      .type = constant->elem_type,
                      .rank = constant->rank};
}

static int32_t own_value(rt_views *views, ops_value *value, ops_error *error) {
  if (views->owned_count == views->owned_capacity) {
    const uint64_t capacity = views->owned_capacity ? views->owned_capacity * 2 : 8;
    ops_value **grown = realloc(views->owned, capacity * sizeof *grown);
    if (!grown) {
      ops_value_release(value);
      return exhausted(error);
    }
    views->owned = grown;
    views->owned_capacity = capacity;
  }
  views->owned[views->owned_count++] = value;
  return OPS_OK;
}

static int32_t make_strings(rt_views *views, const rt_constant *constant, ops_value **out_value,
                            ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  ops_value *value = NULL;
  OPS_RETURN_IF_ERROR(ops_value_create(OPS_VALUE_STRINGS, &value, error));
  OPS_RETURN_IF_ERROR(own_value(views, value, error));
  OPS_RETURN_IF_ERROR(api->strings_resize(value, constant->rank, constant->dims, error));
  for (int64_t i = 0; i < constant->element_count; ++i)
    OPS_RETURN_IF_ERROR(api->string_set(value, (uint64_t)i, constant->strings[i], error));
  *out_value = value;
  return OPS_OK;
}

static int32_t aligned_tensor(rt_views *views, const rt_constant *constant, ops_tensor *out,
                              ops_error *error) {
  const void *data = NULL;
  OPS_RETURN_IF_ERROR(rt_constant_aligned(constant, &data, error));
  *out = tensor_of(views, constant, data);
  return OPS_OK;
}

static int32_t fill_sparse(rt_views *views, const rt_sparse *sparse, ops_constant *view,
                           ops_error *error) {
  static const int32_t formats[] = {[RT_SPARSE_COO] = OPS_CONSTANT_COO,
                                    [RT_SPARSE_CSR] = OPS_CONSTANT_CSR,
                                    [RT_SPARSE_BSR] = OPS_CONSTANT_BSR};
  view->format = formats[sparse->format];
  OPS_RETURN_IF_ERROR(aligned_tensor(views, sparse->values, &view->values, error));
  OPS_RETURN_IF_ERROR(aligned_tensor(views, sparse->indices, &view->indices, error));
  if (sparse->row_offsets)
    OPS_RETURN_IF_ERROR(aligned_tensor(views, sparse->row_offsets, &view->offsets, error));
  view->block_rows = sparse->block_rows;
  view->block_cols = sparse->block_columns;
  return OPS_OK;
}

// `aligned`: also large contents lie at addresses that suit their elements.
static int32_t make_constant(rt_views *views, const rt_constant *constant, int aligned,
                             const ops_constant **out_constant, ops_error *error) {
  ops_constant *view = rt_bump_new(&views->bump, 1, sizeof *view);
  if (!view) return exhausted(error);
  view->struct_size = sizeof *view;
  view->rank = constant->rank;
  view->dims = constant->dims;
  if (constant->sparse) {
    OPS_RETURN_IF_ERROR(fill_sparse(views, constant->sparse, view, error));
  } else if (constant->elem_type == OPS_TYPE_STRING) {
    view->dense.kind = OPS_ARG_VALUE;
    OPS_RETURN_IF_ERROR(make_strings(views, constant, &view->dense.value, error));
  } else {
    view->dense.kind = OPS_ARG_TENSOR;
    if (aligned)
      OPS_RETURN_IF_ERROR(aligned_tensor(views, constant, &view->dense.tensor, error));
    else
      view->dense.tensor = tensor_of(views, constant, constant->data);
  }
  *out_constant = view;
  return views->bump.failed ? exhausted(error) : OPS_OK;
}

int32_t rt_views_constant(rt_views *views, const rt_value *value,
                          const ops_constant **out_constant, ops_error *error) {
  const ops_constant **slot = &views->constants[value->id];
  const rt_constant *constant = rt_value_constant(value);
  if (constant && !*slot)
    OPS_RETURN_IF_ERROR(make_constant(views, constant, !may_be_unaligned(views), slot, error));
  *out_constant = *slot;
  return OPS_OK;
}

// ---- Attributes -----------------------------------------------------------------------------

static int32_t make_body(rt_views *views, const rt_graph *body, const ops_graph **out_graph,
                         ops_error *error);

static int32_t fill_constants(rt_views *views, const rt_attr *attr, ops_attribute *view,
                              ops_error *error) {
  const ops_constant **constants = rt_bump_new(&views->bump, attr->count, sizeof *constants);
  if (!constants) return exhausted(error);
  for (uint32_t i = 0; i < attr->count; ++i)
    OPS_RETURN_IF_ERROR(make_constant(views, attr->tensors[i], 1, &constants[i], error));
  view->constants = constants;
  return OPS_OK;
}

static int32_t fill_graphs(rt_views *views, const rt_attr *attr, ops_attribute *view,
                           ops_error *error) {
  const ops_graph **graphs = rt_bump_new(&views->bump, attr->count, sizeof *graphs);
  if (!graphs) return exhausted(error);
  for (uint32_t i = 0; i < attr->count; ++i)
    OPS_RETURN_IF_ERROR(make_body(views, attr->graphs[i], &graphs[i], error));
  view->graphs = graphs;
  return OPS_OK;
}

static int32_t fill_types(rt_views *views, const rt_attr *attr, ops_attribute *view,
                          ops_error *error) {
  const ops_type_info **types = rt_bump_new(&views->bump, attr->count, sizeof *types);
  if (!types) return exhausted(error);
  for (uint32_t i = 0; i < attr->count; ++i) types[i] = make_type(views, &attr->types[i]);
  view->types = types;
  return views->bump.failed ? exhausted(error) : OPS_OK;
}

static int32_t fill_attribute(rt_views *views, const rt_attr *attr, ops_attribute *view,
                              ops_error *error) {
  *view = (ops_attribute){.struct_size = sizeof *view,
                          .name = text_of(attr->name),
                          .kind = attr->kind,
                          .count = attr->count};
  switch (attr->kind) {
    case RT_ATTR_FLOAT:
    case RT_ATTR_FLOATS:
      view->floats = attr->floats;
      return OPS_OK;
    case RT_ATTR_INT:
    case RT_ATTR_INTS:
      view->ints = attr->ints;
      return OPS_OK;
    case RT_ATTR_STRING:
    case RT_ATTR_STRINGS:
      view->strings = attr->strings;
      return OPS_OK;
    case RT_ATTR_GRAPH:
    case RT_ATTR_GRAPHS:
      return fill_graphs(views, attr, view, error);
    case RT_ATTR_TYPE:
    case RT_ATTR_TYPES:
      return fill_types(views, attr, view, error);
    default:
      return fill_constants(views, attr, view, error);
  }
}

static int states(const rt_op *op, ops_str name) {
  for (uint32_t i = 0; i < op->attrs.count; ++i)
    if (ops_str_equal(name, op->attrs.items[i].name)) return 1;
  return 0;
}

// Defaults that a provider's schema gives; out_items NULL: counts only.
static uint64_t custom_defaults(const rt_views *views, const rt_op *op,
                                ops_attribute *out_items) {
  const ops_schema *schema = rt_custom_schema(views->devices, views->device_count, op);
  uint64_t count = 0;
  for (uint64_t i = 0; schema && i < schema->attribute_count; ++i) {
    const ops_attribute_def *def =
        OPS_AT(ops_attribute_def, schema->attributes, schema->attribute_stride, i);
    if (!def->default_value || states(op, def->name)) continue;
    if (out_items) out_items[count] = *def->default_value;
    count++;
  }
  return count;
}

// The node's attributes, then those that only the schema gives.
static int32_t make_attributes(rt_views *views, const rt_op *op,
                               const ops_attribute **out_items, uint64_t *out_count,
                               ops_error *error) {
  const uint64_t room =
      op->attrs.count + rt_defaults_count(op) + custom_defaults(views, op, NULL);
  ops_attribute *items = rt_bump_new(&views->bump, room, sizeof *items);
  if (!items) return exhausted(error);
  for (uint32_t i = 0; i < op->attrs.count; ++i)
    OPS_RETURN_IF_ERROR(fill_attribute(views, &op->attrs.items[i], &items[i], error));
  *out_items = items;
  *out_count = op->attrs.count + rt_defaults_fill(op, items + op->attrs.count);
  *out_count += custom_defaults(views, op, items + *out_count);
  return OPS_OK;
}

// ---- Nodes and graphs -----------------------------------------------------------------------

static int32_t fill_operand(rt_views *views, const rt_value *value, ops_operand *view,
                            ops_error *error) {
  *view = (ops_operand){.struct_size = sizeof *view, .value = -1};
  if (!value) return OPS_OK;
  view->value = value->id;
  view->name = text_of(value->name);
  OPS_RETURN_IF_ERROR(rt_views_type(views, value, &view->type, error));
  return rt_views_constant(views, value, &view->constant, error);
}

static int32_t make_operands(rt_views *views, rt_value *const *values, uint64_t count,
                             const ops_operand **out_operands, ops_error *error) {
  ops_operand *operands = rt_bump_new(&views->bump, count, sizeof *operands);
  if (!operands) return exhausted(error);
  for (uint64_t i = 0; i < count; ++i)
    OPS_RETURN_IF_ERROR(fill_operand(views, values[i], &operands[i], error));
  *out_operands = operands;
  return OPS_OK;
}

static int32_t make_posts(rt_views *views, const rt_node *node, ops_node *view,
                          ops_error *error) {
  ops_post_op *posts = rt_bump_new(&views->bump, node->post_count, sizeof *posts);
  if (!posts) return exhausted(error);
  for (uint32_t i = 0; i < node->post_count; ++i) {
    const rt_post *post = &node->posts[i];
    int32_t *inputs = rt_bump_new(&views->bump, post->input_count, sizeof *inputs);
    if (!inputs) return exhausted(error);
    uint32_t operand = post->first_operand;
    for (uint32_t k = 0; k < post->input_count; ++k)
      inputs[k] = k == post->chained ? OPS_CHAIN_VALUE : (int32_t)operand++;
    posts[i] = (ops_post_op){.struct_size = sizeof posts[i],
                             .domain = text_of(post->op.domain),
                             .op = text_of(post->op.name),
                             .opset = post->op.opset,
                             .input_count = (int32_t)post->input_count,
                             .inputs = inputs,
                             .attribute_stride = sizeof(ops_attribute)};
    OPS_RETURN_IF_ERROR(make_attributes(views, &post->op, &posts[i].attributes,
                                        &posts[i].attribute_count, error));
  }
  view->post_ops = posts;
  view->post_op_count = node->post_count;
  view->post_op_stride = sizeof *posts;
  return OPS_OK;
}

static int32_t make_origins(rt_views *views, const rt_node *node, ops_node *view,
                            ops_error *error) {
  ops_str *origins = rt_bump_new(&views->bump, node->origin_count, sizeof *origins);
  if (!origins) return exhausted(error);
  for (uint32_t i = 0; i < node->origin_count; ++i) origins[i] = text_of(node->origins[i]);
  view->origins = origins;
  view->origin_count = node->origin_count;
  return OPS_OK;
}

_Static_assert(RT_NODE_REQUIRE_FP32_ACCUMULATION == OPS_NODE_REQUIRE_FP32_ACCUMULATION,
               "flags of nodes go to views as they are");

static int32_t make_node(rt_views *views, const rt_node *node, ops_node *view,
                         ops_error *error) {
  *view = (ops_node){.struct_size = sizeof *view,
                     .name = text_of(node->name),
                     .domain = text_of(node->op.domain),
                     .op = text_of(node->op.name),
                     .opset = node->op.opset,
                     .flags = node->flags,
                     .attribute_stride = sizeof(ops_attribute),
                     .input_count = (uint64_t)node->input_count + node->post_operand_count,
                     .input_stride = sizeof(ops_operand),
                     .chain_operand_count = node->post_operand_count,
                     .output_count = node->output_count,
                     .output_stride = sizeof(ops_operand)};
  OPS_RETURN_IF_ERROR(
      make_attributes(views, &node->op, &view->attributes, &view->attribute_count, error));
  OPS_RETURN_IF_ERROR(
      make_operands(views, node->operands, view->input_count, &view->inputs, error));
  OPS_RETURN_IF_ERROR(
      make_operands(views, node->outputs, node->output_count, &view->outputs, error));
  OPS_RETURN_IF_ERROR(make_posts(views, node, view, error));
  return make_origins(views, node, view, error);
}

int32_t rt_views_node(rt_views *views, const rt_node *node, const ops_node **out_node,
                      ops_error *error) {
  *out_node = views->nodes[node->id];
  if (*out_node) return OPS_OK;
  ops_node *view = rt_bump_new(&views->bump, 1, sizeof *view);
  if (!view) return exhausted(error);
  OPS_RETURN_IF_ERROR(make_node(views, node, view, error));
  *out_node = views->nodes[node->id] = view;
  return views->bump.failed ? exhausted(error) : OPS_OK;
}

int32_t rt_views_group(rt_views *views, const char *name, rt_node *const *nodes,
                       uint64_t node_count, rt_value *const *inputs, uint64_t input_count,
                       rt_value *const *outputs, uint64_t output_count,
                       const ops_graph **out_graph, ops_error *error) {
  ops_graph *view = rt_bump_new(&views->bump, 1, sizeof *view);
  ops_node *members = rt_bump_new(&views->bump, node_count, sizeof *members);
  if (!view || !members) return exhausted(error);
  for (uint64_t i = 0; i < node_count; ++i) {
    const ops_node *member = NULL;
    OPS_RETURN_IF_ERROR(rt_views_node(views, nodes[i], &member, error));
    members[i] = *member;
  }
  *view = (ops_graph){.struct_size = sizeof *view,
                      .name = text_of(rt_bump_text(&views->bump, text_of(name))),
                      .nodes = members,
                      .node_count = node_count,
                      .node_stride = sizeof *members,
                      .input_count = input_count,
                      .input_stride = sizeof(ops_operand),
                      .output_count = output_count,
                      .output_stride = sizeof(ops_operand)};
  OPS_RETURN_IF_ERROR(make_operands(views, inputs, input_count, &view->inputs, error));
  OPS_RETURN_IF_ERROR(make_operands(views, outputs, output_count, &view->outputs, error));
  *out_graph = view;
  return views->bump.failed ? exhausted(error) : OPS_OK;
}

static int32_t make_body(rt_views *views, const rt_graph *body, const ops_graph **out_graph,
                         ops_error *error) {
  const uint64_t input_count = (uint64_t)body->input_count + body->capture_count;
  rt_node **nodes = rt_bump_new(&views->bump, body->node_count, sizeof *nodes);
  rt_value **inputs = rt_bump_new(&views->bump, input_count, sizeof *inputs);
  if (!nodes || !inputs) return exhausted(error);
  uint64_t count = 0;
  for (rt_node *node = body->first; node; node = node->next) nodes[count++] = node;
  for (uint32_t i = 0; i < body->input_count; ++i) inputs[i] = body->inputs[i];
  for (uint32_t i = 0; i < body->capture_count; ++i)
    inputs[body->input_count + i] = body->captures[i];
  ops_graph *view = NULL;
  OPS_RETURN_IF_ERROR(rt_views_group(views, body->name, nodes, count, inputs, input_count,
                                     body->outputs, body->output_count,
                                     (const ops_graph **)&view, error));
  view->capture_count = body->capture_count;
  *out_graph = view;
  return OPS_OK;
}

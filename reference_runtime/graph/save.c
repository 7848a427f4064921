// SPDX-License-Identifier: Apache-2.0
//
// The graph as a model. What the two say differently: a capture is the outer value's name; an
// output of the graph that is no node's own, or is one twice, goes through an Identity; a chain
// of post-operations is a model-local function.
#include "graph/save.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/store.h"
#include "model/encode.h"
#include "schema/schema.h"

#define LEAST_IR 4           // initializers need not be inputs
#define LEAST_FUNCTION_IR 8  // model-local functions

struct rt_saved_model {
  rt_model model;
  rt_store_arena arena;
  rt_names taken;
  const char **names;  // by value id
  rt_model_opset *opsets;
  uint32_t opset_count, opset_capacity;
  rt_model_function *functions;
  uint32_t function_count, function_capacity;
  ops_error *error;
};

typedef rt_saved_model saver;

static int32_t save_graph(saver *s, const rt_graph *graph, rt_model_graph *out);

static int32_t no_memory(const saver *s) {
  return rt_graph_no_memory(s->error);
}

static ops_str str_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

// --- Names -----------------------------------------------------------------------------------

// A name that nothing in the model has: `wanted`, or with a number behind it.
static const char *unique_name(saver *s, const char *wanted) {
  const char *name = wanted;
  for (uint32_t i = 1; rt_names_find(&s->taken, name); ++i) {
    const uint64_t room = strlen(wanted) + 12;
    char *text = rt_store_alloc(&s->arena, room, 1);
    if (!text) return NULL;
    snprintf(text, room, "%s_%u", wanted, i);
    name = text;
  }
  return rt_names_put(&s->taken, name, s) ? name : NULL;
}

static int32_t name_value(saver *s, const rt_value *value, const char *wanted) {
  if (s->names[value->id]) return OPS_OK;
  s->names[value->id] = unique_name(s, wanted);
  return s->names[value->id] ? OPS_OK : no_memory(s);
}

static const char *name_of(const saver *s, const rt_value *value) {
  while (value->kind == RT_VALUE_CAPTURE) value = value->outer;
  return s->names[value->id];
}

// The output that gives a value of a node its name, or UINT32_MAX.
static uint32_t own_output(const rt_graph *graph, const rt_value *value) {
  for (uint32_t i = 0; i < graph->output_count; ++i)
    if (graph->outputs[i] == value) return value->kind == RT_VALUE_OUTPUT ? i : UINT32_MAX;
  return UINT32_MAX;
}

// The interface of the main graph comes first, for its names must stay.
static int32_t name_interface(saver *s, const rt_graph *graph) {
  for (uint32_t i = 0; i < graph->input_count; ++i)
    OPS_RETURN_IF_ERROR(name_value(s, graph->inputs[i], graph->inputs[i]->name));
  for (uint32_t i = 0; i < graph->output_count; ++i)
    if (own_output(graph, graph->outputs[i]) == i)
      OPS_RETURN_IF_ERROR(name_value(s, graph->outputs[i], graph->output_names[i]));
  return OPS_OK;
}

static int32_t name_values(saver *s, const rt_graph *graph) {
  for (const rt_value *value = graph->first_value; value; value = value->next)
    if (value->kind != RT_VALUE_CAPTURE) OPS_RETURN_IF_ERROR(name_value(s, value, value->name));
  for (const rt_node *node = graph->first; node; node = node->next)
    for (uint32_t i = 0; i < rt_node_body_count(node); ++i)
      OPS_RETURN_IF_ERROR(name_values(s, rt_node_body(node, i)));
  return OPS_OK;
}

// --- Opsets ----------------------------------------------------------------------------------

static int32_t since_of(const rt_op *op, int64_t opset) {
  const rt_schema *schema = rt_schema_find(str_of(op->domain), str_of(op->name), opset);
  return schema ? schema->since : 0;
}

static int32_t import_op(saver *s, const rt_node *node, const rt_op *op) {
  const ops_str domain = str_of(op->domain);
  const int64_t opset = op->opset > 0 ? op->opset : 1;
  for (uint32_t i = 0; i < s->opset_count; ++i) {
    const rt_model_opset *known = &s->opsets[i];
    if (known->domain.size != domain.size ||
        memcmp(known->domain.data, domain.data, domain.size))
      continue;
    if (known->version == opset || since_of(op, known->version) == since_of(op, opset))
      return OPS_OK;
    return ops_error_set(s->error, OPS_ERROR_UNSUPPORTED,
                         "node '%s' is %s of opset %" PRId64
                         ", the model imports opset %" PRId64
                         " where it differs; one model cannot say both",
                         node->name, op->name, opset, known->version);
  }
  rt_model_opset *opsets =
      rt_store_grow(&s->arena, s->opsets, s->opset_count, &s->opset_capacity, sizeof *opsets);
  if (!opsets) return no_memory(s);
  s->opsets = opsets;
  opsets[s->opset_count++] = (rt_model_opset){domain, opset};
  return OPS_OK;
}

// --- Types -----------------------------------------------------------------------------------

static ops_str symbol_of(const rt_graph *graph, rt_dim dim) {
  uint32_t index;
  if (!rt_dim_as_symbol(graph->symbols, dim, &index) ||
      rt_symbols_is_fresh(graph->symbols, index))
    return (ops_str){NULL, 0};
  return str_of(rt_symbols_name(graph->symbols, index));
}

static int32_t save_type(saver *s, const rt_graph *graph, const rt_type *type,
                         rt_model_type *out) {
  *out = (rt_model_type){.kind = type->kind, .elem_type = type->elem_type, .rank = -1};
  const int tensor = type->kind == RT_TYPE_TENSOR || type->kind == RT_TYPE_SPARSE_TENSOR;
  if (tensor && type->rank >= 0) {
    rt_model_dim *dims = rt_store_alloc(&s->arena, (uint64_t)type->rank, sizeof *dims);
    if (!dims) return no_memory(s);
    for (int32_t i = 0; i < type->rank; ++i) {
      const int number = rt_dim_is_const(type->dims[i]);
      dims[i] = (rt_model_dim){.value = number ? type->dims[i].value : -1};
      if (!number) dims[i].param = symbol_of(graph, type->dims[i]);
    }
    out->rank = type->rank;
    out->dims = dims;
  }
  if (!type->element) return OPS_OK;
  rt_model_type *element = rt_store_alloc(&s->arena, 1, sizeof *element);
  if (!element) return no_memory(s);
  out->element = element;
  return save_type(s, graph, type->element, element);
}

static int32_t save_info(saver *s, const rt_graph *graph, const char *name, const rt_type *type,
                         rt_model_value_info *out) {
  out->name = str_of(name);
  return save_type(s, graph, type, &out->type);
}

// --- Constants -------------------------------------------------------------------------------

static void save_tensor(const char *name, const rt_constant *constant, rt_model_tensor *out) {
  *out = (rt_model_tensor){.name = str_of(name),
                           .elem_type = constant->elem_type,
                           .rank = constant->rank,
                           .dims = constant->dims,
                           .element_count = constant->element_count,
                           .data = constant->data,
                           .size = constant->size,
                           .strings = constant->strings};
}

static int32_t save_sparse(saver *s, const char *name, const rt_constant *constant,
                           rt_model_sparse_tensor *out) {
  const rt_sparse *sparse = constant->sparse;
  if (sparse->format != RT_SPARSE_COO)
    return ops_error_set(s->error, OPS_ERROR_UNSUPPORTED,
                         "constant '%s' is sparse in a form that ONNX does not have", name);
  save_tensor(name, sparse->values, &out->values);
  save_tensor("", sparse->indices, &out->indices);
  out->rank = constant->rank;
  out->dims = constant->dims;
  return OPS_OK;
}

static int32_t save_constants(saver *s, const rt_graph *graph, rt_model_graph *out) {
  rt_model_tensor *dense = rt_store_alloc(&s->arena, graph->value_count, sizeof *dense);
  rt_model_sparse_tensor *sparse =
      rt_store_alloc(&s->arena, graph->value_count, sizeof *sparse);
  if (!dense || !sparse) return no_memory(s);
  for (const rt_value *value = graph->first_value; value; value = value->next) {
    if (!value->constant) continue;
    if (value->constant->sparse)
      OPS_RETURN_IF_ERROR(save_sparse(s, name_of(s, value), value->constant,
                                      &sparse[out->sparse_initializer_count++]));
    else
      save_tensor(name_of(s, value), value->constant, &dense[out->initializer_count++]);
  }
  out->initializers = dense;
  out->sparse_initializers = sparse;
  return OPS_OK;
}

// --- Attributes ------------------------------------------------------------------------------

static int32_t save_tensors(saver *s, const rt_attr *attr, rt_model_attribute *out) {
  const int is_sparse =
      attr->kind == RT_ATTR_SPARSE_TENSOR || attr->kind == RT_ATTR_SPARSE_TENSORS;
  rt_model_tensor *dense = rt_store_alloc(&s->arena, attr->count, sizeof *dense);
  rt_model_sparse_tensor *sparse = rt_store_alloc(&s->arena, attr->count, sizeof *sparse);
  if (!dense || !sparse) return no_memory(s);
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (is_sparse)
      OPS_RETURN_IF_ERROR(save_sparse(s, "", attr->tensors[i], &sparse[i]));
    else
      save_tensor("", attr->tensors[i], &dense[i]);
  }
  if (is_sparse)
    out->sparse_tensors = sparse;
  else
    out->tensors = dense;
  return OPS_OK;
}

static int32_t save_bodies(saver *s, const rt_attr *attr, rt_model_attribute *out) {
  rt_model_graph *bodies = rt_store_alloc(&s->arena, attr->count, sizeof *bodies);
  if (!bodies) return no_memory(s);
  out->graphs = bodies;
  for (uint32_t i = 0; i < attr->count; ++i)
    OPS_RETURN_IF_ERROR(save_graph(s, attr->graphs[i], &bodies[i]));
  return OPS_OK;
}

static int32_t save_types(saver *s, const rt_graph *graph, const rt_attr *attr,
                          rt_model_attribute *out) {
  rt_model_type *types = rt_store_alloc(&s->arena, attr->count, sizeof *types);
  if (!types) return no_memory(s);
  out->types = types;
  for (uint32_t i = 0; i < attr->count; ++i)
    OPS_RETURN_IF_ERROR(save_type(s, graph, &attr->types[i], &types[i]));
  return OPS_OK;
}

static int32_t save_attr(saver *s, const rt_graph *graph, const rt_attr *attr,
                         rt_model_attribute *out) {
  *out = (rt_model_attribute){
      .name = str_of(attr->name), .kind = attr->kind, .count = attr->count};
  switch (attr->kind) {
    case RT_ATTR_FLOAT:
    case RT_ATTR_FLOATS:
      out->floats = attr->floats;
      return OPS_OK;
    case RT_ATTR_INT:
    case RT_ATTR_INTS:
      out->ints = attr->ints;
      return OPS_OK;
    case RT_ATTR_STRING:
    case RT_ATTR_STRINGS:
      out->strings = attr->strings;
      return OPS_OK;
    case RT_ATTR_GRAPH:
    case RT_ATTR_GRAPHS:
      return save_bodies(s, attr, out);
    case RT_ATTR_TYPE:
    case RT_ATTR_TYPES:
      return save_types(s, graph, attr, out);
    default:
      return save_tensors(s, attr, out);
  }
}

static int32_t save_op(saver *s, const rt_node *node, const rt_op *op, rt_model_node *out) {
  rt_model_attribute *attrs = rt_store_alloc(&s->arena, op->attrs.count, sizeof *attrs);
  if (!attrs) return no_memory(s);
  OPS_RETURN_IF_ERROR(import_op(s, node, op));
  *out = (rt_model_node){.op_type = str_of(op->name),
                         .domain = str_of(op->domain),
                         .attributes = attrs,
                         .attribute_count = op->attrs.count};
  for (uint32_t i = 0; i < op->attrs.count; ++i)
    OPS_RETURN_IF_ERROR(save_attr(s, node->graph, &op->attrs.items[i], &attrs[i]));
  return OPS_OK;
}

// --- Nodes -----------------------------------------------------------------------------------

static int32_t list_names(saver *s, rt_value *const *values, uint32_t count,
                          const ops_str **out_names) {
  ops_str *names = rt_store_alloc(&s->arena, count, sizeof *names);
  if (!names) return no_memory(s);
  for (uint32_t i = 0; i < count; ++i)
    names[i] = values[i] ? str_of(name_of(s, values[i])) : (ops_str){"", 0};
  *out_names = names;
  return OPS_OK;
}

// Trailing omitted arguments are left away.
static uint32_t trimmed(rt_value *const *values, uint32_t count) {
  while (count > 0 && !values[count - 1]) --count;
  return count;
}

static const char *number_name(saver *s, const char *head, uint32_t number) {
  char *text = rt_store_alloc(&s->arena, 24, 1);
  if (text) snprintf(text, 24, "%s%u", head, number);
  return text;
}

// `count` formal names "head0", "head1" …; an omitted value is an omitted name.
static int32_t formal_names(saver *s, const char *head, rt_value *const *values, uint32_t count,
                            ops_str **out_names) {
  ops_str *names = rt_store_alloc(&s->arena, count, sizeof *names);
  if (!names) return no_memory(s);
  for (uint32_t i = 0; i < count; ++i) {
    const char *text = values[i] ? number_name(s, head, i) : "";
    if (!text) return no_memory(s);
    names[i] = str_of(text);
  }
  *out_names = names;
  return OPS_OK;
}

// The nodes of a chain: the operator itself, then each item. The result of item i is "c<i>".
static int32_t chain_nodes(saver *s, const rt_node *node, const ops_str *formals,
                           ops_str *outputs, rt_model_node *nodes) {
  OPS_RETURN_IF_ERROR(save_op(s, node, &node->op, &nodes[0]));
  nodes[0].inputs = formals;
  nodes[0].input_count = trimmed(node->operands, node->input_count);
  for (uint32_t i = 0; i < node->post_count; ++i) {
    const rt_post *post = &node->posts[i];
    const char *before = number_name(s, "c", i);
    ops_str *inputs = rt_store_alloc(&s->arena, post->input_count, sizeof *inputs);
    ops_str *results = rt_store_alloc(&s->arena, node->output_count, sizeof *results);
    if (!before || !inputs || !results) return no_memory(s);
    OPS_RETURN_IF_ERROR(save_op(s, node, &post->op, &nodes[i + 1]));
    for (uint32_t k = 0, at = post->first_operand; k < post->input_count; ++k)
      inputs[k] = k == post->chained ? str_of(before) : formals[at++];
    memcpy(results, outputs, node->output_count * sizeof *results);
    results[0] = str_of(before);
    nodes[i].outputs = results;
    nodes[i].output_count = i == 0 ? node->output_count : 1;
    nodes[i + 1].inputs = inputs;
    nodes[i + 1].input_count = post->input_count;
  }
  nodes[node->post_count].outputs = outputs;
  nodes[node->post_count].output_count = 1;
  return OPS_OK;
}

static int32_t save_chain(saver *s, const rt_node *node, rt_model_node *out) {
  const uint32_t count = node->input_count + node->post_operand_count;
  ops_str *formals, *outputs;
  OPS_RETURN_IF_ERROR(formal_names(s, "x", node->operands, count, &formals));
  OPS_RETURN_IF_ERROR(formal_names(s, "y", node->outputs, node->output_count, &outputs));
  rt_model_node *nodes =
      rt_store_alloc(&s->arena, node->post_count + UINT64_C(1), sizeof *nodes);
  rt_model_function *functions = rt_store_grow(&s->arena, s->functions, s->function_count,
                                               &s->function_capacity, sizeof *functions);
  const char *name = number_name(s, "chain", s->function_count);
  if (!nodes || !functions || !name) return no_memory(s);
  s->functions = functions;
  OPS_RETURN_IF_ERROR(chain_nodes(s, node, formals, outputs, nodes));
  // A function's inputs are all named.
  ops_str *inputs = rt_store_alloc(&s->arena, count, sizeof *inputs);
  if (!inputs) return no_memory(s);
  for (uint32_t i = 0; i < count; ++i)
    inputs[i] = formals[i].size ? formals[i] : str_of(number_name(s, "x", i));
  functions[s->function_count++] =
      (rt_model_function){.name = str_of(name),
                          .domain = OPS_STR(RT_SAVE_FUNCTION_DOMAIN),
                          .inputs = inputs,
                          .input_count = count,
                          .outputs = outputs,
                          .output_count = trimmed(node->outputs, node->output_count),
                          .nodes = nodes,
                          .node_count = node->post_count + (size_t)1};
  const rt_op call = {.name = name, .domain = RT_SAVE_FUNCTION_DOMAIN, .opset = 1};
  return save_op(s, node, &call, out);
}

static int32_t save_node(saver *s, const rt_node *node, rt_model_node *out) {
  OPS_RETURN_IF_ERROR(node->post_count ? save_chain(s, node, out)
                                       : save_op(s, node, &node->op, out));
  const uint32_t count = node->input_count + node->post_operand_count;
  out->name = str_of(node->name);
  out->input_count = trimmed(node->operands, count);
  out->output_count = trimmed(node->outputs, node->output_count);
  OPS_RETURN_IF_ERROR(list_names(s, node->operands, count, &out->inputs));
  return list_names(s, node->outputs, node->output_count, &out->outputs);
}

// The opset of Identity, where nothing else needs ONNX's own domain.
#define IDENTITY_OPSET 13

static int32_t import_standard(saver *s) {
  const rt_op identity = {.name = "Identity", .domain = "", .opset = IDENTITY_OPSET};
  for (uint32_t i = 0; i < s->opset_count; ++i)
    if (s->opsets[i].domain.size == 0) return OPS_OK;
  return import_op(s, NULL, &identity);
}

static int32_t save_identity(saver *s, const rt_value *value, ops_str output,
                             rt_model_node *out) {
  ops_str *names = rt_store_alloc(&s->arena, 2, sizeof *names);
  if (!names) return no_memory(s);
  OPS_RETURN_IF_ERROR(import_standard(s));
  names[0] = str_of(name_of(s, value));
  names[1] = output;
  *out = (rt_model_node){.op_type = OPS_STR("Identity"),
                         .domain = {"", 0},
                         .inputs = &names[0],
                         .input_count = 1,
                         .outputs = &names[1],
                         .output_count = 1};
  return OPS_OK;
}

// --- Graphs ----------------------------------------------------------------------------------

// What the model declares, unless inference knows the rank and the declaration does not.
static const rt_type *best_type(const rt_type *declared, const rt_type *known) {
  if (declared->kind == RT_TYPE_UNKNOWN) return known;
  const int vague = declared->kind == RT_TYPE_TENSOR && declared->rank < 0;
  return vague && known->kind == RT_TYPE_TENSOR && known->rank >= 0 ? known : declared;
}

static int32_t save_outputs(saver *s, const rt_graph *graph, rt_model_node *nodes,
                            rt_model_graph *out) {
  rt_model_value_info *infos = rt_store_alloc(&s->arena, graph->output_count, sizeof *infos);
  if (!infos) return no_memory(s);
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_value *value = graph->outputs[i];
    const int own = own_output(graph, value) == i;
    const char *name = own             ? name_of(s, value)
                       : graph->parent ? unique_name(s, graph->output_names[i])
                                       : graph->output_names[i];
    if (!name) return no_memory(s);
    const rt_type *type = best_type(&graph->output_types[i], &value->type);
    OPS_RETURN_IF_ERROR(save_info(s, graph, name, type, &infos[i]));
    if (!own)
      OPS_RETURN_IF_ERROR(save_identity(s, value, infos[i].name, &nodes[out->node_count++]));
  }
  out->outputs = infos;
  out->output_count = graph->output_count;
  return OPS_OK;
}

static int32_t save_inputs(saver *s, const rt_graph *graph, rt_model_graph *out) {
  rt_model_value_info *infos = rt_store_alloc(&s->arena, graph->input_count, sizeof *infos);
  if (!infos) return no_memory(s);
  for (uint32_t i = 0; i < graph->input_count; ++i) {
    const rt_value *value = graph->inputs[i];
    const rt_type *type = best_type(&value->declared, &value->type);
    OPS_RETURN_IF_ERROR(save_info(s, graph, name_of(s, value), type, &infos[i]));
  }
  out->inputs = infos;
  out->input_count = graph->input_count;
  return OPS_OK;
}

// What the model said of values in between; of use where an operator has no inference.
static int32_t save_declared(saver *s, const rt_graph *graph, rt_model_graph *out) {
  rt_model_value_info *infos = rt_store_alloc(&s->arena, graph->value_count, sizeof *infos);
  if (!infos) return no_memory(s);
  for (const rt_value *value = graph->first_value; value; value = value->next) {
    if (value->kind != RT_VALUE_OUTPUT || !value->declared.kind || value->output_count)
      continue;
    OPS_RETURN_IF_ERROR(save_info(s, graph, name_of(s, value), &value->declared,
                                  &infos[out->value_info_count++]));
  }
  out->value_infos = infos;
  return OPS_OK;
}

static int32_t save_graph(saver *s, const rt_graph *graph, rt_model_graph *out) {
  *out = (rt_model_graph){.name = str_of(graph->name && *graph->name ? graph->name : "graph")};
  const uint64_t room = (uint64_t)graph->node_count + graph->output_count;
  rt_model_node *nodes = rt_store_alloc(&s->arena, room, sizeof *nodes);
  if (!nodes) return no_memory(s);
  out->nodes = nodes;
  OPS_RETURN_IF_ERROR(save_inputs(s, graph, out));
  OPS_RETURN_IF_ERROR(save_constants(s, graph, out));
  OPS_RETURN_IF_ERROR(save_declared(s, graph, out));
  for (const rt_node *node = graph->first; node; node = node->next)
    OPS_RETURN_IF_ERROR(save_node(s, node, &nodes[out->node_count++]));
  return save_outputs(s, graph, nodes, out);
}

// --- The model -------------------------------------------------------------------------------

static int32_t start_opsets(saver *s, const rt_model *source) {
  for (size_t i = 0; i < source->opset_count; ++i) {
    rt_model_opset *opsets =
        rt_store_grow(&s->arena, s->opsets, s->opset_count, &s->opset_capacity, sizeof *opsets);
    if (!opsets) return no_memory(s);
    s->opsets = opsets;
    opsets[s->opset_count++] = source->opsets[i];
  }
  return OPS_OK;
}

// The names that outputs of the main graph need but no value has.
static int32_t reserve_outputs(saver *s, const rt_graph *graph) {
  for (uint32_t i = 0; i < graph->output_count; ++i)
    if (!rt_names_put(&s->taken, graph->output_names[i], s)) return no_memory(s);
  return OPS_OK;
}

static int32_t save_model(saver *s, const rt_graph *graph, const rt_model *source) {
  s->names = rt_store_alloc(&s->arena, graph->root->value_limit, sizeof *s->names);
  if (!s->names) return no_memory(s);
  OPS_RETURN_IF_ERROR(start_opsets(s, source));
  OPS_RETURN_IF_ERROR(name_interface(s, graph));
  OPS_RETURN_IF_ERROR(reserve_outputs(s, graph));
  OPS_RETURN_IF_ERROR(name_values(s, graph));
  rt_model *model = &s->model;
  *model =
      (rt_model){.ir_version = source->ir_version < LEAST_IR ? LEAST_IR : source->ir_version,
                 .producer_name = source->producer_name,
                 .producer_version = source->producer_version,
                 .domain = source->domain,
                 .model_version = source->model_version,
                 .metadata = source->metadata,
                 .metadata_count = source->metadata_count};
  OPS_RETURN_IF_ERROR(save_graph(s, graph, &model->graph));
  for (uint32_t i = 0; i < s->function_count; ++i) {
    s->functions[i].opsets = s->opsets;
    s->functions[i].opset_count = s->opset_count;
  }
  if (s->function_count && model->ir_version < LEAST_FUNCTION_IR)
    model->ir_version = LEAST_FUNCTION_IR;
  model->functions = s->functions;
  model->function_count = s->function_count;
  model->opsets = s->opsets;
  model->opset_count = s->opset_count;
  return OPS_OK;
}

int32_t rt_graph_to_model(const rt_graph *graph, const rt_model *source,
                          rt_saved_model **out_saved, ops_error *error) {
  *out_saved = NULL;
  saver *s = calloc(1, sizeof *s);
  if (!s) return rt_graph_no_memory(error);
  s->error = error;
  const int32_t status = save_model(s, graph, source);
  s->error = NULL;
  if (status == OPS_OK)
    *out_saved = s;
  else
    rt_saved_model_destroy(s);
  return status;
}

const rt_model *rt_saved_model_get(const rt_saved_model *saved) {
  return &saved->model;
}

void rt_saved_model_destroy(rt_saved_model *saved) {
  if (!saved) return;
  rt_names_finish(&saved->taken);
  rt_store_finish(&saved->arena);
  free(saved);
}

int32_t rt_graph_save(const rt_graph *graph, const rt_model *source, const char *path,
                      ops_error *error) {
  rt_saved_model *saved;
  OPS_RETURN_IF_ERROR(rt_graph_to_model(graph, source, &saved, error));
  const int32_t status = rt_model_write(path, &saved->model, error);
  rt_saved_model_destroy(saved);
  return status;
}

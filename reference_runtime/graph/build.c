// SPDX-License-Identifier: Apache-2.0
//
// From the decoded model to the graph.
//
// Names are resolved in scopes. A scope belongs to one graph; a body's scope looks on in the
// scope around it, a function's does not. A name found in the graph around a body is brought in
// by a capture at every level between. Calls of
// functions are call.c's.
#include "graph/build.h"

#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "graph/builder.h"

const rt_value rt_build_omitted;

static int32_t build_body(rt_builder *b, rt_scope *s, const rt_model_graph *source,
                          rt_graph *parent, uint32_t depth, rt_graph **out_body);

void rt_builder_init(rt_builder *b, const rt_graph_options *options, int64_t ir_version,
                     ops_error *error) {
  *b = (rt_builder){.ir_version = ir_version, .error = error};
  if (options) b->limits = *options;
  if (b->limits.max_nodes == 0) b->limits.max_nodes = RT_GRAPH_DEFAULT_MAX_NODES;
  if (b->limits.max_depth == 0) b->limits.max_depth = RT_GRAPH_DEFAULT_MAX_DEPTH;
  if (b->limits.max_inlined == 0) b->limits.max_inlined = RT_GRAPH_DEFAULT_MAX_INLINED;
}

void rt_builder_finish(rt_builder *b) {
  rt_names_finish(&b->functions);
  rt_store_finish(&b->scratch);
}

int32_t rt_build_no_memory(rt_builder *b) {
  return rt_graph_no_memory(b->error);
}

#define INVALID(cause, ...) \
  ops_error_set_cause(b->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_##cause, __VA_ARGS__)

static int str_equal(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

const char *rt_build_text(rt_builder *b, ops_str string) {
  return rt_store_string(&b->scratch, string.data, string.size);
}

// How messages call a node: its name, or its operator and first output.
const char *rt_build_label(rt_builder *b, const rt_scope *s, const rt_model_node *node) {
  const ops_str name = node->name.size || !node->output_count ? node->name : node->outputs[0];
  const char *prefix = s->frame ? s->frame->prefix : "";
  const uint64_t room = strlen(prefix) + name.size + node->op_type.size + 16;
  char *label = rt_store_alloc(&b->scratch, room, 1);
  if (!label) return "?";
  snprintf(label, room, "%s%s%.*s' (%.*s)", prefix, *prefix ? "/" : "", OPS_STR_FMT(name),
           OPS_STR_FMT(node->op_type));
  return label;
}

// --- Types and constants ---------------------------------------------------------------------

// Converts into scratch memory.
static int32_t convert_type(rt_builder *b, rt_graph *graph, const rt_model_type *from,
                            rt_type *out_type) {
  *out_type = (rt_type){from->kind, from->elem_type, from->rank, NULL, NULL};
  if (from->kind == RT_MODEL_TYPE_NONE) *out_type = (rt_type){0};
  if (from->rank > OPS_MAX_RANK) {
    return INVALID(WRONG_RANK, "a value is declared with rank %d, expected at most %d",
                   from->rank, OPS_MAX_RANK);
  }
  if (from->rank > 0) {
    rt_dim *dims = rt_store_alloc(&b->scratch, (uint64_t)from->rank, sizeof *dims);
    if (!dims) return rt_build_no_memory(b);
    for (int32_t i = 0; i < from->rank; ++i) {
      const rt_model_dim *dim = &from->dims[i];
      // Exporters write "?" for every dimension they do not know.
      const int is_name = dim->param.size > 0 && !str_equal(dim->param, (ops_str)OPS_STR("?"));
      const char *param = is_name ? rt_build_text(b, dim->param) : NULL;
      if (is_name && !param) return rt_build_no_memory(b);
      dims[i] = dim->value >= 0 ? rt_dim_const(dim->value)
                : param         ? rt_symbols_named(graph->symbols, param)
                                : rt_dim_unknown();
    }
    out_type->dims = dims;
  }
  if (from->element) {
    rt_type *element = rt_store_alloc(&b->scratch, 1, sizeof *element);
    if (!element) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(convert_type(b, graph, from->element, element));
    out_type->element = element;
  }
  return OPS_OK;
}

int32_t rt_constant_from_tensor(const rt_model_tensor *tensor, rt_constant **out_constant,
                                ops_error *error) {
  if (tensor->is_mapped)
    return rt_constant_map(tensor->elem_type, tensor->rank, tensor->dims, tensor->data,
                           tensor->size, out_constant, error);
  return rt_constant_borrow(tensor->elem_type, tensor->rank, tensor->dims, tensor->data,
                            tensor->size, tensor->strings, NULL, NULL, out_constant, error);
}

static int32_t constant_from_sparse(const rt_model_sparse_tensor *from,
                                    rt_constant **out_constant, ops_error *error) {
  rt_sparse sparse = {.format = RT_SPARSE_COO};
  int32_t status = rt_constant_from_tensor(&from->values, &sparse.values, error);
  if (status == OPS_OK)
    status = rt_constant_from_tensor(&from->indices, &sparse.indices, error);
  if (status == OPS_OK) {
    status = rt_constant_create_sparse(from->rank, from->dims, &sparse, out_constant, error);
  }
  if (status != OPS_OK) {
    rt_constant_release(sparse.values);
    rt_constant_release(sparse.indices);
  }
  return status;
}

// Attributes stay sparse; what becomes a value is written out, so that every kernel can read
// it.
static int32_t dense_from_sparse(const rt_model_sparse_tensor *from, rt_constant **out_constant,
                                 ops_error *error) {
  rt_constant *sparse = NULL;
  OPS_RETURN_IF_ERROR(constant_from_sparse(from, &sparse, error));
  const int32_t status = rt_constant_write_out(sparse, out_constant, error);
  rt_constant_release(sparse);
  if (status != OPS_OK)
    ops_error_prefix(error, "initializer '%.*s'", OPS_STR_FMT(from->values.name));
  return status;
}

// --- Scopes ----------------------------------------------------------------------------------

int32_t rt_build_bring_into(rt_builder *b, rt_graph *graph, rt_value *value,
                            rt_value **out_value) {
  *out_value = value;
  if (value->graph == graph) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_build_bring_into(b, graph->parent, value, &value));
  return rt_graph_add_capture(graph, value, out_value, b->error);
}

int32_t rt_build_look_up(rt_builder *b, rt_scope *s, const char *name, const char *reader,
                         rt_value **out_value) {
  rt_value *found = NULL;
  *out_value = NULL;
  for (const rt_scope *each = s; each && !found; each = each->outer) {
    found = rt_names_find(&each->names, name);
  }
  if ((const rt_value *)found == &rt_build_omitted) return OPS_OK;
  if (found) return rt_build_bring_into(b, s->graph, found, out_value);
  return INVALID(
      UNDEFINED_NAME,
      "node '%s reads '%s', which no input, initializer or earlier node provides; expected the "
      "nodes in topological order without a cycle: sort them, or correct the name",
      reader, name);
}

int32_t rt_build_bind(rt_builder *b, rt_scope *s, const char *name, rt_value *value) {
  if (rt_names_find(&s->names, name)) {
    return INVALID(
        DUPLICATE_NAME,
        "'%s' is defined twice in graph '%s'; expected each name to be assigned once", name,
        s->graph->name);
  }
  return rt_names_put(&s->names, name, value) ? OPS_OK : rt_build_no_memory(b);
}

static int32_t bind_constant(rt_builder *b, rt_scope *s, ops_str name, rt_constant *constant) {
  rt_value *value;
  const char *text = rt_build_text(b, name);
  if (!text) return rt_build_no_memory(b);
  const char *full = rt_build_full_name(b, s, name);
  if (!full) return rt_build_no_memory(b);
  OPS_RETURN_IF_ERROR(rt_graph_add_constant(s->graph, full, constant, &value, b->error));
  return rt_build_bind(b, s, text, value);
}

// --- Attributes ------------------------------------------------------------------------------

static int32_t convert_tensors(rt_builder *b, const rt_model_attribute *from, rt_attr *to) {
  const int sparse = from->kind == RT_MODEL_ATTRIBUTE_SPARSE_TENSOR ||
                     from->kind == RT_MODEL_ATTRIBUTE_SPARSE_TENSORS;
  rt_constant **tensors = rt_store_alloc(&b->scratch, from->count, sizeof *tensors);
  if (!tensors) return rt_build_no_memory(b);
  to->tensors = tensors;
  for (to->count = 0; to->count < from->count; ++to->count) {
    rt_constant **out = &tensors[to->count];
    OPS_RETURN_IF_ERROR(
        sparse ? constant_from_sparse(&from->sparse_tensors[to->count], out, b->error)
               : rt_constant_from_tensor(&from->tensors[to->count], out, b->error));
  }
  return OPS_OK;
}

static int32_t convert_bodies(rt_builder *b, rt_scope *s, rt_graph *parent, uint32_t depth,
                              const rt_model_attribute *from, rt_attr *to) {
  rt_graph **bodies = rt_store_alloc(&b->scratch, from->count, sizeof *bodies);
  if (!bodies) return rt_build_no_memory(b);
  to->graphs = bodies;
  for (size_t i = 0; i < from->count; ++i) {
    OPS_RETURN_IF_ERROR(build_body(b, s, &from->graphs[i], parent, depth, &bodies[i]));
  }
  return OPS_OK;
}

static int32_t convert_types(rt_builder *b, rt_graph *graph, const rt_model_attribute *from,
                             rt_attr *to) {
  rt_type *types = rt_store_alloc(&b->scratch, from->count, sizeof *types);
  if (!types) return rt_build_no_memory(b);
  to->types = types;
  for (size_t i = 0; i < from->count; ++i) {
    OPS_RETURN_IF_ERROR(convert_type(b, graph, &from->types[i], &types[i]));
  }
  return OPS_OK;
}

// `s` is where the names inside the attribute's bodies have their meaning, `graph` where the
// node will stand.
static int32_t convert_attr(rt_builder *b, rt_scope *s, rt_graph *graph, uint32_t depth,
                            const rt_model_attribute *from, rt_attr *to) {
  to->kind = from->kind;
  to->count = (uint32_t)from->count;
  if (from->count > UINT32_MAX) return rt_build_no_memory(b);
  switch (from->kind) {
    case RT_MODEL_ATTRIBUTE_FLOAT:
    case RT_MODEL_ATTRIBUTE_FLOATS:
      to->floats = from->floats;
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_INT:
    case RT_MODEL_ATTRIBUTE_INTS:
      to->ints = from->ints;
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_STRING:
    case RT_MODEL_ATTRIBUTE_STRINGS:
      to->strings = from->strings;
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_GRAPH:
    case RT_MODEL_ATTRIBUTE_GRAPHS:
      return convert_bodies(b, s, graph, depth, from, to);
    case RT_MODEL_ATTRIBUTE_TYPE:
    case RT_MODEL_ATTRIBUTE_TYPES:
      return convert_types(b, graph, from, to);
    default:
      return convert_tensors(b, from, to);
  }
}

static const rt_model_attribute *find_attribute(const rt_model_attribute *list, size_t count,
                                                ops_str name) {
  for (size_t i = 0; i < count; ++i) {
    if (str_equal(list[i].name, name)) return &list[i];
  }
  return NULL;
}

// What an attribute stands for: one of the model, with its meaning in `scope`, or one of an
// expanded node; neither: the attribute is absent.
typedef struct resolved {
  const rt_model_attribute *model;
  const rt_attr *attr;
  rt_scope *scope;
} resolved;

static const rt_attr *find_attr(const rt_attrs *attrs, ops_str name) {
  for (uint32_t i = 0; i < attrs->count; ++i) {
    const ops_str have = {attrs->items[i].name, strlen(attrs->items[i].name)};
    if (str_equal(have, name)) return &attrs->items[i];
  }
  return NULL;
}

// Follows references to the attributes of the calls around.
static resolved resolve(const rt_model_attribute *attribute, rt_scope *s) {
  while (attribute && attribute->ref_attr_name.size) {
    const rt_call_frame *frame = s->frame;
    if (!frame) return (resolved){0};
    const ops_str name = attribute->ref_attr_name;
    const rt_attr *attr = frame->node ? find_attr(&frame->node->op.attrs, name) : NULL;
    if (attr) return (resolved){.attr = attr};
    attribute = frame->model ? find_attribute(frame->model->attributes,
                                              frame->model->attribute_count, name)
                             : NULL;
    if (attribute) {
      s = frame->caller;
      continue;
    }
    const rt_model_function *function = frame->function;
    attribute =
        find_attribute(function->attribute_defaults, function->attribute_default_count, name);
    break;
  }
  return (resolved){.model = attribute, .scope = s};
}

static int is_tensor_kind(int32_t kind) {
  return kind == RT_ATTR_TENSOR || kind == RT_ATTR_TENSORS || kind == RT_ATTR_SPARSE_TENSOR ||
         kind == RT_ATTR_SPARSE_TENSORS;
}

// The attribute of an expanded node as one of a node of `graph`.
static int32_t take_attr(rt_builder *b, rt_graph *graph, const rt_attr *from, rt_attr *to) {
  const char *name = to->name;
  *to = *from;
  to->name = name;
  if (is_tensor_kind(from->kind))
    for (uint32_t i = 0; i < from->count; ++i) rt_constant_retain(from->tensors[i]);
  if (from->kind != RT_ATTR_GRAPH && from->kind != RT_ATTR_GRAPHS) return OPS_OK;
  rt_graph **bodies = rt_store_alloc(&b->scratch, from->count, sizeof *bodies);
  if (!bodies) return rt_build_no_memory(b);
  to->graphs = bodies;
  for (uint32_t i = 0; i < from->count; ++i)
    OPS_RETURN_IF_ERROR(rt_build_clone_body(b, from->graphs[i], graph, &bodies[i]));
  return OPS_OK;
}

static void release_tensors(const rt_attr *attrs, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!is_tensor_kind(attrs[i].kind)) continue;
    for (uint32_t j = 0; j < attrs[i].count; ++j) rt_constant_release(attrs[i].tensors[j]);
  }
}

// On failure too, *out_count attributes hold tensors to be released.
static int32_t convert_attrs(rt_builder *b, rt_scope *s, const rt_model_node *node,
                             rt_attr **out_attrs, uint32_t *out_count) {
  rt_attr *attrs = rt_store_alloc(&b->scratch, node->attribute_count, sizeof *attrs);
  *out_attrs = attrs;
  *out_count = 0;
  if (!attrs) return rt_build_no_memory(b);
  for (size_t i = 0; i < node->attribute_count; ++i) {
    const resolved from = resolve(&node->attributes[i], s);
    if (!from.model && !from.attr) continue;
    rt_attr *to = &attrs[(*out_count)++];
    to->name = rt_build_text(b, node->attributes[i].name);
    if (!to->name) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(from.attr
                            ? take_attr(b, s->graph, from.attr, to)
                            : convert_attr(b, from.scope, s->graph, s->depth, from.model, to));
  }
  return OPS_OK;
}

// --- Constant nodes --------------------------------------------------------------------------

static int32_t make_constant(rt_builder *b, const rt_attr *attr, rt_constant **out_constant) {
  const int64_t count = attr->count;
  switch (attr->kind) {
    case RT_ATTR_SPARSE_TENSOR:
      return rt_constant_write_out(attr->tensors[0], out_constant, b->error);
    case RT_ATTR_TENSOR:
      *out_constant = rt_constant_retain(attr->tensors[0]);
      return OPS_OK;
    case RT_ATTR_FLOAT:
      return rt_constant_create(OPS_TYPE_FLOAT, 0, NULL, attr->floats, out_constant, b->error);
    case RT_ATTR_FLOATS:
      return rt_constant_create(OPS_TYPE_FLOAT, 1, &count, attr->floats, out_constant,
                                b->error);
    case RT_ATTR_INT:
      return rt_constant_create(OPS_TYPE_INT64, 0, NULL, attr->ints, out_constant, b->error);
    case RT_ATTR_INTS:
      return rt_constant_create(OPS_TYPE_INT64, 1, &count, attr->ints, out_constant, b->error);
    case RT_ATTR_STRING:
      return rt_constant_create_strings(0, NULL, attr->strings, out_constant, b->error);
    case RT_ATTR_STRINGS:
      return rt_constant_create_strings(1, &count, attr->strings, out_constant, b->error);
    default:
      return OPS_ERROR_INVALID_MODEL;
  }
}

static int32_t build_constant(rt_builder *b, rt_scope *s, const rt_model_node *node,
                              const rt_attr *attrs, uint32_t count) {
  static const struct {
    const char *name;
    int32_t kind;
  } rows[] = {
      {"value", RT_ATTR_TENSOR},        {"sparse_value", RT_ATTR_SPARSE_TENSOR},
      {"value_float", RT_ATTR_FLOAT},   {"value_floats", RT_ATTR_FLOATS},
      {"value_int", RT_ATTR_INT},       {"value_ints", RT_ATTR_INTS},
      {"value_string", RT_ATTR_STRING}, {"value_strings", RT_ATTR_STRINGS},
  };
  const rt_attr *found = NULL;
  uint32_t values = 0;
  for (uint32_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < sizeof rows / sizeof *rows; ++j) {
      if (strcmp(attrs[i].name, rows[j].name) != 0 || attrs[i].kind != rows[j].kind) continue;
      found = &attrs[i];
      ++values;
    }
  }
  if (values != 1 || node->output_count != 1 || node->outputs[0].size == 0) {
    return INVALID(WRONG_ATTRIBUTE,
                   "node '%s: expected one value attribute and one output, found %u and %zu",
                   rt_build_label(b, s, node), values, node->output_count);
  }
  rt_constant *constant = NULL;
  OPS_RETURN_IF_ERROR(make_constant(b, found, &constant));
  const int32_t status = bind_constant(b, s, node->outputs[0], constant);
  rt_constant_release(constant);
  return status;
}

// --- Nodes -----------------------------------------------------------------------------------

static int32_t resolve_opset(rt_builder *b, const rt_scope *s, const rt_model_node *node,
                             int32_t *out_opset) {
  const int64_t opset = rt_model_opset_find(s->opsets, s->opset_count, node->domain);
  if (opset > 0 && opset <= INT32_MAX) {
    *out_opset = (int32_t)opset;
    return OPS_OK;
  }
  if (node->domain.size == 0 && s->opset_count == 0 && b->ir_version < 3) {
    *out_opset = 1;  // such models cannot import anything
    return OPS_OK;
  }
  return INVALID(WRONG_OPSET,
                 "node '%s uses domain '%.*s', which the %s does not import; add it to "
                 "opset_import",
                 rt_build_label(b, s, node), OPS_STR_FMT(node->domain),
                 s->frame ? "function" : "model");
}

int32_t rt_build_inputs(rt_builder *b, rt_scope *s, const rt_model_node *node,
                        rt_value ***out_inputs) {
  rt_value **inputs = rt_store_alloc(&b->scratch, node->input_count, sizeof *inputs);
  if (!inputs) return rt_build_no_memory(b);
  for (size_t i = 0; i < node->input_count; ++i) {
    if (node->inputs[i].size == 0) continue;
    const char *name = rt_build_text(b, node->inputs[i]);
    if (!name) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(rt_build_look_up(b, s, name, rt_build_label(b, s, node), &inputs[i]));
  }
  *out_inputs = inputs;
  return OPS_OK;
}

const char *rt_build_full_name(rt_builder *b, const rt_scope *s, ops_str name) {
  if (!s->frame || name.size == 0) return rt_build_text(b, name);
  const uint64_t room = strlen(s->frame->prefix) + name.size + 2;
  char *full = rt_store_alloc(&b->scratch, room, 1);
  if (full) snprintf(full, room, "%s/%.*s", s->frame->prefix, OPS_STR_FMT(name));
  return full;
}

// A node without name is called after its operator; in an expanded node, where every value has
// a telling name, after its first output.
static const char *node_name(rt_builder *b, const rt_scope *s, const rt_model_node *node) {
  if (node->name.size || !s->frame) return rt_build_full_name(b, s, node->name);
  const int by_output = s->frame->node && node->output_count && node->outputs[0].size;
  return rt_build_full_name(b, s, by_output ? node->outputs[0] : node->op_type);
}

// Names of the values that a node makes.
static int32_t collect_names(rt_builder *b, const rt_scope *s, const ops_str *list,
                             size_t count, const char *const **out_names) {
  const char **names = rt_store_alloc(&b->scratch, count, sizeof *names);
  if (!names) return rt_build_no_memory(b);
  for (size_t i = 0; i < count; ++i) {
    names[i] = rt_build_full_name(b, s, list[i]);
    if (!names[i]) return rt_build_no_memory(b);
  }
  *out_names = names;
  return OPS_OK;
}

// Origins of an inlined node: its own name if it has one, and the calls that it came through.
static int32_t add_origins(rt_builder *b, const rt_scope *s, const rt_model_node *source,
                           rt_node *node) {
  if (!s->frame) return OPS_OK;
  if (source->name.size) {
    const char *own = rt_build_text(b, source->name);
    if (!own) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(rt_node_add_origin(node, own, b->error));
  }
  for (const rt_call_frame *frame = s->frame; frame;
       frame = frame->caller ? frame->caller->frame : NULL) {
    if (frame->node) {
      OPS_RETURN_IF_ERROR(rt_node_add_origins_of(node, frame->node, b->error));
      continue;
    }
    const char *name = rt_build_text(b, frame->name.size ? frame->name : frame->op);
    if (!name) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(rt_node_add_origin(node, name, b->error));
  }
  return rt_node_set_path(node, s->frame->path, b->error);
}

// What the names of a node say of the calls around it.
static uint64_t text_of_frames(const rt_call_frame *frame) {
  uint64_t size = strlen(frame->prefix) + strlen(frame->path);
  for (; frame; frame = frame->caller ? frame->caller->frame : NULL)
    size += frame->name.size + frame->op.size;
  return size;
}

// Calls count too: functions that only call functions must not run away.
static int32_t check_inlined(rt_builder *b, const rt_scope *s) {
  if (++b->inlined > b->limits.max_inlined)
    return ops_error_set_cause(
        b->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
        "the calls of functions stand for more than %u nodes and calls "
        "(RT_GRAPH_DEFAULT_MAX_INLINED); call fewer functions inside each other",
        b->limits.max_inlined);
  b->inlined_text += text_of_frames(s->frame);
  if (b->inlined_text <= RT_GRAPH_MAX_INLINED_TEXT) return OPS_OK;
  return ops_error_set_cause(
      b->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
      "the names of inlined nodes have more than %llu bytes "
      "(RT_GRAPH_MAX_INLINED_TEXT); give calls of functions shorter names",
      (unsigned long long)RT_GRAPH_MAX_INLINED_TEXT);
}

int32_t rt_build_check_size(rt_builder *b, const rt_scope *s) {
  if (s->frame) OPS_RETURN_IF_ERROR(check_inlined(b, s));
  if (s->graph->root->node_limit < b->limits.max_nodes) return OPS_OK;
  return ops_error_set_cause(b->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                             "the model has more than %u nodes after its functions are inlined "
                             "(RT_GRAPH_DEFAULT_MAX_NODES); split it",
                             b->limits.max_nodes);
}

static int32_t add_plain_node(rt_builder *b, rt_scope *s, const rt_model_node *source,
                              const rt_attr *attrs, uint32_t attr_count) {
  rt_node_desc desc = {.attrs = attrs, .attr_count = attr_count};
  rt_value **inputs;
  rt_node *node;
  OPS_RETURN_IF_ERROR(resolve_opset(b, s, source, &desc.opset));
  OPS_RETURN_IF_ERROR(rt_build_inputs(b, s, source, &inputs));
  OPS_RETURN_IF_ERROR(
      collect_names(b, s, source->outputs, source->output_count, &desc.output_names));
  desc.name = node_name(b, s, source);
  desc.op = rt_build_text(b, source->op_type);
  desc.domain = rt_build_text(b, source->domain);
  desc.inputs = inputs;
  desc.input_count = (uint32_t)source->input_count;
  desc.output_count = (uint32_t)source->output_count;
  if (!desc.name || !desc.op || !desc.domain) return rt_build_no_memory(b);
  OPS_RETURN_IF_ERROR(rt_build_check_size(b, s));
  OPS_RETURN_IF_ERROR(rt_graph_add_node(s->graph, &desc, s->before, &node, b->error));
  for (size_t i = 0; i < source->output_count; ++i) {
    const char *name = rt_build_text(b, source->outputs[i]);
    if (!name) return rt_build_no_memory(b);
    if (node->outputs[i]) OPS_RETURN_IF_ERROR(rt_build_bind(b, s, name, node->outputs[i]));
  }
  return add_origins(b, s, source, node);
}

static int32_t build_plain_node(rt_builder *b, rt_scope *s, const rt_model_node *node) {
  rt_attr *attrs;
  uint32_t count;
  int32_t status = convert_attrs(b, s, node, &attrs, &count);
  if (status == OPS_OK) {
    const ops_str constant = OPS_STR("Constant");
    status = node->domain.size == 0 && str_equal(node->op_type, constant)
                 ? build_constant(b, s, node, attrs, count)
                 : add_plain_node(b, s, node, attrs, count);
  }
  release_tensors(attrs, count);
  return status;
}

// --- Lists of nodes -------------------------------------------------------------------------

int32_t rt_build_nodes(rt_builder *b, rt_scope *s, const rt_model_node *nodes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const rt_model_function *function = NULL;
    if (rt_build_is_body_call(s, &nodes[i])) {
      OPS_RETURN_IF_ERROR(rt_build_body_call(b, s, &nodes[i]));
      continue;
    }
    OPS_RETURN_IF_ERROR(rt_build_find_function(b, &nodes[i], &function));
    OPS_RETURN_IF_ERROR(function ? rt_build_call(b, s, &nodes[i], function)
                                 : build_plain_node(b, s, &nodes[i]));
  }
  return OPS_OK;
}

// --- Graphs ----------------------------------------------------------------------------------

static int32_t build_inputs(rt_builder *b, rt_scope *s, const rt_model_graph *source) {
  for (size_t i = 0; i < source->input_count; ++i) {
    const rt_model_value_info *info = &source->inputs[i];
    rt_type type;
    rt_value *value;
    const char *name = rt_build_text(b, info->name);
    if (!name) return rt_build_no_memory(b);
    const rt_value *known = rt_names_find(&s->names, name);
    if (known && known->kind == RT_VALUE_CONSTANT) continue;  // before IR version 4
    OPS_RETURN_IF_ERROR(convert_type(b, s->graph, &info->type, &type));
    OPS_RETURN_IF_ERROR(rt_graph_add_input(s->graph, name, &type, &value, b->error));
    OPS_RETURN_IF_ERROR(rt_build_bind(b, s, name, value));
  }
  return OPS_OK;
}

// Becomes the default of the input of that name, or a constant.
static int32_t build_initializer(rt_builder *b, rt_scope *s, ops_str name,
                                 rt_constant *constant) {
  const char *text = rt_build_text(b, name);
  if (!text) return rt_build_no_memory(b);
  rt_value *input = rt_names_find(&s->names, text);
  if (input && input->kind == RT_VALUE_INPUT && !input->constant) {
    return rt_graph_set_input_default(input, constant, b->error);
  }
  return bind_constant(b, s, name, constant);
}

// A sparse initializer is small in the file, whatever it stands for.
static int32_t check_dense(rt_builder *b, ops_str name, const rt_constant *constant) {
  b->dense_bytes += constant->size;
  if (b->dense_bytes <= RT_GRAPH_MAX_DENSE_BYTES) return OPS_OK;
  return ops_error_set_cause(
      b->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
      "sparse initializer '%.*s': together with those before it stands for %llu "
      "bytes; expected at most %llu (RT_GRAPH_MAX_DENSE_BYTES)",
      OPS_STR_FMT(name), (unsigned long long)b->dense_bytes,
      (unsigned long long)RT_GRAPH_MAX_DENSE_BYTES);
}

static int32_t build_initializers(rt_builder *b, rt_scope *s, const rt_model_graph *source) {
  for (size_t i = 0; i < source->initializer_count + source->sparse_initializer_count; ++i) {
    rt_constant *constant;
    const int dense = i < source->initializer_count;
    const rt_model_tensor *tensor = dense ? &source->initializers[i] : NULL;
    const rt_model_sparse_tensor *sparse =
        dense ? NULL : &source->sparse_initializers[i - source->initializer_count];
    OPS_RETURN_IF_ERROR(dense ? rt_constant_from_tensor(tensor, &constant, b->error)
                              : dense_from_sparse(sparse, &constant, b->error));
    const ops_str name = dense ? tensor->name : sparse->values.name;
    int32_t status = dense ? OPS_OK : check_dense(b, name, constant);
    if (status == OPS_OK) status = build_initializer(b, s, name, constant);
    rt_constant_release(constant);
    OPS_RETURN_IF_ERROR(status);
  }
  return OPS_OK;
}

int32_t rt_build_declare(rt_builder *b, rt_scope *s, const rt_model_value_info *infos,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) {
    rt_type type;
    const char *name = rt_build_text(b, infos[i].name);
    if (!name) return rt_build_no_memory(b);
    rt_value *value = rt_names_find(&s->names, name);
    if (!value || value->kind != RT_VALUE_OUTPUT || value->graph != s->graph ||
        value->declared.kind != RT_TYPE_UNKNOWN) {
      continue;
    }
    OPS_RETURN_IF_ERROR(convert_type(b, s->graph, &infos[i].type, &type));
    OPS_RETURN_IF_ERROR(rt_value_set_declared(value, &type, b->error));
  }
  return OPS_OK;
}

static int32_t build_outputs(rt_builder *b, rt_scope *s, const rt_model_graph *source) {
  for (size_t i = 0; i < source->output_count; ++i) {
    rt_type type;
    rt_value *value;
    const char *name = rt_build_text(b, source->outputs[i].name);
    if (!name) return rt_build_no_memory(b);
    if (!rt_names_find(&s->names, name) && !s->outer) {
      return INVALID(UNDEFINED_NAME,
                     "output '%s' of graph '%s' is computed by no node; correct the name", name,
                     s->graph->name);
    }
    OPS_RETURN_IF_ERROR(rt_build_look_up(b, s, name, "output' (of a body)", &value));
    if (!value)
      return INVALID(BODY_MISMATCH, "output '%s' of body '%s' is omitted", name,
                     s->graph->name);
    OPS_RETURN_IF_ERROR(convert_type(b, s->graph, &source->outputs[i].type, &type));
    OPS_RETURN_IF_ERROR(rt_graph_add_output(s->graph, name, value, &type, b->error));
  }
  return OPS_OK;
}

static int32_t build_graph(rt_builder *b, rt_scope *s, const rt_model_graph *source) {
  const int constants_first = b->ir_version < 4;
  if (constants_first) OPS_RETURN_IF_ERROR(build_initializers(b, s, source));
  OPS_RETURN_IF_ERROR(build_inputs(b, s, source));
  if (!constants_first) OPS_RETURN_IF_ERROR(build_initializers(b, s, source));
  OPS_RETURN_IF_ERROR(rt_build_nodes(b, s, source->nodes, source->node_count));
  OPS_RETURN_IF_ERROR(rt_build_declare(b, s, source->value_infos, source->value_info_count));
  return build_outputs(b, s, source);
}

static int32_t build_body(rt_builder *b, rt_scope *s, const rt_model_graph *source,
                          rt_graph *parent, uint32_t depth, rt_graph **out_body) {
  const char *name = rt_build_text(b, source->name);
  if (!name) return rt_build_no_memory(b);
  if (depth >= b->limits.max_depth) {
    return ops_error_set_cause(b->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                               "body '%s': functions and bodies are nested more than %u deep "
                               "(RT_GRAPH_DEFAULT_MAX_DEPTH); nest fewer",
                               name, b->limits.max_depth);
  }
  OPS_RETURN_IF_ERROR(rt_graph_create_body(parent, name, out_body, b->error));
  rt_scope inner = {.graph = *out_body,
                    .outer = s,
                    .frame = s->frame,
                    .opsets = s->opsets,
                    .opset_count = s->opset_count,
                    .depth = depth + 1};
  const int32_t status = build_graph(b, &inner, source);
  rt_names_finish(&inner.names);
  return status;
}

int32_t rt_graph_from_model(const rt_model *model, const rt_graph_options *options,
                            rt_graph **out_graph, ops_error *error) {
  rt_builder b;
  rt_builder_init(&b, options, model->ir_version, error);
  rt_scope top = {.opsets = model->opsets, .opset_count = model->opset_count};
  *out_graph = NULL;
  const char *name = rt_build_text(&b, model->graph.name);
  int32_t status = name ? rt_graph_create(name, &top.graph, error) : rt_graph_no_memory(error);
  if (status == OPS_OK) status = rt_build_index_functions(&b, model);
  if (status == OPS_OK) status = build_graph(&b, &top, &model->graph);
  if (status == OPS_OK) {
    *out_graph = top.graph;
  } else {
    rt_graph_destroy(top.graph);
  }
  rt_names_finish(&top.names);
  rt_builder_finish(&b);
  return status;
}

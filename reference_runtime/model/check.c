// SPDX-License-Identifier: Apache-2.0
//
// Names: single assignment, order, scopes; imports and functions. Nodes are walked in order
// with a map from every name defined so far to its origin; a subgraph gets a map of its own
// that leads to the outer one. Nesting, and with it the recursion, is bounded by loading.
#include "model/check.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

#include "model/check_internal.h"
#include "schema/schema.h"

// Where a name comes from: the index of a node, or one of these.
enum { kFromInput = -1, kFromInitializer = -2 };

// What graphs and function bodies have in common.
typedef struct body {
  const rt_model_node *nodes;
  size_t count;
} body;

typedef struct scope {
  const struct scope *outer;
  body body;
  size_t index;  // of the node that is being checked
  rt_name_map names;
} scope;

static int32_t check_graph(rt_checker *checker, const rt_model_graph *graph,
                           const scope *outer);

static int32_t no_memory(rt_checker *checker) {
  return ops_error_set(checker->error, OPS_ERROR_OUT_OF_MEMORY, "no memory to check names");
}

// --- Scopes --------------------------------------------------------------------------------

static int is_defined(const scope *in, ops_str name) {
  for (; in; in = in->outer)
    if (rt_name_map_find(&in->names, rt_name_of(name))) return 1;
  return 0;
}

static void print_origin(int64_t origin, char *out, size_t room) {
  if (origin >= 0)
    snprintf(out, room, "an output of node %" PRId64, origin);
  else
    snprintf(out, room, "%s", origin == kFromInput ? "an input" : "an initializer");
}

static int32_t define(rt_checker *checker, scope *in, ops_str name, int64_t origin) {
  char now[48], before[48];
  print_origin(origin, now, sizeof now);
  if (name.size == 0)
    return ops_error_set(checker->error, OPS_ERROR_INVALID_MODEL,
                         "%s has no name; expected one", now);
  const int64_t *earlier = rt_name_map_find(&in->names, rt_name_of(name));
  if (earlier) {
    print_origin(*earlier, before, sizeof before);
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_DUPLICATE_NAME,
        "'%.*s' is defined twice: as %s, and as %s; expected each name once, "
        "rename one",
        OPS_STR_FMT(name), before, now);
  }
  if (is_defined(in->outer, name))
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_DUPLICATE_NAME,
        "'%.*s', %s of a subgraph, hides a value of that name around it; "
        "rename one",
        OPS_STR_FMT(name), now);
  return rt_name_map_add(&in->names, rt_name_of(name), origin) ? OPS_OK : no_memory(checker);
}

// --- Nodes ---------------------------------------------------------------------------------

// Maps the outputs of a body's nodes to the nodes.
static int32_t map_producers(rt_checker *checker, const body *in, rt_name_map *out) {
  for (size_t n = 0; n < in->count; ++n)
    for (size_t i = 0; i < in->nodes[n].output_count; ++i) {
      const rt_name output = rt_name_of(in->nodes[n].outputs[i]);
      if (!rt_name_map_find(out, output) && !rt_name_map_add(out, output, (int64_t)n))
        return no_memory(checker);
    }
  return OPS_OK;
}

static int32_t fail_dangling(rt_checker *checker, const scope *in, ops_str name) {
  const rt_model_node *node = &in->body.nodes[in->index];
  return ops_error_set_cause(
      checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_UNDEFINED_NAME,
      "node %zu '%.*s' (%.*s): input '%.*s' is nowhere defined; expected the "
      "name of a graph input, an initializer or an earlier node's output",
      in->index, OPS_STR_FMT(node->name), OPS_STR_FMT(node->op_type), OPS_STR_FMT(name));
}

// An input that nothing before its node defines: made later, here or around, or dangling.
static int32_t fail_undefined(rt_checker *checker, const scope *in, ops_str name) {
  for (const scope *at = in; at; at = at->outer) {
    rt_name_map producers = {0};
    int32_t status = map_producers(checker, &at->body, &producers);
    if (status == OPS_OK && rt_name_map_find(&producers, rt_name_of(name)))
      status = rt_check_explain_order(checker, at->body.nodes, at->body.count, at->index, name,
                                      &producers);
    rt_name_map_finish(&producers);
    if (status != OPS_OK) return status;
  }
  return fail_dangling(checker, in, name);
}

static int32_t check_subgraphs(rt_checker *checker, const rt_model_node *node,
                               const scope *in) {
  for (size_t i = 0; i < node->attribute_count; ++i) {
    const rt_model_attribute *attribute = &node->attributes[i];
    if (attribute->kind != RT_MODEL_ATTRIBUTE_GRAPH &&
        attribute->kind != RT_MODEL_ATTRIBUTE_GRAPHS)
      continue;
    for (size_t k = 0; k < attribute->count; ++k) {
      const int32_t status = check_graph(checker, &attribute->graphs[k], in);
      if (status == OPS_OK) continue;
      ops_error_prefix(checker->error, "attribute '%.*s'", OPS_STR_FMT(attribute->name));
      return status;
    }
  }
  return OPS_OK;
}

static int32_t prefix_node(rt_checker *checker, const scope *in, int32_t status) {
  const rt_model_node *node = &in->body.nodes[in->index];
  if (status != OPS_OK)
    ops_error_prefix(checker->error, "node %zu '%.*s' (%.*s)", in->index,
                     OPS_STR_FMT(node->name), OPS_STR_FMT(node->op_type));
  return status;
}

static int32_t define_outputs(rt_checker *checker, const rt_model_node *node, scope *in) {
  for (size_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i].size)
      OPS_RETURN_IF_ERROR(define(checker, in, node->outputs[i], (int64_t)in->index));
  return OPS_OK;
}

static int32_t check_body(rt_checker *checker, scope *in) {
  for (in->index = 0; in->index < in->body.count; ++in->index) {
    const rt_model_node *node = &in->body.nodes[in->index];
    for (size_t i = 0; i < node->input_count; ++i)
      if (node->inputs[i].size && !is_defined(in, node->inputs[i]))
        return fail_undefined(checker, in, node->inputs[i]);
    int32_t status = rt_check_node(checker, node);
    if (status == OPS_OK) status = check_subgraphs(checker, node, in);
    if (status == OPS_OK) status = define_outputs(checker, node, in);
    OPS_RETURN_IF_ERROR(prefix_node(checker, in, status));
  }
  return OPS_OK;
}

// --- Graphs --------------------------------------------------------------------------------

static int32_t check_typed(rt_checker *checker, const rt_model_value_info *input) {
  const rt_model_type *type = &input->type;
  const int tensor =
      type->kind == RT_MODEL_TYPE_TENSOR || type->kind == RT_MODEL_TYPE_SPARSE_TENSOR;
  if (type->kind != RT_MODEL_TYPE_NONE && (!tensor || type->elem_type != OPS_TYPE_UNDEFINED))
    return OPS_OK;
  return ops_error_set_cause(
      checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPES_DISAGREE,
      "input '%.*s' has no %s; expected every input of the main graph to have "
      "one, export the model with types",
      OPS_STR_FMT(input->name), tensor ? "element type" : "type");
}

static int32_t define_inputs(rt_checker *checker, const rt_model_graph *graph, scope *in) {
  for (size_t i = 0; i < graph->input_count; ++i) {
    OPS_RETURN_IF_ERROR(define(checker, in, graph->inputs[i].name, kFromInput));
    if (!in->outer) OPS_RETURN_IF_ERROR(check_typed(checker, &graph->inputs[i]));
  }
  return OPS_OK;
}

// Whether a tensor is a value of a type.
static int fits(const rt_model_tensor *tensor, const rt_model_type *type) {
  if (type->kind == RT_MODEL_TYPE_NONE) return 1;
  if (type->kind != RT_MODEL_TYPE_TENSOR) return 0;
  if (type->elem_type != tensor->elem_type && type->elem_type != OPS_TYPE_UNDEFINED) return 0;
  if (type->rank < 0) return 1;
  if (type->rank != tensor->rank) return 0;
  for (int32_t i = 0; i < type->rank; ++i)
    if (type->dims[i].value >= 0 && type->dims[i].value != tensor->dims[i]) return 0;
  return 1;
}

// An initializer may bear the name of an input, whose default it then is.
static int32_t check_default(rt_checker *checker, const rt_model_graph *graph,
                             const rt_name_map *inputs, const rt_model_tensor *tensor) {
  const int64_t *index = rt_name_map_find(inputs, rt_name_of(tensor->name));
  if (!index || fits(tensor, &graph->inputs[*index].type)) return OPS_OK;
  char found[256], expected[256];
  const rt_model_type *type = &graph->inputs[*index].type;
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < type->rank; ++i) dims[i] = type->dims[i].value;
  return ops_error_set_cause(
      checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPES_DISAGREE,
      "initializer '%.*s' of type %s does not fit the input of that name; expected %s",
      OPS_STR_FMT(tensor->name),
      rt_check_type_text(tensor->elem_type, tensor->rank, tensor->dims, found, sizeof found),
      type->kind == RT_MODEL_TYPE_TENSOR
          ? rt_check_type_text(type->elem_type, type->rank, dims, expected, sizeof expected)
          : "no tensor");
}

// Defines an initializer, unless an input has its name: then it marks the input as taken, so
// that a second initializer of the name is noticed.
static int32_t define_initializer(rt_checker *checker, scope *in, ops_str name) {
  int64_t *origin = rt_name_map_find(&in->names, rt_name_of(name));
  if (!origin || *origin != kFromInput) return define(checker, in, name, kFromInitializer);
  *origin = kFromInitializer;
  return OPS_OK;
}

static int32_t define_initializers(rt_checker *checker, const rt_model_graph *graph,
                                   scope *in) {
  int32_t status = OPS_OK;
  rt_name_map inputs = {0};
  for (size_t i = 0; i < graph->input_count && status == OPS_OK; ++i)
    if (!rt_name_map_add(&inputs, rt_name_of(graph->inputs[i].name), (int64_t)i))
      status = no_memory(checker);
  for (size_t i = 0; i < graph->initializer_count && status == OPS_OK; ++i) {
    status = define_initializer(checker, in, graph->initializers[i].name);
    if (status == OPS_OK)
      status = check_default(checker, graph, &inputs, &graph->initializers[i]);
  }
  for (size_t i = 0; i < graph->sparse_initializer_count && status == OPS_OK; ++i)
    status = define_initializer(checker, in, graph->sparse_initializers[i].values.name);
  rt_name_map_finish(&inputs);
  return status;
}

static int32_t check_outputs(rt_checker *checker, const rt_model_graph *graph,
                             const scope *in) {
  int32_t status = OPS_OK;
  rt_name_map seen = {0};
  for (size_t i = 0; i < graph->output_count && status == OPS_OK; ++i) {
    const ops_str name = graph->outputs[i].name;
    if (!is_defined(in, name))
      status = ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_UNDEFINED_NAME,
          "output %zu '%.*s' is nowhere defined; expected the name of an input, "
          "an initializer or a node's output",
          i, OPS_STR_FMT(name));
    else if (!in->outer && rt_name_map_find(&seen, rt_name_of(name)))
      status = ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_DUPLICATE_NAME,
          "output %zu '%.*s' is listed twice; expected distinct outputs, add "
          "an Identity",
          i, OPS_STR_FMT(name));
    else if (!in->outer && !rt_name_map_add(&seen, rt_name_of(name), 0))
      status = no_memory(checker);
  }
  rt_name_map_finish(&seen);
  return status;
}

static int32_t check_graph(rt_checker *checker, const rt_model_graph *graph,
                           const scope *outer) {
  scope in = {.outer = outer, .body = {graph->nodes, graph->node_count}};
  int32_t status = define_inputs(checker, graph, &in);
  if (status == OPS_OK) status = define_initializers(checker, graph, &in);
  if (status == OPS_OK) status = check_body(checker, &in);
  if (status == OPS_OK) status = check_outputs(checker, graph, &in);
  rt_name_map_finish(&in.names);
  if (status != OPS_OK)
    ops_error_prefix(checker->error, "graph '%.*s'", OPS_STR_FMT(graph->name));
  return status;
}

// --- Imports and functions -----------------------------------------------------------------

static int32_t check_import(rt_checker *checker, const rt_model_opset *opset) {
  const ops_str domain = opset->domain.size ? opset->domain : (ops_str)OPS_STR("ai.onnx");
  const int64_t newest = rt_schema_newest_opset(opset->domain);
  if (opset->version < 1)
    return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
                               "opset_import of domain '%.*s' has version %" PRId64
                               "; expected 1 or more",
                               OPS_STR_FMT(domain), opset->version);
  if (newest == 0 || opset->version <= newest) return OPS_OK;
  return ops_error_set_cause(checker->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_WRONG_OPSET,
                             "imports opset %" PRId64
                             " of domain '%.*s'; expected at most %" PRId64
                             ", the newest that this runtime knows; export for an older opset",
                             opset->version, OPS_STR_FMT(domain), newest);
}

// Every domain once, in a version that is known.
static int32_t check_imports(rt_checker *checker) {
  int32_t status = OPS_OK;
  rt_name_map seen = {0};
  for (size_t i = 0; i < checker->opset_count && status == OPS_OK; ++i) {
    const rt_model_opset *opset = &checker->opsets[i];
    status = check_import(checker, opset);
    if (status != OPS_OK) break;
    const rt_name name = rt_name_of(opset->domain);
    const int64_t *version = rt_name_map_find(&seen, name);
    if (version && *version != opset->version)
      status = ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_DUPLICATE_NAME,
          "domain '%.*s' is imported twice, as %" PRId64 " and as %" PRId64
          "; expected one version",
          OPS_STR_FMT(opset->domain.size ? opset->domain : (ops_str)OPS_STR("ai.onnx")),
          *version, opset->version);
    else if (!version && !rt_name_map_add(&seen, name, opset->version))
      status = no_memory(checker);
  }
  rt_name_map_finish(&seen);
  return status;
}

static int32_t index_functions(rt_checker *checker) {
  for (size_t i = 0; i < checker->model->function_count; ++i) {
    const rt_model_function *function = &checker->model->functions[i];
    const rt_name name = {{function->domain, function->name, function->overload}};
    if (function->name.size == 0)
      return ops_error_set(checker->error, OPS_ERROR_INVALID_MODEL,
                           "function %zu has no name; expected one", i);
    if (rt_name_map_find(&checker->functions, name))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_DUPLICATE_NAME,
          "function '%.*s' of domain '%.*s' is defined twice; expected one of "
          "each domain, name and overload",
          OPS_STR_FMT(function->name), OPS_STR_FMT(function->domain));
    if (!rt_name_map_add(&checker->functions, name, (int64_t)i)) return no_memory(checker);
  }
  return OPS_OK;
}

static int32_t check_function_body(rt_checker *checker, const rt_model_function *function,
                                   scope *in) {
  OPS_RETURN_IF_ERROR(check_imports(checker));
  for (size_t i = 0; i < function->input_count; ++i)
    OPS_RETURN_IF_ERROR(define(checker, in, function->inputs[i], kFromInput));
  OPS_RETURN_IF_ERROR(check_body(checker, in));
  for (size_t i = 0; i < function->output_count; ++i)
    if (!is_defined(in, function->outputs[i]))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_UNDEFINED_NAME,
          "output %zu '%.*s' is nowhere defined; expected the name of an input "
          "or a node's output",
          i, OPS_STR_FMT(function->outputs[i]));
  return OPS_OK;
}

static int32_t check_function(rt_checker *checker, const rt_model_function *function) {
  scope in = {.body = {function->nodes, function->node_count}};
  checker->function = function;
  checker->opsets = function->opsets;
  checker->opset_count = function->opset_count;
  const int32_t status = check_function_body(checker, function, &in);
  rt_name_map_finish(&in.names);
  if (status != OPS_OK)
    ops_error_prefix(checker->error, "function '%.*s'", OPS_STR_FMT(function->name));
  return status;
}

static int32_t check_main(rt_checker *checker) {
  checker->function = NULL;
  checker->opsets = checker->model->opsets;
  checker->opset_count = checker->model->opset_count;
  OPS_RETURN_IF_ERROR(check_imports(checker));
  return check_graph(checker, &checker->model->graph, NULL);
}

int32_t rt_model_check(const rt_model *model, ops_error *error) {
  rt_checker checker = {.model = model, .error = error};
  int32_t status = index_functions(&checker);
  for (size_t i = 0; i < model->function_count && status == OPS_OK; ++i)
    status = check_function(&checker, &model->functions[i]);
  if (status == OPS_OK) status = rt_check_function_calls(&checker);
  if (status == OPS_OK) status = check_main(&checker);
  if (status == OPS_OK) status = rt_check_trainings(&checker);
  rt_name_map_finish(&checker.functions);
  return status;
}

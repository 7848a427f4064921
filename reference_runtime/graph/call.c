// SPDX-License-Identifier: Apache-2.0
//
// Functions become their nodes. A call opens a scope on the same graph, binds the function's
// formal names to the call's values and builds the function's nodes in place; the names of what
// it returns are then bound in the caller's scope. A node of a finished graph is expanded in
// the same way: there the call is a node with values instead of names.
#include <ops_support/error.h>
#include <string.h>

#include "graph/builder.h"

#define INVALID(cause, ...) \
  ops_error_set_cause(b->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_##cause, __VA_ARGS__)

// --- Finding functions -----------------------------------------------------------------------

// The key of a function: no part holds the separator, a control character, by accident.
static const char *function_key(rt_builder *b, ops_str domain, ops_str name, ops_str overload) {
  const uint64_t room = domain.size + name.size + overload.size + 3;
  char *key = rt_store_alloc(&b->scratch, room, 1);
  if (key) {
    snprintf(key, room, "%.*s\x1f%.*s\x1f%.*s", OPS_STR_FMT(domain), OPS_STR_FMT(name),
             OPS_STR_FMT(overload));
  }
  return key;
}

int32_t rt_build_index_functions(rt_builder *b, const rt_model *model) {
  for (size_t i = 0; i < model->function_count; ++i) {
    const rt_model_function *function = &model->functions[i];
    const char *key = function_key(b, function->domain, function->name, function->overload);
    if (!key) return rt_build_no_memory(b);
    if (rt_names_find(&b->functions, key)) {
      return INVALID(DUPLICATE_NAME, "function '%.*s' of domain '%.*s' is defined twice",
                     OPS_STR_FMT(function->name), OPS_STR_FMT(function->domain));
    }
    if (!rt_names_put(&b->functions, key, (void *)function)) return rt_build_no_memory(b);
  }
  return OPS_OK;
}

int32_t rt_build_find_function(rt_builder *b, const rt_model_node *node,
                               const rt_model_function **out_function) {
  *out_function = NULL;
  if (b->functions.count == 0) return OPS_OK;
  const char *key = function_key(b, node->domain, node->op_type, node->overload);
  if (!key) return rt_build_no_memory(b);
  *out_function = rt_names_find(&b->functions, key);
  return OPS_OK;
}

// --- Functions -------------------------------------------------------------------------------

static int32_t check_call(rt_builder *b, const rt_scope *s, const rt_model_node *node,
                          const rt_model_function *function) {
  for (const rt_scope *each = s; each; each = each->frame ? each->frame->caller : NULL) {
    if (each->frame && each->frame->function == function) {
      return INVALID(RECURSIVE_FUNCTION,
                     "node '%s calls function '%.*s', which is being called already; functions "
                     "must not be recursive",
                     rt_build_label(b, s, node), OPS_STR_FMT(function->name));
    }
  }
  if (s->depth >= b->limits.max_depth) {
    return ops_error_set_cause(b->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                               "node '%s: functions and bodies are nested more than %u deep "
                               "(RT_GRAPH_DEFAULT_MAX_DEPTH); nest fewer",
                               rt_build_label(b, s, node), b->limits.max_depth);
  }
  if (node->input_count > function->input_count ||
      node->output_count > function->output_count) {
    return INVALID(WRONG_ARITY,
                   "node '%s calls a function with %zu inputs and %zu outputs, passes %zu and "
                   "takes %zu",
                   rt_build_label(b, s, node), function->input_count, function->output_count,
                   node->input_count, node->output_count);
  }
  return OPS_OK;
}

static int32_t bind_formals(rt_builder *b, rt_scope *inner, rt_scope *caller,
                            const rt_model_node *node, const rt_model_function *function) {
  rt_value **inputs;
  OPS_RETURN_IF_ERROR(rt_build_inputs(b, caller, node, &inputs));
  for (size_t i = 0; i < function->input_count; ++i) {
    const char *formal = rt_build_text(b, function->inputs[i]);
    rt_value *actual = i < node->input_count ? inputs[i] : NULL;
    if (!formal) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(
        rt_build_bind(b, inner, formal, actual ? actual : (rt_value *)&rt_build_omitted));
  }
  return OPS_OK;
}

static int32_t bind_results(rt_builder *b, rt_scope *inner, rt_scope *caller,
                            const rt_model_node *node, const rt_model_function *function) {
  for (size_t i = 0; i < node->output_count; ++i) {
    rt_value *value;
    if (node->outputs[i].size == 0) continue;
    const char *formal = rt_build_text(b, function->outputs[i]);
    const char *actual = rt_build_text(b, node->outputs[i]);
    if (!formal || !actual) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(
        rt_build_look_up(b, inner, formal, rt_build_label(b, caller, node), &value));
    if (!value) {
      return INVALID(WRONG_ARITY,
                     "node '%s: output '%s' of the function is an input that the call omits",
                     rt_build_label(b, caller, node), formal);
    }
    if (value->kind == RT_VALUE_OUTPUT && !rt_graph_find_value(value->graph, actual)) {
      OPS_RETURN_IF_ERROR(rt_value_rename(value, actual, b->error));
    }
    OPS_RETURN_IF_ERROR(rt_build_bind(b, caller, actual, value));
  }
  return OPS_OK;
}

// "Outer 'outer' / Inner 'outer/inner' / " for messages.
static const char *path_of(rt_builder *b, const char *around, ops_str op, const char *name) {
  const uint64_t room = strlen(around) + op.size + strlen(name) + 8;
  char *path = rt_store_alloc(&b->scratch, room, 1);
  if (path) snprintf(path, room, "%s%.*s '%s' / ", around, OPS_STR_FMT(op), name);
  return path;
}

// Builds the function's nodes where `s` adds nodes, in the scope `inner`, which is the caller's
// to finish.
static int32_t build_function(rt_builder *b, rt_scope *s, const rt_call_frame *frame,
                              rt_scope *inner) {
  const rt_model_function *function = frame->function;
  inner->graph = s->graph;
  inner->before = s->before;
  inner->frame = frame;
  inner->opsets = function->opset_count ? function->opsets : s->opsets;
  inner->opset_count = function->opset_count ? function->opset_count : s->opset_count;
  inner->depth = s->depth + 1;
  OPS_RETURN_IF_ERROR(rt_build_nodes(b, inner, function->nodes, function->node_count));
  return rt_build_declare(b, inner, function->value_infos, function->value_info_count);
}

int32_t rt_build_call(rt_builder *b, rt_scope *s, const rt_model_node *node,
                      const rt_model_function *function) {
  OPS_RETURN_IF_ERROR(check_call(b, s, node, function));
  OPS_RETURN_IF_ERROR(rt_build_check_size(b, s));
  const char *prefix = rt_build_full_name(b, s, node->name.size ? node->name : node->op_type);
  if (!prefix) return rt_build_no_memory(b);
  const rt_call_frame frame = {
      .function = function,
      .op = node->op_type,
      .name = node->name,
      .model = node,
      .caller = s,
      .prefix = prefix,
      .path = path_of(b, s->frame ? s->frame->path : "", node->op_type, prefix)};
  if (!frame.path) return rt_build_no_memory(b);
  rt_scope inner = {.graph = s->graph};
  int32_t status = bind_formals(b, &inner, s, node, function);
  if (status == OPS_OK) status = build_function(b, s, &frame, &inner);
  if (status == OPS_OK) status = bind_results(b, &inner, s, node, function);
  rt_names_finish(&inner.names);
  return status;
}

// --- Calls by nodes of the graph -------------------------------------------------------------

static int32_t bind_values(rt_builder *b, rt_scope *inner, const rt_function_call *call) {
  for (size_t i = 0; i < call->function->input_count; ++i) {
    const char *formal = rt_build_text(b, call->function->inputs[i]);
    rt_value *actual = i < call->input_count ? call->inputs[i] : NULL;
    if (!formal) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(
        rt_build_bind(b, inner, formal, actual ? actual : (rt_value *)&rt_build_omitted));
  }
  return OPS_OK;
}

static int32_t find_results(rt_builder *b, rt_scope *inner, const rt_function_call *call,
                            rt_value **out_results) {
  for (size_t i = 0; i < call->function->output_count; ++i) {
    const char *formal = rt_build_text(b, call->function->outputs[i]);
    if (!formal) return rt_build_no_memory(b);
    OPS_RETURN_IF_ERROR(rt_build_look_up(b, inner, formal, formal, &out_results[i]));
  }
  return OPS_OK;
}

static int32_t call_function(rt_builder *b, rt_graph *graph, const rt_function_call *call,
                             rt_value **out_results) {
  const rt_node *node = call->node;
  rt_scope outer = {.graph = graph, .before = call->before};
  const rt_call_frame frame = {
      .function = call->function,
      .op = {node->op.name, strlen(node->op.name)},
      .name = {node->name, strlen(node->name)},
      .node = node,
      .prefix = call->name,
      .path =
          path_of(b, call->path, (ops_str){node->op.name, strlen(node->op.name)}, node->name)};
  if (!frame.path) return rt_build_no_memory(b);
  if (call->input_count > call->function->input_count) {
    return ops_error_set(b->error, OPS_ERROR_INTERNAL,
                         "%sthe function takes %zu inputs and is given %u", frame.path,
                         call->function->input_count, call->input_count);
  }
  rt_scope inner = {.graph = graph};
  int32_t status = bind_values(b, &inner, call);
  if (status == OPS_OK) status = build_function(b, &outer, &frame, &inner);
  if (status == OPS_OK) status = find_results(b, &inner, call, out_results);
  rt_names_finish(&inner.names);
  return status;
}

int32_t rt_graph_call_function(rt_graph *graph, const rt_function_call *call,
                               const rt_graph_options *options, rt_value **out_results,
                               ops_error *error) {
  rt_builder b;
  // Functions know initializers of no IR version: the newest does.
  rt_builder_init(&b, options, RT_MODEL_MAX_IR_VERSION, error);
  const int32_t status = call_function(&b, graph, call, out_results);
  rt_builder_finish(&b);
  return status;
}

int32_t rt_graph_remove_unread(rt_graph *graph, rt_node *first, rt_node *last,
                               uint32_t first_id, ops_error *error) {
  for (rt_node *each = last ? last->prev : graph->last; each != first;) {
    rt_node *before = each->prev;
    int is_read = each->id < first_id;
    for (uint32_t i = 0; i < each->output_count; ++i)
      is_read |= each->outputs[i] && rt_value_is_used(each->outputs[i]);
    if (!is_read) OPS_RETURN_IF_ERROR(rt_graph_remove_node(graph, each, error));
    each = before;
  }
  return OPS_OK;
}

// The value that `node` computed as output `index` is `result` from now on.
static int32_t hand_over(rt_node *node, uint32_t index, rt_value *result, ops_error *error) {
  rt_value *old = node->outputs[index];
  OPS_RETURN_IF_ERROR(rt_value_replace_uses(old, result, error));
  if (result->kind == RT_VALUE_OUTPUT && result->declared.kind == RT_TYPE_UNKNOWN)
    OPS_RETURN_IF_ERROR(rt_value_set_declared(result, &old->declared, error));
  // What is known of it stays known until inference runs again: other bodies may depend on it.
  if (result->kind != RT_VALUE_OUTPUT || result->type.kind != RT_TYPE_UNKNOWN) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_value_set_type(result, &old->type, error));
  return rt_value_set_contents(result, old->contents, old->contents_count, error);
}

static int32_t take_over(rt_node *node, rt_value **results, const char **names,
                         ops_error *error) {
  rt_graph *graph = node->graph;
  const uint32_t count = node->output_count;
  for (uint32_t i = 0; i < count; ++i) {
    names[i] = node->outputs[i] ? node->outputs[i]->name : NULL;
    if (!names[i]) continue;
    if (!results[i])
      return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ARITY,
                                 "%s%s '%s': output '%s' is an input that is omitted",
                                 node->path, node->op.name, node->name, names[i]);
    OPS_RETURN_IF_ERROR(hand_over(node, i, results[i], error));
  }
  OPS_RETURN_IF_ERROR(rt_graph_remove_node(graph, node, error));
  for (uint32_t i = 0; i < count; ++i)
    if (names[i] && results[i]->kind == RT_VALUE_OUTPUT &&
        !rt_graph_find_value(graph, names[i]))
      OPS_RETURN_IF_ERROR(rt_value_rename(results[i], names[i], error));
  return OPS_OK;
}

int32_t rt_node_expand(rt_node *node, const rt_model_function *function,
                       const rt_graph_options *options, ops_error *error) {
  if (node->output_count > function->output_count)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "%s%s '%s' has %u outputs, its function %zu; it cannot be expanded",
                         node->path, node->op.name, node->name, node->output_count,
                         function->output_count);
  OPS_RETURN_IF_ERROR(rt_node_detach_posts(node, error));
  rt_store_arena scratch = {0};
  rt_node *first = node->prev;
  const uint64_t count = function->output_count;
  rt_value **results = rt_store_alloc(&scratch, count, sizeof *results);
  const char **names = rt_store_alloc(&scratch, count, sizeof *names);
  const rt_function_call call = {.function = function,
                                 .node = node,
                                 .name = node->name,
                                 .path = node->path,
                                 .inputs = node->operands,
                                 .input_count = node->input_count,
                                 .before = node};
  int32_t status = results && names ? OPS_OK : rt_graph_no_memory(error);
  if (status == OPS_OK)
    status = rt_graph_call_function(node->graph, &call, options, results, error);
  if (status == OPS_OK) status = take_over(node, results, names, error);
  // The removed node still knows where it stood. What only omitted outputs need goes.
  if (status == OPS_OK) status = rt_graph_remove_unread(node->graph, first, node, 0, error);
  rt_store_finish(&scratch);
  return status;
}

void *rt_graph_alloc(rt_graph *graph, uint64_t count, uint64_t size) {
  return rt_store_alloc(rt_graph_arena(graph), count, size);
}

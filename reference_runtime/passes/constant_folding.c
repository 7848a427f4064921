// SPDX-License-Identifier: Apache-2.0
//
// Nodes that depend on constants alone are copied into a graph of their own, which the caller
// evaluates with the providers that would have run them; only values that others read come
// back. Where that fails, node by node, so that one that cannot run costs only what depends on
// it.
//
// Not folded: what draws random numbers, operators that ONNX does not define (nothing says that
// they keep no state), bodies, DequantizeLinear (weights stay quantized), and what would make
// the model larger than options->max_folded_bytes allows.
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"
#include "schema/schema.h"

#define DEFAULT_MAX_BYTES ((uint64_t)1 << 20)

typedef struct folding {
  rt_pass_context *context;
  rt_graph *graph;
  uint8_t *chosen;    // by node id
  rt_value **copies;  // by value id: the value of `copy` that stands for it
  rt_graph *copy;
  rt_value **results;  // what `copy` gives, as values of `graph`
  uint32_t result_count;
} folding;

// --- Choosing --------------------------------------------------------------------------------

static uint64_t bytes_of(const rt_value *value) {
  int64_t count;
  uint64_t bytes;
  const rt_constant *constant = rt_value_constant(value);
  if (constant && constant->size) return constant->size;
  if (!rt_type_is_static(&value->type, &count)) return UINT64_MAX;
  if (value->type.elem_type == OPS_TYPE_STRING) return (uint64_t)count * sizeof(ops_str);
  return rt_elem_type_bytes(value->type.elem_type, count, &bytes) ? bytes : UINT64_MAX;
}

// 1 for operators of ONNX itself that are not random; of others nothing is said about that.
static int has_schema(const rt_node *node) {
  if (strncmp(node->op.domain, "com.", 4) == 0) return 0;
  const ops_str domain = {node->op.domain, strlen(node->op.domain)};
  const ops_str name = {node->op.name, strlen(node->op.name)};
  const rt_schema *schema = rt_schema_find(domain, name, node->op.opset);
  return schema && !schema->is_nondeterministic;
}

static int has_default(const rt_value *value) {
  while (value->kind == RT_VALUE_CAPTURE) value = value->outer;
  return value->kind == RT_VALUE_INPUT && value->constant;
}

// 1 if all are; where only inputs with a default are not, that is a near miss.
static int inputs_are_known(const folding *f, const rt_node *node) {
  const rt_value *defaulted = NULL;
  uint32_t known = 0;
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const rt_value *value = node->operands[i];
    if (!value) continue;
    const int chosen = value->kind == RT_VALUE_OUTPUT && f->chosen[value->producer->id];
    if (has_default(value))
      defaulted = value;
    else if (!chosen && !rt_value_constant(value))
      return 0;
    ++known;
  }
  if (defaulted)
    rt_pass_miss(f->context, "%s '%s': not folded, '%s' %s", node->op.name, node->name,
                 defaulted->name, rt_pass_not_constant(defaulted));
  return known > 0 && !defaulted;
}

static int is_small(const folding *f, const rt_node *node) {
  const uint64_t set = f->context->options->max_folded_bytes;
  const uint64_t most = set ? set : DEFAULT_MAX_BYTES;
  uint64_t before = 0, after = 0;
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (node->operands[i]) {
      const uint64_t bytes = bytes_of(node->operands[i]);
      before = bytes > UINT64_MAX - before ? UINT64_MAX : before + bytes;
    }
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i]) {
      const uint64_t bytes = bytes_of(node->outputs[i]);
      after = bytes > UINT64_MAX - after ? UINT64_MAX : after + bytes;
    }
  return after != UINT64_MAX && (after <= most || after <= before);
}

static int gives_tensors(const rt_node *node) {
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i] && (node->outputs[i]->type.kind != RT_TYPE_TENSOR ||
                             node->outputs[i]->type.elem_type == OPS_TYPE_UNDEFINED))
      return 0;
  return 1;
}

static int is_choosable(const folding *f, const rt_node *node) {
  if (node->post_count || node->capture_count || rt_node_body_count(node) ||
      rt_op_is(&node->op, "Identity") || !inputs_are_known(f, node))
    return 0;
  const char *why = NULL;
  if (rt_op_is(&node->op, "DequantizeLinear"))
    why = "weights stay quantized";
  else if (!has_schema(node))
    why = "the operator is random or none of ONNX's own";
  else if (!gives_tensors(node))
    why = "its result is no tensor";
  else if (!is_small(f, node))
    why = "its result has no known size, or is larger than its inputs and than the limit";
  if (why) rt_pass_miss(f->context, "%s '%s': not folded, %s", node->op.name, node->name, why);
  return !why;
}

// --- Copying ---------------------------------------------------------------------------------

static int32_t copy_value(folding *f, const rt_value *value, rt_value **out_copy,
                          ops_error *error) {
  rt_value **copy = &f->copies[value->id];
  if (!*copy)
    OPS_RETURN_IF_ERROR(
        rt_graph_add_constant(f->copy, value->name, rt_value_constant(value), copy, error));
  *out_copy = *copy;
  return OPS_OK;
}

static int32_t copy_node(folding *f, const rt_node *node, ops_error *error) {
  rt_value **inputs = calloc(node->input_count + (size_t)1, sizeof *inputs);
  const char **names = calloc(node->output_count + (size_t)1, sizeof *names);
  rt_node *copy = NULL;
  int32_t status =
      inputs && names ? OPS_OK : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "folding");
  for (uint32_t i = 0; status == OPS_OK && i < node->input_count; ++i)
    if (node->operands[i]) status = copy_value(f, node->operands[i], &inputs[i], error);
  for (uint32_t i = 0; status == OPS_OK && i < node->output_count; ++i)
    names[i] = node->outputs[i] ? node->outputs[i]->name : "";
  rt_node_desc desc = rt_node_describe(node);
  desc.inputs = inputs;
  desc.output_names = names;
  if (status == OPS_OK) status = rt_graph_add_node(f->copy, &desc, NULL, &copy, error);
  for (uint32_t i = 0; status == OPS_OK && i < node->output_count; ++i)
    if (node->outputs[i]) f->copies[node->outputs[i]->id] = copy->outputs[i];
  free(inputs);
  free(names);
  return status;
}

static int is_read_outside(const folding *f, const rt_value *value) {
  if (value->output_count > 0) return 1;
  for (uint32_t i = 0; i < value->use_count; ++i)
    if (!f->chosen[value->uses[i].node->id]) return 1;
  return 0;
}

static int32_t add_results(folding *f, const rt_node *node, ops_error *error) {
  for (uint32_t i = 0; i < node->output_count; ++i) {
    rt_value *value = node->outputs[i];
    if (!value || !is_read_outside(f, value)) continue;
    OPS_RETURN_IF_ERROR(rt_graph_add_output(f->copy, NULL, f->copies[value->id], NULL, error));
    f->results[f->result_count++] = value;
  }
  return OPS_OK;
}

static int32_t copy_chosen(folding *f, ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_graph_create("folded", &f->copy, error));
  for (rt_node *node = f->graph->first; node; node = node->next) {
    if (!f->chosen[node->id]) continue;
    OPS_RETURN_IF_ERROR(copy_node(f, node, error));
    OPS_RETURN_IF_ERROR(add_results(f, node, error));
  }
  return OPS_OK;
}

// --- Putting back ----------------------------------------------------------------------------

static int32_t put_back(folding *f, rt_constant **constants, ops_error *error) {
  rt_graph *graph = f->graph;
  for (uint32_t i = 0; i < f->result_count; ++i) {
    rt_value *value = f->results[i], *replacement;
    OPS_RETURN_IF_ERROR(rt_pass_add_constant(
        graph, value->name, rt_constant_retain(constants[i]), &replacement, error));
    OPS_RETURN_IF_ERROR(rt_value_replace_uses(value, replacement, error));
  }
  for (rt_node *node = graph->last, *prev; node; node = prev) {
    prev = node->prev;
    if (!f->chosen[node->id]) continue;
    rt_pass_hit(f->context, "%s '%s': folded", node->op.name, node->name);
    OPS_RETURN_IF_ERROR(rt_pass_drop(f->context, node, error));
  }
  return OPS_OK;
}

// Folds the chosen nodes. What the evaluation says goes into `problem`, its status to *out_ran.
static int32_t fold_chosen(folding *f, int32_t *out_ran, ops_error *problem, ops_error *error) {
  rt_constant **constants = NULL;
  const rt_passes_host *host = &f->context->options->host;
  const size_t values = f->context->root->value_limit;
  memset(f->copies, 0, values * sizeof *f->copies);
  f->result_count = 0;
  f->copy = NULL;
  *out_ran = OPS_OK;
  int32_t status = copy_chosen(f, error);
  if (status == OPS_OK) {
    constants = calloc(f->result_count + (size_t)1, sizeof(rt_constant *));
    if (!constants) status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "folding");
  }
  if (status == OPS_OK) *out_ran = host->evaluate(host->user, f->copy, constants, problem);
  if (status == OPS_OK && *out_ran == OPS_OK) status = put_back(f, constants, error);
  for (uint32_t i = 0; constants && i < f->result_count; ++i) rt_constant_release(constants[i]);
  free(constants);
  rt_graph_destroy(f->copy);
  f->copy = NULL;
  return status;
}

// --- The pass --------------------------------------------------------------------------------

static int32_t fold_one_by_one(folding *f, ops_error *error) {
  const size_t nodes = f->context->root->node_limit;
  memset(f->chosen, 0, nodes);
  for (rt_node *node = f->graph->first; node; node = node->next) {
    ops_error problem = OPS_ERROR_INIT;
    int32_t ran;
    if (node->removed || !is_choosable(f, node)) continue;
    f->chosen[node->id] = 1;
    OPS_RETURN_IF_ERROR(fold_chosen(f, &ran, &problem, error));
    f->chosen[node->id] = 0;
    if (ran == OPS_ERROR_OUT_OF_MEMORY) return ops_error_copy(error, ran, &problem);
    if (ran != OPS_OK)
      rt_pass_miss(f->context, "%s '%s': not folded, it cannot run: %s", node->op.name,
                   node->name, problem.message);
  }
  return OPS_OK;
}

static int32_t fold(folding *f, ops_error *error) {
  uint32_t count = 0;
  int32_t ran;
  ops_error problem = OPS_ERROR_INIT;
  for (rt_node *node = f->graph->first; node; node = node->next) {
    f->chosen[node->id] = (uint8_t)is_choosable(f, node);
    count += f->chosen[node->id];
  }
  if (count == 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(fold_chosen(f, &ran, &problem, error));
  return ran == OPS_OK ? OPS_OK : fold_one_by_one(f, error);
}

static int32_t run(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  if (!context->options->host.evaluate) return OPS_OK;
  // Folding one by one makes values, at most one for each output.
  const size_t values = 2 * (size_t)context->root->value_limit + 1;
  folding f = {.context = context,
               .graph = graph,
               .chosen = calloc(context->root->node_limit + (size_t)1, 1),
               .copies = calloc(values, sizeof(rt_value *)),
               .results = calloc(values, sizeof(rt_value *))};
  const int32_t status = f.chosen && f.copies && f.results
                             ? fold(&f, error)
                             : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "folding");
  free(f.chosen);
  free(f.copies);
  free(f.results);
  return status;
}

const rt_pass rt_pass_constant_folding = {.run = run};

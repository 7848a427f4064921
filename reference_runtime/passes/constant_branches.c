// SPDX-License-Identifier: Apache-2.0
//
// An If whose condition is constant is the nodes of its branch. They are named "if/inner". A
// branch with bodies of its own stays, since bodies cannot change their graph.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"

static const char *const roots[] = {"If", NULL};

typedef struct inlining {
  rt_pass_context *context;
  rt_node *branching;  // the If
  rt_graph *branch;
  rt_value **values;  // by id of the branch's value: what stands for it outside
} inlining;

static int has_bodies(const rt_graph *graph) {
  for (const rt_node *node = graph->first; node; node = node->next)
    if (rt_node_body_count(node) > 0) return 1;
  return 0;
}

static int32_t bring_out(inlining *i, rt_value *value, rt_value **out_value, ops_error *error) {
  rt_value **known = &i->values[value->id];
  if (!*known && value->kind == RT_VALUE_CAPTURE) *known = value->outer;
  if (!*known && value->kind == RT_VALUE_CONSTANT)
    OPS_RETURN_IF_ERROR(rt_pass_add_constant(
        i->branching->graph, value->name, rt_constant_retain(value->constant), known, error));
  *out_value = *known;
  return OPS_OK;
}

static const char *joined(const char *outer, const char *inner, char *buffer, size_t size) {
  snprintf(buffer, size, "%s/%s", outer, inner);
  return buffer;
}

static int32_t copy_types(const rt_node *from, rt_node *to, ops_error *error) {
  for (uint32_t i = 0; i < from->output_count; ++i) {
    const rt_value *value = from->outputs[i];
    if (!value) continue;
    OPS_RETURN_IF_ERROR(rt_value_set_type(to->outputs[i], &value->type, error));
    OPS_RETURN_IF_ERROR(rt_value_set_declared(to->outputs[i], &value->declared, error));
    OPS_RETURN_IF_ERROR(
        rt_value_set_contents(to->outputs[i], value->contents, value->contents_count, error));
  }
  return OPS_OK;
}

static int32_t add_copy(inlining *i, const rt_node *node, rt_value **inputs, const char **names,
                        ops_error *error) {
  char name[512];
  rt_node *copy;
  for (uint32_t k = 0; k < node->input_count; ++k)
    if (node->operands[k])
      OPS_RETURN_IF_ERROR(bring_out(i, node->operands[k], &inputs[k], error));
  for (uint32_t k = 0; k < node->output_count; ++k)
    names[k] = node->outputs[k] ? node->outputs[k]->name : "";
  rt_node_desc desc = rt_node_describe(node);
  desc.name = joined(i->branching->name, node->name, name, sizeof name);
  desc.inputs = inputs;
  desc.output_names = names;
  OPS_RETURN_IF_ERROR(
      rt_graph_add_node(i->branching->graph, &desc, i->branching, &copy, error));
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(copy, node, error));
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(copy, i->branching, error));
  for (uint32_t k = 0; k < node->output_count; ++k)
    if (node->outputs[k]) i->values[node->outputs[k]->id] = copy->outputs[k];
  return copy_types(node, copy, error);
}

static int32_t copy_node(inlining *i, const rt_node *node, ops_error *error) {
  rt_value **inputs = calloc(node->input_count + (size_t)1, sizeof *inputs);
  const char **names = calloc(node->output_count + (size_t)1, sizeof *names);
  const int32_t status =
      inputs && names ? add_copy(i, node, inputs, names, error)
                      : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "inlining a branch");
  free(inputs);
  free(names);
  return status;
}

static int32_t inline_branch(inlining *i, ops_error *error) {
  rt_node *node = i->branching;
  for (const rt_node *each = i->branch->first; each; each = each->next)
    OPS_RETURN_IF_ERROR(copy_node(i, each, error));
  for (uint32_t k = 0; k < node->output_count && k < i->branch->output_count; ++k) {
    rt_value *result;
    if (!node->outputs[k]) continue;
    OPS_RETURN_IF_ERROR(bring_out(i, i->branch->outputs[k], &result, error));
    OPS_RETURN_IF_ERROR(rt_value_replace_uses(node->outputs[k], result, error));
  }
  return rt_pass_drop(i->context, node, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  double condition;
  if (!rt_pass_is(node, "If") || !rt_pass_scalar(rt_node_input(node, 0), &condition))
    return OPS_OK;
  const char *which = condition != 0 ? "then_branch" : "else_branch";
  inlining i = {
      .context = context, .branching = node, .branch = rt_attrs_graph(&node->op.attrs, which)};
  if (!i.branch || i.branch->input_count > 0) return OPS_OK;
  if (has_bodies(i.branch)) {
    rt_pass_miss(context, "If '%s': not replaced by its %s, which has bodies of its own",
                 node->name, which);
    return OPS_OK;
  }
  i.values = calloc(context->root->value_limit + (size_t)1, sizeof(rt_value *));
  if (!i.values) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "inlining a branch");
  rt_pass_hit(context, "If '%s': replaced by its %s", node->name, which);
  const int32_t status = inline_branch(&i, error);
  free(i.values);
  return status;
}

const rt_pass rt_pass_constant_branches = {.roots = roots, .visit = visit};

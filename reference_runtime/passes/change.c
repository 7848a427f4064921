// SPDX-License-Identifier: Apache-2.0
//
// How passes change the graph: nodes come with types and origins, and nothing unread stays
// behind.
#include <ops_support/half.h>
#include <stdlib.h>

#include "infer/infer.h"
#include "passes/pass.h"

int32_t rt_pass_infer(rt_pass_context *context, rt_node *node, ops_error *error) {
  (void)context;
  return rt_infer_outputs(node, error);
}

// --- Adding ----------------------------------------------------------------------------------

int32_t rt_pass_add_node(rt_pass_context *context, const rt_node_desc *desc, rt_node *before,
                         rt_node *const *origins, uint32_t origin_count, rt_node **out_node,
                         ops_error *error) {
  rt_node_desc full = *desc;
  rt_node *node = NULL;
  if (full.opset == 0 && origin_count > 0) full.opset = origins[0]->op.opset;
  OPS_RETURN_IF_ERROR(rt_graph_add_node(before->graph, &full, before, &node, error));
  for (uint32_t i = 0; i < origin_count; ++i)
    OPS_RETURN_IF_ERROR(rt_node_add_origins_of(node, origins[i], error));
  *out_node = node;
  return rt_pass_infer(context, node, error);
}

int32_t rt_pass_absorb(rt_node *node, const rt_node *other, ops_error *error) {
  if (node->origin_count == 0) OPS_RETURN_IF_ERROR(rt_node_add_origin(node, node->name, error));
  return rt_node_add_origins_of(node, other, error);
}

int32_t rt_pass_add_constant(rt_graph *graph, const char *name, rt_constant *constant,
                             rt_value **out_value, ops_error *error) {
  int32_t status = rt_graph_add_constant(graph, name, constant, out_value, error);
  if (status == OPS_OK) status = rt_infer_constant(*out_value, error);
  rt_constant_release(constant);
  return status;
}

int32_t rt_pass_add_ints(rt_graph *graph, const char *name, const int64_t *values,
                         int64_t count, rt_value **out_value, ops_error *error) {
  rt_constant *constant = NULL;
  OPS_RETURN_IF_ERROR(rt_constant_create(OPS_TYPE_INT64, 1, &count, values, &constant, error));
  return rt_pass_add_constant(graph, name, constant, out_value, error);
}

static int write_scalar(int32_t elem_type, double value, void *out) {
  switch (elem_type) {
    case OPS_TYPE_FLOAT:
      *(float *)out = (float)value;
      return 1;
    case OPS_TYPE_DOUBLE:
      *(double *)out = value;
      return 1;
    case OPS_TYPE_FLOAT16:
      *(uint16_t *)out = ops_half_from_float((float)value);
      return 1;
    case OPS_TYPE_BFLOAT16:
      *(uint16_t *)out = ops_bfloat16_from_float((float)value);
      return 1;
    case OPS_TYPE_INT64:
      *(int64_t *)out = (int64_t)value;
      return 1;
    case OPS_TYPE_INT32:
      *(int32_t *)out = (int32_t)value;
      return 1;
    default:
      return 0;
  }
}

int32_t rt_pass_add_scalar(rt_graph *graph, const char *name, int32_t elem_type, int rank1,
                           double value, rt_value **out_value, ops_error *error) {
  const int64_t one = 1;
  uint64_t bytes;
  rt_constant *constant = NULL;
  if (!write_scalar(elem_type, value, &bytes))
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "a scalar of type %s",
                         rt_elem_type_name(elem_type));
  OPS_RETURN_IF_ERROR(
      rt_constant_create(elem_type, rank1 ? 1 : 0, &one, &bytes, &constant, error));
  return rt_pass_add_constant(graph, name, constant, out_value, error);
}

// --- Removing --------------------------------------------------------------------------------

int32_t rt_pass_drop_value(rt_value *value, ops_error *error) {
  if (!value || value->removed || rt_value_is_used(value)) return OPS_OK;
  if (value->kind != RT_VALUE_CONSTANT && value->kind != RT_VALUE_CAPTURE) return OPS_OK;
  rt_value *outer = value->kind == RT_VALUE_CAPTURE ? value->outer : NULL;
  OPS_RETURN_IF_ERROR(rt_graph_remove_value(value->graph, value, error));
  return outer && outer->kind != RT_VALUE_OUTPUT ? rt_pass_drop_value(outer, error) : OPS_OK;
}

static int is_unread(const rt_node *node) {
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i] && rt_value_is_used(node->outputs[i])) return 0;
  return 1;
}

// Nodes that may be unread by now. Chains can be as long as the graph, hence no recursion.
typedef struct suspects {
  rt_node **nodes;
  size_t count, room;
} suspects;

static int32_t make_room(suspects *list, size_t more, ops_error *error) {
  if (list->count + more <= list->room) return OPS_OK;
  const size_t room = 2 * list->room + more + 8;
  rt_node **grown = realloc(list->nodes, room * sizeof *grown);
  if (!grown) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "removing nodes");
  list->nodes = grown;
  list->room = room;
  return OPS_OK;
}

// Removes a node that nothing reads, and lists those that made its operands.
static int32_t drop_one(rt_node *node, suspects *list, ops_error *error) {
  if (node->removed || !is_unread(node)) return OPS_OK;
  OPS_RETURN_IF_ERROR(make_room(list, node->operand_count, error));
  OPS_RETURN_IF_ERROR(rt_graph_remove_node(node->graph, node, error));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    rt_value *value = node->operands[i];
    if (!value || value->removed) continue;
    if (value->kind == RT_VALUE_OUTPUT)
      list->nodes[list->count++] = value->producer;
    else
      OPS_RETURN_IF_ERROR(rt_pass_drop_value(value, error));
  }
  return OPS_OK;
}

int32_t rt_pass_drop(rt_pass_context *context, rt_node *node, ops_error *error) {
  (void)context;
  suspects list = {0};
  int32_t status = drop_one(node, &list, error);
  while (status == OPS_OK && list.count > 0)
    status = drop_one(list.nodes[--list.count], &list, error);
  free(list.nodes);
  return status;
}

int32_t rt_pass_replace(rt_pass_context *context, rt_node *node, rt_value *value,
                        ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_value_replace_uses(node->outputs[0], value, error));
  return rt_pass_drop(context, node, error);
}

// --- Gating ----------------------------------------------------------------------------------

int32_t rt_pass_claimed(rt_pass_context *context, const rt_node *node, rt_node *const *replaced,
                        uint32_t count, const char **out_why, ops_error *error) {
  const rt_passes_host *host = &context->options->host;
  uint32_t place, best = RT_CLAIM_NOBODY;
  *out_why = NULL;
  if (!host->claim) return OPS_OK;
  OPS_RETURN_IF_ERROR(host->claim(host->user, node, &place, error));
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t each;
    OPS_RETURN_IF_ERROR(host->claim(host->user, replaced[i], &each, error));
    if (each < best) best = each;
  }
  if (place == RT_CLAIM_NOBODY)
    *out_why = "no provider claims it";
  else if (place > best)
    *out_why = "only a less preferred provider claims it";
  return OPS_OK;
}

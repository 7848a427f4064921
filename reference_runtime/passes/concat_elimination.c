// SPDX-License-Identifier: Apache-2.0
//
// Concat of one tensor gives it; parts that are known to be empty add nothing; a Concat that
// only another one along the same axis reads hands its parts on; a Concat of all parts of a
// Split, in their order, gives what was split.
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"

static const char *const roots[] = {"Concat", NULL};

static int32_t axis_of(const rt_node *node) {
  return rt_pass_axis(rt_attrs_int(&node->op.attrs, "axis", node->op.opset < 4 ? 1 : 0),
                      rt_pass_rank(rt_node_output(node, 0)));
}

// --- Empty parts -----------------------------------------------------------------------------

// Before opset 4 an empty part need not have the rank of the others; then nothing is known of
// it.
static int is_empty(const rt_value *value, int32_t axis) {
  return value && rt_pass_dim(value, axis) == 0;
}

static int32_t drop_empty(rt_pass_context *context, rt_node *node, int32_t axis,
                          ops_error *error) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < node->input_count; ++i) kept += !is_empty(node->operands[i], axis);
  if (kept == 0 || kept == node->input_count) return OPS_OK;
  for (uint32_t i = 0, to = 0; i < node->input_count; ++i)
    if (!is_empty(node->operands[i], axis))
      OPS_RETURN_IF_ERROR(rt_node_set_operand(node, to++, node->operands[i], error));
  rt_pass_hit(context, "Concat '%s': %u empty parts removed", node->name,
              node->input_count - kept);
  return rt_node_set_input_count(node, kept, error);
}

// --- Concat of Concat ------------------------------------------------------------------------

static rt_node *nested(const rt_node *node, uint32_t index, int32_t axis) {
  rt_value *value = node->operands[index];
  rt_node *inner = rt_pass_producer(value, "Concat");
  if (!inner || rt_value_sole_consumer(value) != node || axis_of(inner) != axis) return NULL;
  return inner;
}

static int32_t flatten(rt_pass_context *context, rt_node *node, uint32_t index, rt_node *inner,
                       ops_error *error) {
  const uint32_t extra = inner->input_count - 1;
  rt_pass_hit(context, "Concat '%s' + Concat '%s': merged", inner->name, node->name);
  OPS_RETURN_IF_ERROR(rt_node_set_input_count(node, node->input_count + extra, error));
  for (uint32_t i = node->input_count; i-- > index + extra + 1;)
    OPS_RETURN_IF_ERROR(rt_node_set_operand(node, i, node->operands[i - extra], error));
  for (uint32_t i = 0; i < inner->input_count; ++i)
    OPS_RETURN_IF_ERROR(rt_node_set_operand(node, index + i, inner->operands[i], error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(node, inner, error));
  return rt_pass_drop(context, inner, error);
}

static int32_t flatten_all(rt_pass_context *context, rt_node *node, int32_t axis,
                           ops_error *error) {
  for (uint32_t i = 0; i < node->input_count; ++i) {
    rt_node *inner = nested(node, i, axis);
    if (inner) OPS_RETURN_IF_ERROR(flatten(context, node, i, inner, error));
  }
  return OPS_OK;
}

// --- Concat of Split -------------------------------------------------------------------------

static rt_node *split_of(const rt_node *node, int32_t axis) {
  const rt_value *first = node->operands[0];
  if (!first || first->kind != RT_VALUE_OUTPUT || !rt_pass_is(first->producer, "Split"))
    return NULL;
  rt_node *split = first->producer;
  if (split->output_count != node->input_count || !split->operands[0] ||
      rt_pass_axis(rt_attrs_int(&split->op.attrs, "axis", 0), rt_pass_rank(first)) != axis)
    return NULL;
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (node->operands[i] != split->outputs[i]) return NULL;
  return split;
}

// --- The pass --------------------------------------------------------------------------------

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (!rt_pass_is(node, "Concat") || node->input_count == 0 || !rt_node_output(node, 0))
    return OPS_OK;
  const int32_t axis = axis_of(node);
  if (axis < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(drop_empty(context, node, axis, error));
  OPS_RETURN_IF_ERROR(flatten_all(context, node, axis, error));
  if (node->input_count == 1 && node->operands[0]) {
    rt_pass_hit(context, "Concat '%s': removed, it has one part", node->name);
    return rt_pass_replace(context, node, node->operands[0], error);
  }
  rt_node *split = split_of(node, axis);
  if (!split) return OPS_OK;
  rt_pass_hit(context, "Split '%s' + Concat '%s': cancel", split->name, node->name);
  return rt_pass_replace(context, node, split->operands[0], error);
}

const rt_pass rt_pass_concat_elimination = {.roots = roots, .visit = visit};

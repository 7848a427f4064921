// SPDX-License-Identifier: Apache-2.0
//
// What inference knows of shape computations becomes constants: Shape -> Gather -> Concat of
// known dimensions is one list of numbers. Where a target shape is known but for dimensions
// that stay symbolic, Reshape says the same with 0 (the input's own dimension there) and, where
// no other dimension can be 0, one -1.
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"

#define MAX_CONTENTS 64

// --- Results that are known ------------------------------------------------------------------

// Writes integers as elements of the type: 1, or 0 for types that hold none.
static int write_ints(int32_t elem_type, const rt_dim *items, int64_t count, void *out) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = items[i].value;
    switch (elem_type) {
      case OPS_TYPE_INT64:
      case OPS_TYPE_UINT64:
        ((int64_t *)out)[i] = value;
        break;
      case OPS_TYPE_INT32:
      case OPS_TYPE_UINT32:
        ((int32_t *)out)[i] = (int32_t)value;
        break;
      case OPS_TYPE_BOOL:
        ((uint8_t *)out)[i] = value != 0;
        break;
      default:
        return 0;
    }
  }
  return 1;
}

static int is_known(const rt_value *value) {
  if (rt_pass_rank(value) < 0 || value->type.rank > 1 || value->contents_count < 0 ||
      value->contents_count > MAX_CONTENTS ||
      (value->type.rank == 0 && value->contents_count != 1))
    return 0;
  for (int64_t i = 0; i < value->contents_count; ++i)
    if (!rt_dim_is_const(value->contents[i])) return 0;
  return 1;
}

static int32_t make_constant(rt_value *value, rt_constant **out_constant, ops_error *error) {
  int64_t buffer[MAX_CONTENTS];
  *out_constant = NULL;
  if (!write_ints(value->type.elem_type, value->contents, value->contents_count, buffer))
    return OPS_OK;
  return rt_constant_create(value->type.elem_type, value->type.rank, &value->contents_count,
                            buffer, out_constant, error);
}

static int32_t replace_output(rt_pass_context *context, rt_node *node, rt_value *value,
                              ops_error *error) {
  rt_constant *constant;
  rt_value *replacement;
  OPS_RETURN_IF_ERROR(make_constant(value, &constant, error));
  if (!constant) return OPS_OK;
  OPS_RETURN_IF_ERROR(
      rt_pass_add_constant(node->graph, value->name, constant, &replacement, error));
  rt_pass_hit(context, "%s '%s': '%s' is known from shapes", node->op.name, node->name,
              value->name);
  return rt_value_replace_uses(value, replacement, error);
}

// --- Reshape ---------------------------------------------------------------------------------

// The target with 0 and -1 for what is symbolic; 0 if that cannot be said.
static int relative_target(const rt_node *node, const rt_value *shape, int64_t *out_target) {
  const rt_value *data = node->operands[0];
  int open = 0, may_be_empty = 0;
  for (int64_t i = 0; i < shape->contents_count; ++i) {
    const rt_dim item = shape->contents[i];
    if (rt_dim_is_const(item)) {
      out_target[i] = item.value;
      if (item.value <= 0) return 0;
    } else if (i < rt_pass_rank(data) && rt_dim_equal(item, data->type.dims[i])) {
      out_target[i] = 0;
      may_be_empty = 1;
    } else {
      out_target[i] = -1;
      ++open;
    }
  }
  return open == 0 || (open == 1 && !may_be_empty);
}

static int32_t relate_reshape(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t target[MAX_CONTENTS];
  rt_value *shape = rt_node_input(node, 1), *replacement;
  if (!rt_pass_is(node, "Reshape") || !shape || rt_value_constant(shape) ||
      shape->contents_count < 1 || shape->contents_count > OPS_MAX_RANK ||
      rt_attrs_int(&node->op.attrs, "allowzero", 0) != 0)
    return OPS_OK;
  if (!relative_target(node, shape, target)) {
    rt_pass_miss(context, "Reshape '%s': shape stays computed, more than one dimension is open",
                 node->name);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(node->graph, shape->name, target, shape->contents_count,
                                       &replacement, error));
  rt_pass_hit(context, "Reshape '%s': shape made constant", node->name);
  rt_node *producer = shape->kind == RT_VALUE_OUTPUT ? shape->producer : NULL;
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 1, replacement, error));
  OPS_RETURN_IF_ERROR(rt_pass_drop_value(shape, error));
  return producer ? rt_pass_drop(context, producer, error) : OPS_OK;
}

// --- The pass --------------------------------------------------------------------------------

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  OPS_RETURN_IF_ERROR(relate_reshape(context, node, error));
  for (uint32_t i = 0; i < node->output_count; ++i) {
    rt_value *value = node->outputs[i];
    if (value && rt_value_is_used(value) && is_known(value))
      OPS_RETURN_IF_ERROR(replace_output(context, node, value, error));
  }
  return rt_pass_drop(context, node, error);
}

const rt_pass rt_pass_shape_constants = {.visit = visit};

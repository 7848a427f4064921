// SPDX-License-Identifier: Apache-2.0
//
// Sequences and optionals. The element type of a sequence holds for all its elements: what they
// do not share is unknown there. Lengths are no part of a type.
#include "infer/rules.h"

static const rt_type *element_of(const rt_infer_context *ctx, uint32_t input) {
  return rt_infer_has(ctx, input) ? ctx->inputs[input].type->element : NULL;
}

static const rt_type *type_of(const rt_infer_context *ctx, uint32_t input) {
  return rt_infer_has(ctx, input) ? ctx->inputs[input].type : NULL;
}

// A sequence or optional of `element`, which may be NULL: unknown.
static int32_t set_holder(rt_infer_context *ctx, uint32_t output, int32_t kind,
                          const rt_type *element) {
  const rt_type holder = {kind, 0, RT_RANK_UNKNOWN, NULL, element};
  rt_infer_set_type(ctx, output, &holder);
  return OPS_OK;
}

int32_t rt_infer_rule_sequence_construct(rt_infer_context *ctx) {
  set_holder(ctx, 0, RT_TYPE_SEQUENCE, type_of(ctx, 0));
  for (uint32_t i = 1; i < ctx->input_count; ++i) {
    const rt_type other = {RT_TYPE_SEQUENCE, 0, RT_RANK_UNKNOWN, NULL, type_of(ctx, i)};
    OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "0", i, "of the list"));
    rt_infer_merge_type(ctx, 0, &other);
  }
  return OPS_OK;
}

int32_t rt_infer_rule_sequence_empty(rt_infer_context *ctx) {
  const int64_t given = rt_infer_attr(ctx, "dtype", OPS_TYPE_FLOAT);
  const int known = given > 0 && given < OPS_TYPE_COUNT;
  const rt_type element = rt_type_tensor(known ? (int32_t)given : 0, RT_RANK_UNKNOWN, NULL);
  return set_holder(ctx, 0, RT_TYPE_SEQUENCE, &element);
}

int32_t rt_infer_rule_sequence_insert(rt_infer_context *ctx) {
  const rt_type other = {RT_TYPE_SEQUENCE, 0, RT_RANK_UNKNOWN, NULL, type_of(ctx, 1)};
  set_holder(ctx, 0, RT_TYPE_SEQUENCE, element_of(ctx, 0));
  rt_infer_merge_type(ctx, 0, &other);
  return OPS_OK;
}

int32_t rt_infer_rule_sequence_erase(rt_infer_context *ctx) {
  return set_holder(ctx, 0, RT_TYPE_SEQUENCE, element_of(ctx, 0));
}

int32_t rt_infer_rule_sequence_at(rt_infer_context *ctx) {
  const rt_type *element = element_of(ctx, 0);
  if (element) rt_infer_set_type(ctx, 0, element);
  return OPS_OK;
}

// SequenceMap: sequences of what the body yields.
int32_t rt_infer_rule_sequence_map(rt_infer_context *ctx) {
  const rt_graph *body = rt_attrs_graph(&ctx->op->attrs, "body");
  if (!body || body->input_count != ctx->input_count ||
      body->output_count < ctx->output_count) {
    return rt_infer_fail(ctx, "expected a body with as many inputs and outputs as the node");
  }
  for (uint32_t i = 0; i < ctx->output_count; ++i)
    set_holder(ctx, i, RT_TYPE_SEQUENCE, &body->outputs[i]->type);
  return OPS_OK;
}

// --- Splitting and joining -------------------------------------------------------------------

// The size of every part along the axis; unknown where parts differ. `split`: a scalar, the
// size of all parts but the last, or the sizes themselves.
static rt_dim part_size(const rt_infer_context *ctx, rt_dim whole) {
  rt_dim parts[RT_INFER_MAX_CONTENTS];
  if (!rt_infer_has(ctx, 1)) return rt_dim_const(1);
  const int64_t count = rt_infer_contents(ctx, 1, parts);
  if (count < 1) return rt_dim_unknown();
  if (rt_infer_rank(ctx, 1) == 0) {
    if (rt_dim_is_value(parts[0], 0)) return rt_dim_unknown();
    return rt_dim_is_value(rt_dim_mod(ctx->symbols, whole, parts[0]), 0) ? parts[0]
                                                                         : rt_dim_unknown();
  }
  for (int64_t i = 1; i < count; ++i)
    if (!rt_dim_equal(parts[i], parts[0])) return rt_dim_unknown();
  return parts[0];
}

// Without `split` each part has size 1, and keepdims 0 removes the axis.
int32_t rt_infer_rule_sequence_split(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int drop = !rt_infer_has(ctx, 1) && rt_infer_attr(ctx, "keepdims", 1) == 0;
  rt_type element = rt_type_tensor(rt_infer_elem(ctx, 0), rank, NULL);
  rt_dim dims[OPS_MAX_RANK];
  int32_t axis, at = 0;
  if (rank < 0) return set_holder(ctx, 0, RT_TYPE_SEQUENCE, &element);
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  for (int32_t i = 0; i < rank; ++i) {
    const rt_dim dim = rt_infer_dim(ctx, 0, i);
    if (i != axis) dims[at++] = dim;
    if (i == axis && !drop) dims[at++] = part_size(ctx, dim);
  }
  element.rank = at;
  element.dims = dims;
  return set_holder(ctx, 0, RT_TYPE_SEQUENCE, &element);
}

// Along an axis, whose size depends on the number of elements, or along a new one.
int32_t rt_infer_rule_sequence_concat(rt_infer_context *ctx) {
  const rt_type *element = element_of(ctx, 0);
  const int is_new = rt_infer_attr(ctx, "new_axis", 0) != 0;
  const int32_t elem = element ? element->elem_type : OPS_TYPE_UNDEFINED;
  int32_t axis;
  if (!element || element->kind != RT_TYPE_TENSOR || element->rank < 0)
    return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  const int32_t rank = element->rank + is_new;
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  for (int32_t i = 0; i < rank; ++i)
    if (i != axis) rt_infer_set_dim(ctx, 0, i, element->dims[is_new && i > axis ? i - 1 : i]);
  return OPS_OK;
}

// --- Optionals -------------------------------------------------------------------------------

int32_t rt_infer_rule_optional(rt_infer_context *ctx) {
  const rt_attr *attr = rt_attrs_find(&ctx->op->attrs, "type");
  const rt_type *element = type_of(ctx, 0);
  if (!element && attr && attr->kind == RT_ATTR_TYPE) element = &attr->types[0];
  return set_holder(ctx, 0, RT_TYPE_OPTIONAL, element);
}

int32_t rt_infer_rule_optional_element(rt_infer_context *ctx) {
  const rt_type *type = type_of(ctx, 0);
  if (!type) return OPS_OK;
  if (type->kind == RT_TYPE_OPTIONAL) return rt_infer_rule_sequence_at(ctx);
  rt_infer_set_type(ctx, 0, type);
  return OPS_OK;
}

// A scalar of the element type in param.
int32_t rt_infer_rule_scalar(rt_infer_context *ctx) {
  return rt_infer_set_tensor(ctx, 0, ctx->param, 0);
}

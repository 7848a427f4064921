// SPDX-License-Identifier: Apache-2.0
//
// Control flow and sequences. The types of a body's values are inferred before the rule of its
// node is applied; a rule reads what the body's outputs turned out to be.
#include <string.h>

#include "infer/rules.h"

// --- Control flow ----------------------------------------------------------------------------

static void set_type(rt_infer_context *ctx, uint32_t output, const rt_type *type) {
  if (output >= ctx->output_count) return;
  rt_infer_output *out = &ctx->outputs[output];
  out->type = *type;
  if (type->kind == RT_TYPE_TENSOR && type->rank > 0) {
    memcpy(out->dims, type->dims, (size_t)type->rank * sizeof *out->dims);
    out->type.dims = out->dims;
  }
}

static void set_value(rt_infer_context *ctx, uint32_t output, const rt_value *value) {
  set_type(ctx, output, &value->type);
  rt_dim *contents = rt_infer_set_contents(ctx, output, value->contents_count);
  if (contents && value->contents_count > 0) {
    memcpy(contents, value->contents, (size_t)value->contents_count * sizeof *contents);
  }
}

// What holds whichever of two types a value has; known to both.
static void merge_type(rt_infer_context *ctx, uint32_t output, const rt_type *other) {
  rt_infer_output *out = &ctx->outputs[output];
  if (out->type.kind != other->kind) {
    out->type = (rt_type){0};
  } else if (other->kind == RT_TYPE_TENSOR) {
    if (out->type.elem_type != other->elem_type) out->type.elem_type = OPS_TYPE_UNDEFINED;
    if (out->type.rank != other->rank) out->type.rank = RT_RANK_UNKNOWN;
    for (int32_t i = 0; i < out->type.rank; ++i) {
      if (!rt_dim_equal(out->dims[i], other->dims[i])) out->dims[i] = rt_dim_unknown();
    }
  }
}

int32_t rt_infer_rule_if(rt_infer_context *ctx) {
  const rt_graph *then_body = rt_attrs_graph(&ctx->op->attrs, "then_branch");
  const rt_graph *else_body = rt_attrs_graph(&ctx->op->attrs, "else_branch");
  if (!then_body || !else_body) {
    return rt_infer_fail(ctx, "expected the bodies then_branch and else_branch");
  }
  if (then_body->output_count != else_body->output_count ||
      then_body->output_count < ctx->output_count) {
    return rt_infer_fail(ctx,
                         "then_branch has %u outputs, else_branch %u; expected %u, as many as "
                         "the node",
                         then_body->output_count, else_body->output_count, ctx->output_count);
  }
  int64_t condition;
  if (rt_infer_ints(ctx, 0, &condition, 1) == 1) {
    const rt_graph *taken = condition ? then_body : else_body;
    for (uint32_t i = 0; i < ctx->output_count; ++i) set_value(ctx, i, taken->outputs[i]);
    return OPS_OK;
  }
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_type *a = &then_body->outputs[i]->type, *b = &else_body->outputs[i]->type;
    if (a->kind == RT_TYPE_TENSOR && b->kind == RT_TYPE_TENSOR && a->elem_type &&
        b->elem_type && a->elem_type != b->elem_type) {
      return rt_infer_fail(ctx,
                           "output %u is %s in then_branch and %s in else_branch, expected "
                           "the same",
                           i, rt_elem_type_name(a->elem_type), rt_elem_type_name(b->elem_type));
    }
    set_type(ctx, i, a);
    merge_type(ctx, i, b);
  }
  return OPS_OK;
}

// Output `output` stacks what the body yields as `type` along a new axis.
static int32_t set_stacked(rt_infer_context *ctx, uint32_t output, const rt_type *type,
                           int32_t axis, rt_dim length) {
  if (type->kind != RT_TYPE_TENSOR) return OPS_OK;
  const int32_t rank = type->rank < 0 ? RT_RANK_UNKNOWN : type->rank + 1;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, output, type->elem_type, rank));
  if (rank > 0 && axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return OPS_OK;
  for (int32_t i = 0, from = 0; i < rank; ++i) {
    rt_infer_set_dim(ctx, output, i, i == axis ? length : type->dims[from++]);
  }
  return OPS_OK;
}

// Body: (iteration, condition, carried...) -> (condition, carried..., scanned...).
int32_t rt_infer_rule_loop(rt_infer_context *ctx) {
  const rt_graph *body = rt_attrs_graph(&ctx->op->attrs, "body");
  if (!body) return rt_infer_fail(ctx, "expected the attribute body");
  const uint32_t carried = ctx->input_count > 2 ? ctx->input_count - 2 : 0;
  if (body->input_count != carried + 2 || body->output_count < carried + 1 ||
      ctx->output_count > body->output_count - 1) {
    return rt_infer_fail(ctx,
                         "the body has %u inputs and %u outputs; expected %u inputs, and an "
                         "output more than the node, which has %u",
                         body->input_count, body->output_count, carried + 2, ctx->output_count);
  }
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_type *type = &body->outputs[i + 1]->type;
    if (i >= carried) {
      OPS_RETURN_IF_ERROR(set_stacked(ctx, i, type, 0, rt_dim_unknown()));
      continue;
    }
    // The loop may run no time at all: then the result is what went in.
    set_type(ctx, i, type);
    if (rt_infer_has(ctx, i + 2)) merge_type(ctx, i, ctx->inputs[i + 2].type);
  }
  return OPS_OK;
}

// Body: (states..., slices...) -> (states..., slices...). Since version 9 without batch axis.
int32_t rt_infer_rule_scan(rt_infer_context *ctx) {
  const rt_graph *body = rt_attrs_graph(&ctx->op->attrs, "body");
  const int64_t scanned = rt_infer_attr(ctx, "num_scan_inputs", 0);
  uint32_t in_count, out_count;
  const int64_t *in_axes = rt_attrs_ints(&ctx->op->attrs, "scan_input_axes", &in_count);
  const int64_t *out_axes = rt_attrs_ints(&ctx->op->attrs, "scan_output_axes", &out_count);
  if (!body || scanned < 1 || scanned > ctx->input_count ||
      body->input_count != ctx->input_count || body->output_count < ctx->output_count) {
    return rt_infer_fail(ctx,
                         "expected a body with as many inputs and outputs as the node, of "
                         "which num_scan_inputs, found %lld, are scanned",
                         (long long)scanned);
  }
  const uint32_t states = ctx->input_count - (uint32_t)scanned;
  int64_t axis = in_axes && in_count ? in_axes[0] : 0;
  if (axis < 0) axis += rt_infer_rank(ctx, states);
  const rt_dim length =
      rt_infer_dim(ctx, states, axis >= 0 && axis < OPS_MAX_RANK ? (int32_t)axis : -1);
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_type *type = &body->outputs[i]->type;
    if (i < states) {
      set_type(ctx, i, type);
      continue;
    }
    const int64_t out_axis = out_axes && i - states < out_count ? out_axes[i - states] : 0;
    if (out_axis < -OPS_MAX_RANK || out_axis >= OPS_MAX_RANK) {
      return rt_infer_fail(ctx, "element %u of scan_output_axes is %lld, expected an axis",
                           i - states, (long long)out_axis);
    }
    OPS_RETURN_IF_ERROR(set_stacked(ctx, i, type, (int32_t)out_axis, length));
  }
  return OPS_OK;
}

// Scan-8: an input with lengths comes first, axis 0 of everything else is a batch, which the
// body does not see, and axis 1 of what is scanned the iterations.
int32_t rt_infer_rule_scan_batches(rt_infer_context *ctx) {
  const rt_graph *body = rt_attrs_graph(&ctx->op->attrs, "body");
  const int64_t scanned = rt_infer_attr(ctx, "num_scan_inputs", 0);
  if (!body || scanned < 1 || scanned >= ctx->input_count ||
      body->input_count + 1 != ctx->input_count || body->output_count < ctx->output_count) {
    return rt_infer_fail(ctx,
                         "expected a body with an input for each of the node but "
                         "sequence_lens, of which num_scan_inputs, found %lld, are scanned",
                         (long long)scanned);
  }
  const uint32_t first = ctx->input_count - (uint32_t)scanned, states = first - 1;
  const rt_dim batch = rt_infer_dim(ctx, first, 0), length = rt_infer_dim(ctx, first, 1);
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_type *type = &body->outputs[i]->type;
    if (type->kind != RT_TYPE_TENSOR) continue;
    const rt_dim outer[] = {batch, length};
    const int32_t added = i < states ? 1 : 2;
    const int32_t rank = type->rank < 0 ? RT_RANK_UNKNOWN : type->rank + added;
    OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, i, type->elem_type, rank));
    for (int32_t axis = 0; axis < rank; ++axis) {
      rt_infer_set_dim(ctx, i, axis, axis < added ? outer[axis] : type->dims[axis - added]);
    }
  }
  return OPS_OK;
}

// --- Sequences -------------------------------------------------------------------------------

#define ANY_TENSOR(number, name, bits) \
  [number] = {RT_TYPE_TENSOR, number, RT_RANK_UNKNOWN, NULL, NULL},
// Tensors of unknown shape, for the elements of sequences; types outlive the call.
static const rt_type any_tensors[OPS_TYPE_COUNT] = {OPS_TYPE_LIST(ANY_TENSOR)};

static int32_t set_sequence(rt_infer_context *ctx, uint32_t output, int64_t elem_type) {
  if (output >= ctx->output_count) return OPS_OK;
  const int known = elem_type > 0 && elem_type < OPS_TYPE_COUNT;
  ctx->outputs[output].type = (rt_type){RT_TYPE_SEQUENCE, 0, RT_RANK_UNKNOWN, NULL,
                                        known ? &any_tensors[elem_type] : NULL};
  return OPS_OK;
}

int32_t rt_infer_rule_sequence_construct(rt_infer_context *ctx) {
  return set_sequence(ctx, 0, rt_infer_elem(ctx, 0));
}

int32_t rt_infer_rule_sequence_empty(rt_infer_context *ctx) {
  return set_sequence(ctx, 0, rt_infer_attr(ctx, "dtype", OPS_TYPE_FLOAT));
}

int32_t rt_infer_rule_sequence_split(rt_infer_context *ctx) {
  return set_sequence(ctx, 0, rt_infer_elem(ctx, 0));
}

// SequenceInsert, SequenceErase: lengths are no part of a type.
int32_t rt_infer_rule_sequence_same(rt_infer_context *ctx) {
  if (!rt_infer_has(ctx, 0) || !ctx->output_count) return OPS_OK;
  const rt_type *element = ctx->inputs[0].type->element;
  return set_sequence(ctx, 0, element ? element->elem_type : 0);
}

// SequenceAt, OptionalGetElement.
int32_t rt_infer_rule_sequence_at(rt_infer_context *ctx) {
  const rt_type *element = rt_infer_has(ctx, 0) ? ctx->inputs[0].type->element : NULL;
  if (element) set_type(ctx, 0, element);
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
    set_sequence(ctx, i, body->outputs[i]->type.elem_type);
  return OPS_OK;
}

#define ANY_SEQUENCE(number, name, bits) \
  [number] = {RT_TYPE_SEQUENCE, 0, RT_RANK_UNKNOWN, NULL, &any_tensors[number]},
static const rt_type any_sequences[OPS_TYPE_COUNT] = {OPS_TYPE_LIST(ANY_SEQUENCE)};

// The type that stands for all tensors, or sequences of tensors, like `type`; NULL if there is
// none.
static const rt_type *any_like(const rt_type *type) {
  const int sequence = type->kind == RT_TYPE_SEQUENCE;
  const rt_type *tensor = sequence ? type->element : type;
  if (!tensor || tensor->kind != RT_TYPE_TENSOR || tensor->elem_type <= 0 ||
      tensor->elem_type >= OPS_TYPE_COUNT)
    return NULL;
  return sequence ? &any_sequences[tensor->elem_type] : &any_tensors[tensor->elem_type];
}

int32_t rt_infer_rule_optional(rt_infer_context *ctx) {
  if (ctx->output_count == 0) return OPS_OK;
  const rt_attr *attr = rt_attrs_find(&ctx->op->attrs, "type");
  const rt_type *element = NULL;
  if (rt_infer_has(ctx, 0))
    element = any_like(ctx->inputs[0].type);
  else if (attr && attr->kind == RT_ATTR_TYPE)
    element = &attr->types[0];
  ctx->outputs[0].type = (rt_type){RT_TYPE_OPTIONAL, 0, RT_RANK_UNKNOWN, NULL, element};
  return OPS_OK;
}

int32_t rt_infer_rule_optional_element(rt_infer_context *ctx) {
  if (!rt_infer_has(ctx, 0)) return OPS_OK;
  const rt_type *type = ctx->inputs[0].type;
  if (type->kind == RT_TYPE_OPTIONAL) return rt_infer_rule_sequence_at(ctx);
  set_type(ctx, 0, type);
  return OPS_OK;
}

int32_t rt_infer_rule_sequence_concat(rt_infer_context *ctx) {
  const rt_type *element = rt_infer_has(ctx, 0) ? ctx->inputs[0].type->element : NULL;
  return rt_infer_set_tensor(ctx, 0, element ? element->elem_type : OPS_TYPE_UNDEFINED,
                             RT_RANK_UNKNOWN);
}

// A scalar of the element type in param.
int32_t rt_infer_rule_scalar(rt_infer_context *ctx) {
  return rt_infer_set_tensor(ctx, 0, ctx->param, 0);
}

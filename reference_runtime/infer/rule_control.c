// SPDX-License-Identifier: Apache-2.0
//
// Control flow. The types of a body's values are inferred before the rule of its
// node is applied; a rule reads what the body's outputs turned out to be.
#include <string.h>

#include "infer/rules.h"

// --- Control flow ----------------------------------------------------------------------------

static void set_value(rt_infer_context *ctx, uint32_t output, const rt_value *value) {
  rt_infer_set_type(ctx, output, &value->type);
  rt_dim *contents = rt_infer_set_contents(ctx, output, value->contents_count);
  if (contents && value->contents_count > 0) {
    memcpy(contents, value->contents, (size_t)value->contents_count * sizeof *contents);
  }
}

int32_t rt_infer_rule_if(rt_infer_context *ctx) {
  const rt_graph *then_body = rt_attrs_graph(&ctx->op->attrs, "then_branch");
  const rt_graph *else_body = rt_attrs_graph(&ctx->op->attrs, "else_branch");
  if (!then_body || !else_body) {
    return rt_infer_fail(ctx, "expected the bodies then_branch and else_branch");
  }
  if (then_body->input_count || else_body->input_count) {
    return rt_infer_fail(ctx,
                         "then_branch has %u input(s), else_branch %u; expected none, a branch "
                         "reads the values around it by their names",
                         then_body->input_count, else_body->input_count);
  }
  if (then_body->output_count != else_body->output_count ||
      then_body->output_count < ctx->output_count) {
    return rt_infer_fail(
        ctx,
        "then_branch has %u output(s), else_branch %u; expected %u of both, as "
        "many as the node has",
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
    rt_infer_set_type(ctx, i, a);
    rt_infer_merge_type(ctx, i, b);
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

// What an iteration leaves behind is what the next one takes: of one type.
static int32_t need_same_state(const rt_infer_context *ctx, const rt_value *before,
                               const rt_value *after) {
  const rt_type *a = &before->type, *b = &after->type;
  if (a->kind != RT_TYPE_TENSOR || b->kind != RT_TYPE_TENSOR || !a->elem_type ||
      !b->elem_type || a->elem_type == b->elem_type)
    return OPS_OK;
  return rt_infer_fail(ctx,
                       "the body takes '%s' as %s and gives it back as '%s', %s; expected one "
                       "type, insert a Cast",
                       before->name, rt_elem_type_name(a->elem_type), after->name,
                       rt_elem_type_name(b->elem_type));
}

// 1 if no iteration can end the loop: the condition holds at first and each iteration hands it
// on.
static int runs_to_the_end(const rt_infer_context *ctx, const rt_graph *body) {
  const rt_value *after = body->outputs[0];
  int64_t given = 1;
  if (rt_infer_has(ctx, 1) && rt_infer_ints(ctx, 1, &given, 1) != 1) return 0;
  if (!given) return 0;
  if (after->contents_count == 1 && rt_dim_is_const(after->contents[0]))
    return after->contents[0].value != 0;
  while (after->producer && rt_op_is(&after->producer->op, "Identity"))
    after = rt_node_input(after->producer, 0);
  return after == body->inputs[1];
}

// How often the body runs, as far as that is known before.
static rt_dim trip_count(const rt_infer_context *ctx, const rt_graph *body) {
  rt_dim count[RT_INFER_MAX_CONTENTS];
  if (rt_infer_contents(ctx, 0, count) != 1 || !runs_to_the_end(ctx, body))
    return rt_dim_unknown();
  return rt_dim_max(ctx->symbols, count[0], rt_dim_const(0));
}

// Body: (iteration, condition, carried...) -> (condition, carried..., scanned...).
int32_t rt_infer_rule_loop(rt_infer_context *ctx) {
  const rt_graph *body = rt_attrs_graph(&ctx->op->attrs, "body");
  if (!body) return rt_infer_fail(ctx, "expected the attribute body");
  const uint32_t carried = ctx->input_count > 2 ? ctx->input_count - 2 : 0;
  if (body->input_count != carried + 2 || body->output_count < carried + 1 ||
      ctx->output_count > body->output_count - 1) {
    return rt_infer_fail(ctx,
                         "the body has %u input(s) and %u output(s); expected %u inputs, and "
                         "an output more than the node, which has %u",
                         body->input_count, body->output_count, carried + 2, ctx->output_count);
  }
  for (uint32_t i = 0; i < carried; ++i)
    OPS_RETURN_IF_ERROR(need_same_state(ctx, body->inputs[i + 2], body->outputs[i + 1]));
  const rt_dim length = trip_count(ctx, body);
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_type *type = &body->outputs[i + 1]->type;
    if (i >= carried) {
      OPS_RETURN_IF_ERROR(set_stacked(ctx, i, type, 0, length));
      continue;
    }
    // The loop may run no time at all: then the result is what went in.
    rt_infer_set_type(ctx, i, type);
    if (rt_infer_has(ctx, i + 2)) rt_infer_merge_type(ctx, i, ctx->inputs[i + 2].type);
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
  if (scanned < 1 || scanned > ctx->input_count)
    return rt_infer_fail(ctx, "num_scan_inputs is %lld; expected 1 to %u, the node's inputs",
                         (long long)scanned, ctx->input_count);
  if (!body) return rt_infer_fail(ctx, "expected the attribute body");
  if (body->input_count != ctx->input_count || body->output_count < ctx->output_count)
    return rt_infer_fail(
        ctx,
        "the body has %u input(s) and %u output(s); expected %u and %u, as many "
        "as the node has",
        body->input_count, body->output_count, ctx->input_count, ctx->output_count);
  const uint32_t states = ctx->input_count - (uint32_t)scanned;
  for (uint32_t i = 0; i < states && i < body->output_count; ++i)
    OPS_RETURN_IF_ERROR(need_same_state(ctx, body->inputs[i], body->outputs[i]));
  int64_t axis = in_axes && in_count ? in_axes[0] : 0;
  if (axis < 0) axis += rt_infer_rank(ctx, states);
  const rt_dim length =
      rt_infer_dim(ctx, states, axis >= 0 && axis < OPS_MAX_RANK ? (int32_t)axis : -1);
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_type *type = &body->outputs[i]->type;
    if (i < states) {
      rt_infer_set_type(ctx, i, type);
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

// SPDX-License-Identifier: Apache-2.0
//
// One node: the rule of its operator, then those of its post-operations, each of which sees the
// result so far as one of its inputs.
#include <string.h>

#include "infer/check_types.h"
#include "infer/rules.h"

#define MAX_POST_INPUTS 16u

int rt_infer_has_rule(const rt_op *op) {
  return rt_infer_find_rule(op) != NULL;
}

static void clear_outputs(rt_infer_output *outputs, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    outputs[i].type = (rt_type){0};
    outputs[i].contents_count = -1;
  }
}

// The integers that every element of the type can hold exactly are [-limit - is_signed, limit].
static int64_t exact_limit(int32_t elem_type, int *out_signed) {
  *out_signed = 1;
  switch (elem_type) {
    case OPS_TYPE_INT64:
      return INT64_MAX;
    case OPS_TYPE_INT32:
      return INT32_MAX;
    case OPS_TYPE_INT16:
      return INT16_MAX;
    case OPS_TYPE_INT8:
      return INT8_MAX;
    case OPS_TYPE_DOUBLE:
      return (int64_t)1 << 53;
    case OPS_TYPE_FLOAT:
      return (int64_t)1 << 24;
    case OPS_TYPE_FLOAT16:
      return (int64_t)1 << 11;
    case OPS_TYPE_BFLOAT16:
      return (int64_t)1 << 8;
    default:
      *out_signed = 0;
  }
  switch (elem_type) {
    case OPS_TYPE_UINT64:
      return INT64_MAX;
    case OPS_TYPE_UINT32:
      return UINT32_MAX;
    case OPS_TYPE_UINT16:
      return UINT16_MAX;
    case OPS_TYPE_UINT8:
      return UINT8_MAX;
    case OPS_TYPE_BOOL:
      return 1;
    default:
      return -1;
  }
}

// Forgets contents that the element type cannot hold: arithmetic would wrap or round there.
// Those of matrices and beyond are followed where the shape is known.
static void check_contents(rt_infer_output *output) {
  int is_signed;
  if (output->contents_count < 0) return;
  const int64_t limit = exact_limit(output->type.elem_type, &is_signed);
  int64_t elements;
  const int fits = output->type.rank < 2 || (rt_type_is_static(&output->type, &elements) &&
                                             elements == output->contents_count);
  if (limit < 0 || output->type.kind != RT_TYPE_TENSOR || !fits) {
    output->contents_count = -1;
    return;
  }
  for (int64_t i = 0; i < output->contents_count; ++i) {
    const rt_dim item = output->contents[i];
    const int64_t low = is_signed ? -limit - 1 : 0;
    if (rt_dim_is_const(item) && (item.value < low || item.value > limit)) {
      output->contents[i] = rt_dim_unknown();
    }
  }
}

// Sizes come from data and attributes: whatever the rule, none may be negative.
static int32_t check_dims(const rt_infer_context *ctx, uint32_t output) {
  const rt_type *type = &ctx->outputs[output].type;
  for (int32_t i = 0; type->kind == RT_TYPE_TENSOR && i < type->rank; ++i) {
    if (!rt_dim_is_const(type->dims[i]) || type->dims[i].value >= 0) continue;
    return rt_infer_fail(ctx,
                         "output %u would have %lld elements on axis %d; expected at least 0: "
                         "see the inputs and attributes that give the size",
                         output, (long long)type->dims[i].value, i);
  }
  return OPS_OK;
}

static int32_t apply(rt_infer_context *ctx) {
  const rt_infer_rule *rule = rt_infer_find_rule(ctx->op);
  if (!rule) return OPS_OK;
  ctx->param = rule->param;
  OPS_RETURN_IF_ERROR(rule->infer(ctx));
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    OPS_RETURN_IF_ERROR(check_dims(ctx, i));
    check_contents(&ctx->outputs[i]);
  }
  return OPS_OK;
}

static int32_t apply_post(const rt_node *node, const rt_post *post, rt_symbols *symbols,
                          const rt_infer_input *operands, rt_infer_output *output,
                          ops_error *error) {
  rt_infer_output before = *output;
  rt_infer_input inputs[MAX_POST_INPUTS];
  clear_outputs(output, 1);
  if (post->input_count > MAX_POST_INPUTS) return OPS_OK;
  if (before.type.kind == RT_TYPE_TENSOR) before.type.dims = before.dims;
  const rt_infer_input chained = {&before.type,
                                  before.contents_count >= 0 ? before.contents : NULL,
                                  before.contents_count, NULL};
  for (uint32_t i = 0, next = post->first_operand; i < post->input_count; ++i) {
    inputs[i] = i == post->chained ? chained : operands[next++];
  }
  rt_infer_context ctx = {.op = &post->op,
                          .node = node,
                          .symbols = symbols,
                          .inputs = inputs,
                          .input_count = post->input_count,
                          .outputs = output,
                          .output_count = 1,
                          .error = error};
  OPS_RETURN_IF_ERROR(apply(&ctx));
  // A rule may hand on a type by reference to its input, which ends here.
  if (output->type.kind == RT_TYPE_TENSOR) output->type.dims = output->dims;
  return OPS_OK;
}

int32_t rt_infer_node(const rt_node *node, rt_symbols *symbols, const rt_infer_input *inputs,
                      rt_infer_output *outputs, ops_error *error) {
  rt_infer_context ctx = {.op = &node->op,
                          .node = node,
                          .symbols = symbols,
                          .inputs = inputs,
                          .input_count = node->input_count,
                          .outputs = outputs,
                          .output_count = node->output_count,
                          .error = error};
  clear_outputs(outputs, node->output_count);
  if (symbols) OPS_RETURN_IF_ERROR(rt_infer_check_types(&ctx));  // once is enough
  OPS_RETURN_IF_ERROR(apply(&ctx));
  for (uint32_t i = 0; node->output_count && i < node->post_count; ++i) {
    OPS_RETURN_IF_ERROR(apply_post(node, &node->posts[i], symbols, inputs, &outputs[0], error));
  }
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// The training domain: steps of optimizers, gradients.
#include "infer/rules.h"

// R, T, then n tensors, their gradients, and `param` lists of n tensors that the method keeps
// -> the n new tensors and the lists that are kept.
int32_t rt_infer_rule_optimizer(rt_infer_context *ctx) {
  const uint32_t first = 2, lists = 2 + (uint32_t)ctx->param;
  const uint32_t given = ctx->input_count - first, count = given / lists;
  if (ctx->input_count <= first || given % lists != 0 ||
      ctx->output_count != count * (lists - 1)) {
    return rt_infer_fail(ctx,
                         "found %u inputs and %u outputs; expected R, T and %u tensors for "
                         "each that is updated, and %u outputs for it",
                         ctx->input_count, ctx->output_count, lists, lists - 1);
  }
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const uint32_t input = first + i % count;
    OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, i, rt_infer_elem(ctx, input), input));
  }
  return OPS_OK;
}

// The gradient with respect to each of the first inputs, which are named by xs.
int32_t rt_infer_rule_gradient(rt_infer_context *ctx) {
  for (uint32_t i = 0; i < ctx->output_count; ++i)
    OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, i, rt_infer_elem(ctx, i), i));
  return OPS_OK;
}

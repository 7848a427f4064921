// SPDX-License-Identifier: Apache-2.0
//
// Attention in its newer forms, and the parts that models with a linear state put around it.
#include "infer/rules.h"

// Q, K, V [batch, heads, length, width] -> [batch, heads of Q, length of Q, width of V]. The
// subgraphs that change scores and probabilities preserve their shape.
int32_t rt_infer_rule_flex_attention(rt_infer_context *ctx) {
  static const char *const names[] = {"Q", "K", "V"};
  rt_dim batch = rt_infer_dim(ctx, 0, 0);
  for (uint32_t i = 0; i < 3; ++i) {
    OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, i, names[i], 4));
    OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, batch, "the batch of the inputs before",
                                       rt_infer_dim(ctx, i, 0), "the batch of an input",
                                       &batch));
  }
  const rt_dim dims[] = {batch, rt_infer_dim(ctx, 0, 1), rt_infer_dim(ctx, 0, 2),
                         rt_infer_dim(ctx, 2, 3)};
  return rt_infer_set_shape(ctx, 0, rt_infer_elem(ctx, 0), 4, dims);
}

// query [B, T, heads of Q * d_k], key [B, T, heads * d_k], value [B, T, heads * d_v]
// -> output [B, T, heads of Q * d_v], present_state [B, heads, d_k, d_v]
int32_t rt_infer_rule_linear_attention(rt_infer_context *ctx) {
  rt_symbols *s = ctx->symbols;
  const int64_t q_heads = rt_infer_attr(ctx, "q_num_heads", 0);
  const int64_t heads = rt_infer_attr(ctx, "kv_num_heads", 0);
  if (heads < 1 || q_heads < 1 || q_heads % heads != 0)
    return rt_infer_fail(ctx,
                         "attribute q_num_heads is %lld, expected a multiple of kv_num_heads, "
                         "which is %lld",
                         (long long)q_heads, (long long)heads);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "query", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "key", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 2, "value", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 3, "past_state", 4));
  const rt_dim h = rt_dim_const(heads), batch = rt_infer_dim(ctx, 0, 0);
  const rt_dim d_k = rt_dim_floor_div(s, rt_infer_dim(ctx, 1, 2), h);
  const rt_dim d_v = rt_dim_floor_div(s, rt_infer_dim(ctx, 2, 2), h);
  const rt_dim y[] = {batch, rt_infer_dim(ctx, 0, 1),
                      rt_dim_mul(s, rt_dim_const(q_heads), d_v)};
  const rt_dim state[] = {batch, h, d_k, d_v};
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, 3, y));
  return rt_infer_set_shape(ctx, 1, rt_infer_has(ctx, 3) ? rt_infer_elem(ctx, 3) : elem, 4,
                            state);
}

// input [B, C, L], weight [C, 1, k] -> output [B, C, L], present_state [B, C, k - 1]
int32_t rt_infer_rule_causal_conv(rt_infer_context *ctx) {
  rt_dim channels;
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "weight", 3));
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, 1), "the channels of input",
                                     rt_infer_dim(ctx, 1, 0), "axis 0 of weight", &channels));
  const rt_dim y[] = {rt_infer_dim(ctx, 0, 0), channels, rt_infer_dim(ctx, 0, 2)};
  const rt_dim state[] = {y[0], channels,
                          rt_dim_sub(ctx->symbols, rt_infer_dim(ctx, 1, 2), rt_dim_const(1))};
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, 3, y));
  return rt_infer_set_shape(ctx, 1, elem, 3, state);
}

// SwiGLU: gate and value have one shape, which the output has, too.
int32_t rt_infer_rule_same_shapes(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), other = rt_infer_rank(ctx, 1);
  rt_dim dims[OPS_MAX_RANK];
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  if (rank < 0 || other < 0)
    return rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), rank < 0 ? 1 : 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "B", rank));
  for (int32_t i = 0; i < rank; ++i)
    OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, i), "an axis of A",
                                       rt_infer_dim(ctx, 1, i), "the same axis of B",
                                       &dims[i]));
  return rt_infer_set_shape(ctx, 0, rt_infer_elem(ctx, 0), rank, dims);
}

// SPDX-License-Identifier: Apache-2.0
//
// Reductions, and operators whose output size depends on data.
#include <string.h>

#include "infer/rule_elementwise.h"
#include "infer/rules.h"

// Of a vector or scalar that is known; param says what is computed, 0: nothing.
static void reduce_contents(rt_infer_context *ctx, int reduces) {
  rt_dim in[RT_INFER_MAX_CONTENTS], result;
  rt_symbols *s = ctx->symbols;
  const int64_t count = rt_infer_contents(ctx, 0, in);
  if (count < 0 || rt_infer_rank(ctx, 0) > 1 || ctx->param == RT_INFER_NOTHING) return;
  if (!reduces) {
    rt_infer_copy_contents(ctx, 0, 0);
    return;
  }
  if (count == 0 && (ctx->param == RT_INFER_MIN || ctx->param == RT_INFER_MAX)) return;
  result = count > 0 ? in[0] : rt_dim_const(ctx->param == RT_INFER_MUL);
  for (int64_t i = 1; i < count; ++i) {
    result = ctx->param == RT_INFER_MUL   ? rt_dim_mul(s, result, in[i])
             : ctx->param == RT_INFER_ADD ? rt_dim_add(s, result, in[i])
             : ctx->param == RT_INFER_MIN ? rt_dim_min(s, result, in[i])
                                          : rt_dim_max(s, result, in[i]);
  }
  rt_dim *out = rt_infer_set_contents(ctx, 0, 1);
  if (out) *out = result;
}

int32_t rt_infer_rule_reduce(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  const int keep = rt_infer_attr(ctx, "keepdims", 1) != 0;
  int32_t axes[OPS_MAX_RANK], count;
  uint64_t mask = 0;
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, 1, rank, axes, &count));
  if (count == RT_INFER_UNKNOWN) {
    return rt_infer_set_tensor(ctx, 0, elem, keep ? rank : RT_RANK_UNKNOWN);
  }
  for (int32_t i = 0; i < count; ++i) mask |= (uint64_t)1 << axes[i];
  if (count <= 0 && !rt_infer_attr(ctx, "noop_with_empty_axes", 0)) mask = ~(uint64_t)0;
  int32_t kept = 0;
  for (int32_t i = 0; i < rank; ++i) kept += keep || !(mask & ((uint64_t)1 << i));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, kept));
  for (int32_t i = 0, at = 0; i < rank; ++i) {
    if (!(mask & ((uint64_t)1 << i))) {
      rt_infer_set_dim(ctx, 0, at++, rt_infer_dim(ctx, 0, i));
    } else if (keep) {
      rt_infer_set_dim(ctx, 0, at++, rt_dim_const(1));
    }
  }
  reduce_contents(ctx, rank == 0 || mask != 0);
  return OPS_OK;
}

int32_t rt_infer_rule_arg(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int keep = rt_infer_attr(ctx, "keepdims", 1) != 0;
  int32_t axis;
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, OPS_TYPE_INT64, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_INT64, keep ? rank : rank - 1));
  for (int32_t i = 0, at = 0; i < rank; ++i) {
    if (i != axis) rt_infer_set_dim(ctx, 0, at++, rt_infer_dim(ctx, 0, i));
    if (i == axis && keep) rt_infer_set_dim(ctx, 0, at++, rt_dim_const(1));
  }
  return OPS_OK;
}

// k: attribute before version 10, input 1 from then on.
int32_t rt_infer_rule_top_k(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int64_t attr = rt_infer_attr(ctx, "k", -1);
  rt_dim k[RT_INFER_MAX_CONTENTS] = {rt_dim_const(attr)};
  int32_t axis;
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 1, OPS_TYPE_INT64, 0));
  if (rank < 0) return OPS_OK;
  if (attr < 0 && rt_infer_contents(ctx, 1, k) != 1) k[0] = rt_dim_unknown();
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", -1), rank, &axis));
  const rt_dim size = rt_infer_dim(ctx, 0, axis);
  if (rt_dim_is_const(k[0]) && rt_dim_is_const(size) &&
      (k[0].value < 0 || k[0].value > size.value)) {
    return rt_infer_fail(ctx, "k is %lld, expected one in [0, %lld], the size of axis %d",
                         (long long)k[0].value, (long long)size.value, axis);
  }
  rt_infer_set_dim(ctx, 0, axis, k[0]);
  rt_infer_set_dim(ctx, 1, axis, k[0]);
  return OPS_OK;
}

// indices, depth, values
int32_t rt_infer_rule_one_hot(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 2);
  rt_dim depth[RT_INFER_MAX_CONTENTS];
  int32_t axis;
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", -1), rank + 1, &axis));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank + 1));
  if (rt_infer_contents(ctx, 1, depth) != 1) depth[0] = rt_dim_unknown();
  for (int32_t i = 0, from = 0; i <= rank; ++i) {
    rt_infer_set_dim(ctx, 0, i, i == axis ? depth[0] : rt_infer_dim(ctx, 0, from++));
  }
  return OPS_OK;
}

// [rank, number of non-zero elements]
int32_t rt_infer_rule_non_zero(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_INT64, 2));
  // A scalar counts as a vector of one element.
  if (rank >= 0) rt_infer_set_dim(ctx, 0, 0, rt_dim_const(rank == 0 ? 1 : rank));
  int64_t values[RT_INFER_MAX_CONTENTS], found = 0;
  const int64_t count = rt_infer_ints(ctx, 0, values, RT_INFER_MAX_CONTENTS);
  for (int64_t i = 0; i < count; ++i) found += values[i] != 0;
  if (count >= 0) rt_infer_set_dim(ctx, 0, 1, rt_dim_const(found));
  return OPS_OK;
}

int32_t rt_infer_rule_unique(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  const int flat = !rt_attrs_find(&ctx->op->attrs, "axis");
  int32_t axis;
  for (uint32_t i = 1; i < 4; ++i) {
    OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, i, OPS_TYPE_INT64, 1));
  }
  if (flat) return rt_infer_set_tensor(ctx, 0, elem, 1);
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, elem, 0));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  rt_infer_set_dim(ctx, 0, axis, rt_dim_unknown());
  return OPS_OK;
}

// NonMaxSuppression: [number of selected boxes, 3]
int32_t rt_infer_rule_nms(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_INT64, 2));
  rt_infer_set_dim(ctx, 0, 1, rt_dim_const(3));
  return OPS_OK;
}

int32_t rt_infer_rule_det(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 2));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank < 0 ? RT_RANK_UNKNOWN : rank - 2));
  for (int32_t i = 0; i + 2 < rank; ++i) rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, i));
  return OPS_OK;
}

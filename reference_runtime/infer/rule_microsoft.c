// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft: products, pools and quantised operators.
#include <string.h>

#include "infer/rules.h"

// --- Products --------------------------------------------------------------------------------

// The type of a factor with its dimensions in the order of the product: transBatch moves the
// first one behind the leading ones, then trans swaps the last two.
static rt_type arrange(const rt_infer_context *ctx, uint32_t input, const char *batch,
                       const char *last, rt_dim *dims) {
  const int32_t rank = rt_infer_rank(ctx, input);
  const int moved = rank > 1 && rt_infer_attr(ctx, batch, 0) != 0;
  const rt_type type = rt_type_tensor(0, rank, dims);
  for (int32_t i = 0; i < rank; ++i) dims[i] = rt_infer_dim(ctx, input, i);
  if (moved) {
    memmove(dims, dims + 1, (size_t)(rank - 2) * sizeof *dims);
    dims[rank - 2] = rt_infer_dim(ctx, input, 0);
  }
  if (rank < 2 || rt_infer_attr(ctx, last, 0) == 0) return type;
  const rt_dim held = dims[rank - 2];
  dims[rank - 2] = dims[rank - 1];
  dims[rank - 1] = held;
  return type;
}

int32_t rt_infer_rule_fused_matmul(rt_infer_context *ctx) {
  rt_dim dims[2][OPS_MAX_RANK];
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "A", 1));
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 1, "B", 1));
  const rt_type a = arrange(ctx, 0, "transBatchA", "transA", dims[0]);
  const rt_type b = arrange(ctx, 1, "transBatchB", "transB", dims[1]);
  return rt_infer_product(ctx, &a, &b, elem ? elem : rt_infer_elem(ctx, 1));
}

// A [..., K], attributes N, K -> [..., N]
int32_t rt_infer_rule_matmul_nbits(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int64_t columns = rt_infer_attr(ctx, "N", 0);
  rt_dim k;
  if (columns < 1) {
    return rt_infer_fail(ctx, "attribute N is %lld, expected at least 1", (long long)columns);
  }
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "A", 1));
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 2, "scales"));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rank < 1) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, rank - 1), "the last axis of A",
                                     rt_dim_const(rt_infer_attr(ctx, "K", 0)), "attribute K",
                                     &k));
  rt_infer_set_dim(ctx, 0, rank - 1, rt_dim_const(columns));
  return OPS_OK;
}

// A, B, b_scale, b_zero_point, bias
int32_t rt_infer_rule_dynamic_matmul(rt_infer_context *ctx) {
  return rt_infer_matmul(ctx, 0, 1, OPS_TYPE_FLOAT);
}

// A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias
int32_t rt_infer_rule_matmul_to_float(rt_infer_context *ctx) {
  return rt_infer_matmul(ctx, 0, 1, rt_infer_elem(ctx, 2));
}

// A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point
int32_t rt_infer_rule_qgemm(rt_infer_context *ctx) {
  const int trans_a = rt_infer_attr(ctx, "transA", 0) != 0;
  const int trans_b = rt_infer_attr(ctx, "transB", 0) != 0;
  rt_dim k;
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "A", 2));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 3, "B", 2));
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, !trans_a), "the columns of A",
                                     rt_infer_dim(ctx, 3, trans_b), "the rows of B", &k));
  const int32_t elem = rt_infer_has(ctx, 8) ? rt_infer_elem(ctx, 8) : OPS_TYPE_FLOAT;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, 2));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, trans_a));
  rt_infer_set_dim(ctx, 0, 1, rt_infer_dim(ctx, 3, !trans_b));
  return OPS_OK;
}

// --- Quantised -------------------------------------------------------------------------------

// A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point
int32_t rt_infer_rule_qlinear_binary(rt_infer_context *ctx) {
  const int32_t rank_a = rt_infer_rank(ctx, 0), rank_b = rt_infer_rank(ctx, 3);
  const int32_t elem = rt_infer_elem(ctx, 0);
  rt_dim dims[OPS_MAX_RANK];
  int32_t rank;
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 3, "B"));
  if (rank_a < 0 || rank_b < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_broadcast(ctx, ctx->inputs[0].type->dims, rank_a,
                                         ctx->inputs[3].type->dims, rank_b, dims, &rank));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, dims[i]);
  return OPS_OK;
}

// Joins one part of the list; `dims` is the shape so far.
static int32_t join_part(const rt_infer_context *ctx, uint32_t input, int32_t axis,
                         int32_t rank, rt_dim *dims) {
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, input, "of the list", rank));
  for (int32_t i = 0; i < rank; ++i) {
    const rt_dim dim = rt_infer_dim(ctx, input, i);
    if (i == axis) {
      dims[i] = rt_dim_add(ctx->symbols, dims[i], dim);
    } else {
      OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, dims[i], "an axis of the list", dim,
                                         "the same axis of another element", &dims[i]));
    }
  }
  return OPS_OK;
}

// Y_scale, Y_zero_point, then (tensor, scale, zero point) as often as there are tensors
int32_t rt_infer_rule_qlinear_concat(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 1), rank = rt_infer_rank(ctx, 2);
  rt_dim dims[OPS_MAX_RANK];
  int32_t axis;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  for (int32_t i = 0; i < rank; ++i) dims[i] = rt_dim_unknown();
  dims[axis] = rt_dim_const(0);
  for (uint32_t i = 2; i < ctx->input_count; i += 3) {
    OPS_RETURN_IF_ERROR(join_part(ctx, i, axis, rank, dims));
  }
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, dims[i]);
  return OPS_OK;
}

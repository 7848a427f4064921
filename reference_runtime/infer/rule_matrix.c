// SPDX-License-Identifier: Apache-2.0
//
// Normalisation, matrix products, quantisation.
#include <string.h>

#include "infer/rules.h"

// --- Normalisation ---------------------------------------------------------------------------

// Inputs [first, first + count) have the shape [C], C being axis 1 of the data.
static int32_t check_per_channel(const rt_infer_context *ctx, uint32_t first, uint32_t count,
                                 rt_dim channels, rt_dim *out_channels) {
  *out_channels = channels;
  for (uint32_t i = first; i < first + count; ++i) {
    if (!rt_infer_has(ctx, i)) continue;
    OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, i, "of one value per channel", 1));
    OPS_RETURN_IF_ERROR(
        rt_infer_unify(ctx, *out_channels, "the number of channels", rt_infer_dim(ctx, i, 0),
                       "the length of an input with one value per channel", out_channels));
  }
  return OPS_OK;
}

// BatchNormalization up to version 8 with spatial 0: statistics have the shape of X without the
// batch.
static int32_t batch_norm_by_position(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, elem, 0));
  for (uint32_t i = 1; rank > 0 && i <= 4; ++i) {
    OPS_RETURN_IF_ERROR(
        rt_infer_need_rank(ctx, i, "of one value per position", rank > 1 ? rank - 1 : 1));
  }
  for (uint32_t i = 1; i < ctx->output_count; ++i)
    OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, i, elem, 3));
  return OPS_OK;
}

int32_t rt_infer_rule_batch_norm(rt_infer_context *ctx) {
  if (ctx->op->opset < 9 && rt_infer_attr(ctx, "spatial", 1) == 0)
    return batch_norm_by_position(ctx);
  const int32_t rank = rt_infer_rank(ctx, 0);
  const rt_dim one = rt_dim_const(1);
  rt_dim channels = rank == 1 ? one : rt_infer_dim(ctx, 0, 1);
  OPS_RETURN_IF_ERROR(check_per_channel(ctx, 1, 4, channels, &channels));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rank >= 2) rt_infer_set_dim(ctx, 0, 1, channels);
  for (uint32_t i = 1; i < ctx->output_count; ++i) {
    // Running statistics have the type of the inputs they continue: mean is input 3.
    const int32_t elem = rt_infer_elem(ctx, i % 2 ? 3 : 4);
    OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, i, elem, 1));
    rt_infer_set_dim(ctx, i, 0, channels);
  }
  return OPS_OK;
}

// InstanceNormalization: scale and bias.
int32_t rt_infer_rule_per_channel(rt_infer_context *ctx) {
  rt_dim channels;
  OPS_RETURN_IF_ERROR(check_per_channel(ctx, 1, 2, rt_infer_dim(ctx, 0, 1), &channels));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rt_infer_rank(ctx, 0) >= 2) rt_infer_set_dim(ctx, 0, 1, channels);
  return OPS_OK;
}

// Outputs 1 and 2, mean and inverse deviation, have size 1 from `axis` on. The param is the
// input that gives output 0 its type: the data or, as in RMSNormalization, the scale.
int32_t rt_infer_rule_layer_norm(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int64_t stash = rt_infer_attr(ctx, "stash_type", OPS_TYPE_FLOAT);
  int32_t axis = 0;
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, (uint32_t)ctx->param), 0));
  if (rank >= 0) {
    OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", -1), rank, &axis));
  }
  for (uint32_t i = 1; i < ctx->output_count; ++i) {
    OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, i, (int32_t)stash, 0));
    for (int32_t j = axis; j < rank; ++j) rt_infer_set_dim(ctx, i, j, rt_dim_const(1));
  }
  return OPS_OK;
}

// Softmax, LogSoftmax, Hardmax. The default axis is 1 up to version 12, -1 from then on.
int32_t rt_infer_rule_softmax(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int64_t given = rt_infer_attr(ctx, "axis", ctx->op->opset < 13 ? 1 : -1);
  int32_t axis;
  // Before version 13 the data are flattened at `axis`, which may be the rank itself.
  if (rank > 0 && !(ctx->op->opset < 13 && given == rank)) {
    OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, given, rank, &axis));
  }
  return rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0);
}

// --- Products --------------------------------------------------------------------------------

int32_t rt_infer_rule_gemm(rt_infer_context *ctx) {
  const int trans_a = rt_infer_attr(ctx, "transA", 0) != 0;
  const int trans_b = rt_infer_attr(ctx, "transB", 0) != 0;
  rt_dim k, out[OPS_MAX_RANK];
  int32_t rank;
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "A", 2));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "B", 2));
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 2, "C"));
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, !trans_a), "the columns of A",
                                     rt_infer_dim(ctx, 1, trans_b), "the rows of B", &k));
  const rt_dim dims[2] = {rt_infer_dim(ctx, 0, trans_a), rt_infer_dim(ctx, 1, !trans_b)};
  const int32_t rank_c = rt_infer_rank(ctx, 2);
  if (rank_c > 2) return rt_infer_fail(ctx, "input C has rank %d, expected at most 2", rank_c);
  if (rank_c >= 0) {
    OPS_RETURN_IF_ERROR(
        rt_infer_broadcast(ctx, dims, 2, ctx->inputs[2].type->dims, rank_c, out, &rank));
    for (int32_t i = 0; i < 2; ++i) {
      if (rt_dim_is_value(dims[i], 1) && rt_dim_is_const(out[i]) && out[i].value != 1) {
        return rt_infer_fail(ctx,
                             "input C has %lld elements on an axis where the product has 1; "
                             "expected a shape that broadcasts to the product",
                             (long long)out[i].value);
      }
    }
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), 2));
  for (int32_t i = 0; i < 2; ++i) rt_infer_set_dim(ctx, 0, i, dims[i]);
  return OPS_OK;
}

// numpy.matmul: a vector is a matrix with one row (on the left) or one column (on the right)
// that the result lacks.
int32_t rt_infer_product(rt_infer_context *ctx, const rt_type *a, const rt_type *b,
                         int32_t elem_type) {
  rt_dim dims[OPS_MAX_RANK], k;
  int32_t rank;
  if (a->rank < 0 || b->rank < 0) {
    return rt_infer_set_tensor(ctx, 0, elem_type, RT_RANK_UNKNOWN);
  }
  OPS_RETURN_IF_ERROR(rt_infer_unify(
      ctx, a->dims[a->rank - 1], "the last axis of A", b->dims[b->rank > 1 ? b->rank - 2 : 0],
      b->rank > 1 ? "the last but one axis of B" : "the length of B", &k));
  OPS_RETURN_IF_ERROR(rt_infer_broadcast(ctx, a->dims, a->rank > 2 ? a->rank - 2 : 0, b->dims,
                                         b->rank > 2 ? b->rank - 2 : 0, dims, &rank));
  if (a->rank > 1) dims[rank++] = a->dims[a->rank - 2];
  if (b->rank > 1) dims[rank++] = b->dims[b->rank - 1];
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem_type, rank));
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, dims[i]);
  return OPS_OK;
}

int32_t rt_infer_matmul(rt_infer_context *ctx, uint32_t a, uint32_t b, int32_t elem_type) {
  static const rt_type unknown = {.rank = RT_RANK_UNKNOWN};
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, a, "A", 1));
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, b, "B", 1));
  const rt_type *left = rt_infer_rank(ctx, a) < 0 ? &unknown : ctx->inputs[a].type;
  const rt_type *right = rt_infer_rank(ctx, b) < 0 ? &unknown : ctx->inputs[b].type;
  return rt_infer_product(ctx, left, right, elem_type);
}

int32_t rt_infer_rule_matmul(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  return rt_infer_matmul(ctx, 0, 1, elem ? elem : rt_infer_elem(ctx, 1));
}

int32_t rt_infer_rule_matmul_integer(rt_infer_context *ctx) {
  return rt_infer_matmul(ctx, 0, 1, OPS_TYPE_INT32);
}

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
int32_t rt_infer_rule_qlinear_matmul(rt_infer_context *ctx) {
  return rt_infer_matmul(ctx, 0, 3, rt_infer_elem(ctx, 7));
}

// --- Quantisation ----------------------------------------------------------------------------

int32_t rt_infer_rule_quantize(rt_infer_context *ctx) {
  const int64_t given = rt_infer_attr(ctx, "output_dtype", 0);
  const int32_t by_zero = rt_infer_has(ctx, 2) ? rt_infer_elem(ctx, 2) : OPS_TYPE_UINT8;
  const int known = given > 0 && given < OPS_TYPE_COUNT;
  return rt_infer_copy_shape(ctx, 0, known ? (int32_t)given : by_zero, 0);
}

int32_t rt_infer_rule_dequantize(rt_infer_context *ctx) {
  const int64_t given = rt_infer_attr(ctx, "output_dtype", 0);
  const int known = given > 0 && given < OPS_TYPE_COUNT;
  return rt_infer_copy_shape(ctx, 0, known ? (int32_t)given : rt_infer_elem(ctx, 1), 0);
}

int32_t rt_infer_rule_dynamic_quantize(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, OPS_TYPE_UINT8, 0));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 1, OPS_TYPE_FLOAT, 0));
  return rt_infer_set_tensor(ctx, 2, OPS_TYPE_UINT8, 0);
}

// SPDX-License-Identifier: Apache-2.0
//
// Grids, patches, windows; losses; attention.
#include <string.h>

#include "infer/rules.h"

// Without the contents of size: its length, or theta, says how many axes there are.
static int32_t open_grid(rt_infer_context *ctx, int32_t elem) {
  const rt_dim length = rt_infer_dim(ctx, 1, 0), axes = rt_infer_dim(ctx, 0, 1);
  const rt_dim count =
      rt_dim_is_const(length) ? length : rt_dim_add(ctx->symbols, axes, rt_dim_const(2));
  if (!rt_dim_is_const(count) || (count.value != 4 && count.value != 5))
    return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, (int32_t)count.value));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, 0));
  rt_infer_set_dim(ctx, 0, (int32_t)count.value - 1, rt_dim_const(count.value - 2));
  return OPS_OK;
}

// theta [N,r,r+1], size [N,C,spatial...] -> [N,spatial...,r]
int32_t rt_infer_rule_affine_grid(rt_infer_context *ctx) {
  rt_dim size[RT_INFER_MAX_CONTENTS], dims[OPS_MAX_RANK];
  const int32_t elem = rt_infer_elem(ctx, 0);
  const int64_t count = rt_infer_contents(ctx, 1, size);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "theta", 3));
  if (count < 0) return open_grid(ctx, elem);
  if (count != 4 && count != 5) {
    return rt_infer_fail(ctx, "size has %lld elements, expected 4 or 5", (long long)count);
  }
  dims[0] = size[0];
  for (int32_t i = 2; i < count; ++i) dims[i - 1] = size[i];
  dims[count - 1] = rt_dim_const(count - 2);
  return rt_infer_set_shape(ctx, 0, elem, (int32_t)count, dims);
}

// How many axes the image has, as far as anything but its sizes says; -1: not known.
static int64_t image_axes(const rt_infer_context *ctx) {
  const rt_dim length = rt_infer_dim(ctx, 1, 0);
  uint32_t strides, dilations, pads;
  rt_attrs_ints(&ctx->op->attrs, "strides", &strides);
  rt_attrs_ints(&ctx->op->attrs, "dilations", &dilations);
  rt_attrs_ints(&ctx->op->attrs, "pads", &pads);
  if (rt_dim_is_const(length)) return length.value;
  const uint32_t count = strides ? strides : dilations ? dilations : pads / 2;
  return count ? (int64_t)count : -1;
}

// input [N, C * product(block), L] -> [N, C, image...]
int32_t rt_infer_rule_col2im(rt_infer_context *ctx) {
  rt_dim dims[RT_INFER_MAX_CONTENTS + 2], block[RT_INFER_MAX_CONTENTS], area = rt_dim_const(1);
  const int32_t elem = rt_infer_elem(ctx, 0);
  int64_t axes = rt_infer_contents(ctx, 1, dims + 2);
  const int64_t block_axes = rt_infer_contents(ctx, 2, block);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 3));
  if (axes < 0) {
    axes = image_axes(ctx);
    for (int64_t i = 0; i < axes && i < OPS_MAX_RANK; ++i) dims[i + 2] = rt_dim_unknown();
  }
  if (axes < 0 || axes > OPS_MAX_RANK - 2) {
    return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  }
  for (int64_t i = 0; i < block_axes; ++i) area = rt_dim_mul(ctx->symbols, area, block[i]);
  dims[0] = rt_infer_dim(ctx, 0, 0);
  dims[1] = block_axes < 0 ? rt_dim_unknown()
                           : rt_dim_floor_div(ctx->symbols, rt_infer_dim(ctx, 0, 1), area);
  return rt_infer_set_shape(ctx, 0, elem, (int32_t)axes + 2, dims);
}

int32_t rt_infer_rule_center_crop_pad(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  rt_dim shape[RT_INFER_MAX_CONTENTS];
  int32_t axes[OPS_MAX_RANK], count;
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, UINT32_MAX, rank, axes, &count));
  if (count < 0) {
    count = rank;
    for (int32_t i = 0; i < rank; ++i) axes[i] = i;
  }
  const int64_t length = rt_infer_contents(ctx, 1, shape);
  if (length >= 0 && length != count) {
    return rt_infer_fail(ctx, "shape has %lld elements, expected %d, one per axis",
                         (long long)length, count);
  }
  for (int32_t i = 0; i < count; ++i) {
    rt_infer_set_dim(ctx, 0, axes[i], length < 0 ? rt_dim_unknown() : shape[i]);
  }
  return OPS_OK;
}

// s*(n - 1) + k - pads, or the shape given as input 2.
int32_t rt_infer_rule_max_unpool(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  int64_t kernel[OPS_MAX_RANK], strides[OPS_MAX_RANK], pads[2 * OPS_MAX_RANK];
  rt_dim shape[RT_INFER_MAX_CONTENTS];
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 3));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, elem, 0));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "kernel_shape", rank - 2, 1, kernel));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "strides", rank - 2, 1, strides));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "pads", 2 * (rank - 2), 0, pads));
  const int64_t given = rt_infer_contents(ctx, 2, shape);
  for (int32_t i = 0; i < rank - 2; ++i) {
    rt_symbols *s = ctx->symbols;
    const rt_dim steps = rt_dim_sub(s, rt_infer_dim(ctx, 0, i + 2), rt_dim_const(1));
    const rt_dim span =
        rt_dim_add(s, rt_dim_mul(s, steps, rt_dim_const(strides[i])), rt_dim_const(kernel[i]));
    const rt_dim pad = rt_dim_add(s, rt_dim_const(pads[i]), rt_dim_const(pads[i + rank - 2]));
    rt_infer_set_dim(ctx, 0, i + 2,
                     given == rank          ? shape[i + 2]
                     : rt_infer_has(ctx, 2) ? rt_dim_unknown()
                                            : rt_dim_sub(s, span, pad));
  }
  return OPS_OK;
}

// HannWindow, HammingWindow, BlackmanWindow: a vector of `size` elements.
int32_t rt_infer_rule_window(rt_infer_context *ctx) {
  const int64_t elem = rt_infer_attr(ctx, "output_datatype", OPS_TYPE_FLOAT);
  rt_dim size[RT_INFER_MAX_CONTENTS];
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, (int32_t)elem, 1));
  if (rt_infer_contents(ctx, 0, size) == 1) rt_infer_set_dim(ctx, 0, 0, size[0]);
  return OPS_OK;
}

// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: the labels' shape, or a scalar; the
// second output of the latter is the logarithm of the probabilities.
int32_t rt_infer_rule_loss(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 1, elem, 0));
  if (rt_attrs_string_is(&ctx->op->attrs, "reduction", "none")) {
    return rt_infer_copy_shape(ctx, 0, elem, 1);
  }
  return rt_infer_set_tensor(ctx, 0, elem, 0);
}

// --- Attention -------------------------------------------------------------------------------

typedef struct heads {
  rt_dim batch, count, length, width;
} heads;

// [batch, heads, length, width], or [batch, length, heads * width] with the number of heads as
// an attribute.
static heads read_heads(const rt_infer_context *ctx, uint32_t input, const char *attribute) {
  const int64_t given = rt_infer_attr(ctx, attribute, 0);
  heads h = {rt_infer_dim(ctx, input, 0), rt_infer_dim(ctx, input, 1),
             rt_infer_dim(ctx, input, 2), rt_infer_dim(ctx, input, 3)};
  if (rt_infer_rank(ctx, input) == 3) {
    h.length = h.count;
    h.count = given > 0 ? rt_dim_const(given) : rt_dim_unknown();
    h.width = rt_dim_floor_div(ctx->symbols, rt_infer_dim(ctx, input, 2), h.count);
  }
  return h;
}

// Q, K, V, mask, past_key, past_value -> Y, present_key, present_value, QK
int32_t rt_infer_rule_attention(rt_infer_context *ctx) {
  rt_symbols *s = ctx->symbols;
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  if (rank >= 0 && rank != 3 && rank != 4) {
    return rt_infer_fail(ctx, "input Q has rank %d, expected 3 or 4", rank);
  }
  if (rank < 0 || rt_infer_rank(ctx, 1) < 0 || rt_infer_rank(ctx, 2) < 0) {
    return rt_infer_set_tensor(ctx, 0, elem, rank);
  }
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "K", rank));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 2, "V", rank));
  const heads q = read_heads(ctx, 0, "q_num_heads"), k = read_heads(ctx, 1, "kv_num_heads");
  const heads v = read_heads(ctx, 2, "kv_num_heads");
  const rt_dim past = rt_infer_has(ctx, 4) ? rt_infer_dim(ctx, 4, 2) : rt_dim_const(0);
  const rt_dim total = rt_dim_add(s, past, k.length);
  const rt_dim y4[] = {q.batch, q.count, q.length, v.width};
  const rt_dim y3[] = {q.batch, q.length, rt_dim_mul(s, q.count, v.width)};
  const rt_dim key[] = {k.batch, k.count, total, k.width};
  const rt_dim value[] = {v.batch, v.count, total, v.width};
  const rt_dim scores[] = {q.batch, q.count, q.length, total};
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, rank, rank == 4 ? y4 : y3));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 1, rt_infer_elem(ctx, 1), 4, key));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 2, rt_infer_elem(ctx, 2), 4, value));
  return rt_infer_set_shape(ctx, 3, elem, 4, scores);
}

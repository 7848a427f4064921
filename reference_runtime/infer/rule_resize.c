// SPDX-License-Identifier: Apache-2.0
//
// Resize, Upsample, GridSample.
//
// With scales an axis of size n becomes floor(n * scale), the product in single precision as
// the scales are; with sizes it becomes what they say. On symbolic sizes only scales that are
// whole numbers, or one over a whole number, can be followed.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/rules.h"

static rt_dim scaled(rt_symbols *symbols, rt_dim n, float scale) {
  if (rt_dim_is_const(n)) {
    const float size = floorf((float)n.value * scale);
    return size < 9e18f ? rt_dim_const((int64_t)size) : rt_dim_unknown();
  }
  if (scale == 1) return n;
  if (scale >= 1 && scale == floorf(scale) && scale < 65536) {
    return rt_dim_mul(symbols, n, rt_dim_const((int64_t)scale));
  }
  const float inverse = roundf(1 / scale);
  // Powers of two only: other inverses are not exact.
  if (scale < 1 && 1 / inverse == scale && inverse < 65536 &&
      frexpf(inverse, &(int){0}) == 0.5f) {
    return rt_dim_floor_div(symbols, n, rt_dim_const((int64_t)inverse));
  }
  return rt_dim_unknown();
}

static int32_t apply_scales(rt_infer_context *ctx, const double *scales, int64_t count,
                            const int32_t *axes, int32_t axis_count) {
  if (count != axis_count) {
    return rt_infer_fail(ctx, "scales has %lld elements, expected %d, one per axis",
                         (long long)count, axis_count);
  }
  for (int32_t i = 0; i < axis_count; ++i) {
    if (!(scales[i] > 0)) {
      return rt_infer_fail(ctx, "scale %d is %g, expected a positive number", i, scales[i]);
    }
    const rt_dim n = rt_infer_dim(ctx, 0, axes[i]);
    rt_infer_set_dim(ctx, 0, axes[i], scaled(ctx->symbols, n, (float)scales[i]));
  }
  return OPS_OK;
}

// keep_aspect_ratio_policy: one scale for all axes, the smallest or the largest of those asked
// for; sizes are rounded half up.
static void keep_aspect(rt_infer_context *ctx, const rt_dim *sizes, const int32_t *axes,
                        int32_t axis_count, int not_larger) {
  double scale = 0;
  for (int32_t i = 0; i < axis_count; ++i) {
    const rt_dim n = rt_infer_dim(ctx, 0, axes[i]);
    if (!rt_dim_is_const(n) || n.value == 0 || !rt_dim_is_const(sizes[i])) {
      for (int32_t j = 0; j < axis_count; ++j)
        rt_infer_set_dim(ctx, 0, axes[j], rt_dim_unknown());
      return;
    }
    const double each = (double)sizes[i].value / (double)n.value;
    if (i == 0 || (not_larger ? each < scale : each > scale)) scale = each;
  }
  for (int32_t i = 0; i < axis_count; ++i) {
    const double size = floor(scale * (double)rt_infer_dim(ctx, 0, axes[i]).value + 0.5);
    rt_infer_set_dim(ctx, 0, axes[i],
                     size < 9e18 ? rt_dim_const((int64_t)size) : rt_dim_unknown());
  }
}

static int32_t apply_sizes(rt_infer_context *ctx, const rt_dim *sizes, int64_t count,
                           const int32_t *axes, int32_t axis_count) {
  const rt_attrs *attrs = &ctx->op->attrs;
  if (count != axis_count) {
    return rt_infer_fail(ctx, "sizes has %lld elements, expected %d, one per axis",
                         (long long)count, axis_count);
  }
  for (int32_t i = 0; i < axis_count; ++i) {
    if (rt_dim_is_const(sizes[i]) && sizes[i].value < 0) {
      return rt_infer_fail(ctx, "size %d is %lld, expected at least 0", i,
                           (long long)sizes[i].value);
    }
    rt_infer_set_dim(ctx, 0, axes[i], sizes[i]);
  }
  const int not_larger = rt_attrs_string_is(attrs, "keep_aspect_ratio_policy", "not_larger");
  if (not_larger || rt_attrs_string_is(attrs, "keep_aspect_ratio_policy", "not_smaller")) {
    keep_aspect(ctx, sizes, axes, axis_count, not_larger);
  }
  return OPS_OK;
}

// An input that is given and not empty; the older convention for "omitted" is an empty tensor.
static int has_elements(const rt_infer_context *ctx, uint32_t input) {
  return rt_infer_has(ctx, input) && !rt_dim_is_value(rt_infer_dim(ctx, input, 0), 0);
}

static int32_t resize_with(rt_infer_context *ctx, uint32_t scales_input, uint32_t sizes_input) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  int32_t axes[OPS_MAX_RANK], axis_count;
  double scales[OPS_MAX_RANK];
  rt_dim sizes[RT_INFER_MAX_CONTENTS];
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, UINT32_MAX, rank, axes, &axis_count));
  if (axis_count < 0) {
    axis_count = rank;
    for (int32_t i = 0; i < rank; ++i) axes[i] = i;
  }
  const int by_scales = has_elements(ctx, scales_input),
            by_sizes = has_elements(ctx, sizes_input);
  if (by_scales && by_sizes) {
    return rt_infer_fail(ctx, "both scales and sizes are given, expected one of them");
  }
  if (!by_scales && !by_sizes) {
    return rt_infer_fail(ctx, "neither scales nor sizes is given, expected one of them");
  }
  const int64_t count = by_scales ? rt_infer_floats(ctx, scales_input, scales, OPS_MAX_RANK)
                                  : rt_infer_contents(ctx, sizes_input, sizes);
  if (count < 0) {
    for (int32_t i = 0; i < axis_count; ++i)
      rt_infer_set_dim(ctx, 0, axes[i], rt_dim_unknown());
    return OPS_OK;
  }
  return by_scales ? apply_scales(ctx, scales, count, axes, axis_count)
                   : apply_sizes(ctx, sizes, count, axes, axis_count);
}

// (X, scales) in version 10; (X, roi, scales, sizes) from version 11 on.
int32_t rt_infer_rule_resize(rt_infer_context *ctx) {
  return ctx->op->opset < 11 ? resize_with(ctx, 1, UINT32_MAX) : resize_with(ctx, 2, 3);
}

// Upsample 1: the last two of four dimensions.
static int32_t upsample_plane(rt_infer_context *ctx) {
  static const char *const names[2] = {"height_scale", "width_scale"};
  const int32_t axes[4] = {0, 1, 2, 3};
  double scales[4] = {1, 1, 1, 1};
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "X", 4));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rt_infer_rank(ctx, 0) < 0) return OPS_OK;
  for (int32_t i = 0; i < 2; ++i)
    scales[2 + i] = (double)rt_attrs_float(&ctx->op->attrs, names[i], 1.0f);
  return apply_scales(ctx, scales, 4, axes, 4);
}

// Attributes height_scale and width_scale in version 1, scales in versions 7 and 8, an input
// from version 9 on.
int32_t rt_infer_rule_upsample(rt_infer_context *ctx) {
  if (ctx->op->opset < 7) return upsample_plane(ctx);
  const int32_t rank = rt_infer_rank(ctx, 0);
  uint32_t count;
  const float *given = rt_attrs_floats(&ctx->op->attrs, "scales", &count);
  double scales[OPS_MAX_RANK];
  int32_t axes[OPS_MAX_RANK];
  if (!given) return resize_with(ctx, 1, UINT32_MAX);
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rank < 0) return OPS_OK;
  for (int32_t i = 0; i < rank; ++i) axes[i] = i;
  for (uint32_t i = 0; i < count && i < OPS_MAX_RANK; ++i) scales[i] = (double)given[i];
  return apply_scales(ctx, scales, count, axes, rank);
}

// X [N,C,spatial...], grid [N,output spatial...,r] -> [N,C,output spatial...]
int32_t rt_infer_rule_grid_sample(rt_infer_context *ctx) {
  int32_t rank = rt_infer_rank(ctx, 0);
  rt_dim n;
  if (rank < 0) rank = rt_infer_rank(ctx, 1);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), rank));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "grid", rank));
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, 0), "the batch of X",
                                     rt_infer_dim(ctx, 1, 0), "the batch of grid", &n));
  if (rank < 3) return OPS_OK;
  rt_infer_set_dim(ctx, 0, 0, n);
  rt_infer_set_dim(ctx, 0, 1, rt_infer_dim(ctx, 0, 1));
  for (int32_t i = 2; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 1, i - 1));
  return OPS_OK;
}

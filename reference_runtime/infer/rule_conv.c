// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pooling. With effective kernel K = (k - 1) * dilation + 1, padding P = begin
// + end and stride s, one spatial axis of size n gives
//   convolution, pooling:            floor((n + P - K)/s) + 1
//   pooling with ceil_mode:          ceil((n + P - K)/s) + 1, but no window may begin behind
//   the
//                                    data and the padding before them: at most ceil((n +
//                                    begin)/s)
//   SAME_UPPER, SAME_LOWER:          ceil(n/s)
//   transposed convolution:          s*(n - 1) + output_padding + K - P;  SAME_*: n*s
// (ONNX operator specifications of Conv, MaxPool and ConvTranspose.)
#include <stdio.h>
#include <string.h>

#include "infer/rules.h"

#define MAX_SPATIAL (OPS_MAX_RANK - 2)
#define PAD_EXPLICIT 0
#define PAD_VALID 1
#define PAD_SAME 2

typedef struct window {
  int32_t axes;  // spatial ones
  int32_t padding;
  int64_t strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
  rt_dim kernel[MAX_SPATIAL];
} window;

static int32_t read_padding(const rt_infer_context *ctx, int32_t *out_padding) {
  const ops_str text = rt_attrs_string(&ctx->op->attrs, "auto_pad");
  static const struct {
    const char *name;
    int32_t padding;
  } rows[] = {{"NOTSET", PAD_EXPLICIT},
              {"VALID", PAD_VALID},
              {"SAME_UPPER", PAD_SAME},
              {"SAME_LOWER", PAD_SAME}};
  *out_padding = PAD_EXPLICIT;
  if (text.size == 0) return OPS_OK;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rt_attrs_string_is(&ctx->op->attrs, "auto_pad", rows[i].name)) {
      *out_padding = rows[i].padding;
      return OPS_OK;
    }
  }
  return rt_infer_fail(ctx,
                       "attribute auto_pad is '%.*s', expected NOTSET, VALID, SAME_UPPER or "
                       "SAME_LOWER",
                       OPS_STR_FMT(text));
}

static int32_t check_positive(const rt_infer_context *ctx, const char *name,
                              const int64_t *values, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (values[i] < 1) {
      return rt_infer_fail(ctx, "attribute %s has element %lld, expected at least 1", name,
                           (long long)values[i]);
    }
  }
  return OPS_OK;
}

// `weight`: the input whose last axes are the kernel, or -1: only the attribute gives it.
static int32_t read_kernel(const rt_infer_context *ctx, window *w, int32_t weight) {
  uint32_t count;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, "kernel_shape", &count);
  if (!given && weight < 0) {
    return rt_infer_fail(ctx, "attribute kernel_shape is missing");
  }
  if (given && count != (uint32_t)w->axes) {
    return rt_infer_fail(ctx,
                         "attribute kernel_shape has %u elements, expected %d: the data have "
                         "that many spatial axes",
                         count, w->axes);
  }
  if (given) OPS_RETURN_IF_ERROR(check_positive(ctx, "kernel_shape", given, w->axes));
  for (int32_t i = 0; i < w->axes; ++i) {
    w->kernel[i] = given ? rt_dim_const(given[i]) : rt_dim_unknown();
    if (weight < 0 || rt_infer_rank(ctx, (uint32_t)weight) < 0) continue;
    OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, w->kernel[i], "kernel_shape",
                                       rt_infer_dim(ctx, (uint32_t)weight, i + 2),
                                       "the spatial axis of W", &w->kernel[i]));
  }
  return OPS_OK;
}

static int32_t read_window(const rt_infer_context *ctx, int32_t axes, int32_t weight,
                           window *w) {
  w->axes = axes;
  OPS_RETURN_IF_ERROR(read_padding(ctx, &w->padding));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "strides", axes, 1, w->strides));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "dilations", axes, 1, w->dilations));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "pads", 2 * axes, 0, w->pads));
  OPS_RETURN_IF_ERROR(check_positive(ctx, "strides", w->strides, axes));
  OPS_RETURN_IF_ERROR(check_positive(ctx, "dilations", w->dilations, axes));
  if (w->padding != PAD_EXPLICIT) memset(w->pads, 0, sizeof w->pads);
  return read_kernel(ctx, w, weight);
}

// (k - 1) * dilation + 1
static rt_dim effective_kernel(rt_symbols *s, const window *w, int32_t axis) {
  const rt_dim gaps = rt_dim_sub(s, w->kernel[axis], rt_dim_const(1));
  return rt_dim_add(s, rt_dim_mul(s, gaps, rt_dim_const(w->dilations[axis])), rt_dim_const(1));
}

static rt_dim padding_of(rt_symbols *s, const window *w, int32_t axis) {
  return rt_dim_add(s, rt_dim_const(w->pads[axis]), rt_dim_const(w->pads[axis + w->axes]));
}

static int32_t window_size(const rt_infer_context *ctx, const window *w, int32_t axis, rt_dim n,
                           int ceil_mode, rt_dim *out) {
  rt_symbols *s = ctx->symbols;
  const rt_dim stride = rt_dim_const(w->strides[axis]), one = rt_dim_const(1);
  char text_n[RT_INFER_TEXT], text_k[RT_INFER_TEXT];
  if (w->padding == PAD_SAME) {
    *out = rt_dim_ceil_div(s, n, stride);
    return OPS_OK;
  }
  const rt_dim kernel = effective_kernel(s, w, axis);
  const rt_dim padded = rt_dim_add(s, n, padding_of(s, w, axis));
  const rt_dim room = rt_dim_sub(s, padded, kernel);
  if (rt_dim_is_const(room) && room.value < 0) {
    return rt_infer_fail(ctx,
                         "the window is larger than the data on spatial axis %d: %s elements "
                         "with padding, but the window with dilation spans %s",
                         axis, rt_infer_text(ctx, padded, text_n),
                         rt_infer_text(ctx, kernel, text_k));
  }
  if (!ceil_mode) {
    *out = rt_dim_add(s, rt_dim_floor_div(s, room, stride), one);
    return OPS_OK;
  }
  // Both bounds as floor(x / s) of one divisor, so that their minimum is decided on x.
  const rt_dim last = rt_dim_sub(s, stride, one);
  const rt_dim by_room = rt_dim_add(s, rt_dim_add(s, room, last), stride);
  const rt_dim by_start = rt_dim_add(s, rt_dim_add(s, n, rt_dim_const(w->pads[axis])), last);
  *out = rt_dim_floor_div(s, rt_dim_min(s, by_room, by_start), stride);
  return OPS_OK;
}

// --- Convolution -----------------------------------------------------------------------------

// X has C channels, W has C / group of them on axis 1 and a multiple of group on axis 0.
static int32_t check_channels(const rt_infer_context *ctx, uint32_t weight, int64_t group) {
  const rt_dim c = rt_infer_dim(ctx, 0, 1), per_group = rt_infer_dim(ctx, weight, 1);
  const rt_dim m = rt_infer_dim(ctx, weight, 0);
  if (group < 1) {
    return rt_infer_fail(ctx, "attribute group is %lld, expected at least 1", (long long)group);
  }
  if (rt_dim_is_const(c) && c.value % group != 0) {
    return rt_infer_fail(ctx, "input X has %lld channels, expected a multiple of group %lld",
                         (long long)c.value, (long long)group);
  }
  if (rt_dim_is_const(c) && rt_dim_is_const(per_group) && per_group.value != c.value / group) {
    return rt_infer_fail(ctx,
                         "input W has %lld channels per group, expected %lld (X has %lld, "
                         "group %lld)",
                         (long long)per_group.value, (long long)(c.value / group),
                         (long long)c.value, (long long)group);
  }
  if (rt_dim_is_const(m) && m.value % group != 0) {
    return rt_infer_fail(ctx,
                         "input W has %lld output channels, expected a multiple of group "
                         "%lld",
                         (long long)m.value, (long long)group);
  }
  return OPS_OK;
}

// The bias, if there is one, has one element per output channel.
static int32_t check_bias(const rt_infer_context *ctx, uint32_t input, rt_dim channels,
                          rt_dim *out_channels) {
  *out_channels = channels;
  if (!rt_infer_has(ctx, input)) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, input, "B", 1));
  return rt_infer_unify(ctx, channels, "the number of output channels",
                        rt_infer_dim(ctx, input, 0), "the length of input B", out_channels);
}

// Common to Conv and its quantised forms: data in input 0.
static int32_t infer_conv(rt_infer_context *ctx, uint32_t weight, uint32_t bias,
                          int32_t elem_type) {
  int32_t rank = rt_infer_rank(ctx, 0);
  window w;
  rt_dim channels, size;
  if (rank < 0) rank = rt_infer_rank(ctx, weight);
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 3));
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, elem_type, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, weight, "W", rank));
  if (rank < 3) return rt_infer_fail(ctx, "input W has rank %d, expected at least 3", rank);
  OPS_RETURN_IF_ERROR(check_channels(ctx, weight, rt_infer_attr(ctx, "group", 1)));
  OPS_RETURN_IF_ERROR(read_window(ctx, rank - 2, (int32_t)weight, &w));
  OPS_RETURN_IF_ERROR(check_bias(ctx, bias, rt_infer_dim(ctx, weight, 0), &channels));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem_type, rank));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, 0));
  rt_infer_set_dim(ctx, 0, 1, channels);
  for (int32_t i = 0; i < w.axes; ++i) {
    OPS_RETURN_IF_ERROR(window_size(ctx, &w, i, rt_infer_dim(ctx, 0, i + 2), 0, &size));
    rt_infer_set_dim(ctx, 0, i + 2, size);
  }
  return OPS_OK;
}

int32_t rt_infer_rule_conv(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "X", 1, "W"));
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "X", 2, "B"));
  const int32_t elem = rt_infer_elem(ctx, 0);
  return infer_conv(ctx, 1, 2, elem ? elem : rt_infer_elem(ctx, 1));
}

int32_t rt_infer_rule_conv_integer(rt_infer_context *ctx) {
  return infer_conv(ctx, 1, UINT32_MAX, OPS_TYPE_INT32);
}

// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B
int32_t rt_infer_rule_qlinear_conv(rt_infer_context *ctx) {
  return infer_conv(ctx, 3, 8, rt_infer_elem(ctx, 7));
}

// X, W, offset, B, mask
int32_t rt_infer_rule_deform_conv(rt_infer_context *ctx) {
  return infer_conv(ctx, 1, 3, rt_infer_elem(ctx, 0));
}

// --- Transposed convolution ------------------------------------------------------------------

static rt_dim transposed_size(rt_symbols *s, const window *w, int32_t axis, rt_dim n,
                              int64_t output_padding) {
  const rt_dim stride = rt_dim_const(w->strides[axis]);
  if (w->padding == PAD_SAME) return rt_dim_mul(s, n, stride);
  const rt_dim steps = rt_dim_mul(s, rt_dim_sub(s, n, rt_dim_const(1)), stride);
  const rt_dim span = rt_dim_add(s, steps, effective_kernel(s, w, axis));
  return rt_dim_sub(s, rt_dim_add(s, span, rt_dim_const(output_padding)),
                    padding_of(s, w, axis));
}

// W is [C, M / group, k...].
static int32_t transposed_channels(const rt_infer_context *ctx, rt_dim *out_channels) {
  const int64_t group = rt_infer_attr(ctx, "group", 1);
  rt_dim channels;
  if (group < 1) {
    return rt_infer_fail(ctx, "attribute group is %lld, expected at least 1", (long long)group);
  }
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 0, 1), "the channels of X",
                                     rt_infer_dim(ctx, 1, 0), "axis 0 of W", &channels));
  if (rt_dim_is_const(channels) && channels.value % group != 0) {
    return rt_infer_fail(ctx, "input X has %lld channels, expected a multiple of group %lld",
                         (long long)channels.value, (long long)group);
  }
  channels = rt_dim_mul(ctx->symbols, rt_infer_dim(ctx, 1, 1), rt_dim_const(group));
  return check_bias(ctx, 2, channels, out_channels);
}

static int32_t transposed_spatial(rt_infer_context *ctx, const window *w) {
  int64_t extra[MAX_SPATIAL];
  uint32_t given_count;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, "output_shape", &given_count);
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "output_padding", w->axes, 0, extra));
  // Some exporters write the batch and the channels too.
  if (given && given_count == (uint32_t)w->axes + 2) given += 2, given_count -= 2;
  if (given && given_count != 0 && given_count != (uint32_t)w->axes) {
    return rt_infer_fail(ctx, "attribute output_shape has %u elements, expected %d",
                         given_count, w->axes);
  }
  for (int32_t i = 0; i < w->axes; ++i) {
    const rt_dim size =
        given && given_count
            ? rt_dim_const(given[i])
            : transposed_size(ctx->symbols, w, i, rt_infer_dim(ctx, 0, i + 2), extra[i]);
    if (rt_dim_is_const(size) && size.value < 0) {
      return rt_infer_fail(ctx,
                           "spatial axis %d of the output would have %lld elements: the "
                           "padding takes more than there is",
                           i, (long long)size.value);
    }
    rt_infer_set_dim(ctx, 0, i + 2, size);
  }
  return OPS_OK;
}

int32_t rt_infer_rule_conv_transpose(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  int32_t rank = rt_infer_rank(ctx, 0);
  window w;
  rt_dim channels;
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "X", 1, "W"));
  if (rank < 0) rank = rt_infer_rank(ctx, 1);
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 1, "W", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "W", rank));
  OPS_RETURN_IF_ERROR(read_window(ctx, rank - 2, 1, &w));
  OPS_RETURN_IF_ERROR(transposed_channels(ctx, &channels));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, 0));
  rt_infer_set_dim(ctx, 0, 1, channels);
  return transposed_spatial(ctx, &w);
}

// --- Pooling ---------------------------------------------------------------------------------

// The first spatial axis: 1 where the channels are last, by the operator or by an attribute
// that only operators of com.microsoft have.
static int32_t first_spatial(const rt_infer_context *ctx) {
  const int last = ctx->param == RT_INFER_NHWC || rt_infer_attr(ctx, "channels_last", 0) != 0;
  return last ? 1 : 2;
}

int32_t rt_infer_rule_pool(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  const int ceil_mode = rt_infer_attr(ctx, "ceil_mode", 0) != 0;
  const int32_t first = first_spatial(ctx);
  window w;
  rt_dim size;
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 3));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 1, OPS_TYPE_INT64, rank));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(read_window(ctx, rank - 2, -1, &w));
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t axis = i - first;
    size = rt_infer_dim(ctx, 0, i);
    if (axis >= 0 && axis < rank - 2)
      OPS_RETURN_IF_ERROR(window_size(ctx, &w, axis, size, ceil_mode, &size));
    rt_infer_set_dim(ctx, 0, i, size);
    rt_infer_set_dim(ctx, 1, i, size);
  }
  return OPS_OK;
}

int32_t rt_infer_rule_global_pool(rt_infer_context *ctx) {
  const int32_t first = first_spatial(ctx), rank = rt_infer_rank(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 3));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  for (int32_t i = first; i < first + rank - 2; ++i) {
    rt_infer_set_dim(ctx, 0, i, rt_dim_const(1));
  }
  return OPS_OK;
}

// X [N,C,H,W], rois [R,5] -> [R,C,pooled_shape]
int32_t rt_infer_rule_max_roi_pool(rt_infer_context *ctx) {
  int64_t pooled[2];
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "X", 4));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "rois", 2));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "pooled_shape", 2, 1, pooled));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), 4));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 1, 0));
  rt_infer_set_dim(ctx, 0, 1, rt_infer_dim(ctx, 0, 1));
  for (int32_t i = 0; i < 2; ++i) rt_infer_set_dim(ctx, 0, i + 2, rt_dim_const(pooled[i]));
  return OPS_OK;
}

// X [N,C,H,W], rois [R,4], batch_indices [R] -> [R,C,output_height,output_width]
int32_t rt_infer_rule_roi_align(rt_infer_context *ctx) {
  rt_dim count;
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "X", 4));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "rois", 2));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 2, "batch_indices", 1));
  OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rt_infer_dim(ctx, 1, 0), "the number of rois",
                                     rt_infer_dim(ctx, 2, 0), "the length of batch_indices",
                                     &count));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), 4));
  rt_infer_set_dim(ctx, 0, 0, count);
  rt_infer_set_dim(ctx, 0, 1, rt_infer_dim(ctx, 0, 1));
  rt_infer_set_dim(ctx, 0, 2, rt_dim_const(rt_infer_attr(ctx, "output_height", 1)));
  rt_infer_set_dim(ctx, 0, 3, rt_dim_const(rt_infer_attr(ctx, "output_width", 1)));
  return OPS_OK;
}

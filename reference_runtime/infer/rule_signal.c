// SPDX-License-Identifier: Apache-2.0
//
// Signals, texts and encoded images: Fourier transforms, mel filters, n-grams, words.
#include "infer/rules.h"

// The number in a scalar input; unknown if it is omitted or not known.
static rt_dim number_in(const rt_infer_context *ctx, uint32_t input) {
  rt_dim contents[RT_INFER_MAX_CONTENTS];
  return rt_infer_contents(ctx, input, contents) == 1 ? contents[0] : rt_dim_unknown();
}

// floor(n/2) + 1: what a real signal's spectrum needs.
static rt_dim onesided(const rt_infer_context *ctx, rt_dim n) {
  rt_symbols *s = ctx->symbols;
  return rt_dim_add(s, rt_dim_floor_div(s, n, rt_dim_const(2)), rt_dim_const(1));
}

// --- Fourier transforms ----------------------------------------------------------------------

// The axis: an attribute up to version 19, input 2 from then on. -1: not known.
static int32_t dft_axis(const rt_infer_context *ctx, int32_t rank, int32_t *out_axis) {
  int64_t axis = ctx->op->opset < 20 ? rt_infer_attr(ctx, "axis", 1) : -2;
  *out_axis = -1;
  if (ctx->op->opset >= 20 && rt_infer_has(ctx, 2) && rt_infer_ints(ctx, 2, &axis, 1) != 1)
    return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, axis, rank, out_axis));
  if (*out_axis < rank - 1) return OPS_OK;
  return rt_infer_fail(ctx, "axis is %lld, which holds the real and imaginary parts",
                       (long long)axis);
}

// [..., n, ..., 1 or 2] -> [..., n or dft_length, ..., 2]. A one-sided transform keeps
// floor(n/2) + 1 of the frequencies; its inverse makes 2*(n - 1) real numbers of them.
int32_t rt_infer_rule_dft(rt_infer_context *ctx) {
  rt_symbols *s = ctx->symbols;
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int half = rt_infer_attr(ctx, "onesided", 0) != 0;
  const int inverse = rt_infer_attr(ctx, "inverse", 0) != 0;
  int32_t axis;
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "input", 2));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(dft_axis(ctx, rank, &axis));
  rt_infer_set_dim(ctx, 0, rank - 1, rt_dim_const(half && inverse ? 1 : 2));
  if (axis < 0) {
    // Whichever it is, a full transform without a length of its own keeps all sizes.
    for (int32_t i = 0; (half || rt_infer_has(ctx, 1)) && i + 1 < rank; ++i)
      rt_infer_set_dim(ctx, 0, i, rt_dim_unknown());
    return OPS_OK;
  }
  rt_dim n = rt_infer_dim(ctx, 0, axis);
  if (half && inverse) n = rt_dim_mul(s, rt_dim_sub(s, n, rt_dim_const(1)), rt_dim_const(2));
  if (rt_infer_has(ctx, 1)) n = number_in(ctx, 1);
  rt_infer_set_dim(ctx, 0, axis, half && !inverse ? onesided(ctx, n) : n);
  return OPS_OK;
}

// signal [N, n, 1 or 2], frame_step, window, frame_length -> [N, frames, frequencies, 2]
int32_t rt_infer_rule_stft(rt_infer_context *ctx) {
  rt_symbols *s = ctx->symbols;
  const int half = rt_infer_attr(ctx, "onesided", 1) != 0;
  const rt_dim n = rt_infer_dim(ctx, 0, 1), step = number_in(ctx, 1);
  rt_dim length = n, frames = rt_dim_unknown();
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "signal", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 2, "window", 1));
  if (rt_infer_has(ctx, 3)) length = number_in(ctx, 3);
  if (rt_infer_has(ctx, 2)) {
    const rt_dim window = rt_infer_dim(ctx, 2, 0);
    OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, window, "the length of window",
                                       rt_infer_has(ctx, 3) ? length : window, "frame_length",
                                       &length));
  }
  if (rt_dim_is_const(step) && step.value < 1)
    return rt_infer_fail(ctx, "frame_step is %lld, expected at least 1", (long long)step.value);
  const rt_dim room = rt_dim_sub(s, n, length);
  if (rt_dim_is_const(room) && room.value < 0)
    return rt_infer_fail(ctx, "a frame has %lld elements more than the signal",
                         -(long long)room.value);
  frames = rt_dim_add(s, rt_dim_floor_div(s, room, step), rt_dim_const(1));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), 4));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, 0));
  rt_infer_set_dim(ctx, 0, 1, frames);
  rt_infer_set_dim(ctx, 0, 2, half ? onesided(ctx, length) : length);
  rt_infer_set_dim(ctx, 0, 3, rt_dim_const(2));
  return OPS_OK;
}

// num_mel_bins, dft_length, … -> [floor(dft_length/2) + 1, num_mel_bins]
int32_t rt_infer_rule_mel_weight_matrix(rt_infer_context *ctx) {
  const int64_t elem = rt_infer_attr(ctx, "output_datatype", OPS_TYPE_FLOAT);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, (int32_t)elem, 2));
  rt_infer_set_dim(ctx, 0, 0, onesided(ctx, number_in(ctx, 1)));
  rt_infer_set_dim(ctx, 0, 1, number_in(ctx, 0));
  return OPS_OK;
}

// --- Texts -----------------------------------------------------------------------------------

// [...] -> [..., most parts of any string], and the number of parts of each
int32_t rt_infer_rule_string_split(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  OPS_RETURN_IF_ERROR(
      rt_infer_set_tensor(ctx, 0, OPS_TYPE_STRING, rank < 0 ? RT_RANK_UNKNOWN : rank + 1));
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, i));
  return rt_infer_copy_shape(ctx, 1, OPS_TYPE_INT64, 0);
}

// [C] or [1, C] -> the same without the stop words, but with one element at least
int32_t rt_infer_rule_string_normalizer(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const rt_attr *words = rt_attrs_find(&ctx->op->attrs, "stopwords");
  if (rank == 0 || rank > 2)
    return rt_infer_fail(ctx, "input X has rank %d, expected 1 or 2", rank);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_STRING, rank));
  if (rank == 2) rt_infer_set_dim(ctx, 0, 0, rt_dim_const(1));
  const rt_dim count = rt_infer_dim(ctx, 0, rank - 1);
  const int keeps_all = !words || words->count == 0;
  if (rank > 0 && keeps_all && rt_dim_is_const(count) && count.value > 0)
    rt_infer_set_dim(ctx, 0, rank - 1, count);
  return OPS_OK;
}

// [C] -> [W], [N, C] -> [N, W] with W = max(ngram_indexes) + 1
int32_t rt_infer_rule_tf_idf_vectorizer(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  uint32_t count;
  const int64_t *indexes = rt_attrs_ints(&ctx->op->attrs, "ngram_indexes", &count);
  int64_t last = -1;
  for (uint32_t i = 0; i < count; ++i) last = indexes[i] > last ? indexes[i] : last;
  if (last < 0 || last == INT64_MAX)
    return rt_infer_fail(ctx, "attribute ngram_indexes has no index of an output");
  if (rank > 2) return rt_infer_fail(ctx, "input X has rank %d, expected 1 or 2", rank);
  const int32_t out_rank = rank == 0 ? 1 : rank;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_FLOAT, out_rank));
  if (rank == 2) rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, 0));
  if (out_rank > 0) rt_infer_set_dim(ctx, 0, out_rank - 1, rt_dim_const(last + 1));
  return OPS_OK;
}

// --- Images ----------------------------------------------------------------------------------

// [height, width, channels]; the file may be no image, which gives an empty one.
int32_t rt_infer_rule_image_decoder(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "encoded_stream", 1));
  return rt_infer_set_tensor(ctx, 0, OPS_TYPE_UINT8, 3);
}

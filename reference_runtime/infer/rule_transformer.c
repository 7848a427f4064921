// SPDX-License-Identifier: Apache-2.0
//
// What transformers of com.microsoft are made of: fused normalisation, attention with its
// caches.
#include "infer/rules.h"

static int32_t elem_or(const rt_infer_context *ctx, uint32_t input, int32_t otherwise) {
  const int32_t elem = rt_infer_elem(ctx, input);
  return rt_infer_has(ctx, input) && elem != OPS_TYPE_UNDEFINED ? elem : otherwise;
}

// dim / heads, or unknown. `heads` is an attribute.
static rt_dim head_size(const rt_infer_context *ctx, rt_dim dim, int64_t heads) {
  return heads > 0 ? rt_dim_floor_div(ctx->symbols, dim, rt_dim_const(heads))
                   : rt_dim_unknown();
}

static rt_dim head_count(int64_t heads) {
  return heads > 0 ? rt_dim_const(heads) : rt_dim_unknown();
}

// The number that an input holds.
static rt_dim scalar(const rt_infer_context *ctx, uint32_t input) {
  rt_dim values[RT_INFER_MAX_CONTENTS];
  return rt_infer_contents(ctx, input, values) == 1 ? values[0] : rt_dim_unknown();
}

// --- Normalisation
// -----------------------------------------------------------------------------

// SkipLayerNormalization, SkipSimplifiedLayerNormalization: output, mean, inverse deviation,
// sum.
int32_t rt_infer_rule_skip_norm(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const int statistic = i == 1 || i == 2;
    OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, i, statistic ? OPS_TYPE_FLOAT : elem, 0));
    if (statistic && rank > 0) rt_infer_set_dim(ctx, i, rank - 1, rt_dim_const(1));
  }
  return OPS_OK;
}

// EmbedLayerNormalization: ids [batch, length], word_embedding [rows, size].
int32_t rt_infer_rule_embed_norm(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 2);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input_ids", 2));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 2, "word_embedding", 2));
  const rt_dim dims[] = {rt_infer_dim(ctx, 0, 0), rt_infer_dim(ctx, 0, 1),
                         rt_infer_dim(ctx, 2, 1)};
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, 3, dims));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 1, OPS_TYPE_INT32, 1, dims));
  return rt_infer_set_shape(ctx, 2, elem, 3, dims);
}

// --- Attention -------------------------------------------------------------------------------

// past [2, batch, heads, positions, size]; a cache that is shared keeps its shape.
int32_t rt_infer_rule_microsoft_attention(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  const int64_t heads = rt_infer_attr(ctx, "num_heads", 0);
  int64_t sizes[3];
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "weights", 2));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 4, "past", 5));
  OPS_RETURN_IF_ERROR(rt_infer_attr_ints(ctx, "qkv_hidden_sizes", 3, 0, sizes));
  const rt_dim batch = rt_infer_dim(ctx, 0, 0), length = rt_infer_dim(ctx, 0, 1);
  const rt_dim hidden =
      sizes[2] > 0 ? rt_dim_const(sizes[2])
                   : rt_dim_floor_div(ctx->symbols, rt_infer_dim(ctx, 1, 1), rt_dim_const(3));
  const rt_dim past = rt_infer_has(ctx, 4) ? rt_infer_dim(ctx, 4, 3) : rt_dim_const(0);
  const int share = rt_infer_has(ctx, 4) && rt_infer_attr(ctx, "past_present_share_buffer", 0);
  const rt_dim y[] = {batch, length, hidden};
  const rt_dim present[] = {rt_dim_const(2), batch, head_count(heads),
                            share ? past : rt_dim_add(ctx->symbols, past, length),
                            head_size(ctx, hidden, heads)};
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, 3, y));
  return rt_infer_set_shape(ctx, 1, elem, 5, present);
}

typedef struct keys {
  rt_dim fresh, size, v_hidden, v_size;
} keys;

// Of key and value in any form; unknown where their ranks are.
static keys read_keys(const rt_infer_context *ctx, int64_t heads) {
  const rt_dim unknown = rt_dim_unknown();
  keys k = {unknown, head_size(ctx, rt_infer_dim(ctx, 0, 2), heads), unknown, unknown};
  if (rt_infer_rank(ctx, 0) == 5) {  // packed QKV
    k.fresh = rt_infer_dim(ctx, 0, 1);
    k.size = k.v_size = rt_infer_dim(ctx, 0, 4);
  } else if (rt_infer_rank(ctx, 1) == 5) {  // packed KV
    k.fresh = rt_infer_dim(ctx, 1, 1);
    k.v_size = rt_infer_dim(ctx, 1, 4);
  } else if (rt_infer_rank(ctx, 1) == 4) {  // a finished cache
    k.fresh = rt_infer_dim(ctx, 1, 2);
    k.v_size = rt_infer_dim(ctx, 2, 3);
  } else if (rt_infer_rank(ctx, 1) == 3) {
    k.fresh = rt_infer_dim(ctx, 1, 1);
    k.v_hidden = rt_infer_dim(ctx, 2, 2);
    k.v_size = head_size(ctx, k.v_hidden, heads);
    return k;
  }
  k.v_hidden = rt_dim_mul(ctx->symbols, head_count(heads), k.v_size);
  return k;
}

// A past of known length (input 8) shares its cache with present, which keeps its shape.
int32_t rt_infer_rule_multi_head_attention(rt_infer_context *ctx) {
  rt_symbols *s = ctx->symbols;
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  const int64_t heads = rt_infer_attr(ctx, "num_heads", 0);
  if (rank >= 0 && rank != 3 && rank != 5)
    return rt_infer_fail(ctx, "input query has rank %d, expected 3 or 5", rank);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 6, "past_key", 4));
  const keys k = read_keys(ctx, heads);
  const int has_past = rt_infer_has(ctx, 6), share = has_past && rt_infer_has(ctx, 8);
  const rt_dim held = has_past ? rt_infer_dim(ctx, 6, 2) : rt_dim_const(0);
  const rt_dim past = share ? scalar(ctx, 8) : held;
  const rt_dim batch = rt_infer_dim(ctx, 0, 0), queries = rt_infer_dim(ctx, 0, 1);
  const rt_dim total = rt_dim_add(s, past, k.fresh), room = share ? held : total;
  const rt_dim y[] = {batch, queries, k.v_hidden};
  const rt_dim key[] = {batch, head_count(heads), room, k.size};
  const rt_dim value[] = {batch, head_count(heads), room, k.v_size};
  const rt_dim scores[] = {batch, head_count(heads), queries, total};
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, 3, y));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 1, elem, 4, key));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 2, elem, 4, value));
  return rt_infer_set_shape(ctx, 3, elem, 4, scores);
}

// Positions of the present cache: those of the past one or, if there are more,
// total_sequence_length. A windowed cache keeps its shape.
static rt_dim cache_room(const rt_infer_context *ctx, rt_dim total) {
  const rt_dim held = rt_infer_has(ctx, 3) ? rt_infer_dim(ctx, 3, 2) : rt_dim_const(0);
  if (rt_infer_attr(ctx, "sliding_window_cache", 0) != 0) return held;
  if (!rt_infer_has(ctx, 3)) return total;
  return rt_dim_max(ctx->symbols, held, total);
}

int32_t rt_infer_rule_group_query_attention(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  const int64_t heads = rt_infer_attr(ctx, "num_heads", 0);
  const int64_t kv_heads = rt_infer_attr(ctx, "kv_num_heads", 0);
  const int packed = !rt_infer_has(ctx, 1);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "query", 3));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 3, "past_key", 4));
  const rt_dim batch = rt_infer_dim(ctx, 0, 0), queries = rt_infer_dim(ctx, 0, 1);
  const rt_dim size =
      head_size(ctx, rt_infer_dim(ctx, 0, 2), packed ? heads + 2 * kv_heads : heads);
  const rt_dim total = scalar(ctx, 6);
  // A cache of 4 bits holds two numbers in an element: its width is that of the past one.
  const rt_dim width = rt_infer_has(ctx, 3) ? rt_infer_dim(ctx, 3, 3) : size;
  const rt_dim y[] = {batch, queries, rt_dim_mul(ctx->symbols, head_count(heads), size)};
  const rt_dim cache[] = {batch, head_count(kv_heads), cache_room(ctx, total), width};
  const rt_dim scores[] = {batch, head_count(heads), queries, total};
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, 3, y));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 1, elem_or(ctx, 3, elem), 4, cache));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 2, elem_or(ctx, 4, elem), 4, cache));
  return rt_infer_set_shape(ctx, 3, elem, 4, scores);
}

// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft Attention: Q, K and V are made of the input by one product with merged weights,
// then attend. The cache holds keys and values in one tensor [2, batch, heads, positions,
// size].
//
// do_rotary turns pairs (i, i + half) of queries and keys by position * 10000^(-i / half), the
// angles of the method's paper (Su et al. 2021); the definition names no table of them.
#include <math.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "padding_mask.h"
#include "product.h"
#include "rotary.h"
#include "traverse.h"

enum { INPUT, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS, PAST_LENGTH };
enum { OUTPUT, PRESENT };

#define MASK_FORMS                                                  \
  (REF_MASK_BIT(REF_MASK_LENGTHS) | REF_MASK_BIT(REF_MASK_RANGES) | \
   REF_MASK_BIT(REF_MASK_KEYS) | REF_MASK_BIT(REF_MASK_UNIFORM) |   \
   REF_MASK_BIT(REF_MASK_SCORES) | REF_MASK_BIT(REF_MASK_SQUARE))

typedef struct attention_state {
  int64_t batch, length, input_size, heads;
  int64_t size, v_size;       // of a head
  int64_t width;              // of Q, K and V together
  int64_t past, total, room;  // positions: before, after, of the cache
  int64_t half;               // pairs that are turned
  int32_t causal;
  double scale;
  ref_mask mask;
  ref_mask_shape shape;
  uint64_t qkv_at, k_at, v_at, rows_at;
} attention_state;

// ---- Prepare -------------------------------------------------------------------------------

static int32_t read_sizes(const ref_prepare *p, attention_state *s, int64_t columns) {
  int64_t count, q = columns / 3, k = q, v = columns - 2 * q;
  const int64_t *sizes = ref_attr_ints(p->kernel, "qkv_hidden_sizes", &count);
  s->heads = ref_attr_int(p->kernel, "num_heads", 0);
  if (count != 0 && count != 3)
    return ref_refuse(p, "attribute qkv_hidden_sizes: expected 3 numbers, found %lld",
                      (long long)count);
  if (count == 3) q = sizes[0], k = sizes[1], v = sizes[2];
  if (s->heads < 1 || q < 1 || v < 1 || q != k || q % s->heads != 0 || v % s->heads != 0 ||
      q > columns || v > columns || q + k + v != columns)
    return ref_refuse(p,
                      "Q, K and V have %lld, %lld and %lld columns; expected multiples of "
                      "num_heads, %lld, equal for Q and K, %lld in all as input weights has",
                      (long long)q, (long long)k, (long long)v, (long long)s->heads,
                      (long long)columns);
  s->size = q / s->heads;
  s->v_size = v / s->heads;
  s->width = columns;
  return OPS_OK;
}

static int32_t read_input(const ref_prepare *p, attention_state *s) {
  RETURN_IF_ERROR(ref_need_rank(p, INPUT, 3, 3));
  RETURN_IF_ERROR(ref_need_rank(p, WEIGHTS, 2, 2));
  RETURN_IF_ERROR(ref_need_small(p, INPUT));
  RETURN_IF_ERROR(ref_need_small(p, WEIGHTS));
  const int64_t *x = p->inputs[INPUT].dims, *w = p->inputs[WEIGHTS].dims;
  s->batch = x[0];
  s->length = x[1];
  s->input_size = x[2];
  if (w[0] != x[2])
    return ref_refuse(p,
                      "input weights: expected %lld rows, the last dimension of input, found "
                      "%lld",
                      (long long)x[2], (long long)w[0]);
  RETURN_IF_ERROR(read_sizes(p, s, w[1]));
  if (!ref_has(p, BIAS)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, BIAS, 1, 1));
  if (p->inputs[BIAS].dims[0] == w[1]) return OPS_OK;
  return ref_refuse(p, "input bias: expected %lld elements, the columns of weights, found %lld",
                    (long long)w[1], (long long)p->inputs[BIAS].dims[0]);
}

// A cache that past and present share has room for more positions than it holds.
static int32_t read_past(const ref_prepare *p, attention_state *s) {
  int share = ref_attr_int(p->kernel, "past_present_share_buffer", 0) != 0;
  s->total = s->room = s->length;
  if (!ref_has(p, PAST)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, PAST, 5, 5));
  RETURN_IF_ERROR(ref_need_small(p, PAST));
  const int64_t *dims = p->inputs[PAST].dims;
  if (s->size != s->v_size)
    return ref_refuse(p, "input past: with it, Q, K and V have equal hidden sizes");
  if (dims[0] != 2 || dims[1] != s->batch || dims[2] != s->heads || dims[4] != s->size)
    return ref_refuse(p, "input past: expected the shape [2, %lld, %lld, positions, %lld]",
                      (long long)s->batch, (long long)s->heads, (long long)s->size);
  s->past = dims[3];
  if (share && !ref_has(p, PAST_LENGTH))
    return ref_refuse(p,
                      "input past_sequence_length is left out; past_present_share_buffer "
                      "needs it");
  if (share) RETURN_IF_ERROR(ref_scalar(p, PAST_LENGTH, &s->past));
  s->total = s->past + s->length;
  s->room = share ? dims[3] : s->total;
  if (s->past < 0 || s->total > s->room)
    return ref_refuse(
        p,
        "input past_sequence_length is %lld; expected at least 0, and with %lld new "
        "positions at most the %lld of past",
        (long long)s->past, (long long)s->length, (long long)s->room);
  return OPS_OK;
}

static int32_t read_options(const ref_prepare *p, attention_state *s) {
  s->causal = ref_attr_int(p->kernel, "unidirectional", 0) != 0;
  s->scale = ref_attr_float(p->kernel, "scale", 0);
  if (s->scale == 0) s->scale = 1 / sqrt((double)s->size);
  if (ref_attr_int(p->kernel, "do_rotary", 0) == 0) return OPS_OK;
  int64_t turned = ref_attr_int(p->kernel, "rotary_embedding_dim", 0);
  if (turned != 0 && turned != 32 && turned != 64 && turned != 128)
    return ref_refuse(p, "attribute rotary_embedding_dim: expected 32, 64 or 128, found %lld",
                      (long long)turned);
  if (turned == 0) turned = s->size;
  if (turned > s->size || turned % 2 != 0)
    return ref_refuse(p,
                      "%lld numbers of a head are to be turned, expected an even number of at "
                      "most %lld",
                      (long long)turned, (long long)s->size);
  s->half = turned / 2;
  return OPS_OK;
}

static int32_t set_outputs(ref_prepare *p, attention_state *s) {
  const int64_t qkv[3] = {s->batch, s->length, s->width};
  const int64_t k[4] = {s->batch, s->heads, s->total, s->size};
  const int64_t v[4] = {s->batch, s->heads, s->total, s->v_size};
  const int64_t present[5] = {2, s->batch, s->heads, s->room, s->size};
  const int64_t y[3] = {s->batch, s->length, s->heads * s->v_size};
  s->qkv_at = ref_reserve_reals(p, ref_count(qkv, 3));
  s->k_at = ref_reserve_reals(p, ref_count(k, 4));
  s->v_at = ref_reserve_reals(p, ref_count(v, 4));
  s->rows_at =
      ref_attend_reserve(p, s->batch, s->heads, s->length, s->size, s->v_size, s->total);
  if (p->output_count > PRESENT && s->size != s->v_size)
    return ref_refuse(p, "output present: with it, Q, K and V have equal hidden sizes");
  RETURN_IF_ERROR(ref_set_shape(p, PRESENT, 5, present));
  return ref_set_shape(p, OUTPUT, 3, y);
}

static int32_t prepare(ref_prepare *p) {
  attention_state *s = p->state;
  RETURN_IF_ERROR(read_input(p, s));
  RETURN_IF_ERROR(read_past(p, s));
  RETURN_IF_ERROR(read_options(p, s));
  s->shape = (ref_mask_shape){s->batch, s->length, s->past, s->length};
  RETURN_IF_ERROR(ref_mask_read(p, MASK, &s->shape, MASK_FORMS, &s->mask));
  RETURN_IF_ERROR(ref_score_bias_check(p, SCORE_BIAS, s->batch, s->heads, s->length, s->total));
  return set_outputs(p, s);
}

// ---- Execute -------------------------------------------------------------------------------

static void locate(const ref_product *product, int64_t i, int64_t *a, int64_t *b, int64_t *y) {
  *a = i * product->a.view->strides[0];
  *b = 0;
  *y = i * product->y.view->strides[0];
}

// [batch, length, width]: Q, K and V side by side.
static void project(const ref_run *run, const ref_view *qkv) {
  const attention_state *s = run->state;
  const ref_view *x = &run->inputs[INPUT], *w = &run->inputs[WEIGHTS];
  const ref_view *bias = ref_input_or_null(run, BIAS);
  ref_product product = {.a = {x, x->strides[1], x->strides[2]},
                         .b = {w, w->strides[0], w->strides[1]},
                         .y = {qkv, qkv->strides[1], 1},
                         .m = s->length,
                         .n = s->width,
                         .k = s->input_size,
                         .alpha = 1,
                         .beta = 1,
                         .batch = s->batch,
                         .locate = locate};
  if (bias != NULL) product.c = (ref_matrix){bias, 0, bias->strides[0]};
  ref_product_run(run, &product);
}

// The same with every partial sum rounded at random.
static void project_noisy(const ref_run *run, const ref_view *qkv) {
  const attention_state *s = run->state;
  const ref_view *x = &run->inputs[INPUT], *w = &run->inputs[WEIGHTS];
  const ref_view *bias = ref_input_or_null(run, BIAS);
  ref_noise noise = ref_noise_of(ref_noise_in(run), UINT64_MAX / 2);
  double *out = qkv->data;
  for (int64_t row = 0; row < s->batch * s->length; ++row) {
    int64_t from = row / s->length * x->strides[0] + row % s->length * x->strides[1];
    for (int64_t column = 0; column < s->width; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < s->input_size; ++k)
        sum =
            ref_noisy(&noise, sum + ref_at(x, from + k * x->strides[2]) *
                                        ref_at(w, k * w->strides[0] + column * w->strides[1]));
      if (bias != NULL) sum += ref_at(bias, column * bias->strides[0]);
      *out++ = ref_noisy(&noise, sum);
    }
  }
}

// The heads that begin at `column` of Q, K and V.
static ref_view heads_at(const attention_state *s, const ref_view *qkv, int64_t column,
                         int64_t size) {
  ref_view out = ref_heads_dense(qkv->data, s->batch, s->heads, s->length, size);
  out.origin = column;
  out.strides[0] = qkv->strides[0];
  out.strides[1] = size;
  out.strides[2] = qkv->strides[1];
  return out;
}

static void turn(const attention_state *s, const ref_view *view) {
  double *data = view->data;
  if (view->count == 0) return;
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->heads; ++h)
      for (int64_t i = 0; i < s->length; ++i) {
        double *head = data + view->origin + b * view->strides[0] + h * view->strides[1] +
                       i * view->strides[2];
        for (int64_t d = 0; d < s->half; ++d) {
          double angle = (double)(s->past + i) * pow(10000, -(double)d / (double)s->half);
          ref_rotary_turn(cos(angle), sin(angle), &head[d], &head[d + s->half]);
        }
      }
}

// Past and new positions one after the other.
static const double *join(const ref_run *run, int64_t part, const ref_view *fresh,
                          uint64_t at) {
  const attention_state *s = run->state;
  double *out = ref_reals(run, at);
  if (ref_given(run, PAST)) {
    ref_view past = ref_part_of(&run->inputs[PAST], 0, part);
    ref_heads_load(&past, s->past, NULL, out, s->total, 0);
  }
  ref_heads_load(fresh, s->length, NULL, out, s->total, s->past);
  return out;
}

static int32_t write_present(ref_run *run, int64_t part, const double *joined) {
  const attention_state *s = run->state;
  ref_view past, present;
  if (!ref_wanted(run, PRESENT)) return OPS_OK;
  present = ref_part_of(&run->outputs[PRESENT], 0, part);
  if (ref_given(run, PAST)) past = ref_part_of(&run->inputs[PAST], 0, part);
  return ref_present_store(ref_given(run, PAST) ? &past : NULL, joined, s->total, s->past,
                           s->length, &present, run->error);
}

static int32_t execute(ref_run *run) {
  const attention_state *s = run->state;
  ref_view qkv;
  ref_view_of(&qkv, ref_reals(run, s->qkv_at), OPS_TYPE_DOUBLE, 3,
              (const int64_t[]){s->batch, s->length, s->width});
  if (ref_noise_in(run)->low)
    project_noisy(run, &qkv);
  else
    project(run, &qkv);
  ref_view q = heads_at(s, &qkv, 0, s->size),
           k = heads_at(s, &qkv, s->heads * s->size, s->size);
  ref_view v = heads_at(s, &qkv, 2 * s->heads * s->size, s->v_size);
  turn(s, &q);
  turn(s, &k);
  ref_masking masking = {.mask = &s->mask,
                         .shape = &s->shape,
                         .causal = s->causal,
                         .mask_view = ref_input_or_null(run, MASK),
                         .score_bias = ref_input_or_null(run, SCORE_BIAS)};
  ref_attend attend = {.batch = s->batch,
                       .heads = s->heads,
                       .kv_heads = s->heads,
                       .length = s->length,
                       .total = s->total,
                       .size = s->size,
                       .v_size = s->v_size,
                       .scale = s->scale,
                       .q = q,
                       .y = ref_heads_of(&run->outputs[OUTPUT], s->heads),
                       .k = join(run, 0, &k, s->k_at),
                       .v = join(run, 1, &v, s->v_at),
                       .rows = ref_reals(run, s->rows_at),
                       .bias = ref_masking_bias,
                       .context = &masking};
  if (run->outputs[OUTPUT].count > 0) ref_attend_run(run, &attend);
  RETURN_IF_ERROR(write_present(run, 0, attend.k));
  return write_present(run, 1, attend.v);
}

const ref_op ref_microsoft_attention = {sizeof(attention_state), prepare, execute, NULL, NULL};

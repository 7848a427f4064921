// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft GroupQueryAttention: heads of queries share fewer heads of keys and values,
// which a cache keeps from step to step. By row of the batch, with the definition's letters:
//   T = seqlens_k + 1            tokens after the step
//   Q = query_seqlens, or min(S, T)  tokens of the step; what follows them is padding
//   P = T - Q                    position of the first of them
// The definition leaves padding and cache rows beyond T unspecified; here they are 0. Without
// new keys (L = 0) the queries attend to the cache as it is.
//
// A windowed cache of capacity C holds, after T tokens, the last L(T) positions:
//   G = C - W + 1;  L(T) = T if T <= C, else T - G * ceil((T - C) / G)
// Keys and values are kept in double, from position `base`, the first that is resident.
#include <math.h>
#include <string.h>

#include "attend.h"
#include "dense.h"
#include "group_query_cache.h"
#include "microsoft_operators.h"
#include "padding_mask.h"
#include "rotary.h"
#include "traverse.h"

enum {
  QUERY,
  KEY,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  SEQLENS,
  TOTAL,
  COS,
  SIN,
  POSITIONS,
  SCORE_BIAS,
  SINK,
  K_SCALE,
  V_SCALE,
  Q_NORM,
  K_NORM,
  QUERY_SEQLENS
};
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };
enum { SHOW_NOTHING, SHOW_SCORES, SHOW_SOFTMAX };

typedef struct group_state {
  int64_t batch, length, fresh;  // queries and new keys of a row
  int64_t heads, kv_heads, size;
  int64_t held, room;  // positions of the past cache and of the present one
  int64_t limit;       // total_sequence_length
  int64_t span;        // positions that are worked with
  int64_t window;      // 0: none
  int64_t half;        // pairs that are turned
  int32_t packed, sliding, causal, interleaved, smooth, show;
  double scale, softcap, q_epsilon, k_epsilon;
  ref_cache k_cache, v_cache;
  uint64_t steps_at, q_at, k_at, v_at, sink_at, weight_at, rows_at;
} group_state;

// What a row of the batch does in this step, in positions.
typedef struct step {
  int64_t total;    // T
  int64_t queries;  // Q
  int64_t first;    // P: of the first query
  int64_t cached;   // new keys start here
  int64_t base;     // of the first resident key
} step;

// ---- Prepare -------------------------------------------------------------------------------

static int32_t check_vector(const ref_prepare *p, uint64_t input, int64_t count) {
  return ref_has(p, input) ? ref_need_dims(p, input, 1, &count) : OPS_OK;
}

static int32_t read_query(const ref_prepare *p, group_state *s) {
  RETURN_IF_ERROR(ref_need_rank(p, QUERY, 3, 3));
  RETURN_IF_ERROR(ref_need_small(p, QUERY));
  const int64_t *dims = p->inputs[QUERY].dims;
  s->heads = ref_attr_int(p->kernel, "num_heads", 0);
  s->kv_heads = ref_attr_int(p->kernel, "kv_num_heads", 0);
  s->packed = !ref_has(p, KEY);
  if (s->kv_heads < 1 || s->heads < 1 || s->heads > INT32_MAX || s->heads % s->kv_heads != 0)
    return ref_refuse(p,
                      "attribute num_heads: expected a multiple of kv_num_heads, %lld, found "
                      "%lld",
                      (long long)s->kv_heads, (long long)s->heads);
  int64_t heads = s->packed ? s->heads + 2 * s->kv_heads : s->heads;
  s->batch = dims[0];
  s->length = s->fresh = dims[1];
  s->size = dims[2] / heads;
  if (dims[2] % heads == 0 && s->size > 0) return OPS_OK;
  return ref_refuse(p,
                    "input query: its last dimension is %lld, expected a multiple of its %lld "
                    "heads",
                    (long long)dims[2], (long long)heads);
}

static int32_t read_keys(const ref_prepare *p, group_state *s) {
  if (ref_has(p, VALUE) != !s->packed)
    return ref_refuse(p,
                      "inputs key and value are given together, or neither where query is "
                      "packed with them");
  if (s->packed) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, KEY, 3, 3));
  if (p->inputs[KEY].dims[1] == 0 && ref_has(p, PAST_KEY)) s->fresh = 0;
  const int64_t dims[3] = {s->batch, s->fresh, s->kv_heads * s->size};
  RETURN_IF_ERROR(ref_need_dims(p, KEY, 3, dims));
  return ref_need_dims(p, VALUE, 3, dims);
}

static int32_t read_past(const ref_prepare *p, group_state *s) {
  if (ref_has(p, PAST_KEY) != ref_has(p, PAST_VALUE))
    return ref_refuse(p, "inputs past_key and past_value are given together or not at all");
  s->k_cache = s->v_cache = (ref_cache){.heads = s->kv_heads, .size = s->size};
  RETURN_IF_ERROR(ref_cache_read(p, "k_quant_type", PAST_KEY, K_SCALE, &s->k_cache));
  RETURN_IF_ERROR(ref_cache_read(p, "v_quant_type", PAST_VALUE, V_SCALE, &s->v_cache));
  if ((s->k_cache.form == REF_CACHE_PLAIN) != (s->v_cache.form == REF_CACHE_PLAIN))
    return ref_refuse(p, "attributes k_quant_type and v_quant_type: one is NONE, one is not");
  if (!ref_has(p, PAST_KEY)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, PAST_KEY, 4, 4));
  RETURN_IF_ERROR(ref_need_small(p, PAST_KEY));
  s->held = p->inputs[PAST_KEY].dims[2];
  const int64_t dims[4] = {s->batch, s->kv_heads, s->held, ref_cache_width(&s->k_cache)};
  RETURN_IF_ERROR(ref_need_dims(p, PAST_KEY, 4, dims));
  return ref_need_dims(p, PAST_VALUE, 4, dims);
}

static int32_t read_window(const ref_prepare *p, group_state *s) {
  s->window = ref_attr_int(p->kernel, "local_window_size", -1);
  if (s->window > 0 && !s->causal)
    return ref_refuse(p,
                      "attribute local_window_size: expected -1 where causal is 0, found %lld",
                      (long long)s->window);
  if (s->window < 0) s->window = 0;
  if (s->sliding && (!ref_has(p, PAST_KEY) || s->window == 0 || s->held < s->window))
    return ref_refuse(
        p,
        "attribute sliding_window_cache: it needs a local_window_size above 0 and "
        "past_key with at least as many positions");
  return OPS_OK;
}

static int32_t read_lengths(const ref_prepare *p, group_state *s) {
  RETURN_IF_ERROR(ref_scalar(p, TOTAL, &s->limit));
  s->causal = ref_attr_int(p->kernel, "causal", 1) != 0;
  s->sliding = ref_attr_int(p->kernel, "sliding_window_cache", 0) != 0;
  if (s->limit < 1 || (!s->sliding && s->limit < s->length))
    return ref_refuse(p, "input total_sequence_length is %lld, expected at least %lld",
                      (long long)s->limit, (long long)s->length);
  RETURN_IF_ERROR(read_window(p, s));
  s->room = s->sliding || s->held > s->limit ? s->held : s->limit;
  s->span = s->sliding ? s->held + s->length : s->room;
  RETURN_IF_ERROR(check_vector(p, SEQLENS, s->batch));
  RETURN_IF_ERROR(check_vector(p, QUERY_SEQLENS, s->batch));
  if (!ref_has(p, QUERY_SEQLENS)) return OPS_OK;
  if (s->causal && s->fresh == s->length && ref_has(p, PAST_KEY)) return OPS_OK;
  return ref_refuse(p,
                    "input query_seqlens: it needs causal 1, past_key and as many new keys as "
                    "queries");
}

static int32_t read_rotary(const ref_prepare *p, group_state *s) {
  s->interleaved = ref_attr_int(p->kernel, "rotary_interleaved", 0) != 0;
  if (ref_attr_int(p->kernel, "do_rotary", 0) == 0) return OPS_OK;
  if (!ref_has(p, COS) || !ref_has(p, SIN))
    return ref_refuse(p, "inputs cos_cache and sin_cache: do_rotary needs them");
  RETURN_IF_ERROR(ref_need_rank(p, COS, 2, 2));
  const int64_t *dims = p->inputs[COS].dims;
  RETURN_IF_ERROR(ref_need_dims(p, SIN, 2, dims));
  s->half = dims[1];
  if (s->half < 1 || s->half > s->size / 2)
    return ref_refuse(p,
                      "input cos_cache: expected 1 to %lld columns, half the head size, found "
                      "%lld",
                      (long long)s->size / 2, (long long)s->half);
  if (!ref_has(p, POSITIONS)) return OPS_OK;
  return ref_need_dims(p, POSITIONS, 2, (const int64_t[]){s->batch, s->length});
}

static int32_t read_norm(const ref_prepare *p, group_state *s) {
  double epsilon = ref_attr_float(p->kernel, "qk_norm_epsilon", 1e-6f);
  int own_q = ref_attr(p->kernel, "q_norm_epsilon") != NULL;
  int own_k = ref_attr(p->kernel, "k_norm_epsilon") != NULL;
  s->q_epsilon = own_q ? ref_attr_float(p->kernel, "q_norm_epsilon", 0) : epsilon;
  s->k_epsilon = own_k ? ref_attr_float(p->kernel, "k_norm_epsilon", 0) : epsilon;
  if (ref_has(p, Q_NORM) != ref_has(p, K_NORM))
    return ref_refuse(
        p, "inputs q_norm_weight and k_norm_weight are given together or not at all");
  RETURN_IF_ERROR(check_vector(p, Q_NORM, s->size));
  return check_vector(p, K_NORM, s->size);
}

static int32_t read_options(const ref_prepare *p, group_state *s) {
  s->scale = ref_attr_float(p->kernel, "scale", 0);
  if (s->scale == 0) s->scale = 1 / sqrt((double)s->size);
  s->softcap = ref_attr_float(p->kernel, "softcap", 0);
  s->smooth = ref_attr_int(p->kernel, "smooth_softmax", -1) == 1;
  int64_t show = ref_attr_int(p->kernel, "qk_output", SHOW_NOTHING);
  if (show < SHOW_NOTHING || show > SHOW_SOFTMAX)
    return ref_refuse(p, "attribute qk_output: expected 0 to 2, found %lld", (long long)show);
  if (show == SHOW_NOTHING && p->output_count > SCORES)
    return ref_refuse(p, "output output_qk: attribute qk_output says that there is none");
  s->show = (int32_t)show;
  RETURN_IF_ERROR(check_vector(p, SINK, s->heads));
  return ref_score_bias_check(p, SCORE_BIAS, s->batch, s->heads, s->length, s->limit);
}

static int32_t set_outputs(ref_prepare *p, group_state *s) {
  const int64_t q[4] = {s->batch, s->heads, s->length, s->size};
  const int64_t kv[4] = {s->batch, s->kv_heads, s->span, s->size};
  const int64_t y[3] = {s->batch, s->length, s->heads * s->size};
  const int64_t present[4] = {s->batch, s->kv_heads, s->room, ref_cache_width(&s->k_cache)};
  s->steps_at = ref_reserve(p, (uint64_t)s->batch * sizeof(step));
  s->q_at = ref_reserve_reals(p, ref_count(q, 4));
  s->k_at = ref_reserve_reals(p, ref_count(kv, 4));
  s->v_at = ref_reserve_reals(p, ref_count(kv, 4));
  s->sink_at = ref_reserve_reals(p, s->heads);
  s->weight_at = ref_reserve_reals(p, s->size);
  s->rows_at = ref_attend_reserve(p, s->batch, s->heads, s->length, s->size, s->size, s->span);
  for (uint64_t i = PRESENT_KEY; i < p->output_count; ++i)
    if (!ref_has(p, PAST_KEY) || i == SCORES) p->outputs[i].type = p->inputs[QUERY].type;
  RETURN_IF_ERROR(ref_set_shape(p, PRESENT_KEY, 4, present));
  RETURN_IF_ERROR(ref_set_shape(p, PRESENT_VALUE, 4, present));
  RETURN_IF_ERROR(
      ref_set_shape(p, SCORES, 4, (const int64_t[]){s->batch, s->heads, s->length, s->limit}));
  return ref_set_shape(p, OUTPUT, 3, y);
}

static int32_t prepare(ref_prepare *p) {
  group_state *s = p->state;
  RETURN_IF_ERROR(read_query(p, s));
  RETURN_IF_ERROR(read_keys(p, s));
  RETURN_IF_ERROR(read_past(p, s));
  RETURN_IF_ERROR(read_lengths(p, s));
  RETURN_IF_ERROR(read_rotary(p, s));
  RETURN_IF_ERROR(read_norm(p, s));
  RETURN_IF_ERROR(read_options(p, s));
  return set_outputs(p, s);
}

// ---- Steps ---------------------------------------------------------------------------------

static const step *steps_of(const ref_run *run) {
  return (const step *)((const char *)run->workspace +
                        ((const group_state *)run->state)->steps_at);
}

// Positions that a windowed cache holds after `total` tokens.
static int64_t resident(const group_state *s, int64_t total) {
  int64_t stride = s->held - s->window + 1;
  if (total <= s->held) return total;
  return total - stride * ((total - s->held + stride - 1) / stride);
}

static int32_t read_step(const ref_run *run, int64_t b, step *out) {
  const group_state *s = run->state;
  const ref_view *lengths = &run->inputs[SEQLENS], *own = ref_input_or_null(run, QUERY_SEQLENS);
  int64_t total = ref_int_at(lengths, b * lengths->strides[0]) + 1;
  int64_t most = total < s->length ? total : s->length;
  int64_t queries = own != NULL ? ref_int_at(own, b * own->strides[0]) : most;
  if (total < 1 || total > s->limit)
    return ref_refuse(run, "input seqlens_k: element %lld is %lld, expected 0 to %lld",
                      (long long)b, (long long)total - 1, (long long)s->limit - 1);
  if (queries < 0 || queries > most)
    return ref_refuse(run, "input query_seqlens: element %lld is %lld, expected 0 to %lld",
                      (long long)b, (long long)queries, (long long)most);
  *out = (step){.total = total, .queries = queries, .first = total - queries};
  out->cached = s->fresh == 0 ? total : out->first;
  out->base = s->sliding ? out->cached - resident(s, out->cached) : 0;
  if (!s->sliding &&
      (out->cached > s->held || (own != NULL && out->first + s->length > s->room)))
    return ref_refuse(run,
                      "input seqlens_k: element %lld asks for %lld positions of the past and a "
                      "chunk of %lld; past_key has %lld, present_key %lld",
                      (long long)b, (long long)out->cached, (long long)s->length,
                      (long long)s->held, (long long)s->room);
  return OPS_OK;
}

// The position by which query `i` is turned. In a first prompt position_ids has one number that
// counts, its first.
static int64_t position_of(const ref_run *run, int64_t b, int64_t i) {
  const group_state *s = run->state;
  const ref_view *ids = ref_input_or_null(run, POSITIONS);
  if (ids == NULL) return steps_of(run)[b].first + i;
  if (s->length == s->limit && !ref_given(run, QUERY_SEQLENS)) return ref_int_at(ids, 0) + i;
  return ref_int_at(ids, b * ids->strides[0] + i * ids->strides[1]);
}

static int32_t read_steps(const ref_run *run) {
  const group_state *s = run->state;
  step *steps = (step *)((char *)run->workspace + s->steps_at);
  for (int64_t b = 0; b < s->batch; ++b) {
    RETURN_IF_ERROR(read_step(run, b, &steps[b]));
    for (int64_t i = 0; s->half > 0 && i < steps[b].queries; ++i) {
      int64_t at = position_of(run, b, i), rows = run->inputs[COS].dims[0];
      if (at < 0 || at >= rows)
        return ref_refuse(run,
                          "row %lld, token %lld is at position %lld, for which cos_cache with "
                          "%lld rows has none",
                          (long long)b, (long long)i, (long long)at, (long long)rows);
    }
  }
  return OPS_OK;
}

// ---- Queries, keys and values --------------------------------------------------------------

static void normalise(double *head, int64_t size, const double *weight, double epsilon) {
  double sum = 0;
  for (int64_t d = 0; d < size; ++d) sum += head[d] * head[d];
  double inverse = 1 / sqrt(sum / (double)size + epsilon);
  for (int64_t d = 0; d < size; ++d) head[d] *= inverse * weight[d];
}

static void turn(const ref_run *run, double *head, int64_t b, int64_t i) {
  const group_state *s = run->state;
  if (s->half == 0) return;
  const ref_view *c = &run->inputs[COS], *n = &run->inputs[SIN];
  int64_t row = position_of(run, b, i);
  for (int64_t d = 0; d < s->half; ++d)
    ref_rotary_turn(ref_at(c, row * c->strides[0] + d * c->strides[1]),
                    ref_at(n, row * n->strides[0] + d * n->strides[1]),
                    &head[ref_rotary_first(d, s->interleaved)],
                    &head[ref_rotary_second(d, s->half, s->interleaved)]);
}

// Heads [from, from + count) of query, or all of another input.
static ref_view heads_of(const ref_run *run, uint64_t input, int64_t from, int64_t count) {
  const group_state *s = run->state;
  if (!s->packed) return ref_heads_of(&run->inputs[input], count);
  ref_view view = ref_heads_of(&run->inputs[QUERY], s->heads + 2 * s->kv_heads);
  view.origin += from * view.strides[1];
  view.dims[1] = count;
  return view;
}

static const double *weight_of(const ref_run *run, uint64_t input) {
  return ref_input_reals(run, input, ((const group_state *)run->state)->weight_at);
}

static const double *load_queries(const ref_run *run) {
  const group_state *s = run->state;
  ref_view view = heads_of(run, QUERY, 0, s->heads);
  const double *weight = weight_of(run, Q_NORM);
  double *out = ref_reals(run, s->q_at);
  if (run->inputs[QUERY].count == 0) return out;
  ref_heads_load(&view, s->length, NULL, out, s->length, 0);
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->heads; ++h)
      for (int64_t i = 0; i < steps_of(run)[b].queries; ++i) {
        double *head = out + ((b * s->heads + h) * s->length + i) * s->size;
        if (weight != NULL) normalise(head, s->size, weight, s->q_epsilon);
        turn(run, head, b, i);
      }
  return out;
}

// What keys and values differ in.
typedef struct side {
  uint64_t input, past, scale, norm, present;
  int64_t head;  // where it begins in a packed query
  const ref_cache *cache;
  double *numbers;  // [batch, kv_heads, span, size]
} side;

static void load_head(const ref_run *run, const side *d, const ref_view *fresh, int64_t b,
                      int64_t h, const double *weight) {
  const group_state *s = run->state;
  const step *at = &steps_of(run)[b];
  const ref_view *past = ref_input_or_null(run, d->past);
  const ref_view *scale = ref_input_or_null(run, d->scale);
  double *row = d->numbers + (b * s->kv_heads + h) * s->span * s->size;
  for (int64_t j = 0; j < at->cached - at->base; ++j, row += s->size)
    ref_cache_load(d->cache, past, scale, b, h, j, row);
  for (int64_t i = 0; s->fresh > 0 && i < at->queries; ++i, row += s->size) {
    ref_load(fresh, b * fresh->strides[0] + h * fresh->strides[1] + i * fresh->strides[2],
             fresh->strides[3], s->size, row);
    if (weight != NULL) normalise(row, s->size, weight, s->k_epsilon);
    if (d->input == KEY) turn(run, row, b, i);
    ref_cache_round(d->cache, scale, h, row);
  }
}

static void load_side(const ref_run *run, const side *d) {
  const group_state *s = run->state;
  ref_view fresh = {0};
  const double *weight = d->norm != 0 ? weight_of(run, d->norm) : NULL;
  memset(d->numbers, 0, sizeof(double) * (size_t)(s->batch * s->kv_heads * s->span * s->size));
  if (s->fresh > 0) fresh = heads_of(run, d->input, d->head, s->kv_heads);
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->kv_heads; ++h) load_head(run, d, &fresh, b, h, weight);
}

static int32_t store_head(const ref_run *run, const side *d, int64_t b, int64_t h) {
  const group_state *s = run->state;
  const step *at = &steps_of(run)[b];
  const ref_view *past = ref_input_or_null(run, d->past), *to = &run->outputs[d->present];
  const double *head = d->numbers + (b * s->kv_heads + h) * s->span * s->size;
  int64_t start = s->sliding ? at->total - resident(s, at->total) : 0;
  for (int64_t j = start; j < at->total; ++j) {
    if (j >= at->cached) {
      ref_cache_store(d->cache, to, ref_input_or_null(run, d->scale), b, h, j - start,
                      head + (j - at->base) * s->size);
      continue;
    }
    RETURN_IF_ERROR(ref_move(
        to, b * to->strides[0] + h * to->strides[1] + (j - start) * to->strides[2],
        to->strides[3], past,
        b * past->strides[0] + h * past->strides[1] + (j - at->base) * past->strides[2],
        past->strides[3], to->dims[3], run->error));
  }
  return OPS_OK;
}

static int32_t store_side(const ref_run *run, const side *d) {
  const group_state *s = run->state;
  if (!ref_wanted(run, d->present)) return OPS_OK;
  RETURN_IF_ERROR(ref_clear(&run->outputs[d->present], run->error));
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->kv_heads; ++h) RETURN_IF_ERROR(store_head(run, d, b, h));
  return OPS_OK;
}

// ---- Scores --------------------------------------------------------------------------------

// Whether query `i` attends to the key at `position`.
static int sees(const group_state *s, const step *at, int64_t i, int64_t position) {
  int64_t behind = at->first + i - position;
  return i < at->queries && position >= at->base && position < at->total &&
         (!s->causal || behind >= 0) && (s->window == 0 || behind < s->window);
}

static int fill_bias(const ref_attend *attend, int64_t b, int64_t h, int64_t i, double *bias) {
  const ref_run *run = attend->context;
  const step *at = &steps_of(run)[b];
  const ref_view *given = ref_input_or_null(run, SCORE_BIAS);
  int any = 0;
  for (int64_t j = 0; j < attend->total; ++j) {
    bias[j] = -INFINITY;
    if (!sees(run->state, at, i, at->base + j)) continue;
    bias[j] = given != NULL ? ref_score_bias_at(given, b, h, i, at->base + j) : 0;
    any |= bias[j] != -INFINITY;
  }
  return any;
}

// What a query does not attend to is shown as 0, also before softmax.
static void show(const ref_attend *attend, int32_t stage, int64_t b, int64_t h, int64_t i,
                 const double *scores, const double *bias) {
  (void)bias;
  const ref_run *run = attend->context;
  const group_state *s = run->state;
  const step *at = &steps_of(run)[b];
  if (stage != (s->show == SHOW_SCORES ? REF_SCORES_BIASED : REF_SCORES_SOFTMAX) ||
      !ref_wanted(run, SCORES))
    return;
  const ref_view *out = &run->outputs[SCORES];
  for (int64_t position = 0; position < s->limit; ++position) {
    double value = sees(s, at, i, position) ? scores[position - at->base] : 0;
    ref_store(out,
              b * out->strides[0] + h * out->strides[1] + i * out->strides[2] +
                  position * out->strides[3],
              1, 1, &value);
  }
}

static const double *sinks_of(const ref_run *run) {
  const group_state *s = run->state;
  double *zeros = ref_reals(run, s->sink_at);
  if (ref_given(run, SINK)) return ref_input_reals(run, SINK, s->sink_at);
  memset(zeros, 0, sizeof(double) * (size_t)s->heads);
  return s->smooth ? zeros : NULL;
}

static int32_t execute(ref_run *run) {
  const group_state *s = run->state;
  RETURN_IF_ERROR(read_steps(run));
  const side keys = {KEY,         PAST_KEY, K_SCALE,     K_NORM,
                     PRESENT_KEY, s->heads, &s->k_cache, ref_reals(run, s->k_at)};
  const side values = {VALUE,         PAST_VALUE,
                       V_SCALE,       0,
                       PRESENT_VALUE, s->heads + s->kv_heads,
                       &s->v_cache,   ref_reals(run, s->v_at)};
  load_side(run, &keys);
  load_side(run, &values);
  ref_attend attend = {
      .batch = s->batch,
      .heads = s->heads,
      .kv_heads = s->kv_heads,
      .length = s->length,
      .total = s->span,
      .size = s->size,
      .v_size = s->size,
      .scale = s->scale,
      .softcap = s->softcap,
      .q = ref_heads_dense(load_queries(run), s->batch, s->heads, s->length, s->size),
      .y = ref_heads_of(&run->outputs[OUTPUT], s->heads),
      .k = keys.numbers,
      .v = values.numbers,
      .sink = sinks_of(run),
      .rows = ref_reals(run, s->rows_at),
      .bias = fill_bias,
      .show = show,
      .context = run};
  if (run->outputs[OUTPUT].count > 0) ref_attend_run(run, &attend);
  RETURN_IF_ERROR(store_side(run, &keys));
  return store_side(run, &values);
}

const ref_op ref_group_query_attention = {sizeof(group_state), prepare, execute, NULL, NULL};

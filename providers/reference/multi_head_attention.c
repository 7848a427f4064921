// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft MultiHeadAttention: queries, keys and values come apart or packed, the bias of
// their projection is still to be added, then they attend. Every form is first seen as
// [batch, heads, positions, size]:
//   query [B, S, D] or, packed with key and value, [B, S, heads, 3, size]
//   key   [B, L, D], packed with value [B, L, heads, 2, size], or a finished cache of
//         cross-attention [B, heads, L, size], to which no bias is added
#include <math.h>
#include <string.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "padding_mask.h"
#include "traverse.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, SCORE_BIAS, PAST_KEY, PAST_VALUE, PAST_LENGTH, BEAMS };
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };
enum { APART, PACKED_KV, PACKED_QKV, CACHED };

#define MASK_FORMS                                                \
  (REF_MASK_BIT(REF_MASK_LENGTHS) | REF_MASK_BIT(REF_MASK_KEYS) | \
   REF_MASK_BIT(REF_MASK_FRESH) | REF_MASK_BIT(REF_MASK_SCORES))

typedef struct multi_head_state {
  int32_t form;
  int32_t causal;
  int64_t batch, length, fresh, heads;
  int64_t size, v_size;       // of a head
  int64_t past, total, room;  // positions: before, after, of the cache
  double scale;
  ref_mask mask;
  ref_mask_shape shape;
  uint64_t bias_at, q_at, k_at, v_at, rows_at;
} multi_head_state;

// ---- Prepare -------------------------------------------------------------------------------

static int32_t read_form(const ref_prepare *p, multi_head_state *s) {
  const ref_shape *query = &p->inputs[QUERY];
  RETURN_IF_ERROR(ref_need_rank(p, QUERY, 3, 5));
  if (query->rank == 5) {
    s->form = PACKED_QKV;
    if (ref_has(p, KEY) || ref_has(p, VALUE))
      return ref_refuse(p, "input query is packed: key and value are not given besides");
    return OPS_OK;
  }
  if (!ref_has(p, KEY))
    return ref_refuse(
        p, "input key is left out; without it, query is packed and has 5 dimensions");
  RETURN_IF_ERROR(ref_need_rank(p, KEY, 3, 5));
  int32_t rank = p->inputs[KEY].rank;
  s->form = rank == 3 ? APART : rank == 4 ? CACHED : PACKED_KV;
  if (ref_has(p, VALUE) == (s->form == PACKED_KV))
    return ref_refuse(p, "input value: expected exactly where key is not packed with it");
  if (s->form != PACKED_KV) RETURN_IF_ERROR(ref_need_rank(p, VALUE, rank, rank));
  if (s->form == CACHED && (ref_has(p, PAST_KEY) || ref_has(p, PAST_VALUE)))
    return ref_refuse(p, "input key has 4 dimensions, so it is the cache: past is not given");
  return OPS_OK;
}

// `columns` numbers for all heads.
static int32_t divide(const ref_prepare *p, uint64_t input, int64_t columns, int64_t heads,
                      int64_t *out) {
  *out = columns / heads;
  if (columns % heads == 0 && *out > 0) return OPS_OK;
  return ref_refuse(p,
                    "attribute num_heads: expected a divisor of %lld, the last dimension of "
                    "%s, found %lld",
                    (long long)columns, ref_input_name(p->kernel, input), (long long)heads);
}

static int32_t check_dims(const ref_prepare *p, uint64_t input, int32_t rank,
                          const int64_t *dims) {
  if (memcmp(p->inputs[input].dims, dims, sizeof *dims * (size_t)rank) == 0) return OPS_OK;
  return ref_refuse(p, "input %s: its shape does not fit query; expected [%lld, %lld, %lld%s",
                    ref_input_name(p->kernel, input), (long long)dims[0], (long long)dims[1],
                    (long long)dims[2], rank == 3 ? "]" : ", …]");
}

static int32_t read_query(const ref_prepare *p, multi_head_state *s) {
  const int64_t *dims = p->inputs[QUERY].dims;
  s->heads = ref_attr_int(p->kernel, "num_heads", 0);
  if (s->heads < 1)
    return ref_refuse(p, "attribute num_heads: expected at least 1, found %lld",
                      (long long)s->heads);
  RETURN_IF_ERROR(ref_need_small(p, QUERY));
  s->batch = dims[0];
  s->length = s->fresh = dims[1];
  if (s->form != PACKED_QKV) return divide(p, QUERY, dims[2], s->heads, &s->size);
  s->size = s->v_size = dims[4];
  return check_dims(p, QUERY, 5, (const int64_t[]){s->batch, s->length, s->heads, 3, s->size});
}

static int32_t read_keys(const ref_prepare *p, multi_head_state *s) {
  if (s->form == PACKED_QKV) return OPS_OK;
  const int64_t *key = p->inputs[KEY].dims;
  RETURN_IF_ERROR(ref_need_small(p, KEY));
  s->fresh = key[s->form == CACHED ? 2 : 1];
  s->v_size = s->size;
  if (s->form == PACKED_KV)
    return check_dims(p, KEY, 5, (const int64_t[]){s->batch, s->fresh, s->heads, 2, s->size});
  const int64_t *value = p->inputs[VALUE].dims;
  RETURN_IF_ERROR(ref_need_small(p, VALUE));
  if (s->form == CACHED) {
    s->v_size = value[3];
    RETURN_IF_ERROR(
        check_dims(p, KEY, 4, (const int64_t[]){s->batch, s->heads, s->fresh, s->size}));
    return check_dims(p, VALUE, 4, (const int64_t[]){s->batch, s->heads, s->fresh, s->v_size});
  }
  RETURN_IF_ERROR(divide(p, VALUE, value[2], s->heads, &s->v_size));
  RETURN_IF_ERROR(
      check_dims(p, KEY, 3, (const int64_t[]){s->batch, s->fresh, s->heads * s->size}));
  return check_dims(p, VALUE, 3, (const int64_t[]){s->batch, s->fresh, value[2]});
}

static int32_t check_beams(const ref_prepare *p, const multi_head_state *s) {
  if (!ref_has(p, BEAMS)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, BEAMS, 3, 3));
  const int64_t *dims = p->inputs[BEAMS].dims;
  if (!ref_has(p, PAST_KEY) || !ref_has(p, PAST_LENGTH))
    return ref_refuse(p,
                      "input cache_indirection needs past_key, past_value and "
                      "past_sequence_length");
  if (ref_count(dims, 2) == s->batch && dims[2] == s->room) return OPS_OK;
  return ref_refuse(p,
                    "input cache_indirection: expected the shape [batch, beams, %lld] with "
                    "batch * beams = %lld",
                    (long long)s->room, (long long)s->batch);
}

// past_sequence_length tells that past and present share a cache with room for more positions.
static int32_t read_past(const ref_prepare *p, multi_head_state *s) {
  s->total = s->room = s->fresh;
  if (ref_has(p, PAST_KEY) != ref_has(p, PAST_VALUE))
    return ref_refuse(p, "inputs past_key and past_value are given together or not at all");
  if (!ref_has(p, PAST_KEY)) return check_beams(p, s);
  RETURN_IF_ERROR(ref_need_rank(p, PAST_KEY, 4, 4));
  RETURN_IF_ERROR(ref_need_rank(p, PAST_VALUE, 4, 4));
  RETURN_IF_ERROR(ref_need_small(p, PAST_KEY));
  int64_t held = p->inputs[PAST_KEY].dims[2];
  RETURN_IF_ERROR(
      check_dims(p, PAST_KEY, 4, (const int64_t[]){s->batch, s->heads, held, s->size}));
  RETURN_IF_ERROR(
      check_dims(p, PAST_VALUE, 4, (const int64_t[]){s->batch, s->heads, held, s->v_size}));
  s->past = held;
  if (ref_has(p, PAST_LENGTH)) RETURN_IF_ERROR(ref_scalar(p, PAST_LENGTH, &s->past));
  s->total = s->past + s->fresh;
  s->room = ref_has(p, PAST_LENGTH) ? held : s->total;
  if (s->past < 0 || s->past > held || s->total > s->room)
    return ref_refuse(
        p,
        "input past_sequence_length is %lld; expected at least 0, and with %lld new "
        "positions at most the %lld of past_key",
        (long long)s->past, (long long)s->fresh, (long long)s->room);
  return check_beams(p, s);
}

static int32_t read_bias(ref_prepare *p, multi_head_state *s) {
  int64_t count = s->heads * (2 * s->size + s->v_size);
  s->bias_at = ref_reserve_input(p, BIAS);
  if (!ref_has(p, BIAS)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, BIAS, 1, 1));
  if (p->inputs[BIAS].dims[0] == count) return OPS_OK;
  return ref_refuse(p,
                    "input bias: expected %lld elements for query, key and value, found %lld",
                    (long long)count, (long long)p->inputs[BIAS].dims[0]);
}

static int32_t set_outputs(ref_prepare *p, multi_head_state *s) {
  const int64_t q[4] = {s->batch, s->heads, s->length, s->size};
  int64_t k[4] = {s->batch, s->heads, s->total, s->size};
  int64_t v[4] = {s->batch, s->heads, s->total, s->v_size};
  const int64_t y[3] = {s->batch, s->length, s->heads * s->v_size};
  s->q_at = ref_reserve_reals(p, ref_count(q, 4));
  s->k_at = ref_reserve_reals(p, ref_count(k, 4));
  s->v_at = ref_reserve_reals(p, ref_count(v, 4));
  s->rows_at =
      ref_attend_reserve(p, s->batch, s->heads, s->length, s->size, s->v_size, s->total);
  k[2] = v[2] = s->room;
  RETURN_IF_ERROR(ref_set_shape(p, PRESENT_KEY, 4, k));
  RETURN_IF_ERROR(ref_set_shape(p, PRESENT_VALUE, 4, v));
  if (p->output_count > SCORES) p->outputs[SCORES].type = p->inputs[QUERY].type;
  RETURN_IF_ERROR(
      ref_set_shape(p, SCORES, 4, (const int64_t[]){s->batch, s->heads, s->length, s->total}));
  return ref_set_shape(p, OUTPUT, 3, y);
}

static int32_t prepare(ref_prepare *p) {
  multi_head_state *s = p->state;
  RETURN_IF_ERROR(read_form(p, s));
  RETURN_IF_ERROR(read_query(p, s));
  RETURN_IF_ERROR(read_keys(p, s));
  if (s->size < 1 || s->v_size < 1)
    return ref_refuse(p, "the head size is %lld, that of value %lld; expected at least 1",
                      (long long)s->size, (long long)s->v_size);
  RETURN_IF_ERROR(read_past(p, s));
  RETURN_IF_ERROR(read_bias(p, s));
  s->causal = ref_attr_int(p->kernel, "unidirectional", 0) != 0;
  s->scale = ref_attr_float(p->kernel, "scale", 0);
  if (s->scale == 0) s->scale = 1 / sqrt((double)s->size);
  s->shape = (ref_mask_shape){s->batch, s->length, s->past, s->fresh};
  RETURN_IF_ERROR(ref_mask_read(p, MASK, &s->shape, MASK_FORMS, &s->mask));
  RETURN_IF_ERROR(ref_score_bias_check(p, SCORE_BIAS, s->batch, s->heads, s->length, s->total));
  return set_outputs(p, s);
}

// ---- Execute -------------------------------------------------------------------------------

// Part `part` of a packed [batch, positions, heads, parts, size] as [batch, heads, positions,
// size].
static ref_view unpack(const ref_view *packed, int64_t part) {
  ref_view view = ref_part_of(packed, 3, part), out = view;
  out.dims[1] = view.dims[2];
  out.dims[2] = view.dims[1];
  out.strides[1] = view.strides[2];
  out.strides[2] = view.strides[1];
  return out;
}

static ref_view key_of(const ref_run *run, int64_t value) {
  const multi_head_state *s = run->state;
  if (s->form == PACKED_QKV) return unpack(&run->inputs[QUERY], 1 + value);
  if (s->form == PACKED_KV) return unpack(&run->inputs[KEY], value);
  return ref_heads_of(&run->inputs[KEY + (uint64_t)value], s->heads);
}

static const double *load_query(const ref_run *run, const double *bias) {
  const multi_head_state *s = run->state;
  const ref_view *query = &run->inputs[QUERY];
  ref_view view = s->form == PACKED_QKV ? unpack(query, 0) : ref_heads_of(query, s->heads);
  double *out = ref_reals(run, s->q_at);
  ref_heads_load(&view, s->length, bias, out, s->length, 0);
  return out;
}

// The beam that position `j` of row `b` of the batch came from.
static int64_t beam_at(const ref_view *beams, int64_t b, int64_t j) {
  int64_t width = beams->dims[1];
  return ref_int_at(beams, b / width * beams->strides[0] + b % width * beams->strides[1] +
                               j * beams->strides[2]);
}

// Each row of the batch takes its past from the beams that cache_indirection names.
static void load_beams(const ref_run *run, const ref_view *past, double *out) {
  const multi_head_state *s = run->state;
  const ref_view *beams = &run->inputs[BEAMS];
  int64_t width = beams->dims[1], size = past->dims[3];
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t j = 0; j < s->past; ++j) {
      int64_t row = b / width * width + beam_at(beams, b, j);
      for (int64_t h = 0; h < s->heads; ++h)
        ref_load(past, row * past->strides[0] + h * past->strides[1] + j * past->strides[2],
                 past->strides[3], size, out + ((b * s->heads + h) * s->total + j) * size);
    }
}

// Keys, or values: those of the past, then the new ones with their bias.
static const double *join(const ref_run *run, int64_t value, const double *bias) {
  const multi_head_state *s = run->state;
  const ref_view *past = ref_input_or_null(run, PAST_KEY + (uint64_t)value);
  ref_view fresh = key_of(run, value);
  double *out = ref_reals(run, value ? s->v_at : s->k_at);
  if (ref_given(run, BEAMS))
    load_beams(run, past, out);
  else if (past != NULL)
    ref_heads_load(past, s->past, NULL, out, s->total, 0);
  ref_heads_load(&fresh, s->fresh, s->form == CACHED ? NULL : bias, out, s->total, s->past);
  return out;
}

static int32_t write_present(ref_run *run, uint64_t output, uint64_t past,
                             const double *joined) {
  const multi_head_state *s = run->state;
  if (!ref_wanted(run, output)) return OPS_OK;
  return ref_present_store(ref_input_or_null(run, past), joined, s->total, s->past, s->fresh,
                           &run->outputs[output], run->error);
}

static int32_t check_indirection(const ref_run *run) {
  const multi_head_state *s = run->state;
  if (!ref_given(run, BEAMS)) return OPS_OK;
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t j = 0; j < s->past; ++j) {
      int64_t beam = beam_at(&run->inputs[BEAMS], b, j), width = run->inputs[BEAMS].dims[1];
      if (beam < 0 || beam >= width)
        return ref_refuse(
            run,
            "input cache_indirection: row %lld, position %lld is %lld, expected a "
            "beam, 0 to %lld",
            (long long)b, (long long)j, (long long)beam, (long long)width - 1);
    }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const multi_head_state *s = run->state;
  RETURN_IF_ERROR(check_indirection(run));
  int64_t hidden = s->heads * s->size;
  const double *bias = ref_input_reals(run, BIAS, s->bias_at);
  const double *q = load_query(run, bias);
  ref_masking masking = {.mask = &s->mask,
                         .shape = &s->shape,
                         .causal = s->causal,
                         .mask_view = ref_input_or_null(run, MASK),
                         .score_bias = ref_input_or_null(run, SCORE_BIAS),
                         .scores = ref_wanted(run, SCORES) ? &run->outputs[SCORES] : NULL};
  ref_attend attend = {.batch = s->batch,
                       .heads = s->heads,
                       .kv_heads = s->heads,
                       .length = s->length,
                       .total = s->total,
                       .size = s->size,
                       .v_size = s->v_size,
                       .scale = s->scale,
                       .q = ref_heads_dense(q, s->batch, s->heads, s->length, s->size),
                       .y = ref_heads_of(&run->outputs[OUTPUT], s->heads),
                       .k = join(run, 0, bias == NULL ? NULL : bias + hidden),
                       .v = join(run, 1, bias == NULL ? NULL : bias + 2 * hidden),
                       .rows = ref_reals(run, s->rows_at),
                       .bias = ref_masking_bias,
                       .show = ref_masking_show,
                       .context = &masking};
  if (run->outputs[OUTPUT].count > 0) ref_attend_run(run, &attend);
  RETURN_IF_ERROR(write_present(run, PRESENT_KEY, PAST_KEY, attend.k));
  return write_present(run, PRESENT_VALUE, PAST_VALUE, attend.v);
}

const ref_op ref_multi_head_attention = {sizeof(multi_head_state), prepare, execute, NULL,
                                         NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Attention and FlexAttention: Y = softmax(scale * Q K' (+ softcap) + bias) V for every head.
//
// Q, K and V are seen as [batch, heads, sequence, size] whatever their rank; key and value
// heads are shared by groups of query heads. What the mask, the causal frontier, the window and
// the padding forbid has a bias of minus infinity; a row where nothing is allowed gives zeros.
// All scores of a head are kept, in double: softmax_precision rounds nothing here.
#include <math.h>

#include "attend.h"
#include "dense.h"
#include "operators.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };

typedef struct heads {
  int64_t count, length, size;
} heads;

typedef struct attention_state {
  int64_t batch, past, total;
  heads q, k, v;
  double scale, softcap;
  int32_t causal, mode;
  int64_t left, right;  // of the window; -1: unbounded
  uint64_t q_at, k_at, v_at, rows_at, mask_at;
} attention_state;

// ---- Prepare -------------------------------------------------------------------------------

static int32_t read_heads(const ref_prepare *p, uint64_t input, const char *attribute,
                          heads *out) {
  const ref_shape *shape = &p->inputs[input];
  RETURN_IF_ERROR(ref_need_rank(p, input, 3, 4));
  RETURN_IF_ERROR(ref_need_small(p, input));
  if (shape->rank == 4) {
    *out = (heads){shape->dims[1], shape->dims[2], shape->dims[3]};
    return OPS_OK;
  }
  int64_t count = ref_attr_int(p->kernel, attribute, 0);
  if (count < 1 || shape->dims[2] % count != 0)
    return ref_refuse(p,
                      "attribute %s: expected a divisor of %lld, the last dimension of %s, "
                      "found %lld",
                      attribute, (long long)shape->dims[2], ref_input_name(p->kernel, input),
                      (long long)count);
  *out = (heads){count, shape->dims[1], shape->dims[2] / count};
  return OPS_OK;
}

static int32_t check_heads(const ref_prepare *p, const attention_state *s) {
  if (p->inputs[K].dims[0] != s->batch || p->inputs[V].dims[0] != s->batch)
    return ref_refuse(p, "inputs Q, K and V have different batch sizes");
  if (p->inputs[K].rank != p->inputs[Q].rank || p->inputs[V].rank != p->inputs[Q].rank)
    return ref_refuse(p, "inputs Q, K and V have different ranks");
  if (s->k.size != s->q.size)
    return ref_refuse(p, "input K: the head size is %lld, expected %lld as in Q",
                      (long long)s->k.size, (long long)s->q.size);
  if (s->k.count != s->v.count || s->k.length != s->v.length)
    return ref_refuse(p, "inputs K and V: %lld and %lld heads of %lld and %lld positions",
                      (long long)s->k.count, (long long)s->v.count, (long long)s->k.length,
                      (long long)s->v.length);
  if (s->k.count < 1 || s->q.count % s->k.count != 0)
    return ref_refuse(p, "input Q: %lld heads are no multiple of the %lld of K",
                      (long long)s->q.count, (long long)s->k.count);
  return OPS_OK;
}

static int32_t check_past(const ref_prepare *p, uint64_t input, const attention_state *s,
                          const heads *own) {
  RETURN_IF_ERROR(ref_need_rank(p, input, 4, 4));
  const int64_t *dims = p->inputs[input].dims;
  if (dims[0] != s->batch || dims[1] != own->count || dims[2] != s->past ||
      dims[3] != own->size)
    return ref_refuse(p, "input %s: expected the shape [%lld, %lld, %lld, %lld]",
                      ref_input_name(p->kernel, input), (long long)s->batch,
                      (long long)own->count, (long long)s->past, (long long)own->size);
  return OPS_OK;
}

static int32_t read_past(const ref_prepare *p, attention_state *s) {
  s->total = s->k.length;
  if (ref_has(p, PAST_KEY) != ref_has(p, PAST_VALUE))
    return ref_refuse(p, "inputs past_key and past_value are given together or not at all");
  if (ref_has(p, NONPAD) && ref_has(p, PAST_KEY))
    return ref_refuse(p, "input nonpad_kv_seqlen cannot be combined with past_key");
  if (ref_has(p, NONPAD) &&
      (p->inputs[NONPAD].rank != 1 || p->inputs[NONPAD].dims[0] != s->batch))
    return ref_refuse(p, "input nonpad_kv_seqlen: expected the shape [%lld]",
                      (long long)s->batch);
  if (!ref_has(p, PAST_KEY)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, PAST_KEY, 4, 4));
  RETURN_IF_ERROR(ref_need_small(p, PAST_KEY));
  s->past = p->inputs[PAST_KEY].dims[2];
  s->total += s->past;
  RETURN_IF_ERROR(check_past(p, PAST_KEY, s, &s->k));
  return check_past(p, PAST_VALUE, s, &s->v);
}

// The mask broadcasts, except that its last dimension may be short: what is missing is masked.
static int32_t check_mask(const ref_prepare *p, const attention_state *s) {
  if (!ref_has(p, MASK)) return OPS_OK;
  const ref_shape *mask = &p->inputs[MASK];
  const int64_t wanted[4] = {s->batch, s->q.count, s->q.length, s->total};
  RETURN_IF_ERROR(ref_need_rank(p, MASK, 0, 4));
  for (int32_t i = 0; i < mask->rank; ++i) {
    int64_t dim = wanted[4 - mask->rank + i];
    int last = i == mask->rank - 1;
    if (mask->dims[i] != dim && !(last ? mask->dims[i] < dim : mask->dims[i] == 1))
      return ref_refuse(p, "input attn_mask: dimension %d is %lld, expected %s%lld", i,
                        (long long)mask->dims[i], last ? "at most " : "1 or ", (long long)dim);
  }
  return OPS_OK;
}

static int32_t read_options(const ref_prepare *p, attention_state *s) {
  s->scale = ref_attr_float(p->kernel, "scale", 0);
  if (ref_attr(p->kernel, "scale") == NULL) s->scale = 1 / sqrt((double)s->q.size);
  s->softcap = ref_attr_float(p->kernel, "softcap", 0);
  s->causal = ref_attr_int(p->kernel, "is_causal", 0) != 0;
  s->left = ref_attr_int(p->kernel, "left_window_size", -1);
  s->right = ref_attr_int(p->kernel, "right_window_size", -1);
  if (s->left < -1 || s->right < -1)
    return ref_refuse(p,
                      "attributes left_window_size and right_window_size: expected -1 or "
                      "more");
  int64_t mode = ref_attr_int(p->kernel, "qk_matmul_output_mode", REF_SCORES_RAW);
  if (mode < REF_SCORES_RAW || mode > REF_SCORES_SOFTMAX)
    return ref_refuse(p, "attribute qk_matmul_output_mode: expected 0 to 3, found %lld",
                      (long long)mode);
  s->mode = (int32_t)mode;
  return OPS_OK;
}

static int32_t set_outputs(ref_prepare *p, const attention_state *s) {
  int64_t y[4] = {s->batch, s->q.count, s->q.length, s->v.size};
  if (p->inputs[Q].rank == 3) {
    y[1] = s->q.length;
    if (__builtin_mul_overflow(s->q.count, s->v.size, &y[2]))
      return ref_refuse(p, "the shapes are too large");
  }
  RETURN_IF_ERROR(ref_set_shape(p, Y, p->inputs[Q].rank, y));
  RETURN_IF_ERROR(
      ref_set_shape(p, PRESENT_KEY, 4, (int64_t[]){s->batch, s->k.count, s->total, s->k.size}));
  RETURN_IF_ERROR(ref_set_shape(p, PRESENT_VALUE, 4,
                                (int64_t[]){s->batch, s->v.count, s->total, s->v.size}));
  return ref_set_shape(p, SCORES, 4, (int64_t[]){s->batch, s->q.count, s->q.length, s->total});
}

static void reserve(ref_prepare *p, attention_state *s) {
  int64_t k[4] = {s->batch, s->k.count, s->total, s->k.size};
  int64_t v[4] = {s->batch, s->k.count, s->total, s->v.size};
  s->k_at = ref_reserve_reals(p, ref_count(k, 4));
  s->v_at = ref_reserve_reals(p, ref_count(v, 4));
  s->rows_at =
      ref_attend_reserve(p, s->batch, s->q.count, s->q.length, s->q.size, s->v.size, s->total);
}

static int32_t prepare(ref_prepare *p) {
  attention_state *s = p->state;
  s->batch = p->inputs[Q].dims[0];
  RETURN_IF_ERROR(read_heads(p, Q, "q_num_heads", &s->q));
  RETURN_IF_ERROR(read_heads(p, K, "kv_num_heads", &s->k));
  RETURN_IF_ERROR(read_heads(p, V, "kv_num_heads", &s->v));
  RETURN_IF_ERROR(check_heads(p, s));
  RETURN_IF_ERROR(read_past(p, s));
  RETURN_IF_ERROR(check_mask(p, s));
  RETURN_IF_ERROR(read_options(p, s));
  reserve(p, s);
  return set_outputs(p, s);
}

// ---- Execute -------------------------------------------------------------------------------

// Past and new positions one after the other.
static const double *join(const ref_run *run, uint64_t past, const ref_view *fresh,
                          uint64_t at) {
  const attention_state *s = run->state;
  double *out = ref_reals(run, at);
  if (ref_given(run, past)) ref_heads_load(&run->inputs[past], s->past, NULL, out, s->total, 0);
  ref_heads_load(fresh, fresh->dims[2], NULL, out, s->total, s->past);
  return out;
}

static int32_t write_present(ref_run *run, uint64_t output, uint64_t past,
                             const double *joined) {
  const attention_state *s = run->state;
  if (!ref_wanted(run, output)) return OPS_OK;
  return ref_present_store(ref_given(run, past) ? &run->inputs[past] : NULL, joined, s->total,
                           s->past, s->k.length, &run->outputs[output], run->error);
}

static double mask_at(const ref_view *mask, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t index[4] = {b, h, i, j};
  int64_t offset = 0;
  for (int32_t d = 0; d < mask->rank; ++d) {
    int64_t at = index[4 - mask->rank + d];
    if (d == mask->rank - 1 && at >= mask->dims[d]) return -INFINITY;
    if (d == mask->rank - 1 || mask->dims[d] != 1) offset += at * mask->strides[d];
  }
  if (mask->type == OPS_TYPE_BOOL) return ref_int_at(mask, offset) ? 0 : -INFINITY;
  return ref_at(mask, offset);
}

static int fill_bias(const ref_attend *attend, int64_t b, int64_t h, int64_t i, double *bias) {
  const ref_run *run = attend->context;
  const attention_state *s = run->state;
  int64_t offset = s->past, valid = s->total;
  int any = 0;
  if (ref_given(run, NONPAD)) {
    valid = ref_int_at(&run->inputs[NONPAD], b * run->inputs[NONPAD].strides[0]);
    offset = valid - s->q.length;
  }
  for (int64_t j = 0; j < s->total; ++j) {
    int64_t ahead = j - (i + offset);
    bias[j] = ref_given(run, MASK) ? mask_at(&run->inputs[MASK], b, h, i, j) : 0;
    if (j >= valid || (s->causal && ahead > 0) || (s->left >= 0 && -ahead > s->left) ||
        (s->right >= 0 && ahead > s->right))
      bias[j] = -INFINITY;
    any |= bias[j] != -INFINITY;
  }
  return any;
}

static void show(const ref_attend *attend, int32_t stage, int64_t b, int64_t h, int64_t i,
                 const double *scores, const double *bias) {
  (void)bias;
  const ref_run *run = attend->context;
  const attention_state *s = run->state;
  if (stage != s->mode || !ref_wanted(run, SCORES)) return;
  const ref_view *out = &run->outputs[SCORES];
  ref_store(out, b * out->strides[0] + h * out->strides[1] + i * out->strides[2],
            out->strides[3], s->total, scores);
}

static int32_t check_nonpad(const ref_run *run, const attention_state *s) {
  if (!ref_given(run, NONPAD)) return OPS_OK;
  const ref_view *view = &run->inputs[NONPAD];
  for (int64_t b = 0; b < view->count; ++b) {
    int64_t valid = ref_int_at(view, b * view->strides[0]);
    if (valid < 0 || valid > s->total)
      return ref_refuse(run, "input nonpad_kv_seqlen: element %lld is %lld, expected 0 to %lld",
                        (long long)b, (long long)valid, (long long)s->total);
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const attention_state *s = run->state;
  RETURN_IF_ERROR(check_nonpad(run, s));
  ref_view k = ref_heads_of(&run->inputs[K], s->k.count);
  ref_view v = ref_heads_of(&run->inputs[V], s->v.count);
  ref_attend attend = {.batch = s->batch,
                       .heads = s->q.count,
                       .kv_heads = s->k.count,
                       .length = s->q.length,
                       .total = s->total,
                       .size = s->q.size,
                       .v_size = s->v.size,
                       .scale = s->scale,
                       .softcap = s->softcap,
                       .q = ref_heads_of(&run->inputs[Q], s->q.count),
                       .y = ref_heads_of(&run->outputs[Y], s->q.count),
                       .k = join(run, PAST_KEY, &k, s->k_at),
                       .v = join(run, PAST_VALUE, &v, s->v_at),
                       .rows = ref_reals(run, s->rows_at),
                       .bias = fill_bias,
                       .show = show,
                       .context = run};
  if (run->outputs[Y].count > 0 || (ref_wanted(run, SCORES) && run->outputs[SCORES].count > 0))
    ref_attend_run(run, &attend);
  RETURN_IF_ERROR(write_present(run, PRESENT_KEY, PAST_KEY, attend.k));
  return write_present(run, PRESENT_VALUE, PAST_VALUE, attend.v);
}

static const char *refuse_graphs(const ops_node *node) {
  for (uint64_t i = 0; i < node->attribute_count; ++i) {
    const ops_attribute *attribute =
        (const void *)((const char *)node->attributes + i * node->attribute_stride);
    if (attribute->kind == OPS_ATTRIBUTE_GRAPH)
      return "score_mod and prob_mod are graphs, which kernels cannot run; expand the function";
  }
  return NULL;
}

const ref_op ref_attention = {sizeof(attention_state), prepare, execute, NULL, NULL};
const ref_op ref_flex_attention = {sizeof(attention_state), prepare, execute, NULL,
                                   refuse_graphs};

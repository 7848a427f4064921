// SPDX-License-Identifier: Apache-2.0
//
// RotaryEmbedding: pairs of numbers of each head are turned by an angle that depends on the
// position; what lies beyond rotary_embedding_dim stays as it is. That of com.microsoft has its
// inputs in another order, always names positions, and may give one from which all count.
#include "microsoft_operators.h"
#include "operators.h"
#include "rotary.h"

enum { X };

// Where a domain has the other inputs.
typedef struct rotary_form {
  uint64_t cosine, sine, positions;
  int microsoft;
} rotary_form;

static const rotary_form *form_of(const ops_kernel *kernel) {
  return kernel->op->family;
}

typedef struct rotary_state {
  int64_t batch, heads, length, size;
  int64_t half;  // pairs
  int32_t interleaved;
} rotary_state;

static int32_t read_shape(const ref_prepare *p, rotary_state *s) {
  const ref_shape *x = &p->inputs[X];
  RETURN_IF_ERROR(ref_need_rank(p, X, 3, 4));
  s->batch = x->dims[0];
  s->heads = x->rank == 4 ? x->dims[1] : ref_attr_int(p->kernel, "num_heads", 0);
  s->length = x->dims[x->rank - 2];
  if (x->rank == 3) s->length = x->dims[1];
  s->size = x->dims[x->rank - 1];
  if (x->rank == 4) return OPS_OK;
  // The caches of com.microsoft tell the head size if num_heads does not.
  if (s->heads == 0 && form_of(p->kernel)->microsoft && s->half > 0)
    s->heads = s->size / (2 * s->half);
  if (s->heads < 1 || s->size % s->heads != 0)
    return ref_refuse(p, "attribute num_heads: expected a divisor of %lld, found %lld",
                      (long long)s->size, (long long)s->heads);
  s->size /= s->heads;
  return OPS_OK;
}

static int32_t check_cache(const ref_prepare *p, uint64_t input, const rotary_state *s) {
  const ref_shape *cache = &p->inputs[input];
  const rotary_form *form = form_of(p->kernel);
  int32_t rank = ref_has(p, form->positions) ? 2 : 3;
  RETURN_IF_ERROR(ref_need_rank(p, input, rank, rank));
  if (cache->dims[rank - 1] != s->half)
    return ref_refuse(p, "input %s: the last dimension is %lld, expected %lld",
                      ref_input_name(p->kernel, input), (long long)cache->dims[rank - 1],
                      (long long)s->half);
  if (rank == 3 && (cache->dims[0] != s->batch || cache->dims[1] != s->length))
    return ref_refuse(p, "input %s: expected the shape [%lld, %lld, %lld]",
                      ref_input_name(p->kernel, input), (long long)s->batch,
                      (long long)s->length, (long long)s->half);
  if (cache->dims[0] != p->inputs[form->cosine].dims[0])
    return ref_refuse(p, "inputs cos_cache and sin_cache differ in shape");
  return OPS_OK;
}

// [batch, length] or, with com.microsoft, one position, that of the first token.
static int32_t check_positions_shape(const ref_prepare *p, const rotary_state *s) {
  const rotary_form *form = form_of(p->kernel);
  const ref_shape *positions = &p->inputs[form->positions];
  if (!ref_has(p, form->positions)) return OPS_OK;
  if (form->microsoft && positions->rank < 2 &&
      ref_count(positions->dims, positions->rank) == 1)
    return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, form->positions, 2, 2));
  if (positions->dims[0] == s->batch && positions->dims[1] == s->length) return OPS_OK;
  return ref_refuse(p, "input position_ids: expected the shape [%lld, %lld]",
                    (long long)s->batch, (long long)s->length);
}

static int32_t prepare(ref_prepare *p) {
  rotary_state *s = p->state;
  const rotary_form *form = form_of(p->kernel);
  int64_t turned = ref_attr_int(p->kernel, "rotary_embedding_dim", 0);
  if (form->microsoft && turned == 0) {
    RETURN_IF_ERROR(ref_need_rank(p, form->cosine, 2, 2));
    s->half = p->inputs[form->cosine].dims[1];
  }
  RETURN_IF_ERROR(read_shape(p, s));
  if (turned == 0) turned = s->size;
  if (turned < 0 || turned > s->size || turned % 2 != 0)
    return ref_refuse(p,
                      "%lld numbers of a head are to be turned, expected an even number of "
                      "at most %lld",
                      (long long)turned, (long long)s->size);
  s->half = turned / 2;
  s->interleaved = ref_attr_int(p->kernel, "interleaved", 0) != 0;
  RETURN_IF_ERROR(check_cache(p, form->cosine, s));
  RETURN_IF_ERROR(check_cache(p, form->sine, s));
  RETURN_IF_ERROR(check_positions_shape(p, s));
  return ref_same_shape(p, 0, X);
}

// Offset of number `i` of a head.
static int64_t place(const ref_view *view, const rotary_state *s, int64_t b, int64_t h,
                     int64_t t, int64_t i) {
  const int64_t *at = view->strides;
  if (view->rank == 4) return b * at[0] + h * at[1] + t * at[2] + i * at[3];
  return b * at[0] + t * at[1] + (h * s->size + i) * at[2];
}

// The row of the caches for token `t`.
static int64_t position_of(const ref_view *positions, int64_t b, int64_t t) {
  if (positions->rank < 2) return ref_int_at(positions, 0) + t;
  return ref_int_at(positions, b * positions->strides[0] + t * positions->strides[1]);
}

static double angle(const ref_run *run, uint64_t input, int64_t b, int64_t t, int64_t i) {
  const ref_view *cache = &run->inputs[input];
  if (cache->rank == 3)
    return ref_at(cache, b * cache->strides[0] + t * cache->strides[1] + i * cache->strides[2]);
  int64_t row = position_of(&run->inputs[form_of(run->kernel)->positions], b, t);
  return ref_at(cache, row * cache->strides[0] + i * cache->strides[1]);
}

static int32_t turn_token(const ref_run *run, int64_t b, int64_t h, int64_t t) {
  const rotary_state *s = run->state;
  const rotary_form *form = form_of(run->kernel);
  const ref_view *x = &run->inputs[X], *y = &run->outputs[0];
  for (int64_t i = 0; i < s->half; ++i) {
    int64_t first = ref_rotary_first(i, s->interleaved);
    int64_t second = ref_rotary_second(i, s->half, s->interleaved);
    double u = ref_at(x, place(x, s, b, h, t, first));
    double v = ref_at(x, place(x, s, b, h, t, second));
    ref_rotary_turn(angle(run, form->cosine, b, t, i), angle(run, form->sine, b, t, i), &u, &v);
    ref_store(y, place(y, s, b, h, t, first), 1, 1, &u);
    ref_store(y, place(y, s, b, h, t, second), 1, 1, &v);
  }
  return ref_move(y, place(y, s, b, h, t, 2 * s->half), y->strides[y->rank - 1], x,
                  place(x, s, b, h, t, 2 * s->half), x->strides[x->rank - 1],
                  s->size - 2 * s->half, run->error);
}

static int32_t check_positions(const ref_run *run) {
  const rotary_state *s = run->state;
  const rotary_form *form = form_of(run->kernel);
  const ref_view *positions = ref_input_or_null(run, form->positions);
  if (positions == NULL) return OPS_OK;
  int64_t rows = run->inputs[form->cosine].dims[0];
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t t = 0; t < s->length; ++t) {
      int64_t at = position_of(positions, b, t);
      if (at < 0 || at >= rows)
        return ref_refuse(
            run,
            "input position_ids: token %lld of row %lld is at %lld, expected 0 to "
            "%lld",
            (long long)t, (long long)b, (long long)at, (long long)rows - 1);
    }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const rotary_state *s = run->state;
  if (run->outputs[0].count == 0) return OPS_OK;
  RETURN_IF_ERROR(check_positions(run));
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->heads; ++h)
      for (int64_t t = 0; t < s->length; ++t) RETURN_IF_ERROR(turn_token(run, b, h, t));
  return OPS_OK;
}

static const rotary_form onnx = {.cosine = 1, .sine = 2, .positions = 3};
static const rotary_form microsoft = {.positions = 1, .cosine = 2, .sine = 3, .microsoft = 1};

const ref_op ref_rotary_embedding = {sizeof(rotary_state), prepare, execute, &onnx, NULL};
const ref_op ref_microsoft_rotary_embedding = {sizeof(rotary_state), prepare, execute,
                                               &microsoft, NULL};

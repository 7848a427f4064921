// SPDX-License-Identifier: Apache-2.0
//
// RotaryEmbedding: pairs of numbers of each head are turned by an angle that depends on the
// position. A pair is (i, i + half) or, interleaved, (2i, 2i + 1); what lies beyond
// rotary_embedding_dim stays as it is.
#include "operators.h"

enum { X, COS, SIN, POSITIONS };

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
  if (s->heads < 1 || s->size % s->heads != 0)
    return ref_refuse(p, "attribute num_heads: expected a divisor of %lld, found %lld",
                      (long long)s->size, (long long)s->heads);
  s->size /= s->heads;
  return OPS_OK;
}

static int32_t check_cache(const ref_prepare *p, uint64_t input, const rotary_state *s) {
  const ref_shape *cache = &p->inputs[input];
  int32_t rank = ref_has(p, POSITIONS) ? 2 : 3;
  RETURN_IF_ERROR(ref_need_rank(p, input, rank, rank));
  if (cache->dims[rank - 1] != s->half)
    return ref_refuse(p, "input %s: the last dimension is %lld, expected %lld",
                      ref_input_name(p->kernel, input), (long long)cache->dims[rank - 1],
                      (long long)s->half);
  if (rank == 3 && (cache->dims[0] != s->batch || cache->dims[1] != s->length))
    return ref_refuse(p, "input %s: expected the shape [%lld, %lld, %lld]",
                      ref_input_name(p->kernel, input), (long long)s->batch,
                      (long long)s->length, (long long)s->half);
  if (cache->dims[0] != p->inputs[COS].dims[0])
    return ref_refuse(p, "inputs cos_cache and sin_cache differ in shape");
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  rotary_state *s = p->state;
  RETURN_IF_ERROR(read_shape(p, s));
  int64_t turned = ref_attr_int(p->kernel, "rotary_embedding_dim", 0);
  if (turned == 0) turned = s->size;
  if (turned < 0 || turned > s->size || turned % 2 != 0)
    return ref_refuse(p,
                      "%lld numbers of a head are to be turned, expected an even number of "
                      "at most %lld",
                      (long long)turned, (long long)s->size);
  s->half = turned / 2;
  s->interleaved = ref_attr_int(p->kernel, "interleaved", 0) != 0;
  RETURN_IF_ERROR(check_cache(p, COS, s));
  RETURN_IF_ERROR(check_cache(p, SIN, s));
  if (ref_has(p, POSITIONS)) {
    const ref_shape *positions = &p->inputs[POSITIONS];
    RETURN_IF_ERROR(ref_need_rank(p, POSITIONS, 2, 2));
    if (positions->dims[0] != s->batch || positions->dims[1] != s->length)
      return ref_refuse(p, "input position_ids: expected the shape [%lld, %lld]",
                        (long long)s->batch, (long long)s->length);
  }
  return ref_same_shape(p, 0, X);
}

// Offset of number `i` of a head.
static int64_t place(const ref_view *view, const rotary_state *s, int64_t b, int64_t h,
                     int64_t t, int64_t i) {
  const int64_t *at = view->strides;
  if (view->rank == 4) return b * at[0] + h * at[1] + t * at[2] + i * at[3];
  return b * at[0] + t * at[1] + (h * s->size + i) * at[2];
}

static double angle(const ref_run *run, uint64_t input, int64_t b, int64_t t, int64_t i) {
  const ref_view *cache = &run->inputs[input];
  if (cache->rank == 3)
    return ref_at(cache, b * cache->strides[0] + t * cache->strides[1] + i * cache->strides[2]);
  const ref_view *positions = &run->inputs[POSITIONS];
  int64_t row = ref_int_at(positions, b * positions->strides[0] + t * positions->strides[1]);
  return ref_at(cache, row * cache->strides[0] + i * cache->strides[1]);
}

static int32_t turn_token(const ref_run *run, int64_t b, int64_t h, int64_t t) {
  const rotary_state *s = run->state;
  const ref_view *x = &run->inputs[X], *y = &run->outputs[0];
  for (int64_t i = 0; i < s->half; ++i) {
    int64_t first = s->interleaved ? 2 * i : i;
    int64_t second = s->interleaved ? 2 * i + 1 : i + s->half;
    double c = angle(run, COS, b, t, i), n = angle(run, SIN, b, t, i);
    double u = ref_at(x, place(x, s, b, h, t, first));
    double v = ref_at(x, place(x, s, b, h, t, second));
    double real = c * u - n * v, imaginary = n * u + c * v;
    ref_store(y, place(y, s, b, h, t, first), 1, 1, &real);
    ref_store(y, place(y, s, b, h, t, second), 1, 1, &imaginary);
  }
  return ref_move(y, place(y, s, b, h, t, 2 * s->half), y->strides[y->rank - 1], x,
                  place(x, s, b, h, t, 2 * s->half), x->strides[x->rank - 1],
                  s->size - 2 * s->half, run->error);
}

static int32_t check_positions(const ref_run *run) {
  if (!ref_given(run, POSITIONS)) return OPS_OK;
  const ref_view *positions = &run->inputs[POSITIONS];
  for (int64_t i = 0; i < positions->count; ++i) {
    int64_t at = ref_int_at(positions, ref_offset_of(positions, i));
    if (at < 0 || at >= run->inputs[COS].dims[0])
      return ref_refuse(run, "input position_ids: element %lld is %lld, expected 0 to %lld",
                        (long long)i, (long long)at, (long long)run->inputs[COS].dims[0] - 1);
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const rotary_state *s = run->state;
  RETURN_IF_ERROR(check_positions(run));
  if (run->outputs[0].count == 0) return OPS_OK;
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->heads; ++h)
      for (int64_t t = 0; t < s->length; ++t) RETURN_IF_ERROR(turn_token(run, b, h, t));
  return OPS_OK;
}

const ref_op ref_rotary_embedding = {sizeof(rotary_state), prepare, execute, NULL, NULL};

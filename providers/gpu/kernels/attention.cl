// SPDX-License-Identifier: Apache-2.0
//
// Attention: one group for each query of a head. Keys are taken GROUP at a time; the softmax
// goes along with them (Milakov and Gimelshein, "Online normalizer calculation for softmax",
// 2018), and each item sums every GROUP-th element of the values.
//
// The host defines IDX, GROUP, VALUES (elements of a value for each item), ACC (the C type of
// scores and sums), TQ and TV, the types of queries and values, MASK, that of the mask (if
// HAS_MASK), IS_BOOL and HAS_VALID.
typedef struct attend_t {
  IDX heads, shared;  // query heads; how many of them share a key head
  IDX length, total, past, size, v_size;
  IDX q[3], k[3], v[3], y[3];  // strides of batch, head and position; of k and v the new ones
  IDX mask[3], mask_length;    // of batch, head and query
  IDX left, right;             // -1: no end
} attend_t;

// Vector j of the past, or of the new positions behind it.
#define VECTOR(N, name, strides, width)                                                        \
  (j < a.past                                                                                  \
       ? ELEMENTS(N, past_##name) +                                                            \
             (((long)batch * (a.heads / a.shared) + head / a.shared) * a.past + j) * width     \
       : ELEMENTS(N, name) + (long)batch * strides[0] + (long)(head / a.shared) * strides[1] + \
             (long)(j - a.past) * strides[2])

KERNEL void attention(BUFFER(q), BUFFER(k), BUFFER(v), BUFFER(mask), BUFFER(past_k),
                      BUFFER(past_v), BUFFER(valid), BUFFER(y), attend_t a, ACC scale,
                      float softcap) {
  LOCAL ACC scores[GROUP];
  const IDX row = (IDX)GROUP_X(), item = ITEM_X();
  const IDX query = row % a.length, head = row / a.length % a.heads;
  const IDX batch = row / a.length / a.heads;
  const GLOBAL STORAGE(TQ) *own =
      ELEMENTS(TQ, q) + (long)batch * a.q[0] + (long)head * a.q[1] + (long)query * a.q[2];
  IDX total = a.total, before = a.past;
#if HAS_VALID
  const long given = LOAD(int64, ELEMENTS(int64, valid), batch);
  total = given < 0 ? 0 : given < a.total ? (IDX)given : a.total;
  before = total - a.length;
#endif
  // The query sees keys [begin, end); to the others it gives the weight 0.
  const IDX here = query + before;
  IDX end = total;
#if HAS_MASK
  if (a.mask_length < end) end = a.mask_length;
  const GLOBAL STORAGE(MASK) *masks = ELEMENTS(MASK, mask) + (long)batch * a.mask[0] +
                                      (long)head * a.mask[1] + (long)query * a.mask[2];
#endif
  if (a.right >= 0 && here + a.right + 1 < end) end = here + a.right + 1;
  const IDX begin = a.left >= 0 && here > a.left ? here - a.left : 0;

  ACC sums[VALUES], top = -INFINITY, whole = 0;
  for (int n = 0; n < VALUES; ++n) sums[n] = 0;
  for (IDX tile = 0; tile < total; tile += GROUP) {
    const IDX count = total - tile < GROUP ? total - tile : GROUP, j = tile + item;
    scores[item] = -INFINITY;
    if (j >= begin && j < end) {
      const GLOBAL STORAGE(TQ) *key = VECTOR(TQ, k, a.k, a.size);
      ACC score = 0;
      for (IDX d = 0; d < a.size; ++d) score += (ACC)LOAD(TQ, own, d) * (ACC)LOAD(TQ, key, d);
      score *= (ACC)scale;
      if (softcap > 0) score = (ACC)softcap * tanh(score / (ACC)softcap);
#if HAS_MASK
#if IS_BOOL
      if (!LOAD(MASK, masks, j)) score = -INFINITY;
#else
      score += (ACC)LOAD(MASK, masks, j);
#endif
#endif
      scores[item] = score;
    }
    BARRIER();
    ACC higher = top;
    for (IDX n = 0; n < count; ++n) {
      if (scores[n] > higher || scores[n] != scores[n]) higher = scores[n];
    }
    const ACC fade = top == -INFINITY ? (ACC)0 : exp(top - higher);
    whole *= fade;
    for (int n = 0; n < VALUES; ++n) sums[n] *= fade;
    for (IDX n = 0; n < count; ++n) {
      const ACC weight = scores[n] == -INFINITY ? (ACC)0 : exp(scores[n] - higher);
      const IDX j = tile + n;
      const GLOBAL STORAGE(TV) *value = VECTOR(TV, v, a.v, a.v_size);
      whole += weight;
      for (int m = 0; m < VALUES; ++m) {
        const IDX d = item + m * GROUP;
        if (d < a.v_size) sums[m] += weight * (ACC)LOAD(TV, value, d);
      }
    }
    top = higher;
    BARRIER();
  }
  const long to = (long)batch * a.y[0] + (long)head * a.y[1] + (long)query * a.y[2];
  for (int m = 0; m < VALUES; ++m) {
    const IDX d = item + m * GROUP;
    // A query that may see no key gives zeros.
    if (d < a.v_size) STORE(TQ, ELEMENTS(TQ, y), to + d, whole == 0 ? (ACC)0 : sums[m] / whole);
  }
}

// Earlier positions and the new ones behind them: [batch, head, position, element].
KERNEL void attention_join(BUFFER(past), BUFFER(fresh), BUFFER(y), IDX count, IDX heads,
                           IDX earlier, IDX total, IDX size, IDX batch_stride, IDX head_stride,
                           IDX step) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX position = i / size % total, plane = i / size / total, element = i % size;
  if (position < earlier)
    ELEMENTS(TQ, y)[i] = ELEMENTS(TQ, past)[(plane * earlier + position) * size + element];
  else
    ELEMENTS(TQ, y)
  [i] = ELEMENTS(TQ, fresh)[plane / heads * batch_stride + plane % heads * head_stride +
                            (position - earlier) * step + element];
}

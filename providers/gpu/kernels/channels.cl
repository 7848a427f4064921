// SPDX-License-Identifier: Apache-2.0
//
// Operators that work on [N, C, …] element by element: BatchNormalization and LRN. The host
// defines IDX, T, and S and V, the types of scale and of the statistics.
#if GPU_FP64 && IS_DOUBLE
typedef double acc_t;
#else
typedef float acc_t;
#endif

#if OP_BatchNormalization
// `each` elements of every channel lie together.
KERNEL void batch_normalize(BUFFER(x), BUFFER(scale), BUFFER(bias), BUFFER(mean),
                            BUFFER(variance), BUFFER(y), IDX count, IDX channels, IDX each,
                            float epsilon) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX c = i / each % channels;
  const acc_t factor = LOAD(S, ELEMENTS(S, scale), c) /
                       sqrt((acc_t)LOAD(V, ELEMENTS(V, variance), c) + (acc_t)epsilon);
  const acc_t distance = (acc_t)LOAD(T, ELEMENTS(T, x), i) - LOAD(V, ELEMENTS(V, mean), c);
  STORE(T, ELEMENTS(T, y), i, distance * factor + LOAD(S, ELEMENTS(S, bias), c));
}
#endif

#if OP_LRN
KERNEL void lrn(BUFFER(x), BUFFER(y), IDX count, IDX channels, IDX each, int size, float alpha,
                float beta, float bias) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX c = i / each % channels, before = (size - 1) / 2, after = size - 1 - before;
  const IDX first = c < before ? 0 : c - before;
  const IDX last = channels - 1 - c < after ? channels - 1 : c + after;
  acc_t sum = 0;
  for (IDX k = first; k <= last; ++k) {
    const acc_t v = LOAD(T, ELEMENTS(T, x), i + (k - c) * each);
    sum += v * v;
  }
  const acc_t base = (acc_t)bias + (acc_t)alpha / (acc_t)size * sum;
  STORE(T, ELEMENTS(T, y), i, LOAD(T, ELEMENTS(T, x), i) / pow(base, (acc_t)beta));
}
#endif

// SPDX-License-Identifier: Apache-2.0
//
// Pools: one work-item for each output. The host defines IDX, T, ACC (the C type in which it
// accumulates) and OP_MaxPool, OP_AveragePool or OP_LpPool; of the latter P is 1, 2 or, for any
// other power, 0.
typedef struct window_t {
  IDX in[3], out[3], size[3], stride[3], dilation[3], begin[3], end[3];
} window_t;

#define IS_NAN(a) ((a) != (a))

// Taps of the window that lie in dimension d from its first to *last, exclusive.
DEVICE IDX first_tap(const window_t *w, int d, IDX start) {
  return start >= 0 ? 0 : (-start + w->dilation[d] - 1) / w->dilation[d];
}
DEVICE IDX last_tap(const window_t *w, int d, IDX start) {
  const IDX inside = w->in[d] - start + w->dilation[d] - 1;
  const IDX taps = inside <= 0 ? 0 : inside / w->dilation[d];
  return taps < w->size[d] ? taps : w->size[d];
}
// Taps that lie in the input or its padding.
DEVICE IDX padded_taps(const window_t *w, int d, IDX start) {
  const IDX room = w->in[d] + w->end[d] - start;
  const IDX taps = (room + w->dilation[d] - 1) / w->dilation[d];
  return taps < w->size[d] ? taps : w->size[d];
}

#if OP_LpPool
#if P == 1
#define TAKEN(v) fabs((ACC)(v))
#define ROOT(v) (v)
#elif P == 2
#define TAKEN(v) ((ACC)(v) * (ACC)(v))
#define ROOT(v) sqrt(v)
#else
#define TAKEN(v) pow(fabs((ACC)(v)), (ACC)power)
#define ROOT(v) pow(v, 1 / (ACC)power)
#endif
#else
#define TAKEN(v) ((ACC)(v))
#endif

KERNEL void pool(BUFFER(x), BUFFER(y), BUFFER(indices), IDX count, window_t w,
                 int counts_padding, int column_major, float power) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX row = i / w.out[2], slice = row / w.out[1], plane = slice / w.out[0];
  const IDX at[3] = {slice - plane * w.out[0], row - slice * w.out[1], i - row * w.out[2]};
  IDX start[3], first[3], last[3], taps = 1;
  for (int d = 0; d < 3; ++d) {
    start[d] = at[d] * w.stride[d] - w.begin[d];
    first[d] = first_tap(&w, d, start[d]);
    last[d] = last_tap(&w, d, start[d]);
    const IDX inside = last[d] > first[d] ? last[d] - first[d] : 0;
    taps *= counts_padding ? padded_taps(&w, d, start[d]) : inside;
  }
  const IDX base = plane * w.in[0] * w.in[1] * w.in[2];
#if OP_MaxPool
  ACC value = LOWEST;
#else
  ACC value = 0;
#endif
  IDX best = -1;
  for (IDX a = first[0]; a < last[0]; ++a)
    for (IDX b = first[1]; b < last[1]; ++b) {
      const IDX line =
          ((start[0] + a * w.dilation[0]) * w.in[1] + start[1] + b * w.dilation[1]) * w.in[2] +
          start[2];
      for (IDX c = first[2]; c < last[2]; ++c) {
        const IDX position = line + c * w.dilation[2];
        const ACC v = TAKEN(LOAD(T, ELEMENTS(T, x), base + position));
#if OP_MaxPool
        if (best < 0 || v > value || (IS_NAN(v) && !IS_NAN(value))) {
          value = v;
          best = position;
        }
#else
        value += v;
#endif
      }
    }
#if OP_AveragePool
  value /= (ACC)taps;
#elif OP_LpPool
  value = ROOT(value);
#endif
  STORE(T, ELEMENTS(T, y), i, value);
#if HAS_INDICES
  if (column_major) {
    const IDX r = best / w.in[2], s = r / w.in[1];
    best = s + w.in[0] * (r - s * w.in[1] + w.in[1] * (best - r * w.in[2]));
  }
  STORE(int64, ELEMENTS(int64, indices), i, (long)base + best);
#endif
}

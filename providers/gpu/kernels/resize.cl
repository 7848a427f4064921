// SPDX-License-Identifier: Apache-2.0
//
// Resize: one work-item for each output. The host has computed, for every axis that changes and
// every position of the output on it, which positions of the input count and with what weight.
//
// The host defines IDX, T, ACC (the C type of weights and sums) and IS_NEAREST.
typedef struct axes_t {
  IDX out[5], stride[5];  // sizes of the output, strides of the input
  int taps[5];            // for each position of the output
  int table[5];           // where the axis' taps begin; -1: it does not change
} axes_t;

#define INDEX ELEMENTS(int32, index)
#define WEIGHT ((const GLOBAL ACC *)(weight_base + weight_offset))
// Input position of tap k on axis d, times the stride; and the weight.
#define PLACE(d, k) ((axes.table[d] < 0 ? at[d] : (IDX)INDEX[first[d] + (k)]) * axes.stride[d])
#define FACTOR(d, k) (axes.table[d] < 0 ? (ACC)1 : WEIGHT[first[d] + (k)])
#define EACH_TAP(d, k) for (int k = 0; k < axes.taps[d]; ++k)

KERNEL void resize(BUFFER(x), BUFFER(y), BUFFER(index), BUFFER(weight), axes_t axes,
                   IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  IDX at[5], first[5], rest = i;
  for (int d = 4; d >= 0; --d) {
    const IDX next = rest / axes.out[d];
    at[d] = rest - next * axes.out[d];
    first[d] = axes.table[d] + at[d] * axes.taps[d];
    rest = next;
  }
#if IS_NEAREST
  IDX from = 0;
  for (int d = 0; d < 5; ++d) from += PLACE(d, 0);
  ELEMENTS(T, y)[i] = ELEMENTS(T, x)[from];
#else
  ACC value = 0;
  EACH_TAP(0, a) {
    EACH_TAP(1, b) {
      const ACC outer = FACTOR(0, a) * FACTOR(1, b);
      EACH_TAP(2, c) {
        const IDX volume = PLACE(0, a) + PLACE(1, b) + PLACE(2, c);
        ACC plane = 0;
        EACH_TAP(3, e) {
          ACC line = 0;
          EACH_TAP(4, f)
          line += FACTOR(4, f) * LOAD(T, ELEMENTS(T, x), volume + PLACE(3, e) + PLACE(4, f));
          plane += FACTOR(3, e) * line;
        }
        value += outer * FACTOR(2, c) * plane;
      }
    }
  }
  STORE(T, ELEMENTS(T, y), i, value);
#endif
}

// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of depthwise convolutions: sixteen outputs of a row at a time, and four rows,
// in registers, whatever the machine's vectors are. Every second element is picked by a
// shuffle.
#include <string.h>

#include "vec_isa.h"

#define LANES CPU_DEPTHWISE_LANES

typedef float lanes __attribute__((vector_size(4 * LANES)));

static inline __attribute__((always_inline)) lanes load(const float *from) {
  lanes value;
  memcpy(&value, from, sizeof value);
  return value;
}

static inline __attribute__((always_inline)) lanes load_even(const float *from) {
  return __builtin_shufflevector(load(from), load(from + LANES), 0, 2, 4, 6, 8, 10, 12, 14, 16,
                                 18, 20, 22, 24, 26, 28, 30);
}

static inline __attribute__((always_inline)) void store(float *to, lanes value, int64_t count) {
  if (count >= LANES)
    memcpy(to, &value, sizeof value);
  else
    memcpy(to, &value, (size_t)count * sizeof *to);
}

// One block of columns of a single row, and of four rows: four sums do not wait for each other.
#define DEFINE(suffix, stride, load_lanes)                                                \
  static void one_row_##suffix(const cpu_depthwise_tile *t, float *y, const float *x,     \
                               int64_t count) {                                           \
    lanes sum = (lanes){0} + t->bias;                                                     \
    const float *weight = t->weights;                                                     \
    for (int64_t r = 0; r < t->tap_rows; ++r, x += t->tap_row)                            \
      for (int64_t c = 0; c < t->tap_columns; ++c)                                        \
        sum += load_lanes(x + c * t->tap_column) * *weight++;                             \
    store(y, sum, count);                                                                 \
  }                                                                                       \
  static void four_rows_##suffix(const cpu_depthwise_tile *t, float *y, const float *x,   \
                                 int64_t count) {                                         \
    lanes a = (lanes){0} + t->bias, b = a, c = a, d = a;                                  \
    const float *weight = t->weights;                                                     \
    const int64_t next = t->x_step;                                                       \
    for (int64_t r = 0; r < t->tap_rows; ++r, x += t->tap_row)                            \
      for (int64_t k = 0; k < t->tap_columns; ++k) {                                      \
        const float *from = x + k * t->tap_column, w = *weight++;                         \
        a += load_lanes(from) * w;                                                        \
        b += load_lanes(from + next) * w;                                                 \
        c += load_lanes(from + 2 * next) * w;                                             \
        d += load_lanes(from + 3 * next) * w;                                             \
      }                                                                                   \
    store(y, a, count);                                                                   \
    store(y + t->y_row, b, count);                                                        \
    store(y + 2 * t->y_row, c, count);                                                    \
    store(y + 3 * t->y_row, d, count);                                                    \
  }                                                                                       \
  static void tile_##suffix(const cpu_depthwise_tile *t, float *y, const float *x) {      \
    for (int64_t i = 0; i < t->columns; i += LANES) {                                     \
      int64_t row = 0;                                                                    \
      for (; row + 4 <= t->rows; row += 4)                                                \
        four_rows_##suffix(t, y + row * t->y_row + i, x + row * t->x_step + i * (stride), \
                           t->columns - i);                                               \
      for (; row < t->rows; ++row)                                                        \
        one_row_##suffix(t, y + row * t->y_row + i, x + row * t->x_step + i * (stride),   \
                         t->columns - i);                                                 \
    }                                                                                     \
  }
DEFINE(stride_1, 1, load)
DEFINE(stride_2, 2, load_even)

void CPU_ISA_NAME(cpu_vec_depthwise)(const cpu_depthwise_tile *tile, float *y, const float *x) {
  if (tile->stride == 1)
    tile_stride_1(tile, y, x);
  else
    tile_stride_2(tile, y, x);
}

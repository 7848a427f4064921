// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of depthwise convolutions and of pooling: sixteen outputs of a row at a time,
// and four rows, in registers, whatever the machine's vectors are. Every second element is
// picked by a shuffle.
#include <math.h>
#include <string.h>

#include "vec_isa.h"

#define LANES CPU_VEC_TILE_LANES

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

typedef double wide_lanes __attribute__((vector_size(8 * LANES)));
typedef int32_t lane_masks __attribute__((vector_size(4 * LANES)));

// The larger; NaN if either is.
static inline __attribute__((always_inline)) lanes larger(lanes best, lanes value) {
  const lane_masks take = (value > best) | (value != value);
  return (lanes)(((lane_masks)value & take) | ((lane_masks)best & ~take));
}

// What the loops fold: where a sum starts, and how a tap enters it.
#define TYPE_sum lanes
#define FINISH_sum(t, sum) (sum)
#define START_sum(t) ((lanes){0} + (t)->bias)
#define STEP_sum(sum, value, weight) ((sum) + (value) * *(weight))
#define WEIGHTS_sum(t) ((t)->weights)
#define NEXT_sum(weight) ++(weight)
#define TYPE_max lanes
#define FINISH_max(t, best) (best)
#define START_max(t) ((lanes){0} - INFINITY)
#define STEP_max(best, value, weight) larger(best, value)

#define WEIGHTS_max(t) NULL
#define NEXT_max(weight) (void)(weight)

#define TYPE_mean wide_lanes
#define FINISH_mean(t, sum) __builtin_convertvector((sum) / (t)->divisor, lanes)
#define START_mean(t) ((wide_lanes){0})
#define STEP_mean(sum, value, weight) ((sum) + __builtin_convertvector(value, wide_lanes))
#define WEIGHTS_mean(t) NULL
#define NEXT_mean(weight) (void)(weight)

// One block of columns of a single row, and of four rows: four sums do not wait for each other.
#define DEFINE(fold, suffix, stride, load_lanes)                                          \
  static void one_row_##suffix(const cpu_vec_tile *t, float *y, const float *x,           \
                               int64_t count) {                                           \
    TYPE_##fold sum = START_##fold(t);                                                    \
    const float *weight = WEIGHTS_##fold(t);                                              \
    for (int64_t r = 0; r < t->tap_rows; ++r, x += t->tap_row)                            \
      for (int64_t k = 0; k < t->tap_columns; ++k, NEXT_##fold(weight))                   \
        sum = STEP_##fold(sum, load_lanes(x + k * t->tap_column), weight);                \
    store(y, FINISH_##fold(t, sum), count);                                               \
  }                                                                                       \
  static void four_rows_##suffix(const cpu_vec_tile *t, float *y, const float *x,         \
                                 int64_t count) {                                         \
    TYPE_##fold a = START_##fold(t), b = a, c = a, d = a;                                 \
    const float *weight = WEIGHTS_##fold(t);                                              \
    const int64_t next = t->x_step;                                                       \
    for (int64_t r = 0; r < t->tap_rows; ++r, x += t->tap_row)                            \
      for (int64_t k = 0; k < t->tap_columns; ++k, NEXT_##fold(weight)) {                 \
        const float *from = x + k * t->tap_column;                                        \
        a = STEP_##fold(a, load_lanes(from), weight);                                     \
        b = STEP_##fold(b, load_lanes(from + next), weight);                              \
        c = STEP_##fold(c, load_lanes(from + 2 * next), weight);                          \
        d = STEP_##fold(d, load_lanes(from + 3 * next), weight);                          \
      }                                                                                   \
    store(y, FINISH_##fold(t, a), count);                                                 \
    store(y + t->y_row, FINISH_##fold(t, b), count);                                      \
    store(y + 2 * t->y_row, FINISH_##fold(t, c), count);                                  \
    store(y + 3 * t->y_row, FINISH_##fold(t, d), count);                                  \
  }                                                                                       \
  static void tile_##suffix(const cpu_vec_tile *t, float *y, const float *x) {            \
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
DEFINE(sum, sum_1, 1, load)
DEFINE(sum, sum_2, 2, load_even)
DEFINE(mean, mean_1, 1, load)
DEFINE(mean, mean_2, 2, load_even)
DEFINE(max, max_1, 1, load)
DEFINE(max, max_2, 2, load_even)

void CPU_ISA_NAME(cpu_vec_depthwise)(const cpu_vec_tile *tile, float *y, const float *x) {
  if (tile->stride == 1)
    tile_sum_1(tile, y, x);
  else
    tile_sum_2(tile, y, x);
}

void CPU_ISA_NAME(cpu_vec_max_window)(const cpu_vec_tile *tile, float *y, const float *x) {
  if (tile->stride == 1)
    tile_max_1(tile, y, x);
  else
    tile_max_2(tile, y, x);
}

void CPU_ISA_NAME(cpu_vec_mean_window)(const cpu_vec_tile *tile, float *y, const float *x) {
  if (tile->stride == 1)
    tile_mean_1(tile, y, x);
  else
    tile_mean_2(tile, y, x);
}

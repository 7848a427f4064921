// SPDX-License-Identifier: Apache-2.0
//
// Loops of the layout with channels last: transposing matrices of floats and of bytes, in tiles
// of sixteen by sixteen that live in registers, and pooling of rows of channels.
#include <string.h>

#include "vec_isa.h"

#define LANES 16

typedef float float_lanes __attribute__((vector_size(4 * LANES)));
typedef uint8_t byte_lanes __attribute__((vector_size(LANES)));

// One step of the transposition: row `i` and row `i + STEP` exchange what is off the diagonal.
#define EXCHANGE(STEP, LOW, HIGH)                             \
  for (int i = 0; i < LANES; ++i) {                           \
    if (i & (STEP)) continue;                                 \
    const __typeof__(row[0]) a = row[i], b = row[i + (STEP)]; \
    row[i] = __builtin_shufflevector(a, b, LOW);              \
    row[i + (STEP)] = __builtin_shufflevector(a, b, HIGH);    \
  }

#define LOW_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define LOW_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31

#define TRANSPOSE(name, type, lanes)                                                          \
  static void tile_of_##type(const type *x, int64_t x_row, type *y, int64_t y_row) {          \
    lanes row[LANES];                                                                         \
    for (int i = 0; i < LANES; ++i) memcpy(&row[i], x + i * x_row, sizeof row[i]);            \
    EXCHANGE(8, LOW_8, HIGH_8)                                                                \
    EXCHANGE(4, LOW_4, HIGH_4)                                                                \
    EXCHANGE(2, LOW_2, HIGH_2)                                                                \
    EXCHANGE(1, LOW_1, HIGH_1)                                                                \
    for (int i = 0; i < LANES; ++i) memcpy(y + i * y_row, &row[i], sizeof row[i]);            \
  }                                                                                           \
                                                                                              \
  static void rest_of_##type(const type *x, int64_t x_row, type *y, int64_t y_row,            \
                             int64_t rows, int64_t columns) {                                 \
    for (int64_t c = 0; c < columns; ++c)                                                     \
      for (int64_t r = 0; r < rows; ++r) y[c * y_row + r] = x[r * x_row + c];                 \
  }                                                                                           \
                                                                                              \
  void CPU_ISA_NAME(name)(const type *x, int64_t x_row, type *y, int64_t y_row, int64_t rows, \
                          int64_t columns) {                                                  \
    const int64_t whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES; \
    for (int64_t c = 0; c < whole_columns; c += LANES)                                        \
      for (int64_t r = 0; r < whole_rows; r += LANES)                                         \
        tile_of_##type(x + r * x_row + c, x_row, y + c * y_row + r, y_row);                   \
    rest_of_##type(x + whole_columns, x_row, y + whole_columns * y_row, y_row, whole_rows,    \
                   columns - whole_columns);                                                  \
    rest_of_##type(x + whole_rows * x_row, x_row, y + whole_rows, y_row, rows - whole_rows,   \
                   columns);                                                                  \
  }
TRANSPOSE(cpu_vec_transpose, float, float_lanes)
TRANSPOSE(cpu_vec_transpose_bytes, uint8_t, byte_lanes)

// ---- Windows over rows of channels ----------------------------------------------------------

#define BLOCK 64

// Channels [begin, begin + count) of one window. Where `count` is a constant, what is folded
// stays in registers.
static inline __attribute__((always_inline)) void max_block(const cpu_vec_taps *taps, float *y,
                                                            const float *x, int64_t count) {
  float best[BLOCK];
  for (int64_t i = 0; i < count; ++i) best[i] = -INFINITY;
  for (int64_t r = 0; r < taps->rows; ++r)
    for (int64_t k = 0; k < taps->columns; ++k) {
      const float *tap = x + r * taps->row + k * taps->column;
      CPU_SIMD_FOR best[i] = ((tap[i] > best[i]) | (tap[i] != tap[i])) ? tap[i] : best[i];
    }
  memcpy(y, best, (size_t)count * sizeof *y);
}

static inline __attribute__((always_inline)) void mean_block(const cpu_vec_taps *taps, float *y,
                                                             const float *x, int64_t count) {
  double sum[BLOCK] = {0};
  for (int64_t r = 0; r < taps->rows; ++r)
    for (int64_t k = 0; k < taps->columns; ++k) {
      const float *tap = x + r * taps->row + k * taps->column;
      CPU_SIMD_FOR sum[i] += (double)tap[i];
    }
  CPU_SIMD_FOR y[i] = (float)(sum[i] / taps->divisor);
}

// The last channels that fill no vector are computed with some of those before them once more.
#define OVER_BLOCKS(name)                                                                      \
  void CPU_ISA_NAME(cpu_vec_##name##_taps)(const cpu_vec_taps *taps, float *y, const float *x, \
                                           int64_t channels) {                                 \
    int64_t c = 0;                                                                             \
    for (; c + BLOCK <= channels; c += BLOCK) name##_block(taps, y + c, x + c, BLOCK);         \
    for (; c < channels && channels >= LANES; c += LANES) {                                    \
      if (c + LANES > channels) c = channels - LANES;                                          \
      name##_block(taps, y + c, x + c, LANES);                                                 \
    }                                                                                          \
    if (c < channels) name##_block(taps, y, x, channels);                                      \
  }
OVER_BLOCKS(max)
OVER_BLOCKS(mean)

// Of bytes: channels [begin, begin + count) of one window.
#define BYTES(type)                                                                            \
  static void max_of_##type(const cpu_vec_taps *taps, type *y, const type *x, int64_t count) { \
    type best[BLOCK];                                                                          \
    memcpy(best, x, (size_t)count);                                                            \
    for (int64_t r = 0; r < taps->rows; ++r)                                                   \
      for (int64_t k = 0; k < taps->columns; ++k) {                                            \
        const type *tap = x + r * taps->row + k * taps->column;                                \
        CPU_SIMD_FOR best[i] = tap[i] > best[i] ? tap[i] : best[i];                            \
      }                                                                                        \
    memcpy(y, best, (size_t)count);                                                            \
  }                                                                                            \
                                                                                               \
  static void sum_of_##type(const cpu_vec_taps *taps, int32_t *y, const type *x,               \
                            int64_t count) {                                                   \
    int32_t sum[BLOCK] = {0};                                                                  \
    for (int64_t r = 0; r < taps->rows; ++r)                                                   \
      for (int64_t k = 0; k < taps->columns; ++k) {                                            \
        const type *tap = x + r * taps->row + k * taps->column;                                \
        CPU_SIMD_FOR sum[i] += tap[i];                                                         \
      }                                                                                        \
    memcpy(y, sum, (size_t)count * sizeof *y);                                                 \
  }
BYTES(int8_t)
BYTES(uint8_t)

void CPU_ISA_NAME(cpu_vec_max_bytes)(const cpu_vec_taps *taps, uint8_t *y, const uint8_t *x,
                                     int64_t channels, int32_t is_signed) {
  for (int64_t c = 0; c < channels; c += BLOCK) {
    const int64_t count = channels - c < BLOCK ? channels - c : BLOCK;
    if (is_signed)
      max_of_int8_t(taps, (int8_t *)y + c, (const int8_t *)x + c, count);
    else
      max_of_uint8_t(taps, y + c, x + c, count);
  }
}

void CPU_ISA_NAME(cpu_vec_sum_bytes)(const cpu_vec_taps *taps, int32_t *y, const uint8_t *x,
                                     int64_t channels, int32_t is_signed) {
  for (int64_t c = 0; c < channels; c += BLOCK) {
    const int64_t count = channels - c < BLOCK ? channels - c : BLOCK;
    if (is_signed)
      sum_of_int8_t(taps, y + c, (const int8_t *)x + c, count);
    else
      sum_of_uint8_t(taps, y + c, x + c, count);
  }
}

// ---- Affine by channel ----------------------------------------------------------------------

void CPU_ISA_NAME(cpu_vec_affine_channels)(const float *x, float *y, int64_t count,
                                           const double *mean, const double *scale,
                                           const float *shift) {
  CPU_SIMD_FOR y[i] = (float)(((double)x[i] - mean[i]) * scale[i] + (double)shift[i]);
}

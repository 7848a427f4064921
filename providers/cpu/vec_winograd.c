// SPDX-License-Identifier: Apache-2.0
//
// The loops of Winograd's convolution F(2x2, 3x3); A. Lavin, S. Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015, whose matrices B, G and A these are. Only their
// products contract, where the machine can: sixteen matrix products in registers, seven or
// fourteen rows by thirty-two columns.
#include <string.h>

#include "vec_isa.h"

#define LANES 16
#define WIDTH CPU_WINOGRAD_FILTERS

typedef float lanes __attribute__((vector_size(4 * LANES)));

#define INLINE static inline __attribute__((always_inline))

INLINE lanes load(const float *from) {
  lanes value;
  memcpy(&value, from, sizeof value);
  return value;
}

INLINE void store(float *to, lanes value) {
  memcpy(to, &value, sizeof value);
}

// ---- Weights: u = G g transposed(G), in double ----------------------------------------------

typedef double wide __attribute__((vector_size(8 * LANES)));

// One dimension, three values to four, with distances of `step` and `to_step`.
INLINE void spread(const wide *g, int step, wide *to, int to_step) {
  const wide outer = g[0] + g[2 * step], inner = g[step];
  to[0] = g[0];
  to[to_step] = (outer + inner) / 2;
  to[2 * to_step] = (outer - inner) / 2;
  to[3 * to_step] = g[2 * step];
}

// `count` filters, at most LANES, of one channel; from one filter to the next `row` elements.
INLINE void weight_lanes(const float *w, int64_t row, int64_t count, float *u, int64_t step) {
  float taps[9][LANES] = {{0}};
  wide g[9], half[12], whole[16];
  for (int64_t i = 0; i < count; ++i)
    for (int k = 0; k < 9; ++k) taps[k][i] = w[i * row + k];
  for (int k = 0; k < 9; ++k) g[k] = __builtin_convertvector(load(taps[k]), wide);
  for (int i = 0; i < 3; ++i) spread(g + i, 3, half + i, 3);
  for (int i = 0; i < 4; ++i) spread(half + 3 * i, 1, whole + 4 * i, 1);
  for (int i = 0; i < 16; ++i) store(u + i * step, __builtin_convertvector(whole[i], lanes));
}

void CPU_ISA_NAME(cpu_vec_winograd_weights)(const float *w, int64_t filters, int64_t channels,
                                            float *u) {
  const int64_t row = channels * 9;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < WIDTH; i += LANES) {
      const int64_t left = filters - i, count = left < 0 ? 0 : left;
      const float *from = count > 0 ? w + i * row + c * 9 : w;
      float *to = u + c * WIDTH + i;
      if (count >= LANES)
        weight_lanes(from, row, LANES, to, channels * WIDTH);
      else
        weight_lanes(from, row, count, to, channels * WIDTH);
    }
}

// ---- Input: v = transposed(B) d B -----------------------------------------------------------

// One dimension, of four values with a distance of `step`.
#define DIFFERENCES(type, from, step, to, to_step)                             \
  do {                                                                         \
    const type d0 = (from)[0], d1 = (from)[step], d2 = (from)[2 * (step)],     \
               d3 = (from)[3 * (step)];                                        \
    (to)[0] = d0 - d2, (to)[to_step] = d1 + d2, (to)[2 * (to_step)] = d2 - d1, \
    (to)[3 * (to_step)] = d1 - d3;                                             \
  } while (0)

INLINE void input_lanes(const float *const *pixels, int64_t at, lanes *v) {
  lanes d[16];
  for (int i = 0; i < 16; ++i) d[i] = load(pixels[i] + at);
  for (int i = 0; i < 4; ++i) DIFFERENCES(lanes, d + i, 4, d + i, 4);
  for (int i = 0; i < 4; ++i) DIFFERENCES(lanes, d + 4 * i, 1, v + 4 * i, 1);
}

void CPU_ISA_NAME(cpu_vec_winograd_input)(const float *const *pixels, float *v, int64_t step,
                                          int64_t channels) {
  int64_t c = 0;
  for (; c + LANES <= channels; c += LANES) {
    lanes sums[16];
    input_lanes(pixels, c, sums);
    for (int i = 0; i < 16; ++i) store(v + i * step + c, sums[i]);
  }
  for (; c < channels; ++c) {
    float d[16];
    for (int i = 0; i < 16; ++i) d[i] = pixels[i][c];
    for (int i = 0; i < 4; ++i) DIFFERENCES(float, d + i, 4, d + i, 4);
    for (int i = 0; i < 4; ++i) DIFFERENCES(float, d + 4 * i, 1, d + 4 * i, 1);
    for (int i = 0; i < 16; ++i) v[i * step + c] = d[i];
  }
}

// ---- Products: m = v u ----------------------------------------------------------------------

// Channels of weights that are fetched ahead; those of the next matrix follow in memory.
#define AHEAD 32

INLINE void product_rows(const float *v, int rows, int64_t channels, const float *u, float *m) {
  lanes left[14], right[14];
  for (int r = 0; r < rows; ++r) left[r] = right[r] = (lanes){0};
  for (int64_t c = 0; c < channels; ++c, u += WIDTH) {
    const lanes a = load(u), b = load(u + LANES);
    __builtin_prefetch(u + AHEAD * WIDTH);
    __builtin_prefetch(u + AHEAD * WIDTH + LANES);
    for (int r = 0; r < rows; ++r) {
      const lanes x = (lanes){0} + v[r * channels + c];
      left[r] += x * a;
      right[r] += x * b;
    }
  }
  for (int r = 0; r < rows; ++r) {
    store(m + r * WIDTH, left[r]);
    store(m + r * WIDTH + LANES, right[r]);
  }
}

void CPU_ISA_NAME(cpu_vec_winograd_product)(const float *v, int64_t rows, int64_t channels,
                                            const float *u, float *m) {
  for (; rows >= 14; rows -= 14, v += 14 * channels, m += 14 * WIDTH)
    product_rows(v, 14, channels, u, m);
  if (rows > 0) product_rows(v, CPU_WINOGRAD_ROWS, channels, u, m);
}

// ---- Output: y = transposed(A) m A ----------------------------------------------------------

INLINE void output_lanes(const float *m, int64_t step, lanes *sums) {
  lanes half[8];
  for (int i = 0; i < 4; ++i) {
    const lanes a = load(m + i * step), b = load(m + (4 + i) * step),
                c = load(m + (8 + i) * step), d = load(m + (12 + i) * step);
    half[i] = a + b + c;
    half[4 + i] = b - c - d;
  }
  for (int i = 0; i < 2; ++i) {
    const lanes *h = half + 4 * i;
    sums[2 * i] = h[0] + h[1] + h[2];
    sums[2 * i + 1] = h[1] - h[2] - h[3];
  }
}

int CPU_ISA_NAME(cpu_vec_winograd_output)(const float *m, int64_t step, float *sums) {
  lanes zero = {0};
  for (int64_t i = 0; i < WIDTH; i += LANES) {
    lanes four[4];
    output_lanes(m + i, step, four);
    for (int k = 0; k < 4; ++k) {
      store(sums + k * WIDTH + i, four[k]);
      zero += four[k] - four[k];  // NaN if it is not finite
    }
  }
  int finite = 1;
  for (int i = 0; i < LANES; ++i) finite &= zero[i] == 0;
  return finite;
}

// `count` is a constant where it is a whole panel.
INLINE void finish_row(const cpu_vec_finish *finish, const float *sums, const float *bias,
                       const float *residual, float *y, int64_t count) {
  const float low = finish->low, high = finish->high, slope = finish->slope;
  float row[WIDTH];
  memcpy(row, sums, (size_t)count * sizeof *row);
  if (bias) CPU_SIMD_FOR row[i] += bias[i];
  if (residual) CPU_SIMD_FOR row[i] += residual[i];
  if (finish->sloped) CPU_SIMD_FOR row[i] = row[i] < 0 ? row[i] * slope : row[i];
  CPU_SIMD_FOR row[i] = low > row[i] ? low : row[i];
  CPU_SIMD_FOR row[i] = high < row[i] ? high : row[i];
  memcpy(y, row, (size_t)count * sizeof *y);
}

void CPU_ISA_NAME(cpu_vec_winograd_finish)(const cpu_vec_finish *finish, const float *sums,
                                           const float *bias, const float *residual, float *y,
                                           int64_t count) {
  if (count == WIDTH)
    finish_row(finish, sums, bias, residual, y, WIDTH);
  else
    finish_row(finish, sums, bias, residual, y, count);
}

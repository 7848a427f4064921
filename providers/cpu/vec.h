// SPDX-License-Identifier: Apache-2.0
//
// Loops over contiguous data, compiled once for each instruction set (vec_unary.c,
// vec_binary.c, vec_conv.c, vec_reduce.c); the device picks a table when it is opened.
//
// Outside vec_panel.c no loop contracts a product and a sum, and reductions use a fixed number
// of lanes: the bits of a result do not depend on the instruction set.
#ifndef CPU_VEC_H_
#define CPU_VEC_H_

#include <math.h>
#include <ops/types.h>
#include <stdint.h>

#if defined(__x86_64__)
#define CPU_ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define CPU_ARCHITECTURE "aarch64"
#else
#define CPU_ARCHITECTURE "generic"
#endif

// X(name): unary functions of float, y[i] = f(x[i]); p holds up to two parameters.
#define CPU_UNARY_LIST(X) \
  X(relu)                 \
  X(leaky_relu)           \
  X(elu)                  \
  X(clip)                 \
  X(sigmoid)              \
  X(hard_sigmoid)         \
  X(hard_swish)           \
  X(tanh)                 \
  X(softplus)             \
  X(softsign)             \
  X(erf)                  \
  X(exp)                  \
  X(log)                  \
  X(sqrt)                 \
  X(reciprocal)           \
  X(abs)                  \
  X(neg)                  \
  X(floor)                \
  X(ceil)                 \
  X(round)                \
  X(gelu)                 \
  X(gelu_tanh)            \
  X(sign)                 \
  X(selu)                 \
  X(thresholded_relu)     \
  X(sin)                  \
  X(cos)                  \
  X(swish)                \
  X(mish)

// X(name): binary functions of numbers, and comparisons that yield a bool.
#define CPU_ARITHMETIC_LIST(X) X(add) X(sub) X(mul) X(div) X(min) X(max) X(prelu)
#define CPU_COMPARE_LIST(X) X(equal) X(less) X(less_equal) X(greater) X(greater_equal) X(differ)

// X(name, value of nothing, double combine(double a, double x)): reductions of float.
#define CPU_REDUCE_LIST(X)                                \
  X(sum, 0.0, a + x)                                      \
  X(max, -(double)INFINITY, ((x > a) | (x != x)) ? x : a) \
  X(min, (double)INFINITY, ((x < a) | (x != x)) ? x : a)  \
  X(abs_sum, 0.0, a + (x < 0 ? -x : x))                   \
  X(square_sum, 0.0, a + x * x)                           \
  X(product, 1.0, a *x)

enum {
#define X(name, nothing, combine) CPU_REDUCE_##name,
  CPU_REDUCE_LIST(X)
#undef X
      CPU_REDUCE_COUNT
};

enum {
#define X(name) CPU_UNARY_##name,
  CPU_UNARY_LIST(X)
#undef X
      CPU_UNARY_COUNT
};

enum {
#define X(name) CPU_BINARY_##name,
  CPU_ARITHMETIC_LIST(X) CPU_COMPARE_LIST(X)
#undef X
      CPU_BINARY_COUNT
};

// y may be x.
typedef void (*cpu_unary_fn)(const float *x, float *y, int64_t count, const float *p);

// y is contiguous; a and b advance by their strides in bytes, 0 for a scalar. y may be a or b.
typedef void (*cpu_binary_fn)(char *y, const char *a, const char *b, int64_t a_stride,
                              int64_t b_stride, int64_t count);

// Outputs that a window loop computes at once: it reads whole vectors of inputs for them.
#define CPU_VEC_TILE_LANES 16

// A window that slides over a plane; distances in elements.
typedef struct cpu_vec_tile {
  int64_t rows, columns;  // of the output
  int64_t y_row;          // from one output row to the next
  int64_t x_step;         // in the input, from the taps of one output row to those of the next
  int64_t stride;         // along a row: 1 or 2
  int64_t tap_rows, tap_columns;
  int64_t tap_row, tap_column;  // in the input, from one tap to the next
  const float *weights;         // of a convolution
  float bias;
  double divisor;  // of a mean
} cpu_vec_tile;

// A window over rows of channels; distances in elements.
typedef struct cpu_vec_taps {
  int64_t rows, columns;
  int64_t row, column;  // from one tap to the next
  double divisor;       // of a mean
} cpu_vec_taps;

// count rows of k elements times the panels of a matrix (panels.h).
typedef struct cpu_vec_product {
  const float *const *rows;
  int64_t count, k;
  const float *panels;
  const float *bias;  // where the sums start, for whole panels; NULL: 0
  float *y;           // rows of whole panels, y_row elements apart
  int64_t y_row;
  int32_t backwards;  // 1: last panels first, where the bits are the same
} cpu_vec_product;
// ---- Sums of products of bytes, see dots.h --------------------------------------------------

#define CPU_DOTS_ROWS 6
#define CPU_DOTS_COLUMNS 64
#define CPU_DOTS_STEP 4

// sums[r * CPU_DOTS_COLUMNS + c] for `rows` rows, which begin at start[c];
// a[t * CPU_DOTS_ROWS + r] addresses steps * CPU_DOTS_STEP bytes, each of which is XORed with
// `flip`, 0 or 0x80.
typedef void (*cpu_dots_tile)(const uint8_t *const *a, int32_t rows, int64_t taps,
                              int64_t steps, const int8_t *b, uint8_t flip,
                              const int32_t *start, int32_t *sums);

// The fastest for this machine; all give the same sums. Pure.
cpu_dots_tile cpu_dots_select(void);

// ---- Quantised numbers ----------------------------------------------------------------------

// Integers of 8 bits from sums of products: saturate(round(sum * scale / divisor) + zero).
typedef struct cpu_vec_requantize {
  const float *factor;  // about scale / divisor
  const double *scale;
  double divisor;
  int32_t zero, is_signed;
} cpu_vec_requantize;

// Two quantised operands and the result, all int8 or all uint8: real = (n - zero) * scale.
typedef struct cpu_vec_quantized {
  double scale[3];
  int32_t zero[3];
  int32_t is_signed;
} cpu_vec_quantized;

// y = function of the real values of a and b, quantised; steps of 0 or 1 element.
typedef void (*cpu_quantized_fn)(const cpu_vec_quantized *q, uint8_t *y, const uint8_t *a,
                                 const uint8_t *b, int64_t a_step, int64_t b_step,
                                 int64_t count);
// y = saturate(round(x / scale) + zero), or x = (y - zero) * scale; scale and zero advance by
// their steps, (0, 0), (1, 0) or (1, 1). `zero` is of the integers' type.
typedef void (*cpu_quantize_fn)(const float *x, void *y, const float *scale, const void *zero,
                                int64_t scale_step, int64_t zero_step, int64_t count);
typedef void (*cpu_dequantize_fn)(const void *y, float *x, const float *scale, const void *zero,
                                  int64_t scale_step, int64_t zero_step, int64_t count);

// ---- The table ------------------------------------------------------------------------------
// Winograd's F(2x2, 3x3): filters of a panel of weights; tiles come in multiples of ROWS.
#define CPU_WINOGRAD_FILTERS 32
#define CPU_WINOGRAD_ROWS 7

// What happens to a sum: x * slope below 0 if `sloped`, then bounds.
typedef struct cpu_vec_finish {
  int32_t sloped;
  float slope, low, high;
} cpu_vec_finish;

// A block of a matrix product: Y[rows, columns] = finish(A[rows, depth] x packed[depth, panel]
// + what is added to it). A row of `packed` is cpu_vec_block_row long. Distances in elements.
typedef struct cpu_vec_block {
  const float *a;
  int64_t a_row;
  float *packed;          // as `pack` wrote it, or written on the way from:
  const float *unpacked;  // the block of B, as wide as a panel; or NULL
  float *y;
  int64_t y_row;
  int64_t rows, depth, columns;  // at most `panel` columns
  int32_t adds;                  // 1: to what Y holds
  const float *bias;             // one for each column, added to all rows; or NULL
  const float *residual;         // laid out as Y, added; or NULL
  const cpu_vec_finish *finish;  // what happens to the sums then; or NULL
  const float *ahead;            // the block of B that is wanted next, to be fetched; or NULL
  int64_t b_row;                 // from one row of B to the next
} cpu_vec_block;

typedef struct cpu_vec {
  const char *name;
  const ops_str *features;
  uint64_t feature_count;
  cpu_unary_fn unary[CPU_UNARY_COUNT];
  const cpu_binary_fn (*binary)[OPS_TYPE_COUNT];  // [CPU_BINARY_…][type], NULL: not that type

  // Of a row: sum, largest, smallest, … as CPU_REDUCE_LIST says; NaN wins. max and min of an
  // empty row are infinite.
  double (*row[CPU_REDUCE_COUNT])(const float *x, int64_t count);
  // Of many columns at once: accumulator[i] = accumulator[i] op x[i * stride].
  void (*columns[CPU_REDUCE_COUNT])(double *accumulator, const float *x, int64_t stride,
                                    int64_t count);
  // Sum of (x - mean)^2.
  double (*sum_square_deviation)(const float *x, int64_t count, double mean);
  // y = exp(x - max), returns the sum of y; y may be x.
  double (*exp_sum)(const float *x, float *y, int64_t count, float max);
  // Of attention, in float: s = s * scale + mask, returns the largest; mask may be NULL. NaN is
  // overlooked, of none it is -inf.
  float (*mask_scores)(float *s, const float *mask, float scale, int64_t count);
  // s = exp(s - max), returns their sum.
  float (*exp_scores)(float *s, int64_t count, float max);
  // y = exp(x - max[i]); y may be x.
  void (*exp_difference)(const float *x, const double *max, float *y, int64_t count);
  // y = (x - mean) * scale + shift in double, rounded once; y may be x.
  void (*affine)(const float *x, float *y, int64_t count, double mean, double scale,
                 double shift);
  // y = (x - mean) * scale * gamma + beta; gamma and beta are vectors, beta may be NULL.
  void (*normalize)(const float *x, float *y, int64_t count, double mean, double scale,
                    const float *gamma, const float *beta);
  // y = sum over taps of weights[k] * rows[k][i]: in double, and rounded once to float.
  void (*blend)(double *y, const float *const *rows, const double *weights, int32_t taps,
                int64_t count);
  void (*blend_round)(float *y, const float *const *rows, const double *weights, int32_t taps,
                      int64_t count);
  // y = bias + sum over taps of weight * x, for a plane; x points to the first tap of the first
  // output. Reads inputs for a multiple of CPU_VEC_TILE_LANES columns, and one element more.
  void (*depthwise)(const cpu_vec_tile *tile, float *y, const float *x);
  // Likewise y = the largest of the taps; NaN wins.
  void (*max_window)(const cpu_vec_tile *tile, float *y, const float *x);
  // Likewise y = the sum of the taps, in double, divided by the divisor.
  void (*mean_window)(const cpu_vec_tile *tile, float *y, const float *x);
  // y[c * y_row + r] = x[r * x_row + c]; distances in elements.
  void (*transpose)(const float *x, int64_t x_row, float *y, int64_t y_row, int64_t rows,
                    int64_t columns);
  // For each channel: the largest of the taps (NaN wins), or their sum, in double, divided. x
  // points to the first tap.
  void (*max_taps)(const cpu_vec_taps *taps, float *y, const float *x, int64_t channels);
  void (*mean_taps)(const cpu_vec_taps *taps, float *y, const float *x, int64_t channels);
  // Matrix products (vec_gemm.c): sums in float. Columns of a packed panel.
  int32_t panel;
  // packed[depth][panel] = b[depth, columns] and zeros behind.
  void (*pack)(const float *b, int64_t b_row, float *packed, int64_t depth, int64_t columns);
  void (*multiply_block)(const cpu_vec_block *block);
  // y[columns] = x[depth] * b[depth, columns]; transposed: b[columns, depth].
  void (*row_times)(const float *x, const float *b, int64_t b_row, float *y, int64_t depth,
                    int64_t columns);
  void (*row_times_transposed)(const float *x, const float *b, int64_t b_row, float *y,
                               int64_t depth, int64_t columns);
  // affine with a mean, scale and shift for each element.
  void (*affine_channels)(const float *x, float *y, int64_t count, const double *mean,
                          const double *scale, const float *shift);
  // Panels [begin, end) of a product.
  void (*panel_product)(const cpu_vec_product *product, int64_t begin, int64_t end);
  const int64_t *panel_width;
  // float16 and bfloat16, in this order, to float and back, rounded to the nearest.
  void (*widen[2])(const uint16_t *x, float *y, int64_t count);
  void (*narrow[2])(const float *x, uint16_t *y, int64_t count);
  // y += a * b; y = a * b + c * d; y = (1 - z) * a + z * b. y may be any operand.
  void (*add_product)(float *y, const float *a, const float *b, int64_t count);
  void (*two_products)(float *y, const float *a, const float *b, const float *c, const float *d,
                       int64_t count);
  void (*mix)(float *y, const float *z, const float *a, const float *b, int64_t count);

  // transpose of bytes.
  void (*transpose_bytes)(const uint8_t *x, int64_t x_row, uint8_t *y, int64_t y_row,
                          int64_t rows, int64_t columns);
  // max_taps of bytes, and the sums of the taps; is_signed: the bytes are int8.
  void (*max_bytes)(const cpu_vec_taps *taps, uint8_t *y, const uint8_t *x, int64_t channels,
                    int32_t is_signed);
  void (*sum_bytes)(const cpu_vec_taps *taps, int32_t *y, const uint8_t *x, int64_t channels,
                    int32_t is_signed);
  void (*requantize)(const cpu_vec_requantize *q, const int32_t *sums, uint8_t *y,
                     int64_t count);
  cpu_quantized_fn quantized_add, quantized_multiply;
  const cpu_quantize_fn *quantize;      // [type]; NULL: not that type
  const cpu_dequantize_fn *dequantize;  // [type]
  // u[16][channels][FILTERS] = the transformed taps of w[filters, channels, 3, 3], in double,
  // rounded once; zeros behind.
  void (*winograd_weights)(const float *w, int64_t filters, int64_t channels, float *u);
  // A tile of 4x4 pixels, each a pointer to its channels → v[i * step + channel], 16 values for
  // each channel.
  void (*winograd_input)(const float *const *pixels, float *v, int64_t step, int64_t channels);
  // m[rows][32] = v[rows][channels] u[channels][32]; rows is a multiple of 7.
  void (*winograd_product)(const float *v, int64_t rows, int64_t channels, const float *u,
                           float *m);
  // Products m[i * step + filter] of a tile → sums[4][32]; 1 if all of them are finite.
  int (*winograd_output)(const float *m, int64_t step, float *sums);
  // y = finish(sums + bias + residual) of `count` filters, at most 32; bias and residual may be
  // NULL, the residual may be y.
  void (*winograd_finish)(const cpu_vec_finish *finish, const float *sums, const float *bias,
                          const float *residual, float *y, int64_t count);
} cpu_vec;

// The length of a packed row of `columns` columns: whole vectors, of which a panel has three.
static inline int64_t cpu_vec_block_row(const cpu_vec *vec, int64_t columns) {
  const int64_t lanes = vec->panel / 3;
  return (columns + lanes - 1) / lanes * lanes;
}

// The table for this machine. Pure.
const cpu_vec *cpu_vec_select(void);

#endif  // CPU_VEC_H_

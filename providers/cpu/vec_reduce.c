// SPDX-License-Identifier: Apache-2.0
//
// Reductions and the loops of normalisations, and the table of this instruction set. Sums run
// in double over eight lanes that are added pairwise at the end, whatever the vector length.
#include "vec_isa.h"
#include "vec_math.h"

#define LANES 8

#define EVEN 64  // a block of every second element

typedef float lanes __attribute__((vector_size(64)));

// Gathers x[0], x[2], … of a block; reads one element behind the last.
CPU_INLINE void take_even(float *to, const float *from) {
  for (int j = 0; j < EVEN; j += 16) {
    lanes low, high;
    memcpy(&low, from + 2 * j, sizeof low);
    memcpy(&high, from + 2 * j + 16, sizeof high);
    low = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
                                  28, 30);
    memcpy(to + j, &low, sizeof low);
  }
}

// Columns: dense ones, every second one in blocks that are made dense, and any other stride.
#define DEFINE_COLUMNS(name)                                                                 \
  CPU_INLINE void dense_##name(double *accumulator, const float *x, int64_t count) {         \
    CPU_SIMD_FOR accumulator[i] = combine_##name(accumulator[i], (double)x[i]);              \
  }                                                                                          \
  static void columns_##name(double *accumulator, const float *x, int64_t stride,            \
                             int64_t count) {                                                \
    float block[EVEN];                                                                       \
    if (stride == 1) {                                                                       \
      dense_##name(accumulator, x, count);                                                   \
      return;                                                                                \
    }                                                                                        \
    for (; stride == 2 && count > EVEN; count -= EVEN, accumulator += EVEN, x += 2 * EVEN) { \
      take_even(block, x);                                                                   \
      dense_##name(accumulator, block, EVEN);                                                \
    }                                                                                        \
    for (int64_t i = 0; i < count; ++i)                                                      \
      accumulator[i] = combine_##name(accumulator[i], (double)x[i * stride]);                \
  }

// A row whose sum runs over lanes.
#define DEFINE_ROW(name, nothing)                                                          \
  static double row_##name(const float *x, int64_t count) {                                \
    double lane[LANES];                                                                    \
    for (int j = 0; j < LANES; ++j) lane[j] = nothing;                                     \
    int64_t i = 0;                                                                         \
    for (; i + LANES <= count; i += LANES)                                                 \
      for (int j = 0; j < LANES; ++j) lane[j] = combine_##name(lane[j], (double)x[i + j]); \
    for (int j = 0; i < count; ++i, ++j) lane[j] = combine_##name(lane[j], (double)x[i]);  \
    return FOLD_##name(lane);                                                              \
  }

// The largest or smallest of a row does not depend on the order; NaN is looked for aside.
#define DEFINE_EXTREME(name, nothing, reduction, better)     \
  static double row_##name(const float *x, int64_t count) {  \
    float best = (float)(nothing);                           \
    int nan = 0;                                             \
    _Pragma(reduction) for (int64_t i = 0; i < count; ++i) { \
      best = x[i] better best ? x[i] : best;                 \
      nan |= x[i] != x[i];                                   \
    }                                                        \
    return nan ? (double)NAN : (double)best;                 \
  }

#define X(name, nothing, expression)                     \
  CPU_INLINE double combine_##name(double a, double x) { \
    return expression;                                   \
  }                                                      \
  DEFINE_COLUMNS(name)
#define FOLD_LANES(f, lane) \
  f(f(f(lane[0], lane[4]), f(lane[2], lane[6])), f(f(lane[1], lane[5]), f(lane[3], lane[7])))
#define FOLD_sum(lane) FOLD_LANES(combine_sum, lane)
#define FOLD_abs_sum(lane) FOLD_LANES(combine_sum, lane)
#define FOLD_square_sum(lane) FOLD_LANES(combine_sum, lane)
#define FOLD_product(lane) FOLD_LANES(combine_product, lane)
CPU_REDUCE_LIST(X)
#undef X
DEFINE_ROW(sum, 0.0)
DEFINE_ROW(abs_sum, 0.0)
DEFINE_ROW(square_sum, 0.0)
DEFINE_ROW(product, 1.0)
DEFINE_EXTREME(max, -(double)INFINITY, "omp simd reduction(max : best) reduction(| : nan)", >)
DEFINE_EXTREME(min, (double)INFINITY, "omp simd reduction(min : best) reduction(| : nan)", <)

static double loop_sum_square_deviation(const float *x, int64_t count, double mean) {
  double lane[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int j = 0; j < LANES; ++j) {
      const double d = (double)x[i + j] - mean;
      lane[j] += d * d;
    }
  for (int j = 0; i < count; ++i, ++j) {
    const double d = (double)x[i] - mean;
    lane[j] += d * d;
  }
  return FOLD_sum(lane);
}

// e^(x - max), with what the rounded difference has lost put back: for large |x| that is more
// than all other errors together.
CPU_INLINE float exp_of_difference(float x, float max) {
  const float d = x - max, part = d - x;
  const float lost = (x - (d - part)) - (max + part);
  const float e = vec_exp(d);
  return lost == lost ? e + e * lost : e;
}

static double loop_exp_sum(const float *x, float *y, int64_t count, float max) {
  CPU_SIMD_FOR y[i] = exp_of_difference(x[i], max);
  return row_sum(y, count);
}

static float loop_mask_scores(float *s, const float *mask, float scale, int64_t count) {
  float best = -INFINITY;
  if (mask) {
    _Pragma("omp simd reduction(max : best)") for (int64_t i = 0; i < count; ++i) {
      s[i] = s[i] * scale + mask[i];
      best = s[i] > best ? s[i] : best;
    }
  } else {
    _Pragma("omp simd reduction(max : best)") for (int64_t i = 0; i < count; ++i) {
      s[i] *= scale;
      best = s[i] > best ? s[i] : best;
    }
  }
  return best;
}

#define SCORE_LANES 32

static float loop_exp_scores(float *s, int64_t count, float max) {
  float lane[SCORE_LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + SCORE_LANES <= count; i += SCORE_LANES)
    for (int j = 0; j < SCORE_LANES; ++j) {
      s[i + j] = vec_exp(s[i + j] - max);
      lane[j] += s[i + j];
    }
  for (; i < count; ++i) {
    s[i] = vec_exp(s[i] - max);
    sum += s[i];
  }
  for (int j = 0; j < SCORE_LANES; ++j) sum += lane[j];
  return sum;
}

static void loop_affine(const float *x, float *y, int64_t count, double mean, double scale,
                        double shift) {
  CPU_SIMD_FOR y[i] = (float)(((double)x[i] - mean) * scale + shift);
}

static void loop_normalize(const float *x, float *y, int64_t count, double mean, double scale,
                           const float *gamma, const float *beta) {
  if (beta) {
    CPU_SIMD_FOR y[i] =
        (float)(((double)x[i] - mean) * scale * (double)gamma[i] + (double)beta[i]);
  } else {
    CPU_SIMD_FOR y[i] = (float)(((double)x[i] - mean) * scale * (double)gamma[i]);
  }
}

static void loop_exp_difference(const float *x, const double *max, float *y, int64_t count) {
  CPU_SIMD_FOR y[i] = exp_of_difference(x[i], (float)max[i]);
}

static void loop_blend(double *y, const float *const *rows, const double *weights, int32_t taps,
                       int64_t count) {
  for (int32_t k = 0; k < taps; ++k) {
    const float *row = rows[k];
    const double weight = weights[k];
    if (k == 0) {
      CPU_SIMD_FOR y[i] = weight * (double)row[i];
    } else {
      CPU_SIMD_FOR y[i] += weight * (double)row[i];
    }
  }
}

#define BLOCK 64

// Blocks keep the sums in the first cache.
static void loop_blend_round(float *y, const float *const *rows, const double *weights,
                             int32_t taps, int64_t total) {
  for (int64_t begin = 0; begin < total; begin += BLOCK) {
    const int64_t count = total - begin < BLOCK ? total - begin : BLOCK;
    double sum[BLOCK] = {0};
    for (int32_t k = 0; k < taps; ++k) {
      const float *row = rows[k] + begin;
      const double weight = weights[k];
      CPU_SIMD_FOR sum[i] += weight * (double)row[i];
    }
    CPU_SIMD_FOR y[begin + i] = (float)sum[i];
  }
}

#define UNARY(name) [CPU_UNARY_##name] = CPU_ISA_NAME(cpu_vec_##name),
#define ROW(name, nothing, combine) [CPU_REDUCE_##name] = row_##name,
#define COLUMNS(name, nothing, combine) [CPU_REDUCE_##name] = columns_##name,
const cpu_vec CPU_ISA_NAME(cpu_vec) = {
    .name = CPU_ISA_TEXT,
    .features = &(const ops_str)OPS_STR(CPU_ISA_TEXT),
    .feature_count = 1,
    .unary = {CPU_UNARY_LIST(UNARY)},
    .binary = CPU_ISA_NAME(cpu_vec_binary),
    .row = {CPU_REDUCE_LIST(ROW)},
    .columns = {CPU_REDUCE_LIST(COLUMNS)},
    .sum_square_deviation = loop_sum_square_deviation,
    .exp_sum = loop_exp_sum,
    .mask_scores = loop_mask_scores,
    .exp_scores = loop_exp_scores,
    .exp_difference = loop_exp_difference,
    .affine = loop_affine,
    .normalize = loop_normalize,
    .blend = loop_blend,
    .blend_round = loop_blend_round,
    .depthwise = CPU_ISA_NAME(cpu_vec_depthwise),
    .max_window = CPU_ISA_NAME(cpu_vec_max_window),
    .mean_window = CPU_ISA_NAME(cpu_vec_mean_window),
    .transpose = CPU_ISA_NAME(cpu_vec_transpose),
    .max_taps = CPU_ISA_NAME(cpu_vec_max_taps),
    .mean_taps = CPU_ISA_NAME(cpu_vec_mean_taps),
    .panel = CPU_ISA_PANEL,
    .pack = CPU_ISA_NAME(cpu_vec_pack),
    .multiply_block = CPU_ISA_NAME(cpu_vec_multiply_block),
    .row_times = CPU_ISA_NAME(cpu_vec_row_times),
    .row_times_transposed = CPU_ISA_NAME(cpu_vec_row_times_transposed),
    .affine_channels = CPU_ISA_NAME(cpu_vec_affine_channels),
    .panel_product = CPU_ISA_NAME(cpu_vec_panel_product),
    .panel_width = &CPU_ISA_NAME(cpu_vec_panel_width),
    .widen = {CPU_ISA_NAME(cpu_vec_widen_float16), CPU_ISA_NAME(cpu_vec_widen_bfloat16)},
    .narrow = {CPU_ISA_NAME(cpu_vec_narrow_float16), CPU_ISA_NAME(cpu_vec_narrow_bfloat16)},
    .add_product = CPU_ISA_NAME(cpu_vec_add_product),
    .two_products = CPU_ISA_NAME(cpu_vec_two_products),
    .mix = CPU_ISA_NAME(cpu_vec_mix),
    .transpose_bytes = CPU_ISA_NAME(cpu_vec_transpose_bytes),
    .max_bytes = CPU_ISA_NAME(cpu_vec_max_bytes),
    .sum_bytes = CPU_ISA_NAME(cpu_vec_sum_bytes),
    .requantize = CPU_ISA_NAME(cpu_vec_requantize),
    .quantized_add = CPU_ISA_NAME(cpu_vec_quantized_add),
    .quantized_multiply = CPU_ISA_NAME(cpu_vec_quantized_multiply),
    .quantize = CPU_ISA_NAME(cpu_vec_quantize),
    .dequantize = CPU_ISA_NAME(cpu_vec_dequantize),
    .winograd_weights = CPU_ISA_NAME(cpu_vec_winograd_weights),
    .winograd_input = CPU_ISA_NAME(cpu_vec_winograd_input),
    .winograd_product = CPU_ISA_NAME(cpu_vec_winograd_product),
    .winograd_output = CPU_ISA_NAME(cpu_vec_winograd_output),
    .winograd_finish = CPU_ISA_NAME(cpu_vec_winograd_finish),
};

// SPDX-License-Identifier: Apache-2.0
//
// Reductions and the loops of normalisations, and the table of this instruction set. Sums run
// in double over eight lanes that are added pairwise at the end, whatever the vector length.
#include "vec_isa.h"
#include "vec_math.h"

#define LANES 8

CPU_INLINE double add_lanes(const double *lane) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
         ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static double loop_sum(const float *x, int64_t count) {
  double lane[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int j = 0; j < LANES; ++j) lane[j] += (double)x[i + j];
  for (int j = 0; i < count; ++i, ++j) lane[j] += (double)x[i];
  return add_lanes(lane);
}

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
  return add_lanes(lane);
}

CPU_INLINE float larger(float m, float x) {
  return ((x > m) | (x != x)) ? x : m;
}

static float loop_max(const float *x, int64_t count) {
  float lane[2 * LANES];
  for (int j = 0; j < 2 * LANES; ++j) lane[j] = x[0];
  int64_t i = 0;
  for (; i + 2 * LANES <= count; i += 2 * LANES)
    for (int j = 0; j < 2 * LANES; ++j) lane[j] = larger(lane[j], x[i + j]);
  for (; i < count; ++i) lane[0] = larger(lane[0], x[i]);
  for (int j = 1; j < 2 * LANES; ++j) lane[0] = larger(lane[0], lane[j]);
  return lane[0];
}

static double loop_exp_sum(const float *x, float *y, int64_t count, float max) {
  CPU_SIMD_FOR y[i] = vec_exp(x[i] - max);
  return loop_sum(y, count);
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

static void loop_accumulate_sum(double *accumulator, const float *x, int64_t count) {
  CPU_SIMD_FOR accumulator[i] += (double)x[i];
}

static void loop_accumulate_max(float *accumulator, const float *x, int64_t count) {
  CPU_SIMD_FOR accumulator[i] = larger(accumulator[i], x[i]);
}

static void loop_scale(float *y, int64_t count, float alpha) {
  CPU_SIMD_FOR y[i] = y[i] * alpha;
}

static void loop_axpy(float *y, const float *x, int64_t count, float alpha) {
  CPU_SIMD_FOR y[i] = y[i] + x[i] * alpha;
}

#define X(name) [CPU_UNARY_##name] = CPU_ISA_NAME(cpu_vec_##name),
const cpu_vec CPU_ISA_NAME(cpu_vec) = {
    .name = CPU_ISA_TEXT,
    .features = &(const ops_str)OPS_STR(CPU_ISA_TEXT),
    .feature_count = 1,
    .unary = {CPU_UNARY_LIST(X)},
    .binary = CPU_ISA_NAME(cpu_vec_binary),
    .max = loop_max,
    .sum = loop_sum,
    .sum_square_deviation = loop_sum_square_deviation,
    .exp_sum = loop_exp_sum,
    .affine = loop_affine,
    .normalize = loop_normalize,
    .accumulate_sum = loop_accumulate_sum,
    .accumulate_max = loop_accumulate_max,
    .scale = loop_scale,
    .axpy = loop_axpy,
};
#undef X

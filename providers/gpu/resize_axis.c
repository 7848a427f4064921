// SPDX-License-Identifier: Apache-2.0
//
// Coordinates, rounding and filters of Resize; cubic convolution is that of Keys (1981).
#include "resize_axis.h"

#include <math.h>

enum { kMostTaps = 1 << 30 };

int32_t gpu_resize_is_same(const gpu_resize_axis *axis) {
  return axis->in == axis->out && axis->scale == 1;
}

// Where in the input the output position x lies.
static double locate(int32_t coordinate, const gpu_resize_axis *a, double x) {
  const double centre = (x + 0.5) / a->scale;
  if (coordinate == kGpuAsymmetric) return x / a->scale;
  if (coordinate == kGpuTfHalfPixelForNn) return centre;
  if (coordinate == kGpuAlignCorners)
    return a->length == 1 ? 0 : x * (double)(a->in - 1) / (a->length - 1);
  if (coordinate == kGpuPytorchHalfPixel && a->length == 1) return 0;
  if (coordinate == kGpuHalfPixelSymmetric)
    return (double)a->in / 2 * (1 - (double)a->out / a->length) + centre - 0.5;
  return centre - 0.5;
}

static double make_whole(int32_t rounding, double x) {
  if (rounding == kGpuFloor) return floor(x);
  if (rounding == kGpuCeil) return ceil(x);
  return rounding == kGpuPreferCeil ? floor(x + 0.5) : ceil(x - 0.5);
}

static int32_t clamp(double index, int64_t size) {
  const double last = (double)(size - 1);
  return (int32_t)(!(index > 0) ? 0 : index > last ? last : index);
}

static double filter(const gpu_resize_rule *rule, double distance) {
  const double x = fabs(distance), a = rule->cubic_a;
  if (rule->mode == kGpuLinear) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Antialiasing widens the filter by 1 / (this) where the input shrinks.
static double narrowing(const gpu_resize_rule *rule, const gpu_resize_axis *a) {
  return rule->antialias && a->scale < 1 ? a->scale : 1;
}

// Taps on each side of a position.
static int64_t half_taps(const gpu_resize_rule *rule, const gpu_resize_axis *a) {
  const double reach = (rule->mode == kGpuCubic ? 2 : 1) / narrowing(rule, a);
  return reach < kMostTaps / 2 ? (int64_t)ceil(reach) : kMostTaps / 2;
}

int64_t gpu_resize_taps(const gpu_resize_rule *rule, const gpu_resize_axis *a) {
  return rule->mode == kGpuNearest ? 1 : 2 * half_taps(rule, a);
}

void gpu_resize_fill(const gpu_resize_rule *rule, const gpu_resize_axis *a, int64_t at,
                     int32_t *out_indices, double *out_weights) {
  const double x = locate(rule->coordinate, a, (double)at);
  if (rule->mode == kGpuNearest) {
    out_indices[0] = clamp(make_whole(rule->rounding, x), a->in);
    out_weights[0] = 1;
    return;
  }
  const int64_t half = half_taps(rule, a);
  const double left = ceil(x) - 1, squeeze = narrowing(rule, a);
  double sum = 0;
  for (int64_t k = 0; k < 2 * half; ++k) {
    const double index = left + (double)(k - half + 1);
    const int32_t outside = index < 0 || index > (double)(a->in - 1);
    out_indices[k] = clamp(index, a->in);
    out_weights[k] = filter(rule, (index - x) * squeeze);
    if (rule->exclude_outside && outside) out_weights[k] = 0;
    sum += out_weights[k];
  }
  const int32_t scales = rule->exclude_outside || squeeze != 1;
  for (int64_t k = 0; scales && k < 2 * half; ++k) out_weights[k] /= sum;
}

// SPDX-License-Identifier: Apache-2.0
//
// Coordinates and filters as the operator's specification writes them. Cubic convolution is
// that of Keys (1981) with coefficient a; antialiasing stretches the filter by 1 / scale when
// the input shrinks.
#include <math.h>

#include "resize.h"

static double source_position(const ref_resize_rule *rule, const ref_resize_axis *a, double x) {
  double last = (double)(a->in - 1);
  switch (rule->coordinate) {
    case REF_ALIGN_CORNERS:
      return a->width == 1 ? 0 : x * last / (a->width - 1);
    case REF_ASYMMETRIC:
      return x / a->scale;
    case REF_TF_HALF_PIXEL_FOR_NN:
      return (x + 0.5) / a->scale;
    case REF_TF_CROP_AND_RESIZE:
      if (a->width == 1) return 0.5 * (a->roi_begin + a->roi_end) * last;
      return a->roi_begin * last + x * (a->roi_end - a->roi_begin) * last / (a->width - 1);
    case REF_PYTORCH_HALF_PIXEL:
      return a->width == 1 ? 0 : (x + 0.5) / a->scale - 0.5;
    case REF_HALF_PIXEL_SYMMETRIC:
      return (double)a->in / 2 * (1 - (double)a->out / a->width) + (x + 0.5) / a->scale - 0.5;
    default:
      return (x + 0.5) / a->scale - 0.5;
  }
}

static int64_t clamp(double index, int64_t n) {
  // A NaN, of a region of interest that holds one, is none of the numbers in between.
  return !(index > 0) ? 0 : index > (double)(n - 1) ? n - 1 : (int64_t)index;
}

static double round_position(int32_t mode, double x) {
  switch (mode) {
    case REF_PREFER_CEIL:
      return floor(x + 0.5);
    case REF_FLOOR:
      return floor(x);
    case REF_CEIL:
      return ceil(x);
    default:
      return ceil(x - 0.5);
  }
}

static double triangle(double x) {
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

static double cubic(double x, double a) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The filter is stretched by 1 / (this).
static double squeeze(const ref_resize_rule *rule, const ref_resize_axis *a) {
  return rule->antialias && a->scale < 1 ? a->scale : 1;
}

// First tap, counted from the input position left of (not at) the source position. A filter
// that is stretched beyond any memory ends at kMostTaps, whose table nobody can reserve.
static int64_t first_tap(const ref_resize_rule *rule, const ref_resize_axis *a) {
  const double kMostTaps = 0x1p60;
  double reach = rule->mode == REF_CUBIC ? 2 : 1;
  return (int64_t)fmax(floor(-reach / squeeze(rule, a)), -kMostTaps) + 1;
}

static int is_identity(const ref_resize_rule *rule, const ref_resize_axis *a) {
  return a->scale == 1 && a->in == a->out && rule->coordinate != REF_TF_CROP_AND_RESIZE &&
         rule->coordinate != REF_TF_HALF_PIXEL_FOR_NN;
}

int64_t ref_resize_tap_count(const ref_resize_rule *rule, const ref_resize_axis *a) {
  if (rule->mode == REF_NEAREST || a->out == 0 || is_identity(rule, a)) return 1;
  return 2 - 2 * first_tap(rule, a);
}

static void filter_taps(const ref_resize_rule *rule, const ref_resize_axis *a, double x,
                        ref_tap *out) {
  double left = ceil(x) - 1, ratio = x - left, stretch = squeeze(rule, a), sum = 0;
  int64_t first = first_tap(rule, a), count = ref_resize_tap_count(rule, a);
  for (int64_t k = 0; k < count; ++k) {
    double at = left + (double)(first + k), distance = ((double)(first + k) - ratio) * stretch;
    int outside = at < 0 || at > (double)(a->in - 1);
    out[k].index = clamp(at, a->in);
    out[k].weight =
        rule->mode == REF_CUBIC ? cubic(distance, rule->cubic_a) : triangle(distance);
    if (rule->exclude_outside && outside) out[k].weight = 0;
    sum += out[k].weight;
  }
  if (rule->exclude_outside || stretch != 1)
    for (int64_t k = 0; k < count; ++k) out[k].weight /= sum;
}

void ref_resize_taps(const ref_resize_rule *rule, const ref_resize_axis *a, int64_t at,
                     ref_tap *out) {
  out[0] = (ref_tap){at, 1};
  if (is_identity(rule, a)) return;
  double x = source_position(rule, a, (double)at);
  if (rule->coordinate == REF_TF_CROP_AND_RESIZE && (x < 0 || x > (double)(a->in - 1)))
    out[0].index = -1;
  else if (rule->mode == REF_NEAREST)
    out[0].index = clamp(round_position(rule->nearest, x), a->in);
  else
    filter_taps(rule, a, x, out);
}

// SPDX-License-Identifier: Apache-2.0
//
// Resize along one axis: from an output position to input positions with weights.
#ifndef REFERENCE_RESIZE_H_
#define REFERENCE_RESIZE_H_

#include <stdint.h>

enum {
  REF_HALF_PIXEL,
  REF_HALF_PIXEL_SYMMETRIC,
  REF_PYTORCH_HALF_PIXEL,
  REF_ALIGN_CORNERS,
  REF_ASYMMETRIC,
  REF_TF_HALF_PIXEL_FOR_NN,
  REF_TF_CROP_AND_RESIZE,
  REF_COORDINATE_COUNT
};
enum { REF_NEAREST, REF_LINEAR, REF_CUBIC, REF_RESIZE_MODE_COUNT };
enum { REF_PREFER_FLOOR, REF_PREFER_CEIL, REF_FLOOR, REF_CEIL, REF_NEAREST_MODE_COUNT };

typedef struct ref_resize_axis {
  int64_t in, out;
  double scale;
  double width;  // of the output, before it was made whole
  double roi_begin, roi_end;
} ref_resize_axis;

typedef struct ref_resize_rule {
  int32_t mode, coordinate, nearest, antialias, exclude_outside;
  double cubic_a;
} ref_resize_rule;

typedef struct ref_tap {
  int64_t index;  // of the input; -1: outside, extrapolate
  double weight;
} ref_tap;

// How many taps every output position of the axis has.
int64_t ref_resize_tap_count(const ref_resize_rule *rule, const ref_resize_axis *axis);
// Writes the taps of output position `at`.
void ref_resize_taps(const ref_resize_rule *rule, const ref_resize_axis *axis, int64_t at,
                     ref_tap *out);

#endif  // REFERENCE_RESIZE_H_

// SPDX-License-Identifier: Apache-2.0
//
// Resizing along one axis, as the ONNX specification of Resize writes it: from a position of
// the output to positions of the input with weights.
#ifndef GPU_RESIZE_AXIS_H_
#define GPU_RESIZE_AXIS_H_

#include <stdint.h>

enum { kGpuNearest, kGpuLinear, kGpuCubic };
enum {
  kGpuHalfPixel,
  kGpuHalfPixelSymmetric,
  kGpuPytorchHalfPixel,
  kGpuAlignCorners,
  kGpuAsymmetric,
  kGpuTfHalfPixelForNn
};
enum { kGpuPreferFloor, kGpuPreferCeil, kGpuFloor, kGpuCeil };

typedef struct gpu_resize_rule {
  int32_t mode, coordinate, rounding, antialias, exclude_outside;
  double cubic_a;
} gpu_resize_rule;

typedef struct gpu_resize_axis {
  int64_t in, out;
  double scale;
  double length;  // of the output, before it was made whole
} gpu_resize_axis;

// 1 if every element keeps its place.
int32_t gpu_resize_is_same(const gpu_resize_axis *axis);
// How many taps each position has; more than 2^30 are 2^30.
int64_t gpu_resize_taps(const gpu_resize_rule *rule, const gpu_resize_axis *axis);
// The taps of position `at`: as many indices, all inside the input, and weights.
void gpu_resize_fill(const gpu_resize_rule *rule, const gpu_resize_axis *axis, int64_t at,
                     int32_t *out_indices, double *out_weights);

#endif  // GPU_RESIZE_AXIS_H_

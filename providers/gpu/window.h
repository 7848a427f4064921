// SPDX-License-Identifier: Apache-2.0
//
// The window that pools slide over up to three spatial dimensions; fewer are seen as if ones
// stood in front.
#ifndef GPU_WINDOW_H_
#define GPU_WINDOW_H_

#include "gpu.h"

enum { kGpuWindowDims = 3 };

// A node's attributes, as long as its kernel_shape.
typedef struct gpu_window_attributes {
  int32_t rank;
  int32_t same_upper, same_lower, valid, ceil_mode;
  int32_t stride_count, dilation_count, pad_count;  // 0: absent
  int64_t kernel[kGpuWindowDims], stride[kGpuWindowDims], dilation[kGpuWindowDims];
  int64_t pads[2 * kGpuWindowDims];
} gpu_window_attributes;

typedef struct gpu_window {
  int64_t in[kGpuWindowDims], out[kGpuWindowDims], kernel[kGpuWindowDims];
  int64_t stride[kGpuWindowDims], dilation[kGpuWindowDims];
  int64_t begin[kGpuWindowDims], end[kGpuWindowDims];  // pads
} gpu_window;

// Refuses windows of more dimensions.
void gpu_window_claim(const ops_node *node, ops_claim *claim);
int32_t gpu_window_read(const ops_node *node, gpu_window_attributes *out_attributes,
                        ops_error *error);
// Pads, and the output's size, over an input [N, C, …]; fails the plan where the lists do not
// fit the rank or the window is larger than the padded input. 1: done.
int32_t gpu_window_slide(gpu_plan *plan, const gpu_window_attributes *attributes,
                         const ops_type_info *x, gpu_window *out_window);

#endif  // GPU_WINDOW_H_

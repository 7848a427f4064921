// SPDX-License-Identifier: Apache-2.0
//
// The window of a convolution: attributes, padding, sizes. Arrays have an entry for each of
// three spatial axes; those that a tensor lacks come first, of size 1.
#ifndef GPU_SLIDE_H_
#define GPU_SLIDE_H_

#include "gpu.h"

enum { kGpuPadExplicit, kGpuPadValid, kGpuPadSameUpper, kGpuPadSameLower };

typedef struct gpu_slide {
  int32_t spatial;  // axes of the tensors
  int32_t auto_pad;
  int32_t has_kernel;  // attribute kernel_shape was given
  int64_t kernel[kGpuMaxSpatial], stride[kGpuMaxSpatial], dilation[kGpuMaxSpatial];
  int64_t begin[kGpuMaxSpatial], end[kGpuMaxSpatial];  // padding
} gpu_slide;

// Refuses ranks of input `image` other than 3 … 5, or unknown ones unless input `weights` has
// one, and attributes out of range or of another length.
void gpu_slide_claim(const ops_node *node, uint64_t image, uint64_t weights, ops_claim *claim);
// Reads the attributes of a node that was claimed.
void gpu_slide_read(const ops_node *node, uint64_t image, uint64_t weights,
                    gpu_slide *out_slide);
// An attribute with a value for each axis; `fallback` where it is absent.
void gpu_slide_list(const ops_node *node, const char *name, int32_t spatial, int64_t fallback,
                    int64_t out[kGpuMaxSpatial]);
// Spatial sizes of a tensor.
void gpu_slide_sizes(const ops_type_info *type, int64_t out[kGpuMaxSpatial]);
// Sets the kernel to the size of the weights; 0 after a refusal.
int32_t gpu_slide_kernel(gpu_plan *plan, const ops_type_info *weights, gpu_slide *slide);
// Output size of a convolution, and the padding of auto_pad; 0 after a refusal.
int32_t gpu_slide_resolve(gpu_plan *plan, const int64_t in[kGpuMaxSpatial], gpu_slide *slide,
                          int64_t out[kGpuMaxSpatial]);

#endif  // GPU_SLIDE_H_

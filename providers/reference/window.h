// SPDX-License-Identifier: Apache-2.0
//
// The sliding window that convolutions and pools share: kernel, strides, dilations, pads.
#ifndef REFERENCE_WINDOW_H_
#define REFERENCE_WINDOW_H_

#include "kernel.h"

typedef struct ref_window {
  int32_t rank;  // of the spatial part
  int64_t in[OPS_MAX_RANK];
  int64_t out[OPS_MAX_RANK];
  int64_t kernel[OPS_MAX_RANK];
  int64_t stride[OPS_MAX_RANK];
  int64_t dilation[OPS_MAX_RANK];
  int64_t begin[OPS_MAX_RANK];  // pads
  int64_t end[OPS_MAX_RANK];
} ref_window;

// Reads kernel, strides, dilations and explicit pads. The kernel comes from attribute
// kernel_shape or, where that is missing, from `weight_dims` (NULL: then it must be there).
int32_t ref_window_read(const ref_prepare *prepare, int32_t rank, const int64_t *in,
                        const int64_t *weight_dims, ref_window *out_window);

// Applies auto_pad and computes the output of a window that slides over the input.
int32_t ref_window_slide(const ref_prepare *prepare, int ceil_mode, ref_window *window);

// Positions o in [*out_low, *out_high) of dimension d whose tap k lies inside the input.
void ref_window_range(const ref_window *window, int32_t d, int64_t k, int64_t *out_low,
                      int64_t *out_high);

// Index of the input row that tap `tap` sees from output row `row`, both counted over all but
// the last dimension; -1 if it lies in the padding.
int64_t ref_window_input_row(const ref_window *window, int64_t row, int64_t tap);

// States output 0 as [batch, filters, the window's output…].
int32_t ref_window_set_output(ref_prepare *prepare, int64_t batch, int64_t filters,
                              const ref_window *window);

#endif  // REFERENCE_WINDOW_H_

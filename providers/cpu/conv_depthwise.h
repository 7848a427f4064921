// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions in one or two dimensions, straight on the planes of [N, C, H, W]:
// reordering into oneDNN's layouts and back would cost more than the sums themselves.
#ifndef CPU_CONV_DEPTHWISE_H_
#define CPU_CONV_DEPTHWISE_H_

#include "dnnl_glue.h"
#include "vec.h"

typedef struct cpu_depthwise {
  cpu_dnnl_conv conv;       // two spatial dimensions; a line has height 1
  cpu_depthwise_tile tile;  // without weights and bias
  int64_t rows, columns;    // of the padded plane
  int64_t scratch_stride;   // bytes of one worker's padded plane
} cpu_depthwise;

// Whether the convolution is of this kind: one input channel per group, strides of at most 2
// along rows.
int cpu_depthwise_fits(const cpu_dnnl_conv *conv);
// Returns 0 if the sizes overflow.
int cpu_depthwise_init(const cpu_dnnl_conv *conv, cpu_depthwise *out_depthwise);
void cpu_depthwise_run(const ops_device *device, const cpu_depthwise *depthwise, const float *x,
                       const float *weights, const float *bias, float *y, void *workspace);

#endif  // CPU_CONV_DEPTHWISE_H_

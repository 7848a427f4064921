// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions in one or two dimensions, straight on the planes of [N, C, H, W]:
// reordering into oneDNN's layouts and back would cost more than the sums themselves.
#ifndef CPU_CONV_DEPTHWISE_H_
#define CPU_CONV_DEPTHWISE_H_

#include "dnnl_glue.h"
#include "plane.h"

typedef struct cpu_depthwise {
  int64_t batch, groups, multiplier;  // multiplier: filters per group
  cpu_plane plane;
} cpu_depthwise;

// Returns 1 if the convolution is of this kind: one input channel per group, at most two
// dimensions, strides that the vector loops can do.
int cpu_depthwise_init(const cpu_dnnl_conv *conv, cpu_depthwise *out_depthwise);
void cpu_depthwise_run(const ops_device *device, const cpu_depthwise *depthwise, const float *x,
                       const float *weights, const float *bias, float *y, void *workspace);

#endif  // CPU_CONV_DEPTHWISE_H_

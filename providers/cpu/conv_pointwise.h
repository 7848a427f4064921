// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of one tap with channels last and constant weights: one product of matrices,
//
//   Y[pixels, filters] = function(X[pixels, channels] x W[filters, channels]ᵀ + bias +
//   residual)
//
// W is packed once, in panels of columns, into memory that sessions share. The host's workers
// take chunks of pixels; a chunk meets all panels while it is in the cache. Sums run in float
// along the channels; the bits do not depend on the number of workers. No code is generated, so
// that a model of many small convolutions loads quickly.
#ifndef CPU_CONV_POINTWISE_H_
#define CPU_CONV_POINTWISE_H_

#include "conv_pack.h"
#include "dnnl_glue.h"
#include "vec.h"

typedef struct cpu_pointwise {
  int64_t pixels, groups;
  int64_t channels, filters;  // of a group
  int64_t columns, panels;    // filters of a panel; panels of a group
  int64_t chunk, chunks;      // pixels
  int64_t parts;              // of a chunk, by panels of all groups
  int64_t group_size;         // floats of a group's weights
  const float *weights;       // [groups][panels][channels][filters of the panel]
  int32_t finishes;           // 1: `finish` does something
  cpu_vec_finish finish;
} cpu_pointwise;

// *out_suits is 1 if the convolution is of this kind and this is the faster way; then packs
// the weights if need be.
int32_t cpu_pointwise_init(const ops_device *device, const cpu_dnnl_conv *conv,
                           const ops_constant *weights, cpu_conv_pack *pack,
                           cpu_pointwise *out_pointwise, int *out_suits, ops_error *error);
// bias and residual may be NULL; the residual may be y.
void cpu_pointwise_run(const ops_device *device, const cpu_pointwise *pointwise, const float *x,
                       const float *bias, const float *residual, float *y);

#endif  // CPU_CONV_POINTWISE_H_

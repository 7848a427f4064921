// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of 3x3 taps with stride 1 and channels last by Winograd's F(2x2, 3x3), which
// takes 16 products for what the definition takes 36. Its constants are 0, 1 and 1/2, so that
// sums of small integers come out exact as they do by the definition; F(4x4, 3x3) would lose
// that, and bits.
//
// Tiles of 4x4 inputs become rows of sixteen matrices, which are multiplied by the transformed
// weights; the products become tiles of 2x2 outputs. A block of tiles at a time, so that its
// matrices stay in the cache; the host's workers take blocks.
//
// What is not finite would spread over its tile: such a tile is summed by the definition.
#ifndef CPU_CONV_WINOGRAD_H_
#define CPU_CONV_WINOGRAD_H_

#include "conv_pack.h"
#include "dnnl_glue.h"
#include "vec.h"

typedef struct cpu_winograd {
  int64_t batch, channels, filters;
  int64_t in[2], out[2], pads[2];  // rows and columns; pads at the beginning
  int64_t across, tiles;           // tiles in a row of tiles, in all
  int64_t block;                   // tiles that are worked on at once
  int64_t scratch;                 // floats of workspace for each worker
  const float *weights;            // [filters / 32][16][channels][32]
  cpu_vec_finish finish;
} cpu_winograd;

// 1 if the convolution can be done so and it is the faster way.
int cpu_winograd_suits(const cpu_dnnl_conv *conv);
// Transforms the weights if need be. *out_suits is 0 if some are not finite.
int32_t cpu_winograd_init(const ops_device *device, const cpu_dnnl_conv *conv,
                          const ops_constant *weights, cpu_conv_pack *pack,
                          cpu_winograd *out_winograd, int *out_suits, ops_error *error);
uint64_t cpu_winograd_workspace(const ops_device *device, const cpu_winograd *winograd);
// bias and residual may be NULL; the residual may be y.
void cpu_winograd_run(const ops_device *device, const cpu_winograd *winograd, const float *x,
                      const float *bias, const float *residual, float *y, void *workspace);

#endif  // CPU_CONV_WINOGRAD_H_

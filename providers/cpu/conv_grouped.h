// SPDX-License-Identifier: Apache-2.0
//
// Grouped convolutions of one tap on plain tensors, whose channels per group are no whole
// vectors, where oneDNN is slow: for each image and group a product of matrices
//
//   Y[filters, pixels] = W[filters, channels] x X[channels, pixels]
//
// of operands where they lie. A chunk of pixels at a time, so that what follows the sums finds
// them in the cache; the host's workers take chunks. Sums run in float along the channels.
#ifndef CPU_CONV_GROUPED_H_
#define CPU_CONV_GROUPED_H_

#include "chain.h"
#include "dnnl_glue.h"

typedef struct cpu_grouped {
  int64_t batch, groups, pixels;
  int64_t channels, filters;  // of a group
  int64_t chunk, chunks;      // pixels that are worked on at once; chunks of an image
  int64_t pack_size;          // floats of workspace for each worker
} cpu_grouped;

typedef struct cpu_grouped_args {
  const float *x, *weights;
  const float *bias;  // NULL: none
  float *y;
  const cpu_chain *chain;
  const float *residual;  // what the chain adds, apart from y; NULL: nothing
  void *workspace;
} cpu_grouped_args;

// Returns 1 if the convolution is of this kind, and states the workspace then.
int cpu_grouped_init(const ops_device *device, const cpu_dnnl_conv *conv,
                     cpu_grouped *out_grouped, ops_prepare_reply *reply);
// The sums, and all of the chain.
void cpu_grouped_run(const ops_device *device, const cpu_grouped *grouped,
                     const cpu_grouped_args *args);

#endif  // CPU_CONV_GROUPED_H_

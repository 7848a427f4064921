// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_CHANNELS_H_
#define GPU_CHANNELS_H_

#include "gpu.h"

extern const gpu_op gpu_batch_normalization, gpu_lrn;
extern const gpu_source gpu_channels_source;

#endif  // GPU_CHANNELS_H_

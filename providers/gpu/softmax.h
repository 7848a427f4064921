// SPDX-License-Identifier: Apache-2.0
#ifndef GPU_SOFTMAX_H_
#define GPU_SOFTMAX_H_

#include "lines.h"

extern const gpu_op gpu_softmax;  // finds its member of the family by the definition's operator

#endif  // GPU_SOFTMAX_H_

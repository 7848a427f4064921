// SPDX-License-Identifier: Apache-2.0
//
// The loop behind LayerNormalization, RMSNormalization, InstanceNormalization,
// GroupNormalization and MeanVarianceNormalization: the tensor is seen as `lead` outer
// dimensions and a block of the rest, and each block is normalised by its own statistics:
//   y = (x - mean) / sqrt(variance + epsilon) * scale + bias
#ifndef REFERENCE_NORM_H_
#define REFERENCE_NORM_H_

#include "kernel.h"

typedef struct ref_norm_operand {
  const ref_view *view;  // NULL: none
  int64_t strides[OPS_MAX_RANK];
} ref_norm_operand;

typedef struct ref_norm {
  int32_t rank;
  int32_t lead;
  int64_t dims[OPS_MAX_RANK];
  ref_norm_operand x, y, scale, bias;
  ref_norm_operand mean, inverse;  // outputs; strides over the lead dimensions
  int32_t center;                  // 0: the mean is left in (root mean square)
  int32_t epsilon_outside;         // 1: epsilon is added to the standard deviation
  double epsilon;
} ref_norm;

// A view that broadcasts to the normalised tensor, or to its lead dimensions.
void ref_norm_set(ref_norm_operand *operand, const ref_view *view, int32_t rank);

void ref_norm_run(const ref_run *run, const ref_norm *norm);

#endif  // REFERENCE_NORM_H_

// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: y = f·x + g, with one f and g for each channel, taken into the weights
// that make x.
#ifndef RT_PASSES_AFFINE_H_
#define RT_PASSES_AFFINE_H_

#include "passes/pass.h"

// What the channels of a node's result are.
typedef struct rt_affine {
  rt_node *node;     // Conv, ConvTranspose, Gemm or MatMul
  int64_t channels;  // 0: the node is none of these, or its weights do not fit
  int32_t axis;      // of the result, counted from 0
  const char *why;   // why the node cannot take anything in, NULL if it can
} rt_affine;

// Looks at the node that makes `value` and that `reader` alone reads. `needs_bias`: something
// is added.
rt_affine rt_affine_find(const rt_value *value, const rt_node *reader);
// 1 and `out_values` (channels of them) if `operand` is constant and has one value per channel
// of the node's result, or one for all; *out_values is the caller's to free.
int rt_affine_read(const rt_affine *affine, const rt_value *operand, double **out_values);
// Replaces node and `last` (which reads it) by a node with the weights f·w and the bias f·b +
// g; g NULL: nothing is added. *out_done 0: no provider claims it.
int32_t rt_affine_fold(rt_pass_context *context, const rt_affine *affine, rt_node *last,
                       const double *f, const double *g, int *out_done, ops_error *error);

#endif  // RT_PASSES_AFFINE_H_

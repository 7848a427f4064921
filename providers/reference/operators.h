// SPDX-License-Identifier: Apache-2.0
//
// The operators that table.c offers, each defined in the file of its name, and the few
// functions that operators lend one another. The elementwise families are in elementwise.h.
#ifndef REFERENCE_OPERATORS_H_
#define REFERENCE_OPERATORS_H_

#include "kernel.h"

extern const ref_op ref_cast, ref_cast_like;
extern const ref_op ref_clip;
extern const ref_op ref_constant, ref_constant_of_shape;
extern const ref_op ref_conv;
extern const ref_op ref_gemm;
extern const ref_op ref_identity, ref_flatten, ref_reshape, ref_squeeze, ref_unsqueeze;
extern const ref_op ref_matmul;
extern const ref_op ref_pow;
extern const ref_op ref_shape_of, ref_size;
extern const ref_op ref_transpose;
extern const ref_op ref_where;

// Copies all elements in row-major order between views of the same count.
int32_t ref_copy_elements(ref_run *run, const ref_view *from, const ref_view *to);

#endif  // REFERENCE_OPERATORS_H_

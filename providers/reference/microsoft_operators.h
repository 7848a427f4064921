// SPDX-License-Identifier: Apache-2.0
//
// The operators of the domain com.microsoft that table.c offers. What they compute is on record
// in docs/operator_decisions.md, since their schemas say little.
#ifndef REFERENCE_MICROSOFT_OPERATORS_H_
#define REFERENCE_MICROSOFT_OPERATORS_H_

#include "kernel.h"

extern const ref_op ref_fused_conv, ref_fused_gemm, ref_fused_matmul;
extern const ref_op ref_bias_gelu, ref_fast_gelu;
extern const ref_op ref_simplified_layer_norm, ref_skip_layer_norm;
extern const ref_op ref_skip_simplified_layer_norm, ref_embed_layer_norm;
extern const ref_op ref_microsoft_rotary_embedding, ref_microsoft_attention;
extern const ref_op ref_multi_head_attention, ref_group_query_attention;
extern const ref_op ref_matmul_nbits, ref_matmul_integer_to_float;
extern const ref_op ref_dynamic_quantize_matmul, ref_qgemm;
extern const ref_op ref_qlinear_add, ref_qlinear_mul, ref_qlinear_concat;
extern const ref_op ref_qlinear_leaky_relu, ref_qlinear_sigmoid, ref_qlinear_softmax;
extern const ref_op ref_qlinear_average_pool, ref_qlinear_global_average_pool;
extern const ref_op ref_nhwc_max_pool;
extern const ref_op ref_inverse;

#endif  // REFERENCE_MICROSOFT_OPERATORS_H_

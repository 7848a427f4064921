// SPDX-License-Identifier: Apache-2.0
//
// The operators that table.c offers, each defined in the file of its name, and the few
// functions that operators lend one another. The elementwise families are in elementwise.h.
#ifndef REFERENCE_OPERATORS_H_
#define REFERENCE_OPERATORS_H_

#include "kernel.h"

extern const ref_op ref_cast, ref_cast_like;
extern const ref_op ref_identity_object;
extern const ref_op ref_sequence_empty, ref_sequence_construct, ref_sequence_at;
extern const ref_op ref_sequence_insert, ref_sequence_erase, ref_sequence_length;
extern const ref_op ref_concat_from_sequence, ref_split_to_sequence;
extern const ref_op ref_optional, ref_optional_has_element;
extern const ref_op ref_optional_get_tensor, ref_optional_get_object;
extern const ref_op ref_clip;
extern const ref_op ref_constant, ref_constant_of_shape;
extern const ref_op ref_conv;
extern const ref_op ref_gemm, ref_gemm_limited;
extern const ref_op ref_identity, ref_flatten, ref_reshape, ref_squeeze, ref_unsqueeze;
extern const ref_op ref_matmul;
extern const ref_op ref_pow, ref_pow_limited;
extern const ref_op ref_shape_of, ref_size;
extern const ref_op ref_arg_max, ref_arg_min;
extern const ref_op ref_batch_normalization;
extern const ref_op ref_concat, ref_split;
extern const ref_op ref_conv_transpose;
extern const ref_op ref_depth_to_space, ref_space_to_depth;
extern const ref_op ref_expand, ref_tile, ref_tile_axis;
extern const ref_op ref_gather, ref_gather_elements, ref_gather_nd;
extern const ref_op ref_lrn;
extern const ref_op ref_max_pool, ref_average_pool, ref_lp_pool;
extern const ref_op ref_global_max_pool, ref_global_average_pool, ref_global_lp_pool;
extern const ref_op ref_dropout;
extern const ref_op ref_instance_normalization, ref_group_normalization;
extern const ref_op ref_layer_normalization, ref_rms_normalization;
extern const ref_op ref_mean_variance_normalization, ref_lp_normalization;
extern const ref_op ref_pad;
extern const ref_op ref_resize, ref_upsample;
extern const ref_op ref_scatter_elements, ref_scatter_nd;
extern const ref_op ref_cum_sum, ref_cum_prod;
extern const ref_op ref_top_k;
extern const ref_op ref_range, ref_eye_like, ref_one_hot, ref_trilu;
extern const ref_op ref_non_zero, ref_compress;
extern const ref_op ref_einsum;
extern const ref_op ref_quantize_linear, ref_dequantize_linear;
extern const ref_op ref_slice;
extern const ref_op ref_softmax, ref_log_softmax, ref_hardmax;
extern const ref_op ref_transpose;
extern const ref_op ref_where;
extern const ref_op ref_rnn, ref_gru, ref_lstm;
extern const ref_op ref_attention, ref_flex_attention, ref_rotary_embedding;
extern const ref_op ref_linear_attention, ref_causal_conv, ref_swiglu;
extern const ref_op ref_det, ref_bit_cast, ref_reverse_sequence, ref_tensor_scatter;
extern const ref_op ref_center_crop_pad, ref_max_unpool, ref_col2im, ref_affine_grid;
extern const ref_op ref_grid_sample, ref_max_roi_pool, ref_roi_align, ref_deform_conv;
extern const ref_op ref_non_max_suppression, ref_unique;
extern const ref_op ref_conv_integer, ref_qlinear_conv, ref_matmul_integer, ref_qlinear_matmul;
extern const ref_op ref_dynamic_quantize_linear, ref_dft, ref_stft, ref_mel_weight_matrix;
extern const ref_op ref_hann_window, ref_hamming_window, ref_blackman_window;
extern const ref_op ref_likelihood_loss, ref_cross_entropy_loss;
extern const ref_op ref_adagrad, ref_adam, ref_momentum;
extern const ref_op ref_random_normal_op, ref_random_normal_like;
extern const ref_op ref_random_uniform_op, ref_random_uniform_like;
extern const ref_op ref_bernoulli, ref_multinomial;

// Copies all elements in row-major order between views of the same count.
int32_t ref_copy_elements(ref_run *run, const ref_view *from, const ref_view *to);

// GatherND and ScatterND: the offset in `x` that an index vector points to. The vector lies at
// `index` (its last dimension left out) of `indices`; the first `batch` entries of `index` are
// positions in `x` as well. *out_bad is set, and -1 returned, if it points outside.
int64_t ref_follow(const ref_view *x, const ref_view *indices, int32_t batch,
                   const int64_t *index, int *out_bad);
// Checks all vectors of an input so.
int32_t ref_check_vectors(ref_run *run, const ref_view *x, uint64_t input, int32_t batch);

#endif  // REFERENCE_OPERATORS_H_

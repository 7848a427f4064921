// SPDX-License-Identifier: Apache-2.0
//
// The rules, one per family of operators, and the table that lists them. Private to this
// folder.
#ifndef RT_INFER_RULES_H_
#define RT_INFER_RULES_H_

#include "infer/context.h"

typedef struct rt_infer_rule {
  const char *name;
  int32_t since, until;  // versions of the operator's domain, both inclusive
  rt_infer_rule_fn infer;
  int32_t param;  // handed to the rule in ctx->param
} rt_infer_rule;

#define RT_INFER_NEWEST INT32_MAX

#define RT_INFER_NHWC 1  // param of pools: the channels are the last axis

// The rules of a domain, sorted by name, then by version.
typedef struct rt_infer_rule_set {
  const char *domain;
  const rt_infer_rule *rules;
  uint32_t count;
} rt_infer_rule_set;

extern const rt_infer_rule_set rt_infer_rules_onnx, rt_infer_rules_microsoft, rt_infer_rules_ml;
extern const rt_infer_rule_set rt_infer_rules_preview, rt_infer_rules_training;

uint32_t rt_infer_rule_set_count(void);
const rt_infer_rule_set *rt_infer_rule_set_at(uint32_t index);
// NULL if there is none.
const rt_infer_rule *rt_infer_find_rule(const rt_op *op);

// The shape of a product under numpy's rules, into output 0: of two types, or of two inputs.
int32_t rt_infer_product(rt_infer_context *ctx, const rt_type *a, const rt_type *b,
                         int32_t elem_type);
int32_t rt_infer_matmul(rt_infer_context *ctx, uint32_t a, uint32_t b, int32_t elem_type);

// clang-format off
#define RT_INFER_RULES(X)                                                                  \
  X(same) X(binary) X(compare) X(variadic) X(where) X(cast) X(cast_like) X(clip)           \
  X(binary_limited) X(compare_limited) X(tile_axis)                                        \
  X(dropout) X(prelu) X(integral) X(identity) X(conv) X(conv_transpose) X(pool)            \
  X(global_pool) X(conv_integer) X(qlinear_conv) X(max_roi_pool) X(roi_align)              \
  X(deform_conv) X(batch_norm) X(layer_norm) X(softmax) X(per_channel) X(gemm) X(matmul)   \
  X(matmul_integer) X(qlinear_matmul) X(quantize) X(dequantize) X(dynamic_quantize)        \
  X(reshape) X(flatten) X(squeeze) X(unsqueeze) X(expand) X(tile) X(transpose) X(shape)    \
  X(size) X(depth_to_space) X(space_to_depth) X(concat) X(split) X(slice) X(pad)           \
  X(gather) X(gather_elements) X(gather_nd) X(compress) X(reduce) X(arg) X(top_k)          \
  X(one_hot) X(non_zero) X(unique) X(nms) X(det) X(constant) X(constant_of_shape)          \
  X(range) X(eye_like) X(random) X(random_like) X(multinomial) X(resize) X(upsample)       \
  X(grid_sample) X(rnn) X(einsum) X(affine_grid) X(col2im) X(center_crop_pad)              \
  X(max_unpool) X(window) X(loss) X(attention) X(if) X(loop) X(scan)                       \
  X(sequence_construct) X(sequence_empty) X(sequence_at) X(sequence_insert) X(sequence_erase) X(scalar)\
  X(sequence_concat) X(sequence_split) X(sequence_map) X(optional) X(optional_element)     \
  X(array_feature_extractor) X(feature_vectorizer) X(category_mapper) X(label_encoder)     \
  X(one_hot_encoder) X(classifier) X(svm_classifier) X(regressor) X(cast_map)              \
  X(dict_vectorizer) X(zip_map) X(optimizer) X(gradient) X(dft) X(stft)                    \
  X(mel_weight_matrix) X(string_split) X(string_normalizer) X(tf_idf_vectorizer)           \
  X(image_decoder) X(flex_attention) X(linear_attention) X(causal_conv) X(same_shapes)     \
  X(bit_cast) X(scan_batches) X(scatter) X(cumulate)                                       \
  X(skip_norm) X(embed_norm) X(microsoft_attention) X(multi_head_attention)                \
  X(group_query_attention)                                                                 \
  X(fused_matmul) X(matmul_nbits) X(dynamic_matmul) X(matmul_to_float) X(qgemm)            \
  X(qlinear_binary) X(qlinear_concat)
// clang-format on

#define DECLARE(name) int32_t rt_infer_rule_##name(rt_infer_context *ctx);
RT_INFER_RULES(DECLARE)
#undef DECLARE

#endif  // RT_INFER_RULES_H_

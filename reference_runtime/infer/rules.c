// SPDX-License-Identifier: Apache-2.0
//
// The rules of ONNX's own domain, and the search among those of all domains. A rule reads the
// version from ctx->op where versions differ in details; a range here says from which version
// on it holds at all. An operator that is not listed has no rule.
#include "infer/rules.h"

#include <string.h>

#include "infer/rule_elementwise.h"

static const rt_infer_rule rules[] = {
    // clang-format off
    {"Abs", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_ABS},
    {"Acos", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Acosh", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Add", 1, 6, rt_infer_rule_binary_limited, RT_INFER_ADD},
    {"Add", 7, RT_INFER_NEWEST, rt_infer_rule_binary, RT_INFER_ADD},
    {"AffineGrid", 20, RT_INFER_NEWEST, rt_infer_rule_affine_grid, 0},
    {"And", 1, 6, rt_infer_rule_compare_limited, RT_INFER_AND},
    {"And", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_AND},
    {"ArgMax", 1, RT_INFER_NEWEST, rt_infer_rule_arg, 0},
    {"ArgMin", 1, RT_INFER_NEWEST, rt_infer_rule_arg, 0},
    {"Asin", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Asinh", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Atan", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Atanh", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Attention", 23, RT_INFER_NEWEST, rt_infer_rule_attention, 0},
    {"AveragePool", 1, RT_INFER_NEWEST, rt_infer_rule_pool, 0},
    {"BatchNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_batch_norm, 0},
    {"Bernoulli", 1, RT_INFER_NEWEST, rt_infer_rule_random_like, 0},
    {"BitCast", 26, RT_INFER_NEWEST, rt_infer_rule_bit_cast, 0},
    {"BitShift", 1, RT_INFER_NEWEST, rt_infer_rule_binary, 0},
    {"BitwiseAnd", 1, RT_INFER_NEWEST, rt_infer_rule_binary, 0},
    {"BitwiseNot", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"BitwiseOr", 1, RT_INFER_NEWEST, rt_infer_rule_binary, 0},
    {"BitwiseXor", 1, RT_INFER_NEWEST, rt_infer_rule_binary, 0},
    {"BlackmanWindow", 17, RT_INFER_NEWEST, rt_infer_rule_window, 0},
    {"Cast", 1, RT_INFER_NEWEST, rt_infer_rule_cast, 0},
    {"CastLike", 1, RT_INFER_NEWEST, rt_infer_rule_cast_like, 0},
    {"CausalConvWithState", 27, RT_INFER_NEWEST, rt_infer_rule_causal_conv, 0},
    {"Ceil", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_ROUND},
    {"Celu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"CenterCropPad", 18, RT_INFER_NEWEST, rt_infer_rule_center_crop_pad, 0},
    {"Clip", 1, RT_INFER_NEWEST, rt_infer_rule_clip, 0},
    {"Col2Im", 18, RT_INFER_NEWEST, rt_infer_rule_col2im, 0},
    {"Compress", 1, RT_INFER_NEWEST, rt_infer_rule_compress, 0},
    {"Concat", 1, RT_INFER_NEWEST, rt_infer_rule_concat, 0},
    {"ConcatFromSequence", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_concat, 0},
    {"Constant", 1, RT_INFER_NEWEST, rt_infer_rule_constant, 0},
    {"ConstantOfShape", 1, RT_INFER_NEWEST, rt_infer_rule_constant_of_shape, 0},
    {"Conv", 1, RT_INFER_NEWEST, rt_infer_rule_conv, 0},
    {"ConvInteger", 1, RT_INFER_NEWEST, rt_infer_rule_conv_integer, 0},
    {"ConvTranspose", 1, RT_INFER_NEWEST, rt_infer_rule_conv_transpose, 0},
    {"Cos", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Cosh", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"CumProd", 26, RT_INFER_NEWEST, rt_infer_rule_cumulate, 1},
    {"CumSum", 1, RT_INFER_NEWEST, rt_infer_rule_cumulate, 0},
    {"DFT", 17, RT_INFER_NEWEST, rt_infer_rule_dft, 0},
    {"DeformConv", 1, RT_INFER_NEWEST, rt_infer_rule_deform_conv, 0},
    {"DepthToSpace", 1, RT_INFER_NEWEST, rt_infer_rule_depth_to_space, 0},
    {"DequantizeLinear", 1, RT_INFER_NEWEST, rt_infer_rule_dequantize, 0},
    {"Det", 1, RT_INFER_NEWEST, rt_infer_rule_det, 0},
    {"Div", 1, 6, rt_infer_rule_binary_limited, RT_INFER_DIV},
    {"Div", 7, RT_INFER_NEWEST, rt_infer_rule_binary, RT_INFER_DIV},
    {"Dropout", 1, RT_INFER_NEWEST, rt_infer_rule_dropout, 0},
    {"DynamicQuantizeLinear", 1, RT_INFER_NEWEST, rt_infer_rule_dynamic_quantize, 0},
    {"Einsum", 12, RT_INFER_NEWEST, rt_infer_rule_einsum, 0},
    {"Elu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Equal", 1, 6, rt_infer_rule_compare_limited, RT_INFER_EQUAL},
    {"Equal", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_EQUAL},
    {"Erf", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Exp", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Expand", 1, RT_INFER_NEWEST, rt_infer_rule_expand, 0},
    {"EyeLike", 1, RT_INFER_NEWEST, rt_infer_rule_eye_like, 0},
    {"Flatten", 1, RT_INFER_NEWEST, rt_infer_rule_flatten, 0},
    {"Floor", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_ROUND},
    {"GRU", 1, RT_INFER_NEWEST, rt_infer_rule_rnn, 0},
    {"Gather", 1, RT_INFER_NEWEST, rt_infer_rule_gather, 0},
    {"GatherElements", 1, RT_INFER_NEWEST, rt_infer_rule_gather_elements, 0},
    {"GatherND", 1, RT_INFER_NEWEST, rt_infer_rule_gather_nd, 0},
    {"Gelu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Gemm", 1, 6, rt_infer_rule_gemm, 0},
    {"Gemm", 7, RT_INFER_NEWEST, rt_infer_rule_gemm, 0},
    {"GlobalAveragePool", 1, RT_INFER_NEWEST, rt_infer_rule_global_pool, 0},
    {"GlobalLpPool", 1, RT_INFER_NEWEST, rt_infer_rule_global_pool, 0},
    {"GlobalMaxPool", 1, RT_INFER_NEWEST, rt_infer_rule_global_pool, 0},
    {"Greater", 1, 6, rt_infer_rule_compare_limited, RT_INFER_GREATER},
    {"Greater", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_GREATER},
    {"GreaterOrEqual", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_GREATER_EQUAL},
    {"GridSample", 1, RT_INFER_NEWEST, rt_infer_rule_grid_sample, 0},
    {"GroupNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"HammingWindow", 17, RT_INFER_NEWEST, rt_infer_rule_window, 0},
    {"HannWindow", 17, RT_INFER_NEWEST, rt_infer_rule_window, 0},
    {"HardSigmoid", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"HardSwish", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Hardmax", 1, RT_INFER_NEWEST, rt_infer_rule_softmax, 0},
    {"Identity", 1, RT_INFER_NEWEST, rt_infer_rule_identity, 0},
    {"If", 1, RT_INFER_NEWEST, rt_infer_rule_if, 0},
    {"ImageDecoder", 20, RT_INFER_NEWEST, rt_infer_rule_image_decoder, 0},
    {"InstanceNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_per_channel, 0},
    {"IsInf", 1, RT_INFER_NEWEST, rt_infer_rule_same, OPS_TYPE_BOOL},
    {"IsNaN", 1, RT_INFER_NEWEST, rt_infer_rule_same, OPS_TYPE_BOOL},
    {"LRN", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"LSTM", 1, RT_INFER_NEWEST, rt_infer_rule_rnn, 0},
    {"LayerNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_layer_norm, 0},
    {"LeakyRelu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Less", 1, 6, rt_infer_rule_compare_limited, RT_INFER_LESS},
    {"Less", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_LESS},
    {"LessOrEqual", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_LESS_EQUAL},
    {"LinearAttention", 27, RT_INFER_NEWEST, rt_infer_rule_linear_attention, 0},
    {"Log", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"LogSoftmax", 1, RT_INFER_NEWEST, rt_infer_rule_softmax, 0},
    {"Loop", 1, RT_INFER_NEWEST, rt_infer_rule_loop, 0},
    {"LpNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"LpPool", 1, RT_INFER_NEWEST, rt_infer_rule_pool, 0},
    {"MatMul", 1, RT_INFER_NEWEST, rt_infer_rule_matmul, 0},
    {"MatMulInteger", 1, RT_INFER_NEWEST, rt_infer_rule_matmul_integer, 0},
    {"Max", 1, 7, rt_infer_rule_same, 0},
    {"Max", 8, RT_INFER_NEWEST, rt_infer_rule_variadic, RT_INFER_MAX},
    {"MaxPool", 1, RT_INFER_NEWEST, rt_infer_rule_pool, 0},
    {"MaxRoiPool", 1, RT_INFER_NEWEST, rt_infer_rule_max_roi_pool, 0},
    {"MaxUnpool", 1, RT_INFER_NEWEST, rt_infer_rule_max_unpool, 0},
    {"Mean", 1, 7, rt_infer_rule_same, 0},
    {"Mean", 8, RT_INFER_NEWEST, rt_infer_rule_variadic, 0},
    {"MeanVarianceNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"MelWeightMatrix", 17, RT_INFER_NEWEST, rt_infer_rule_mel_weight_matrix, 0},
    {"Min", 1, 7, rt_infer_rule_same, 0},
    {"Min", 8, RT_INFER_NEWEST, rt_infer_rule_variadic, RT_INFER_MIN},
    {"Mish", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Mod", 1, RT_INFER_NEWEST, rt_infer_rule_binary, RT_INFER_MOD},
    {"Mul", 1, 6, rt_infer_rule_binary_limited, RT_INFER_MUL},
    {"Mul", 7, RT_INFER_NEWEST, rt_infer_rule_binary, RT_INFER_MUL},
    {"Multinomial", 1, RT_INFER_NEWEST, rt_infer_rule_multinomial, 0},
    {"Neg", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_NEG},
    {"NegativeLogLikelihoodLoss", 12, RT_INFER_NEWEST, rt_infer_rule_loss, 0},
    {"NonMaxSuppression", 1, RT_INFER_NEWEST, rt_infer_rule_nms, 0},
    {"NonZero", 1, RT_INFER_NEWEST, rt_infer_rule_non_zero, 0},
    {"Not", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_NOT},
    {"OneHot", 1, RT_INFER_NEWEST, rt_infer_rule_one_hot, 0},
    {"Optional", 1, RT_INFER_NEWEST, rt_infer_rule_optional, 0},
    {"OptionalGetElement", 1, RT_INFER_NEWEST, rt_infer_rule_optional_element, 0},
    {"OptionalHasElement", 1, RT_INFER_NEWEST, rt_infer_rule_scalar, OPS_TYPE_BOOL},
    {"Or", 1, 6, rt_infer_rule_compare_limited, RT_INFER_OR},
    {"Or", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_OR},
    {"PRelu", 1, 6, rt_infer_rule_same, 0},
    {"PRelu", 7, RT_INFER_NEWEST, rt_infer_rule_prelu, 0},
    {"Pad", 1, RT_INFER_NEWEST, rt_infer_rule_pad, 0},
    {"Pow", 1, 6, rt_infer_rule_binary_limited, RT_INFER_NOTHING},
    {"Pow", 7, RT_INFER_NEWEST, rt_infer_rule_binary, RT_INFER_POW},
    {"QLinearConv", 1, RT_INFER_NEWEST, rt_infer_rule_qlinear_conv, 0},
    {"QLinearMatMul", 1, RT_INFER_NEWEST, rt_infer_rule_qlinear_matmul, 0},
    {"QuantizeLinear", 1, RT_INFER_NEWEST, rt_infer_rule_quantize, 0},
    {"RMSNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_layer_norm, 1},
    {"RNN", 1, RT_INFER_NEWEST, rt_infer_rule_rnn, 0},
    {"RandomNormal", 1, RT_INFER_NEWEST, rt_infer_rule_random, 0},
    {"RandomNormalLike", 1, RT_INFER_NEWEST, rt_infer_rule_random_like, 0},
    {"RandomUniform", 1, RT_INFER_NEWEST, rt_infer_rule_random, 0},
    {"RandomUniformLike", 1, RT_INFER_NEWEST, rt_infer_rule_random_like, 0},
    {"Range", 1, RT_INFER_NEWEST, rt_infer_rule_range, 0},
    {"Reciprocal", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"ReduceL1", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, 0},
    {"ReduceL2", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, 0},
    {"ReduceLogSum", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, 0},
    {"ReduceLogSumExp", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, 0},
    {"ReduceMax", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, RT_INFER_MAX},
    {"ReduceMean", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, 0},
    {"ReduceMin", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, RT_INFER_MIN},
    {"ReduceProd", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, RT_INFER_MUL},
    {"ReduceSum", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, RT_INFER_ADD},
    {"ReduceSumSquare", 1, RT_INFER_NEWEST, rt_infer_rule_reduce, 0},
    {"RegexFullMatch", 20, RT_INFER_NEWEST, rt_infer_rule_same, OPS_TYPE_BOOL},
    {"Relu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Reshape", 1, RT_INFER_NEWEST, rt_infer_rule_reshape, 0},
    {"Resize", 1, RT_INFER_NEWEST, rt_infer_rule_resize, 0},
    {"ReverseSequence", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"RoiAlign", 1, RT_INFER_NEWEST, rt_infer_rule_roi_align, 0},
    {"RotaryEmbedding", 23, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Round", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_ROUND},
    {"STFT", 17, RT_INFER_NEWEST, rt_infer_rule_stft, 0},
    {"Scan", 8, 8, rt_infer_rule_scan_batches, 0},
    {"Scan", 9, RT_INFER_NEWEST, rt_infer_rule_scan, 0},
    {"Scatter", 1, RT_INFER_NEWEST, rt_infer_rule_scatter, 0},
    {"ScatterElements", 1, RT_INFER_NEWEST, rt_infer_rule_scatter, 0},
    {"ScatterND", 1, RT_INFER_NEWEST, rt_infer_rule_scatter, 1},
    {"Selu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"SequenceAt", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_at, 0},
    {"SequenceConstruct", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_construct, 0},
    {"SequenceEmpty", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_empty, 0},
    {"SequenceErase", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_erase, 0},
    {"SequenceInsert", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_insert, 0},
    {"SequenceLength", 1, RT_INFER_NEWEST, rt_infer_rule_scalar, OPS_TYPE_INT64},
    {"SequenceMap", 17, RT_INFER_NEWEST, rt_infer_rule_sequence_map, 0},
    {"Shape", 1, RT_INFER_NEWEST, rt_infer_rule_shape, 0},
    {"Shrink", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Sigmoid", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Sign", 1, RT_INFER_NEWEST, rt_infer_rule_integral, RT_INFER_SIGN},
    {"SimplifiedLayerNormalization", 1, RT_INFER_NEWEST, rt_infer_rule_layer_norm, 1},
    {"Sin", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Sinh", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Size", 1, RT_INFER_NEWEST, rt_infer_rule_size, 0},
    {"Slice", 1, RT_INFER_NEWEST, rt_infer_rule_slice, 0},
    {"Softmax", 1, RT_INFER_NEWEST, rt_infer_rule_softmax, 0},
    {"SoftmaxCrossEntropyLoss", 12, RT_INFER_NEWEST, rt_infer_rule_loss, 0},
    {"Softplus", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Softsign", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"SpaceToDepth", 1, RT_INFER_NEWEST, rt_infer_rule_space_to_depth, 0},
    {"Split", 1, RT_INFER_NEWEST, rt_infer_rule_split, 0},
    {"SplitToSequence", 1, RT_INFER_NEWEST, rt_infer_rule_sequence_split, 0},
    {"Sqrt", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Squeeze", 1, RT_INFER_NEWEST, rt_infer_rule_squeeze, 0},
    {"StringConcat", 20, RT_INFER_NEWEST, rt_infer_rule_binary, 0},
    {"StringNormalizer", 10, RT_INFER_NEWEST, rt_infer_rule_string_normalizer, 0},
    {"StringSplit", 20, RT_INFER_NEWEST, rt_infer_rule_string_split, 0},
    {"Sub", 1, 6, rt_infer_rule_binary_limited, RT_INFER_SUB},
    {"Sub", 7, RT_INFER_NEWEST, rt_infer_rule_binary, RT_INFER_SUB},
    {"Sum", 1, 7, rt_infer_rule_same, 0},
    {"Sum", 8, RT_INFER_NEWEST, rt_infer_rule_variadic, RT_INFER_ADD},
    {"SwiGLU", 28, RT_INFER_NEWEST, rt_infer_rule_same_shapes, 0},
    {"Swish", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Tan", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Tanh", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"TensorScatter", 24, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"TfIdfVectorizer", 9, RT_INFER_NEWEST, rt_infer_rule_tf_idf_vectorizer, 0},
    {"ThresholdedRelu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Tile", 1, 5, rt_infer_rule_tile_axis, 0},
    {"Tile", 6, RT_INFER_NEWEST, rt_infer_rule_tile, 0},
    {"TopK", 1, RT_INFER_NEWEST, rt_infer_rule_top_k, 0},
    {"Transpose", 1, RT_INFER_NEWEST, rt_infer_rule_transpose, 0},
    {"Trilu", 1, RT_INFER_NEWEST, rt_infer_rule_same, 0},
    {"Unique", 1, RT_INFER_NEWEST, rt_infer_rule_unique, 0},
    {"Unsqueeze", 1, RT_INFER_NEWEST, rt_infer_rule_unsqueeze, 0},
    {"Upsample", 1, RT_INFER_NEWEST, rt_infer_rule_upsample, 0},
    {"Where", 1, RT_INFER_NEWEST, rt_infer_rule_where, 0},
    {"Xor", 1, 6, rt_infer_rule_compare_limited, RT_INFER_XOR},
    {"Xor", 7, RT_INFER_NEWEST, rt_infer_rule_compare, RT_INFER_XOR},
    // clang-format on
};

const rt_infer_rule_set rt_infer_rules_onnx = {"", rules, sizeof rules / sizeof *rules};

static const rt_infer_rule_set *const sets[] = {
    &rt_infer_rules_onnx, &rt_infer_rules_ml, &rt_infer_rules_microsoft,
    &rt_infer_rules_preview, &rt_infer_rules_training};

uint32_t rt_infer_rule_set_count(void) {
  return sizeof sets / sizeof *sets;
}

const rt_infer_rule_set *rt_infer_rule_set_at(uint32_t index) {
  return index < rt_infer_rule_set_count() ? sets[index] : NULL;
}

// The first row of a set whose name is not less than `name`.
static uint32_t first_row(const rt_infer_rule_set *set, const char *name) {
  uint32_t low = 0, high = set->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (strcmp(set->rules[middle].name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static const rt_infer_rule *find_in(const rt_infer_rule_set *set, const rt_op *op) {
  for (uint32_t i = first_row(set, op->name); i < set->count; ++i) {
    const rt_infer_rule *rule = &set->rules[i];
    if (strcmp(rule->name, op->name) != 0) return NULL;
    if (rule->since <= op->opset && op->opset <= rule->until) return rule;
  }
  return NULL;
}

const rt_infer_rule *rt_infer_find_rule(const rt_op *op) {
  for (uint32_t i = 0; i < rt_infer_rule_set_count(); ++i)
    if (strcmp(sets[i]->domain, op->domain) == 0) return find_in(sets[i], op);
  return NULL;
}

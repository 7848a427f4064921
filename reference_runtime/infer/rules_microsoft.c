// SPDX-License-Identifier: Apache-2.0
//
// The rules of the domain com.microsoft. Its only version is 1.
#include "infer/rules.h"

#define ROW(name, rule, param) \
  { name, 1, RT_INFER_NEWEST, rt_infer_rule_##rule, param }

static const rt_infer_rule rules[] = {
    // clang-format off
    ROW("Attention", microsoft_attention, 0),
    ROW("BiasGelu", same, 0),
    ROW("DynamicQuantizeMatMul", dynamic_matmul, 0),
    ROW("EmbedLayerNormalization", embed_norm, 0),
    ROW("FastGelu", same, 0),
    ROW("FusedConv", conv, 0),
    ROW("FusedGemm", gemm, 0),
    ROW("FusedMatMul", fused_matmul, 0),
    ROW("Gelu", same, 0),
    ROW("GridSample", grid_sample, 0),
    ROW("GroupQueryAttention", group_query_attention, 0),
    ROW("Inverse", same, 0),
    ROW("MatMulIntegerToFloat", matmul_to_float, 0),
    ROW("MatMulNBits", matmul_nbits, 0),
    ROW("MultiHeadAttention", multi_head_attention, 0),
    ROW("NhwcMaxPool", pool, RT_INFER_NHWC),
    ROW("QGemm", qgemm, 0),
    ROW("QLinearAdd", qlinear_binary, 0),
    ROW("QLinearAveragePool", pool, 0),
    ROW("QLinearConcat", qlinear_concat, 0),
    ROW("QLinearGlobalAveragePool", global_pool, 0),
    ROW("QLinearLeakyRelu", same, 0),
    ROW("QLinearMul", qlinear_binary, 0),
    ROW("QLinearSigmoid", same, 0),
    ROW("QLinearSoftmax", same, 0),
    ROW("QuickGelu", same, 0),
    ROW("RotaryEmbedding", same, 0),
    ROW("SimplifiedLayerNormalization", layer_norm, 1),
    ROW("SkipLayerNormalization", skip_norm, 0),
    ROW("SkipSimplifiedLayerNormalization", skip_norm, 0),
    // clang-format on
};

const rt_infer_rule_set rt_infer_rules_microsoft = {"com.microsoft", rules,
                                                    sizeof rules / sizeof *rules};

// SPDX-License-Identifier: Apache-2.0
//
// Work in 16 bits where the caller asks for it (--precision): a node that computes in float
// computes in float16 or bfloat16, with casts before and behind it, which cast_chains removes
// between two such nodes. Inputs and outputs of the model keep their types.
//
// Operators fall into three classes:
//   products   sums of many products, which gain most. They must accumulate in float, which the
//              kernel's definition states.
//   followers  move, choose or combine few elements: as exact as their inputs.
//   others     sums, exponentials, normalisations, in which 16 bits lose much: they, too, must
//              accumulate in float.
// float16 and bfloat16 change all three; mixed changes products, in the first of both types
// that a provider takes, and followers all of whose computed inputs are 16 bits already.
#include <string.h>

#include "passes/retype.h"

static const char *const products[] = {"Attention",
                                       "Conv",
                                       "ConvTranspose",
                                       "DeformConv",
                                       "Einsum",
                                       "FusedConv",
                                       "FusedGemm",
                                       "FusedMatMul",
                                       "Gemm",
                                       "GRU",
                                       "LSTM",
                                       "MatMul",
                                       "MultiHeadAttention",
                                       "GroupQueryAttention",
                                       "RNN",
                                       NULL};

static const char *const followers[] = {"Abs",          "Add",
                                        "AveragePool",  "Clip",
                                        "Compress",     "Concat",
                                        "DepthToSpace", "Dropout",
                                        "Expand",       "Flatten",
                                        "Gather",       "GatherElements",
                                        "GatherND",     "Identity",
                                        "LeakyRelu",    "Max",
                                        "MaxPool",      "Min",
                                        "Mul",          "Neg",
                                        "Pad",          "PRelu",
                                        "Relu",         "Reshape",
                                        "Resize",       "ScatterElements",
                                        "ScatterND",    "Sigmoid",
                                        "Slice",        "SpaceToDepth",
                                        "Split",        "Squeeze",
                                        "Sub",          "Tanh",
                                        "Tile",         "Transpose",
                                        "Unsqueeze",    "Upsample",
                                        "Where",        "BiasGelu",
                                        "FastGelu",     "Gelu",
                                        "HardSigmoid",  "HardSwish",
                                        "QuickGelu",    "RotaryEmbedding",
                                        "Swish",        NULL};

static int is_in(const char *const *list, const char *name) {
  for (; *list; ++list)
    if (strcmp(*list, name) == 0) return 1;
  return 0;
}

// ---- Which type -----------------------------------------------------------------------------

static int is_named(const rt_node *node, const char *name) {
  if (strcmp(node->op.name, name) == 0 || strcmp(node->name, name) == 0) return 1;
  for (uint32_t i = 0; i < node->origin_count; ++i)
    if (strcmp(node->origins[i], name) == 0) return 1;
  return 0;
}

// The last override that names the node or its operator; NULL if there is none.
static const rt_precision_override *override_of(const rt_passes_options *options,
                                                const rt_node *node) {
  for (uint64_t i = options->override_count; i-- > 0;)
    if (is_named(node, options->overrides[i].name)) return &options->overrides[i];
  return NULL;
}

// The 16-bit type that is cast up to `value`, or UNDEFINED.
static int32_t narrow_source(const rt_value *value) {
  const rt_node *cast = rt_pass_producer(value, "Cast");
  const int32_t type = cast ? rt_pass_elem(rt_node_input(cast, 0)) : OPS_TYPE_UNDEFINED;
  return type == OPS_TYPE_FLOAT16 || type == OPS_TYPE_BFLOAT16 ? type : OPS_TYPE_UNDEFINED;
}

// The type that all computed float inputs of a follower come from, or UNDEFINED.
static int32_t type_to_follow(const rt_node *node) {
  int32_t common = OPS_TYPE_UNDEFINED;
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const rt_value *value = node->operands[i];
    if (!value || rt_pass_elem(value) != OPS_TYPE_FLOAT || rt_value_constant(value)) continue;
    const int32_t type = narrow_source(value);
    if (type == OPS_TYPE_UNDEFINED || (common && type != common)) return OPS_TYPE_UNDEFINED;
    common = type;
  }
  return common;
}

// The types to try, in order; returns how many.
static uint32_t wanted_types(const rt_passes_options *options, const rt_node *node,
                             int32_t *out_types) {
  const rt_precision_override *override = override_of(options, node);
  const int32_t mode = override ? override->precision : options->precision;
  out_types[0] = mode == RT_PRECISION_BFLOAT16 ? OPS_TYPE_BFLOAT16 : OPS_TYPE_FLOAT16;
  if (mode == RT_PRECISION_FLOAT16 || mode == RT_PRECISION_BFLOAT16) return 1;
  if (mode != RT_PRECISION_MIXED) return 0;
  if (is_in(products, node->op.name)) {
    out_types[1] = OPS_TYPE_BFLOAT16;
    return 2;
  }
  out_types[0] = is_in(followers, node->op.name) ? type_to_follow(node) : OPS_TYPE_UNDEFINED;
  return out_types[0] != OPS_TYPE_UNDEFINED;
}

// Cast has the types of today from opset 6 on, bfloat16 from 13 on.
static const char *why_never(const rt_node *node, int32_t type) {
  if (node->op.domain[0]) return NULL;
  if (node->op.opset < 6) return "Cast takes float16 from opset 6 on";
  if (type == OPS_TYPE_BFLOAT16 && node->op.opset < 13)
    return "Cast takes bfloat16 from opset 13 on";
  return NULL;
}

// ---- Changing -------------------------------------------------------------------------------

static int computes_in_float(const rt_node *node) {
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (rt_pass_elem(node->operands[i]) == OPS_TYPE_FLOAT) return 1;
  return 0;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  int32_t types[2];
  const char *why = NULL;
  if (rt_pass_is(node, "Cast") || !computes_in_float(node)) return OPS_OK;
  const uint32_t count = wanted_types(context->options, node, types);
  for (uint32_t i = 0; i < count; ++i) {
    const rt_retype how = {
        .from = OPS_TYPE_FLOAT,
        .to = types[i],
        .flags = is_in(followers, node->op.name) ? 0 : RT_NODE_REQUIRE_FP32_ACCUMULATION};
    why = why_never(node, types[i]);
    if (!why) OPS_RETURN_IF_ERROR(rt_pass_retype(context, node, &how, &why, error));
    if (!why) {
      rt_pass_hit(context, "%s '%s': computes in %s", node->op.name, node->name,
                  rt_elem_type_name(types[i]));
      return OPS_OK;
    }
    rt_pass_miss(context, "%s '%s': stays in float, not in %s: %s", node->op.name, node->name,
                 rt_elem_type_name(types[i]), why);
  }
  return OPS_OK;
}

const rt_pass rt_pass_precision = {.visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// Finding the row of a node, and replacing the node by what the row says.
#include "functions/functions.h"

#include <ops_support/error.h>
#include <string.h>

#include "functions/table.h"
#include "infer/infer.h"
#include "schema/schema.h"

// Bodies that depend on the node. `opset` is the one the builder writes for.
static const rt_function_row builders[] = {
    {"", "Attention", 23, 18, NULL, rt_build_attention},
    {"", "Attention", 24, 18, NULL, rt_build_attention},
    {"", "Attention", 25, 18, NULL, rt_build_attention},
    {"", "Bernoulli", 15, 15, NULL, rt_build_bernoulli},
    {"", "Bernoulli", 22, 22, NULL, rt_build_bernoulli},
    {"", "CastLike", 15, 15, NULL, rt_build_cast_like},
    {"", "CastLike", 19, 19, NULL, rt_build_cast_like},
    {"", "CastLike", 21, 21, NULL, rt_build_cast_like},
    {"", "CastLike", 23, 23, NULL, rt_build_cast_like},
    {"", "CastLike", 24, 24, NULL, rt_build_cast_like},
    {"", "CastLike", 25, 25, NULL, rt_build_cast_like},
    {"", "CausalConvWithState", 27, 22, NULL, rt_build_causal_conv},
    {"", "Celu", 12, 12, NULL, rt_build_celu},
    {"", "CenterCropPad", 18, 18, NULL, rt_build_center_crop_pad},
    {"", "Clip", 13, 13, NULL, rt_build_clip},
    {"", "DepthToSpace", 28, 19, NULL, rt_build_depth_to_space},
    {"", "Gelu", 20, 20, NULL, rt_build_gelu},
    {"", "GroupNormalization", 18, 18, NULL, rt_build_group_normalization},
    {"", "GroupNormalization", 21, 21, NULL, rt_build_group_normalization},
    {"", "LayerNormalization", 17, 18, NULL, rt_build_layer_normalization},
    {"", "LinearAttention", 27, 18, NULL, rt_build_linear_attention},
    {"", "LogSoftmax", 13, 18, NULL, rt_build_log_softmax},
    {"", "NegativeLogLikelihoodLoss", 12, 15, NULL, rt_build_negative_log_likelihood},
    {"", "NegativeLogLikelihoodLoss", 13, 15, NULL, rt_build_negative_log_likelihood},
    {"", "NegativeLogLikelihoodLoss", 22, 15, NULL, rt_build_negative_log_likelihood},
    {"", "RMSNormalization", 23, 23, NULL, rt_build_rms_normalization},
    {"", "Range", 27, 13, NULL, rt_build_range},
    {"", "RotaryEmbedding", 23, 18, NULL, rt_build_rotary_embedding},
    {"", "SequenceMap", 17, 17, NULL, rt_build_sequence_map},
    {"", "Softmax", 13, 18, NULL, rt_build_softmax},
    {"", "SoftmaxCrossEntropyLoss", 12, 12, NULL, rt_build_softmax_cross_entropy},
    {"", "SoftmaxCrossEntropyLoss", 13, 13, NULL, rt_build_softmax_cross_entropy},
    {"", "SpaceToDepth", 28, 19, NULL, rt_build_space_to_depth},
    {"ai.onnx.preview", "FlexAttention", 1, 23, NULL, rt_build_flex_attention},
};

// ---- Finding --------------------------------------------------------------------------------

static const rt_schema *schema_of(const rt_op *op) {
  const ops_str domain = {op->domain, strlen(op->domain)}, name = {op->name, strlen(op->name)};
  return rt_schema_find(domain, name, op->opset);
}

// The better of two rows of the same operator: the newest that is not newer than the node, else
// the oldest.
static int is_better(const rt_function_row *row, const rt_function_row *best, int32_t opset) {
  if (!best) return 1;
  if (best->opset > opset) return row->opset < best->opset;
  return row->opset <= opset && row->opset > best->opset;
}

static const rt_function_row *search(const rt_function_row *rows, size_t count, const rt_op *op,
                                     const rt_schema *schema) {
  const rt_function_row *best = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].since == schema->since && strcmp(rows[i].op, op->name) == 0 &&
        strcmp(rows[i].domain, op->domain) == 0 && is_better(&rows[i], best, op->opset))
      best = &rows[i];
  }
  return best;
}

static const rt_function_row *find(const rt_op *op) {
  const rt_schema *schema = schema_of(op);
  if (!schema) return NULL;
  const rt_function_row *row = search(rt_function_table, rt_function_table_count, op, schema);
  return row ? row : search(builders, sizeof builders / sizeof *builders, op, schema);
}

int rt_function_exists(const rt_op *op) {
  return find(op) != NULL;
}

// ---- What builders ask ----------------------------------------------------------------------

int32_t rt_function_type(const rt_node *node, uint32_t index) {
  const rt_value *value = rt_node_input(node, index);
  return value && value->type.kind == RT_TYPE_TENSOR ? value->type.elem_type
                                                     : OPS_TYPE_UNDEFINED;
}

int32_t rt_function_rank(const rt_node *node, uint32_t index) {
  const rt_value *value = rt_node_input(node, index);
  return value && value->type.kind == RT_TYPE_TENSOR ? value->type.rank : RT_RANK_UNKNOWN;
}

int rt_function_has(const rt_node *node, uint32_t index) {
  return rt_node_input(node, index) != NULL;
}

int rt_function_takes(const rt_node *node, uint32_t index) {
  return rt_node_output(node, index) != NULL;
}

int32_t rt_function_unknown(const rt_node *node, uint32_t index, const char *what,
                            ops_error *error) {
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "%s%s '%s' cannot be expanded: the %s of input %u is not known before "
                       "the model runs; declare it in value_info",
                       node->path, node->op.name, node->name, what, index);
}

int32_t rt_function_positive(const rt_node *node, const char *name, ops_error *error) {
  const int64_t value = rt_attrs_int(&node->op.attrs, name, 0);
  if (value > 0) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
                             "%s%s '%s': attribute %s is %lld, expected 1 or more", node->path,
                             node->op.name, node->name, name, (long long)value);
}

// ---- Expanding ------------------------------------------------------------------------------

static int32_t build_text(const rt_function_row *row, const rt_node *node,
                          const char **out_text, ops_error *error) {
  rt_text text = {0};
  int32_t status = row->build(&text, node, error);
  if (status == OPS_OK) *out_text = rt_text_keep(&text, node->graph);
  if (status == OPS_OK && !*out_text)
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "expanding %s", node->op.name);
  rt_text_finish(&text);
  return status;
}

int32_t rt_function_expand(rt_node *node, ops_error *error) {
  const rt_function_row *row = find(&node->op);
  if (!row)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "%s%s '%s' of opset %d is no function of ONNX that is known here",
                         node->path, node->op.name, node->name, node->op.opset);
  const char *text = row->text;
  rt_model_function *function;
  if (!text) OPS_RETURN_IF_ERROR(build_text(row, node, &text, error));
  OPS_RETURN_IF_ERROR(
      rt_function_parse(node->graph, &node->op, text, row->opset, &function, error));
  return rt_node_expand(node, function, NULL, error);
}

// One round over a graph and the bodies of its nodes; new nodes are for the next round.
static int32_t expand_round(rt_graph *graph, int *out_found, ops_error *error) {
  for (rt_node *node = graph->first, *next; node; node = next) {
    next = node->next;
    if (rt_function_exists(&node->op)) {
      *out_found = 1;
      OPS_RETURN_IF_ERROR(rt_function_expand(node, error));
      continue;
    }
    for (uint32_t i = 0; i < rt_node_body_count(node); ++i)
      OPS_RETURN_IF_ERROR(expand_round(rt_node_body(node, i), out_found, error));
  }
  return OPS_OK;
}

int32_t rt_functions_expand_all(rt_graph *graph, ops_error *error) {
  int found = 1;
  for (uint32_t round = 0; found; ++round) {
    if (round == RT_FUNCTIONS_MAX_DEPTH)
      return ops_error_set(error, OPS_ERROR_INTERNAL,
                           "functions are nested deeper than %u (RT_FUNCTIONS_MAX_DEPTH)",
                           RT_FUNCTIONS_MAX_DEPTH);
    found = 0;
    OPS_RETURN_IF_ERROR(expand_round(graph, &found, error));
    if (found) OPS_RETURN_IF_ERROR(rt_infer_graph(graph, NULL, error));
  }
  return OPS_OK;
}

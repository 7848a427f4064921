// SPDX-License-Identifier: Apache-2.0
//
// Products are formed in double and rounded once, to the type of the weights.
#include "passes/affine.h"

#include <stdlib.h>
#include <string.h>

#include "passes/pattern.h"

// --- Finding ---------------------------------------------------------------------------------

static int is_plain(const rt_constant *constant) {
  return !constant->sparse &&
         (constant->elem_type == OPS_TYPE_FLOAT || constant->elem_type == OPS_TYPE_DOUBLE);
}

static int64_t channels_of(const rt_node *node, const rt_constant *weights) {
  const int64_t groups = rt_attrs_int(&node->op.attrs, "group", 1);
  if (rt_pass_is(node, "Conv")) return weights->rank >= 3 ? weights->dims[0] : 0;
  if (rt_pass_is(node, "ConvTranspose"))
    return weights->rank >= 3 && groups > 0 && weights->dims[0] % groups == 0
               ? weights->dims[1] * groups
               : 0;
  if (weights->rank != 2) return 0;
  return weights->dims[rt_attrs_int(&node->op.attrs, "transB", 0) ? 0 : 1];
}

static const char *check(const rt_node *node) {
  const rt_value *weights = rt_node_input(node, 1), *bias = rt_node_input(node, 2);
  if (!weights || !rt_value_constant(weights)) return "its weights are not constant";
  if (!is_plain(rt_value_constant(weights))) return "its weights are neither float nor double";
  if (bias && !rt_value_constant(bias)) return "its bias is not constant";
  if (bias && (!is_plain(rt_value_constant(bias)) ||
               rt_value_constant(bias)->elem_type != rt_value_constant(weights)->elem_type))
    return "its bias is of another type";
  if (rt_attrs_float(&node->op.attrs, "alpha", 1) != 1 ||
      rt_attrs_float(&node->op.attrs, "beta", 1) != 1)
    return "alpha or beta is not 1";
  return NULL;
}

rt_affine rt_affine_find(const rt_value *value, const rt_node *reader) {
  static const char *const names[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  rt_affine affine = {0};
  if (!value || value->kind != RT_VALUE_OUTPUT) return affine;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (rt_pass_is(value->producer, names[i])) affine.node = value->producer;
  if (!affine.node) return affine;
  affine.why = rt_value_sole_consumer(value) == reader ? check(affine.node)
                                                       : "others read what is between";
  // Only arithmetic of opset 6 and before has it.
  if (!affine.why && rt_attrs_int(&reader->op.attrs, "broadcast", 0) != 0)
    affine.why = "an attribute says how the other operand broadcasts";
  if (affine.why) return affine;
  const int32_t rank = rt_pass_rank(value);
  affine.axis = rt_pass_is(affine.node, "MatMul") ? rank - 1 : 1;
  affine.channels = channels_of(affine.node, rt_value_constant(affine.node->operands[1]));
  if (affine.channels < 1 || rank < 2) {
    affine.channels = 0;
    affine.why = "the shape of its weights or result is not known or does not fit";
  }
  return affine;
}

// --- Reading ---------------------------------------------------------------------------------

int rt_affine_read(const rt_affine *affine, const rt_value *operand, double **out_values) {
  const rt_constant *constant = operand ? rt_value_constant(operand) : NULL;
  const int32_t rank = rt_pass_rank(affine->node->outputs[0]);
  *out_values = NULL;
  if (!constant || constant->sparse || constant->rank > rank || constant->element_count < 1)
    return 0;
  for (int32_t i = 0; i < constant->rank; ++i) {
    const int is_axis = i + rank - constant->rank == affine->axis;
    if (constant->dims[i] != 1 && !(is_axis && constant->dims[i] == affine->channels)) return 0;
  }
  double *values = malloc((size_t)affine->channels * sizeof *values);
  if (!values) return 0;
  if (rt_constant_read_floats(constant, values, affine->channels) != constant->element_count) {
    free(values);
    return 0;
  }
  for (int64_t i = constant->element_count; i < affine->channels; ++i) values[i] = values[0];
  *out_values = values;
  return 1;
}

// --- Folding ---------------------------------------------------------------------------------

static void write(rt_constant *constant, int64_t i, double value) {
  void *data = rt_constant_mutable_data(constant);
  if (constant->elem_type == OPS_TYPE_FLOAT)
    ((float *)data)[i] = (float)value;
  else
    ((double *)data)[i] = value;
}

// Weights as [outer, channels, inner], of which rows `per_group` of `outer` share a group and
// hold `channels` channels of it.
typedef struct weight_layout {
  int64_t outer, per_group, channels, inner;
} weight_layout;

static weight_layout layout_of(const rt_node *node, const rt_constant *weights) {
  const int64_t *dims = weights->dims;
  int64_t inner = 1;
  for (int32_t k = 2; k < weights->rank; ++k) inner *= dims[k];
  if (rt_pass_is(node, "ConvTranspose"))
    return (weight_layout){dims[0], dims[0] / rt_attrs_int(&node->op.attrs, "group", 1),
                           dims[1], inner};
  if (rt_pass_is(node, "Conv") || rt_attrs_int(&node->op.attrs, "transB", 0))
    return (weight_layout){1, 1, dims[0], dims[1] * inner};
  return (weight_layout){dims[0], dims[0], dims[1], 1};
}

#define SCALE(type)                                                                          \
  static void scale_##type(const weight_layout *layout, const double *f, const void *source, \
                           type *y) {                                                        \
    const char *x = source;                                                                  \
    for (int64_t o = 0; o < layout->outer; ++o) {                                            \
      const double *group = f + o / layout->per_group * layout->channels;                    \
      for (int64_t c = 0; c < layout->channels; ++c)                                         \
        for (int64_t i = 0; i < layout->inner; ++i, x += sizeof(type)) {                     \
          type value;                                                                        \
          memcpy(&value, x, sizeof value);                                                   \
          *y++ = (type)((double)value * group[c]);                                           \
        }                                                                                    \
    }                                                                                        \
  }
SCALE(float)
SCALE(double)

static int32_t scale_weights(const rt_affine *affine, const double *f, rt_value **out_weights,
                             ops_error *error) {
  rt_value *value = affine->node->operands[1];
  const rt_constant *weights = rt_value_constant(value);
  const rt_graph *graph = affine->node->graph->root;
  rt_constant *scaled = NULL;
  OPS_RETURN_IF_ERROR(rt_constant_create_empty(graph->regions, weights->elem_type,
                                               weights->rank, weights->dims, &scaled, error));
  const weight_layout layout = layout_of(affine->node, weights);
  if (weights->elem_type == OPS_TYPE_FLOAT)
    scale_float(&layout, f, weights->data, rt_constant_mutable_data(scaled));
  else
    scale_double(&layout, f, weights->data, rt_constant_mutable_data(scaled));
  rt_constant_forget(weights);
  return rt_pass_add_constant(affine->node->graph, value->name, scaled, out_weights, error);
}

// The bias of a Gemm may be one value, a row, a column or a whole matrix: what a row is not is
// left alone. NULL in *out_bias: there is none, or it cannot be kept.
static int32_t scale_bias(const rt_affine *affine, const double *f, const double *g,
                          rt_value **out_bias, ops_error *error) {
  rt_value *value = rt_node_input(affine->node, 2);
  const rt_constant *weights = rt_value_constant(affine->node->operands[1]);
  double *old = NULL;
  rt_constant *bias = NULL;
  *out_bias = NULL;
  if (value && !rt_affine_read(affine, value, &old) &&
      rt_value_constant(value)->element_count == affine->channels) {
    old = malloc((size_t)affine->channels * sizeof *old);
    if (old) rt_constant_read_floats(rt_value_constant(value), old, affine->channels);
  }
  int32_t status = value && !old ? ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a bias")
                                 : rt_constant_create(weights->elem_type, 1, &affine->channels,
                                                      NULL, &bias, error);
  for (int64_t i = 0; status == OPS_OK && i < affine->channels; ++i)
    write(bias, i, (old ? old[i] * f[i] : 0) + (g ? g[i] : 0));
  free(old);
  return status == OPS_OK
             ? rt_pass_add_constant(affine->node->graph, value ? value->name : "bias", bias,
                                    out_bias, error)
             : status;
}

// 1 if the bias of the node is one value per channel or one for all.
static int bias_fits(const rt_affine *affine) {
  const rt_value *value = rt_node_input(affine->node, 2);
  double *values = NULL;
  if (!value) return 1;
  const int conv = !rt_pass_is(affine->node, "Gemm");
  if (conv) return rt_value_constant(value)->element_count == affine->channels;
  const int fits = rt_affine_read(affine, value, &values);
  free(values);
  return fits;
}

int32_t rt_affine_fold(rt_pass_context *context, const rt_affine *affine, rt_node *last,
                       const double *f, const double *g, int *out_done, ops_error *error) {
  rt_node *node = affine->node, *fused = NULL;
  const int matmul = rt_pass_is(node, "MatMul");
  rt_value *inputs[3] = {node->operands[0], NULL, NULL};
  *out_done = 0;
  if (!bias_fits(affine) || (matmul && g && rt_pass_rank(node->outputs[0]) != 2)) {
    rt_pass_miss(context, "%s '%s' + %s '%s': not folded, there is no place for the bias",
                 node->op.name, node->name, last->op.name, last->name);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(scale_weights(affine, f, &inputs[1], error));
  const int biased = g || rt_node_input(node, 2);
  if (biased) OPS_RETURN_IF_ERROR(scale_bias(affine, f, g, &inputs[2], error));
  rt_node_desc desc = rt_node_describe(node);
  if (matmul && biased) desc.op = "Gemm";
  desc.inputs = inputs;
  desc.input_count = biased ? 3 : 2;
  desc.output_count = 1;
  rt_node *const replaced[] = {node, last};
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, replaced, 2, &fused, error));
  *out_done = fused != NULL;
  if (fused) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_pass_drop_value(inputs[1], error));
  return rt_pass_drop_value(inputs[2], error);
}

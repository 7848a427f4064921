// SPDX-License-Identifier: Apache-2.0
//
// BatchNormalization outside of training, y = scale·(x − mean)/√(var + ε) + B, is one factor
// and one summand for each channel, which the Conv, ConvTranspose, Gemm or MatMul before it can
// have in its weights and bias.
#include <stdlib.h>

#include "passes/affine.h"

static const char *const roots[] = {"BatchNormalization", NULL};

static const char *const params[] = {"scale", "B", "mean", "var"};

static const char *check(const rt_node *node) {
  if (rt_attrs_int(&node->op.attrs, "training_mode", 0) != 0) return "it trains";
  if (node->op.opset < 7) return "before opset 7 an attribute says whether it trains";
  if (rt_attrs_int(&node->op.attrs, "spatial", 1) != 1)
    return "it normalises each place by itself";
  return rt_pass_one_output(node) ? NULL : "its statistics are read";
}

static void miss(rt_pass_context *context, const rt_node *first, const rt_node *node,
                 const char *what, const char *why) {
  rt_pass_miss(context, "%s '%s' + BatchNormalization '%s': not folded, %s%s%s", first->op.name,
               first->name, node->name, what, *what ? " " : "", why);
}

static int32_t fold(rt_pass_context *context, const rt_affine *affine, rt_node *node,
                    double *const *values, ops_error *error) {
  const double epsilon = rt_attrs_float(&node->op.attrs, "epsilon", 1e-5f);
  int done;
  for (int64_t i = 0; i < affine->channels; ++i) {
    values[0][i] /= sqrt(values[3][i] + epsilon);
    values[1][i] -= values[2][i] * values[0][i];
  }
  OPS_RETURN_IF_ERROR(
      rt_affine_fold(context, affine, node, values[0], values[1], &done, error));
  if (done)
    rt_pass_hit(context, "%s '%s' + BatchNormalization '%s': folded", affine->node->op.name,
                affine->node->name, node->name);
  return OPS_OK;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  double *values[4] = {NULL, NULL, NULL, NULL};
  if (!rt_pass_is(node, "BatchNormalization") || node->input_count != 5) return OPS_OK;
  const rt_affine affine = rt_affine_find(rt_node_input(node, 0), node);
  if (!affine.node) return OPS_OK;
  const char *why = affine.why ? affine.why : check(node);
  if (!why && affine.axis != 1) why = "the channels are not the second dimension";
  if (why) {
    miss(context, affine.node, node, "", why);
    return OPS_OK;
  }
  int all = 1;
  for (int i = 0; all && i < 4; ++i) {
    const rt_value *value = rt_node_input(node, (uint32_t)i + 1);
    const rt_constant *constant = value ? rt_value_constant(value) : NULL;
    if (!constant || constant->element_count != affine.channels) {
      miss(context, affine.node, node, params[i],
           constant ? "has another length" : rt_pass_not_constant(value));
      all = 0;
      break;
    }
    values[i] = malloc((size_t)affine.channels * sizeof(double));
    all = values[i] &&
          rt_constant_read_floats(constant, values[i], affine.channels) == affine.channels;
  }
  const int32_t status = all ? fold(context, &affine, node, values, error) : OPS_OK;
  for (int i = 0; i < 4; ++i) free(values[i]);
  return status;
}

const rt_pass rt_pass_batch_normalization = {.roots = roots, .visit = visit};

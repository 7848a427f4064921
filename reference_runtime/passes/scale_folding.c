// SPDX-License-Identifier: Apache-2.0
//
// Mul, Div, Add or Sub of a constant with one value per channel goes into the weights and the
// bias of the Conv, ConvTranspose, Gemm or MatMul before it.
#include <stdlib.h>

#include "passes/affine.h"
#include "passes/pattern.h"

static const char *const roots[] = {"Mul", "Div", "Add", "Sub", NULL};

// Turns the constants into f and g of y = f·x + g. `x_first`: the result before is the left
// operand.
static const char *make_factors(const rt_node *node, int x_first, double *f, double *g,
                                int64_t count) {
  const int divides = rt_pass_is(node, "Div"), multiplies = rt_pass_is(node, "Mul");
  if (divides && !x_first) return "it divides by the result";
  for (int64_t i = 0; i < count; ++i) {
    const double c = f[i];
    if (divides && c == 0) return "it divides by 0";
    f[i] = divides ? 1 / c : multiplies ? c : 1;
    if (multiplies || divides) continue;
    g[i] = rt_pass_is(node, "Add") || !x_first ? c : -c;
    if (rt_pass_is(node, "Sub") && !x_first) f[i] = -1;
  }
  return NULL;
}

static int adds(const rt_node *node) {
  return rt_pass_is(node, "Add") || rt_pass_is(node, "Sub");
}

static int32_t fold(rt_pass_context *context, const rt_affine *affine, rt_node *node,
                    const rt_value *operand, ops_error *error) {
  double *f = NULL, *g = NULL;
  const char *why = NULL;
  const rt_node *first = affine->node;
  int32_t status = OPS_OK;
  int done = 0;
  if (!rt_affine_read(affine, operand, &f)) why = "it has not one value per channel";
  if (!why && !(g = calloc((size_t)affine->channels, sizeof *g)))
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "folding a scale");
  if (!why && status == OPS_OK)
    why = make_factors(node, node->operands[1] == operand, f, g, affine->channels);
  if (why)
    rt_pass_miss(context, "%s '%s' + %s '%s': not folded, %s", first->op.name, first->name,
                 node->op.name, node->name, why);
  else if (status == OPS_OK)
    status = rt_affine_fold(context, affine, node, f, adds(node) ? g : NULL, &done, error);
  if (done)
    rt_pass_hit(context, "%s '%s' + %s '%s': folded", first->op.name, first->name,
                node->op.name, node->name);
  free(f);
  free(g);
  return status;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (node->post_count || node->op.domain[0] || node->input_count != 2) return OPS_OK;
  for (uint32_t i = 0; i < 2; ++i) {
    const rt_value *operand = node->operands[1 - i];
    if (!operand || !rt_value_constant(operand)) continue;
    const rt_affine affine = rt_affine_find(node->operands[i], node);
    if (!affine.node) continue;
    if (affine.why) {
      rt_pass_miss(context, "%s '%s' + %s '%s': not folded, %s", affine.node->op.name,
                   affine.node->name, node->op.name, node->name, affine.why);
      continue;
    }
    return fold(context, &affine, node, operand, error);
  }
  return OPS_OK;
}

const rt_pass rt_pass_scale_folding = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// Gemm without C, + a matrix of the size of its result: the matrix becomes C.
#include <string.h>

#include "passes/pattern.h"

static const char *const roots[] = {"Add", "Sum", NULL};

static const char *check(const rt_node *gemm, const rt_node *sum, const rt_value *addend) {
  if (rt_value_sole_consumer(gemm->outputs[0]) != sum) return "others read the product";
  if (rt_node_input(gemm, 2) && rt_attrs_float(&gemm->op.attrs, "beta", 1) != 0)
    return "it adds something already";
  if (!rt_pass_is_real(gemm->outputs[0])) return "the type is not floating-point";
  return rt_pass_same_type(addend, gemm->outputs[0]) ? NULL : "what is added has another shape";
}

static int32_t fuse(rt_pass_context *context, rt_node *gemm, rt_node *sum, rt_value *addend,
                    ops_error *error) {
  rt_value *inputs[] = {gemm->operands[0], gemm->operands[1], addend};
  rt_attr attrs[8];
  uint32_t count = 0;
  for (uint32_t i = 0; i < gemm->op.attrs.count && count < 7; ++i)
    if (strcmp(gemm->op.attrs.items[i].name, "beta") != 0)
      attrs[count++] = gemm->op.attrs.items[i];
  const rt_node_desc desc = {.name = gemm->name,
                             .op = "Gemm",
                             .opset = gemm->op.opset,
                             .inputs = inputs,
                             .input_count = 3,
                             .output_count = 1,
                             .attrs = attrs,
                             .attr_count = count};
  rt_node *const replaced[] = {gemm, sum};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, replaced, 2, &fused, error));
  if (fused)
    rt_pass_hit(context, "Gemm '%s' + %s '%s': merged", gemm->name, sum->op.name, sum->name);
  return OPS_OK;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (node->post_count || node->op.domain[0] || node->input_count != 2) return OPS_OK;
  for (uint32_t i = 0; i < 2; ++i) {
    rt_node *gemm = rt_pass_producer(node->operands[i], "Gemm");
    if (!gemm || !node->operands[1 - i]) continue;
    const char *why = check(gemm, node, node->operands[1 - i]);
    if (!why) return fuse(context, gemm, node, node->operands[1 - i], error);
    rt_pass_miss(context, "Gemm '%s' + %s '%s': not merged, %s", gemm->name, node->op.name,
                 node->name, why);
  }
  return OPS_OK;
}

const rt_pass rt_pass_gemm_sum = {.roots = roots, .visit = visit};

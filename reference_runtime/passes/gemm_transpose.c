// SPDX-License-Identifier: Apache-2.0
//
// Gemm reads its matrices either way round, so a Transpose before it goes.
#include "passes/pass.h"

static const char *const roots[] = {"Gemm", NULL};

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  static const char *const attrs[] = {"transA", "transB"};
  if (!rt_pass_is(node, "Gemm")) return OPS_OK;
  for (uint32_t i = 0; i < 2; ++i) {
    rt_node *transpose = rt_pass_producer(rt_node_input(node, i), "Transpose");
    if (!transpose || rt_pass_rank(rt_node_input(transpose, 0)) != 2) continue;
    const int64_t turned = rt_attrs_int(&node->op.attrs, attrs[i], 0) == 0;
    rt_pass_hit(context, "Transpose '%s' + Gemm '%s': %s turned", transpose->name, node->name,
                attrs[i]);
    OPS_RETURN_IF_ERROR(rt_node_set_attr_int(node, attrs[i], turned, error));
    OPS_RETURN_IF_ERROR(rt_node_set_operand(node, i, transpose->operands[0], error));
    OPS_RETURN_IF_ERROR(rt_pass_absorb(node, transpose, error));
    OPS_RETURN_IF_ERROR(rt_pass_drop(context, transpose, error));
  }
  return OPS_OK;
}

const rt_pass rt_pass_gemm_transpose = {.roots = roots, .visit = visit};

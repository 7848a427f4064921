// SPDX-License-Identifier: Apache-2.0
//
// MatMul of matrices + Add of what broadcasts to the result is Gemm.
#include "passes/pattern.h"

static const char *const roots[] = {"Add", NULL};

// 1 if `value` broadcasts to `result` without making it larger.
static int fits(const rt_value *value, const rt_value *result) {
  const int32_t rank = rt_pass_rank(value);
  if (rank < 0 || rank > 2) return 0;
  for (int32_t i = 1; i <= rank; ++i) {
    const rt_dim dim = value->type.dims[rank - i];
    if (!rt_dim_is_value(dim, 1) && !rt_dim_equal(dim, result->type.dims[2 - i])) return 0;
  }
  return 1;
}

static const char *check(const rt_node *matmul, const rt_node *add, const rt_value *bias) {
  if (add->op.opset < 7) return "before opset 7 attributes say what broadcasts";
  if (rt_value_sole_consumer(matmul->outputs[0]) != add) return "others read the product";
  if (rt_pass_rank(matmul->operands[0]) != 2 || rt_pass_rank(matmul->operands[1]) != 2)
    return "the operands are no matrices";
  if (!rt_pass_is_real(matmul->outputs[0])) return "the type is not floating-point";
  return fits(bias, matmul->outputs[0]) ? NULL
                                        : "what is added does not broadcast to the product";
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (!rt_pass_is(node, "Add") || node->input_count != 2) return OPS_OK;
  for (uint32_t i = 0; i < 2; ++i) {
    rt_node *matmul = rt_pass_producer(node->operands[i], "MatMul"), *fused;
    if (!matmul || matmul->input_count != 2) continue;
    rt_value *bias = node->operands[1 - i];
    const char *why = check(matmul, node, bias);
    if (why) {
      rt_pass_miss(context, "MatMul '%s' + Add '%s': not made Gemm, %s", matmul->name,
                   node->name, why);
      continue;
    }
    rt_value *inputs[] = {matmul->operands[0], matmul->operands[1], bias};
    const rt_node_desc desc = {.name = matmul->name,
                               .op = "Gemm",
                               .opset = node->op.opset,
                               .inputs = inputs,
                               .input_count = 3,
                               .output_count = 1};
    rt_node *const replaced[] = {matmul, node};
    OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, replaced, 2, &fused, error));
    if (fused)
      rt_pass_hit(context, "MatMul '%s' + Add '%s': made Gemm", matmul->name, node->name);
    return OPS_OK;
  }
  return OPS_OK;
}

const rt_pass rt_pass_matmul_add = {.roots = roots, .visit = visit};

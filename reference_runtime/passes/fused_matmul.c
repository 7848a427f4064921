// SPDX-License-Identifier: Apache-2.0
//
// MatMul whose operands are transposed in their last two dimensions, or whose result has a
// factor, is FusedMatMul of com.microsoft.
#include "passes/pattern.h"

static const char *const roots[] = {"MatMul", NULL};

// The Transpose before operand `index` if it exchanges the last two dimensions and no others.
static rt_node *turn_of(const rt_node *node, uint32_t index) {
  int64_t perm[OPS_MAX_RANK];
  rt_node *turn = rt_pass_producer(node->operands[index], "Transpose");
  const int32_t rank = turn ? rt_pass_perm(turn, perm) : -1;
  if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1) return NULL;
  for (int32_t i = 0; i < rank - 2; ++i)
    if (perm[i] != i) return NULL;
  return turn;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (!rt_pass_is(node, "MatMul") || node->input_count != 2 || !rt_node_output(node, 0) ||
      !rt_pass_is_real(node->outputs[0]))
    return OPS_OK;
  rt_node *turns[2] = {turn_of(node, 0), turn_of(node, 1)}, *nodes[2] = {node, NULL};
  double factor = 1;
  rt_node *product = rt_pass_next(node, "Mul");
  if (product &&
      rt_pass_with_any_scalar(product->outputs[0], "Mul", &factor) == node->outputs[0] &&
      rt_pass_same_type(product->outputs[0], node->outputs[0]))
    nodes[1] = product;
  if (!turns[0] && !turns[1] && !nodes[1]) return OPS_OK;
  const float alpha = nodes[1] ? (float)factor : 1;
  const int64_t turned[2] = {turns[0] != NULL, turns[1] != NULL};
  const rt_attr attrs[] = {
      {.name = "alpha", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &alpha},
      {.name = "transA", .kind = RT_ATTR_INT, .count = 1, .ints = &turned[0]},
      {.name = "transB", .kind = RT_ATTR_INT, .count = 1, .ints = &turned[1]}};
  rt_value *inputs[2];
  for (uint32_t i = 0; i < 2; ++i)
    inputs[i] = turns[i] ? turns[i]->operands[0] : node->operands[i];
  const rt_node_desc desc = {.name = node->name,
                             .op = "FusedMatMul",
                             .domain = "com.microsoft",
                             .opset = 1,
                             .inputs = inputs,
                             .input_count = 2,
                             .output_count = 1,
                             .attrs = attrs,
                             .attr_count = 3};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, nodes, nodes[1] ? 2 : 1, &fused, error));
  if (fused) rt_pass_hit(context, "MatMul '%s': made FusedMatMul", node->name);
  return OPS_OK;
}

const rt_pass rt_pass_fused_matmul = {.roots = roots, .visit = visit};

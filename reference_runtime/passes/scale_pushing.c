// SPDX-License-Identifier: Apache-2.0
//
// (A·B)·s, where A or B comes from constant weights by way of sums with constants and operators
// that only move data: the weights take the factor, and the Mul over the whole product goes. So
// the scores of attention are scaled in the projection of the queries.
#include <stdlib.h>

#include "passes/pattern.h"

static const char *const roots[] = {"Mul", "Div", NULL};

#define MAX_DEPTH 16

static const char *const movers[] = {"Reshape",   "Transpose", "Squeeze",
                                     "Unsqueeze", "Flatten",   "Identity"};

static int moves_data(const rt_node *node) {
  for (size_t i = 0; i < sizeof movers / sizeof movers[0]; ++i)
    if (rt_pass_is(node, movers[i])) return 1;
  return 0;
}

static int is_scalable(const rt_value *value) {
  const rt_constant *constant = rt_value_constant(value);
  return constant && !constant->sparse && value->use_count == 1 && value->output_count == 0 &&
         (constant->elem_type == OPS_TYPE_FLOAT || constant->elem_type == OPS_TYPE_DOUBLE);
}

// The operands that must take the factor so that the node's result has it: a set of bits, 0 if
// the node cannot hand it on.
static uint32_t takers(const rt_node *node) {
  if (node->post_count) return 0;
  if (moves_data(node)) return 1;
  if (rt_pass_is(node, "Add") || rt_pass_is(node, "Sub")) return 3;
  const int gemm =
      rt_pass_is(node, "Gemm") || rt_pass_is(node, "Conv") || rt_pass_is(node, "ConvTranspose");
  if (gemm) return rt_node_input(node, 2) ? 6 : 2;
  if (rt_pass_is(node, "MatMul") || rt_pass_is(node, "Mul"))
    return rt_value_constant(node->operands[1])   ? 2
           : rt_value_constant(node->operands[0]) ? 1
                                                  : 0;
  return 0;
}

// 1 if the value can take a factor without anybody else noticing.
static int can_take(const rt_value *value, const rt_node *reader, int depth) {
  if (!value || depth > MAX_DEPTH || !rt_pass_is_real(value)) return 0;
  if (rt_value_constant(value)) return value->kind == RT_VALUE_CONSTANT && is_scalable(value);
  if (value->kind != RT_VALUE_OUTPUT || rt_value_sole_consumer(value) != reader ||
      !rt_pass_one_output(value->producer))
    return 0;
  const uint32_t set = takers(value->producer);
  for (uint32_t i = 0; i < 3; ++i)
    if (set >> i & 1 &&
        !can_take(rt_node_input(value->producer, i), value->producer, depth + 1))
      return 0;
  return set != 0;
}

static int32_t scale_constant(rt_node *reader, uint32_t index, double factor,
                              ops_error *error) {
  rt_value *value = reader->operands[index], *scaled;
  const rt_constant *from = value->constant;
  rt_constant *to = NULL;
  OPS_RETURN_IF_ERROR(
      rt_constant_create(from->elem_type, from->rank, from->dims, NULL, &to, error));
  void *data = rt_constant_mutable_data(to);
  for (int64_t i = 0; i < from->element_count; ++i) {
    if (from->elem_type == OPS_TYPE_FLOAT)
      ((float *)data)[i] = (float)(((const float *)from->data)[i] * factor);
    else
      ((double *)data)[i] = ((const double *)from->data)[i] * factor;
  }
  OPS_RETURN_IF_ERROR(rt_pass_add_constant(reader->graph, value->name, to, &scaled, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(reader, index, scaled, error));
  return rt_pass_drop_value(value, error);
}

static int32_t give(rt_node *reader, uint32_t index, double factor, const rt_node *origin,
                    ops_error *error) {
  rt_value *value = reader->operands[index];
  if (value->kind == RT_VALUE_CONSTANT) {
    OPS_RETURN_IF_ERROR(rt_pass_absorb(reader, origin, error));
    return scale_constant(reader, index, factor, error);
  }
  rt_node *node = value->producer;
  const uint32_t set = takers(node);
  for (uint32_t i = 0; i < 3; ++i)
    if (set >> i & 1) OPS_RETURN_IF_ERROR(give(node, i, factor, origin, error));
  return OPS_OK;
}

static int32_t push(rt_pass_context *context, rt_node *node, rt_node *matmul, double factor,
                    ops_error *error) {
  for (uint32_t i = 0; i < 2; ++i) {
    if (!can_take(matmul->operands[i], matmul, 0)) continue;
    rt_pass_hit(context, "MatMul '%s' + %s '%s': the factor moved into weights", matmul->name,
                node->op.name, node->name);
    OPS_RETURN_IF_ERROR(give(matmul, i, factor, node, error));
    return rt_pass_replace(context, node, matmul->outputs[0], error);
  }
  rt_pass_miss(context,
               "MatMul '%s' + %s '%s': the factor was not moved, neither operand comes from "
               "constant weights alone",
               matmul->name, node->op.name, node->name);
  return OPS_OK;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  double factor;
  if ((!rt_pass_is(node, "Mul") && !rt_pass_is(node, "Div")) || !rt_node_output(node, 0))
    return OPS_OK;
  rt_value *product = rt_pass_with_any_scalar(node->outputs[0], node->op.name, &factor);
  rt_node *matmul = rt_pass_producer(product, "MatMul");
  if (!matmul || rt_value_sole_consumer(product) != node ||
      !rt_pass_same_type(product, node->outputs[0]))
    return OPS_OK;
  if (rt_pass_is(node, "Div")) factor = 1 / factor;
  if (!(fabs(factor) > 1e-30) || !(fabs(factor) < 1e30)) return OPS_OK;
  return push(context, node, matmul, factor, error);
}

const rt_pass rt_pass_scale_pushing = {.roots = roots, .visit = visit};

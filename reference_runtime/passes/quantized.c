// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized.h"

#include <string.h>

#include "passes/equal.h"

static int is_byte(const rt_value *value) {
  const int32_t type = rt_pass_elem(value);
  return type == OPS_TYPE_INT8 || type == OPS_TYPE_UINT8;
}

static int is_block(const rt_node *node) {
  return rt_attrs_int(&node->op.attrs, "block_size", 0) != 0;
}

static rt_quantized read(rt_node *node, rt_value *q) {
  const rt_quantized none = {0};
  rt_quantized found = {node, q, rt_node_input(node, 1), rt_node_input(node, 2), 0, 0};
  const rt_constant *scale = found.scale ? rt_value_constant(found.scale) : NULL;
  if (!scale || scale->rank > 1 || scale->elem_type != OPS_TYPE_FLOAT || is_block(node) ||
      (found.zero && !rt_value_constant(found.zero)) ||
      (found.zero && rt_value_constant(found.zero)->element_count != scale->element_count))
    return none;
  found.scales = scale->element_count;
  if (found.scales == 1) return found;
  found.axis = rt_pass_axis(rt_attrs_int(&node->op.attrs, "axis", 1), rt_pass_rank(q));
  return found.axis < 0 ? none : found;
}

rt_quantized rt_quantized_source(const rt_value *value) {
  const rt_quantized none = {0};
  rt_node *node = rt_pass_producer(value, "DequantizeLinear");
  if (!node || !rt_node_input(node, 0)) return none;
  return read(node, node->operands[0]);
}

rt_quantized rt_quantized_target(const rt_node *node) {
  const rt_quantized none = {0};
  rt_node *next = rt_pass_next(node, "QuantizeLinear");
  if (!next || !is_byte(next->outputs[0])) return none;
  return read(next, next->outputs[0]);
}

int rt_quantized_equal(const rt_quantized *a, const rt_quantized *b) {
  if (a->scales != 1 || b->scales != 1 || rt_pass_elem(a->q) != rt_pass_elem(b->q)) return 0;
  double scale_a, scale_b, zero_a = 0, zero_b = 0;
  if (!rt_pass_scalar(a->scale, &scale_a) || !rt_pass_scalar(b->scale, &scale_b) ||
      (a->zero && !rt_pass_scalar(a->zero, &zero_a)) ||
      (b->zero && !rt_pass_scalar(b->zero, &zero_b)))
    return 0;
  return scale_a == scale_b && zero_a == zero_b;
}

int32_t rt_quantized_zero(const rt_quantized *x, rt_value **out_zero, ops_error *error) {
  const rt_constant *scale = rt_value_constant(x->scale);
  rt_constant *zero = NULL;
  *out_zero = x->zero;
  if (x->zero) return OPS_OK;
  OPS_RETURN_IF_ERROR(
      rt_constant_create(rt_pass_elem(x->q), scale->rank, scale->dims, NULL, &zero, error));
  return rt_pass_add_constant(x->node->graph, "zero_point", zero, out_zero, error);
}

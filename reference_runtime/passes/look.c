// SPDX-License-Identifier: Apache-2.0
//
// What passes ask of nodes and values.
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"

const char *rt_pass_not_constant(const rt_value *value) {
  while (value && value->kind == RT_VALUE_CAPTURE) value = value->outer;
  if (!value) return "is absent";
  return value->kind == RT_VALUE_INPUT && value->constant
             ? "is an input with a default, which --freeze-initializers makes constant"
             : "is not constant";
}

int rt_pass_is(const rt_node *node, const char *name) {
  return node->post_count == 0 && rt_op_is(&node->op, name);
}

rt_node *rt_pass_producer(const rt_value *value, const char *name) {
  if (!value || value->kind != RT_VALUE_OUTPUT || value->output_index != 0) return NULL;
  return rt_pass_is(value->producer, name) ? value->producer : NULL;
}

int rt_pass_one_output(const rt_node *node) {
  if (node->output_count == 0 || !node->outputs[0]) return 0;
  for (uint32_t i = 1; i < node->output_count; ++i)
    if (node->outputs[i] && rt_value_is_used(node->outputs[i])) return 0;
  return 1;
}

rt_node *rt_pass_next(const rt_node *node, const char *name) {
  if (!rt_pass_one_output(node)) return NULL;
  rt_node *next = rt_value_sole_consumer(node->outputs[0]);
  return next && rt_pass_is(next, name) ? next : NULL;
}

int32_t rt_pass_rank(const rt_value *value) {
  return value && value->type.kind == RT_TYPE_TENSOR ? value->type.rank : -1;
}

int32_t rt_pass_elem(const rt_value *value) {
  return value && value->type.kind == RT_TYPE_TENSOR ? value->type.elem_type
                                                     : OPS_TYPE_UNDEFINED;
}

int64_t rt_pass_dim(const rt_value *value, int32_t axis) {
  const int32_t rank = rt_pass_rank(value);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !rt_dim_is_const(value->type.dims[axis])) return -1;
  return value->type.dims[axis].value;
}

int rt_pass_same_shape(const rt_value *a, const rt_value *b) {
  const int32_t rank = rt_pass_rank(a);
  if (rank < 0 || rank != rt_pass_rank(b)) return 0;
  for (int32_t i = 0; i < rank; ++i)
    if (!rt_dim_equal(a->type.dims[i], b->type.dims[i])) return 0;
  return 1;
}

int rt_pass_same_type(const rt_value *a, const rt_value *b) {
  return rt_pass_elem(a) != OPS_TYPE_UNDEFINED && rt_pass_elem(a) == rt_pass_elem(b) &&
         rt_pass_same_shape(a, b);
}

int rt_pass_scalar(const rt_value *value, double *out_value) {
  const rt_constant *constant = value ? rt_value_constant(value) : NULL;
  return constant && constant->element_count == 1 && !constant->sparse &&
         rt_constant_read_floats(constant, out_value, 1) == 1;
}

int64_t rt_pass_ints(const rt_node *node, const char *name, uint32_t input, int64_t *out_values,
                     int64_t capacity) {
  uint32_t count;
  const int64_t *values = rt_attrs_ints(&node->op.attrs, name, &count);
  if (values) {
    if (count > capacity) return -1;
    memcpy(out_values, values, count * sizeof *values);
    return count;
  }
  const rt_value *value = rt_node_input(node, input);
  const rt_constant *constant = value ? rt_value_constant(value) : NULL;
  return constant ? rt_constant_read_ints(constant, out_values, capacity) : -1;
}

int rt_pass_all_equal(const rt_value *value, double wanted) {
  const rt_constant *constant = value ? rt_value_constant(value) : NULL;
  double first;
  if (!constant || constant->sparse || constant->element_count < 1) return 0;
  if (constant->element_count == 1) {
    return rt_constant_read_floats(constant, &first, 1) == 1 && first == wanted &&
           !signbit(first) == !signbit(wanted);
  }
  double *values = malloc((size_t)constant->element_count * sizeof *values);
  if (!values) return 0;
  const int64_t count = rt_constant_read_floats(constant, values, constant->element_count);
  int64_t i = 0;
  while (i < count && values[i] == wanted && !signbit(values[i]) == !signbit(wanted)) ++i;
  free(values);
  return count == constant->element_count && i == count;
}

int32_t rt_pass_perm(const rt_node *transpose, int64_t *out_perm) {
  uint32_t count;
  const int64_t *perm = rt_attrs_ints(&transpose->op.attrs, "perm", &count);
  const int32_t rank = rt_pass_rank(rt_node_input(transpose, 0));
  if (rank < 0 || (perm && count != (uint32_t)rank)) return -1;
  for (int32_t i = 0; i < rank; ++i) {
    out_perm[i] = perm ? perm[i] : rank - 1 - i;
    if (out_perm[i] < 0 || out_perm[i] >= rank) return -1;
  }
  return rank;
}

int32_t rt_pass_axis(int64_t axis, int32_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? (int32_t)axis : -1;
}

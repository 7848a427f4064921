// SPDX-License-Identifier: Apache-2.0
//
// QuantizeLinear whose zero point is the least integer of its type makes 0 of everything below
// 0, as the Relu before it does.
#include "passes/pattern.h"

static const char *const roots[] = {"QuantizeLinear", NULL};

static int is_least(const rt_node *quantize) {
  const rt_value *zero = rt_node_input(quantize, 2);
  const rt_value *q = rt_node_output(quantize, 0);
  if (!zero) return rt_pass_elem(q) == OPS_TYPE_UINT8;
  if (rt_pass_elem(q) == OPS_TYPE_UINT8 || rt_pass_elem(q) == OPS_TYPE_UINT16)
    return rt_pass_all_equal(zero, 0);
  if (rt_pass_elem(q) == OPS_TYPE_INT8) return rt_pass_all_equal(zero, INT8_MIN);
  return rt_pass_elem(q) == OPS_TYPE_INT16 && rt_pass_all_equal(zero, INT16_MIN);
}

// Scales are positive by definition; one that is not would turn the order round.
static int scale_is_positive(const rt_node *quantize) {
  double scale;
  return rt_pass_scalar(rt_node_input(quantize, 1), &scale) && scale > 0;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (!rt_pass_is(node, "QuantizeLinear")) return OPS_OK;
  rt_node *relu = rt_pass_producer(rt_node_input(node, 0), "Relu");
  if (!relu || !rt_node_input(relu, 0)) return OPS_OK;
  const char *why = !scale_is_positive(node) ? "the scale is not one positive constant"
                    : !is_least(node)        ? "the zero point is not the least integer"
                                             : NULL;
  if (why) {
    rt_pass_miss(context, "Relu '%s' + QuantizeLinear '%s': Relu stays, %s", relu->name,
                 node->name, why);
    return OPS_OK;
  }
  rt_pass_hit(context, "Relu '%s' + QuantizeLinear '%s': Relu removed", relu->name, node->name);
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 0, relu->operands[0], error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(node, relu, error));
  return rt_pass_drop(context, relu, error);
}

const rt_pass rt_pass_relu_quantize = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern.h"

#include <string.h>

rt_value *rt_pass_other(const rt_node *node, const rt_value *value) {
  if (node->input_count != 2 || node->operands[0] == node->operands[1]) return NULL;
  if (node->operands[0] == value) return node->operands[1];
  return node->operands[1] == value ? node->operands[0] : NULL;
}

int rt_pass_is_real(const rt_value *value) {
  const int32_t type = rt_pass_elem(value);
  return type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE || type == OPS_TYPE_FLOAT16 ||
         type == OPS_TYPE_BFLOAT16;
}

int rt_pass_is_near(const rt_value *value, double wanted) {
  double found;
  const int32_t type = rt_pass_elem(value);
  const int narrow = type == OPS_TYPE_FLOAT16 || type == OPS_TYPE_BFLOAT16;
  if (!rt_pass_scalar(value, &found)) return 0;
  return fabs(found - wanted) <= fabs(wanted) * (narrow ? 2e-3 : 1e-5);
}

rt_value *rt_pass_with_any_scalar(const rt_value *value, const char *name, double *out_scalar) {
  const rt_node *node = rt_pass_producer(value, name);
  if (!node || node->input_count != 2) return NULL;
  const int ordered =
      strcmp(name, "Div") == 0 || strcmp(name, "Sub") == 0 || strcmp(name, "Pow") == 0;
  for (uint32_t i = 0; i < 2; ++i) {
    if (i == 1 && ordered) break;
    rt_value *x = node->operands[i], *c = node->operands[1 - i];
    if (x && c && !rt_value_constant(x) && rt_pass_scalar(c, out_scalar)) return x;
  }
  return NULL;
}

rt_value *rt_pass_with_scalar(const rt_value *value, const char *name, double wanted) {
  double scalar;
  rt_value *x = rt_pass_with_any_scalar(value, name, &scalar);
  if (!x) return NULL;
  const rt_node *node = value->producer;
  return rt_pass_is_near(node->operands[node->operands[0] == x ? 1 : 0], wanted) ? x : NULL;
}

rt_value *rt_pass_square_of(const rt_value *value) {
  const rt_node *product = rt_pass_producer(value, "Mul");
  if (product && product->input_count == 2 && product->operands[0] == product->operands[1])
    return product->operands[0];
  return rt_pass_with_scalar(value, "Pow", 2);
}

static int is_one_of(const rt_node *node, rt_node *const *list, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (list[i] == node) return 1;
  return 0;
}

int rt_pass_is_closed(rt_node *const *inner, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (inner[i]->graph != inner[count - 1]->graph || !rt_pass_one_output(inner[i])) return 0;
    const rt_value *value = inner[i]->outputs[0];
    if (i + 1 == count) continue;
    if (value->output_count > 0) return 0;
    for (uint32_t k = 0; k < value->use_count; ++k)
      if (!is_one_of(value->uses[k].node, inner, count)) return 0;
  }
  return 1;
}

static int32_t refuse(rt_node *node, rt_node **out_node, ops_error *error) {
  *out_node = NULL;
  return rt_graph_remove_node(node->graph, node, error);
}

int32_t rt_pass_fuse(rt_pass_context *context, const rt_node_desc *desc,
                     rt_node *const *replaced, uint32_t count, rt_node **out_node,
                     ops_error *error) {
  rt_node *last = replaced[count - 1];
  const char *why;
  *out_node = NULL;
  const int standard = !desc->domain || !desc->domain[0];
  if (context->options->keep_opsets && standard && desc->opset > last->op.opset) {
    rt_pass_miss(context,
                 "%s '%s': not fused into %s, which is of opset %d and the model of %d",
                 last->op.name, last->name, desc->op, desc->opset, last->op.opset);
    return OPS_OK;
  }
  rt_node_desc full = *desc;
  if (standard && full.opset < last->op.opset) full.opset = last->op.opset;
  if (!full.name) full.name = last->name;
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &full, last, replaced, count, out_node, error));
  OPS_RETURN_IF_ERROR(rt_pass_claimed(context, *out_node, replaced, count, &why, error));
  if (why) {
    rt_pass_miss(context, "%s '%s' … %s '%s': not fused into %s, %s", replaced[0]->op.name,
                 replaced[0]->name, last->op.name, last->name, full.op, why);
    return refuse(*out_node, out_node, error);
  }
  return rt_pass_replace(context, last, (*out_node)->outputs[0], error);
}

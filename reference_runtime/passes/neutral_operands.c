// SPDX-License-Identifier: Apache-2.0
//
// x·1, x/1, x^1, x−0, x+(−0), x AND true, x OR false give x, bit by bit. x+0 does so for
// integers only: the sum of −0 and +0 is +0.
#include "passes/pass.h"

static const char *const roots[] = {"Mul", "Div", "Pow", "Add", "Sub", "And", "Or", NULL};

// What the operator leaves x alone with.
typedef struct neutral {
  const char *op;
  double right;
  int also_left;  // 1: on either side
} neutral;

static const neutral neutrals[] = {{"Mul", 1, 1},    {"Div", 1, 0}, {"Pow", 1, 0},
                                   {"Add", -0.0, 1}, {"Sub", 0, 0}, {"And", 1, 1},
                                   {"Or", 0, 1}};

static const neutral *find(const rt_node *node) {
  for (size_t i = 0; i < sizeof neutrals / sizeof neutrals[0]; ++i)
    if (rt_pass_is(node, neutrals[i].op)) return &neutrals[i];
  return NULL;
}

static int is_real(const rt_value *value) {
  const int32_t type = rt_pass_elem(value);
  return type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE || type == OPS_TYPE_FLOAT16 ||
         type == OPS_TYPE_BFLOAT16;
}

// 1 if operand `index` is neutral; a zero of the wrong sign is a near miss.
static int is_neutral(rt_pass_context *context, const rt_node *node, const neutral *row,
                      uint32_t index) {
  const rt_value *value = node->operands[index];
  if (!value || !rt_value_constant(value)) return 0;
  if (rt_pass_all_equal(value, row->right)) return 1;
  if (row->right != 0 ||
      !rt_pass_all_equal(value, row->right == 0 && signbit(row->right) ? 0.0 : -0.0))
    return 0;
  if (!is_real(value)) return 1;
  rt_pass_miss(context, "%s '%s': not removed, a zero of this sign turns -0 into +0",
               node->op.name, node->name);
  return 0;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  const neutral *row = find(node);
  if (!row || node->input_count != 2 || !rt_node_output(node, 0)) return OPS_OK;
  for (uint32_t x = 0; x < 2; ++x) {
    rt_value *input = node->operands[x];
    if ((x == 1 && !row->also_left) || !input || !is_neutral(context, node, row, 1 - x))
      continue;
    if (!rt_pass_same_type(input, node->outputs[0])) {
      rt_pass_miss(context, "%s '%s': not removed, it broadcasts", node->op.name, node->name);
      continue;
    }
    rt_pass_hit(context, "%s '%s': removed, it changes nothing", node->op.name, node->name);
    return rt_pass_replace(context, node, input, error);
  }
  return OPS_OK;
}

const rt_pass rt_pass_neutral_operands = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// Gelu as exporters write it:
//
//   ½·x·(1 + erf(x/√2))                          approximate = "none"
//   ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))      approximate = "tanh"
//
// The product of the three factors may be in any order. Source: Hendrycks and Gimpel, "Gaussian
// Error Linear Units", and the operator Gelu of opset 20.
#include "passes/pattern.h"

static const char *const roots[] = {"Erf", "Tanh", NULL};

#define GELU_OPSET 20
#define CUBIC 0.044715
#define MAX_NODES 16

// The nodes that the formula consists of, in the order in which they were recognised.
typedef struct formula {
  rt_value *x;
  rt_node *nodes[MAX_NODES];
  uint32_t count;
} formula;

static void take(formula *f, const rt_value *value) {
  if (f->count < MAX_NODES) f->nodes[f->count++] = value->producer;
}

// --- Arguments -------------------------------------------------------------------------------

static int read_erf(formula *f, rt_value *argument) {
  f->x = rt_pass_with_scalar(argument, "Div", sqrt(2.0));
  if (!f->x) f->x = rt_pass_with_scalar(argument, "Mul", sqrt(0.5));
  if (f->x) take(f, argument);
  return f->x != NULL;
}

// x³ of `x`: Pow(x, 3), or a product of x and its square.
static int read_cube(formula *f, rt_value *value, rt_value *x) {
  if (rt_pass_with_scalar(value, "Pow", 3) == x) {
    take(f, value);
    return 1;
  }
  const rt_node *product = rt_pass_producer(value, "Mul");
  rt_value *square = product ? rt_pass_other(product, x) : NULL;
  if (!square || rt_pass_square_of(square) != x) return 0;
  take(f, value);
  take(f, square);
  return 1;
}

// x + 0.044715·x³.
static int read_cubic_sum(formula *f, rt_value *value) {
  const rt_node *sum = rt_pass_producer(value, "Add");
  for (uint32_t i = 0; sum && sum->input_count == 2 && i < 2; ++i) {
    rt_value *x = sum->operands[i], *term = sum->operands[1 - i];
    rt_value *cube = rt_pass_with_scalar(term, "Mul", CUBIC);
    const uint32_t before = f->count;
    take(f, value);
    if (cube) take(f, term);
    if (cube && read_cube(f, cube, x)) {
      f->x = x;
      return 1;
    }
    f->count = before;
  }
  return 0;
}

// √(2/π)·x·(1 + 0.044715·x²), the other way to write it.
static int read_cubic_product(formula *f, rt_value *value) {
  const rt_node *product = rt_pass_producer(value, "Mul");
  for (uint32_t i = 0; product && product->input_count == 2 && i < 2; ++i) {
    rt_value *left = product->operands[i], *right = product->operands[1 - i];
    rt_value *x = rt_pass_with_scalar(left, "Mul", sqrt(M_2_PI));
    rt_value *term = rt_pass_with_scalar(right, "Add", 1);
    if (!x || !term) continue;
    rt_value *square = rt_pass_with_scalar(term, "Mul", CUBIC);
    rt_value *scaled = NULL;
    if (!square) {  // (0.044715·x)·x
      const rt_node *inner = rt_pass_producer(term, "Mul");
      scaled = inner ? rt_pass_other(inner, x) : NULL;
      if (!scaled || rt_pass_with_scalar(scaled, "Mul", CUBIC) != x) continue;
    } else if (rt_pass_square_of(square) != x) {
      continue;
    }
    take(f, value);
    take(f, left);
    take(f, right);
    take(f, term);
    take(f, square ? square : scaled);
    f->x = x;
    return 1;
  }
  return 0;
}

static int read_tanh(formula *f, rt_value *argument) {
  rt_value *sum = rt_pass_with_scalar(argument, "Mul", sqrt(M_2_PI));
  if (sum && read_cubic_sum(f, sum)) {
    take(f, argument);
    return 1;
  }
  return read_cubic_product(f, argument);
}

// --- The product -----------------------------------------------------------------------------

// From 1 + erf(…) on: times x and ½, in any order. 1 if it is complete.
static int read_product(formula *f, rt_node *factor) {
  rt_node *first = rt_pass_next(factor, "Mul");
  rt_value *other = first ? rt_pass_other(first, factor->outputs[0]) : NULL;
  if (!other) return 0;
  take(f, first->outputs[0]);
  if (rt_pass_with_scalar(other, "Mul", 0.5) == f->x) {
    const uint32_t last = f->count - 1;
    take(f, other);
    f->nodes[last] = other->producer;
    f->nodes[last + 1] = first;
    return 1;
  }
  const int half_first = rt_pass_is_near(other, 0.5);
  if (!half_first && other != f->x) return 0;
  rt_node *second = rt_pass_next(first, "Mul");
  rt_value *rest = second ? rt_pass_other(second, first->outputs[0]) : NULL;
  if (!rest || (half_first ? rest != f->x : !rt_pass_is_near(rest, 0.5))) return 0;
  take(f, second->outputs[0]);
  return 1;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  formula f = {0};
  const int tanh_form = rt_pass_is(node, "Tanh");
  if ((!tanh_form && !rt_pass_is(node, "Erf")) || !rt_node_input(node, 0)) return OPS_OK;
  if (!(tanh_form ? read_tanh(&f, node->operands[0]) : read_erf(&f, node->operands[0])))
    return OPS_OK;
  rt_node *sum = rt_pass_next(node, "Add");
  if (!sum || rt_pass_with_scalar(sum->outputs[0], "Add", 1) != node->outputs[0]) return OPS_OK;
  take(&f, node->outputs[0]);
  take(&f, sum->outputs[0]);
  if (!read_product(&f, sum) || f.count == MAX_NODES) {
    rt_pass_miss(context, "%s '%s': not made Gelu, it is not multiplied by x and 1/2 alone",
                 node->op.name, node->name);
    return OPS_OK;
  }
  if (!rt_pass_is_closed(f.nodes, f.count) ||
      !rt_pass_same_type(f.x, f.nodes[f.count - 1]->outputs[0])) {
    rt_pass_miss(context, "%s '%s': not made Gelu, others read what is between", node->op.name,
                 node->name);
    return OPS_OK;
  }
  const ops_str text = {tanh_form ? "tanh" : "none", 4};
  const rt_attr attr = {
      .name = "approximate", .kind = RT_ATTR_STRING, .count = 1, .strings = &text};
  const rt_node_desc desc = {.op = "Gelu",
                             .opset = GELU_OPSET,
                             .inputs = &f.x,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, f.nodes, f.count, &fused, error));
  if (fused) rt_pass_hit(context, "%s '%s': made Gelu", node->op.name, node->name);
  return OPS_OK;
}

const rt_pass rt_pass_gelu = {.roots = roots, .visit = visit};

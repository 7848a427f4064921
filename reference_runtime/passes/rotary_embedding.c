// SPDX-License-Identifier: Apache-2.0
//
// x·cos + rotate(x)·sin, where rotate(x) is [−x₂, x₁] of the halves x₁ and x₂ of the last
// dimension, is RotaryEmbedding of opset 23, which takes the cosines of one half. That both
// halves of cos and sin are equal must be seen: they are a Concat of one tensor with itself, or
// constant.
#include <string.h>

#include "passes/pattern.h"

static const char *const roots[] = {"Add", NULL};

#define ROTARY_OPSET 23
#define MAX_NODES 8
#define MAX_PEELED 8

typedef struct formula {
  rt_value *x, *cosine, *sine;
  rt_node *nodes[MAX_NODES];
  uint32_t count;
} formula;

// --- The halves of x -------------------------------------------------------------------------

// The Slice [start, end) of the last dimension; NULL if `value` is something else.
static rt_node *slice_of(const rt_value *value, int64_t start, int64_t end, int64_t size) {
  int64_t starts, ends, axes, steps = 1;
  rt_node *slice = rt_pass_producer(value, "Slice");
  if (!slice || rt_pass_ints(slice, "starts", 1, &starts, 1) != 1 ||
      rt_pass_ints(slice, "ends", 2, &ends, 1) != 1 ||
      rt_pass_ints(slice, "axes", 3, &axes, 1) != 1 ||
      (rt_node_input(slice, 4) && rt_pass_ints(slice, "steps", 4, &steps, 1) != 1))
    return NULL;
  if (rt_pass_axis(axes, 4) != 3 || steps != 1) return NULL;
  if (starts < 0) starts += size;
  if (ends < 0) ends += size;
  if (ends > size) ends = size;
  return starts == start && ends == end ? slice : NULL;
}

// 1 if `value` is rotate(x).
static int read_rotated(formula *f, const rt_value *value) {
  const int64_t size = rt_pass_dim(f->x, 3);
  rt_node *whole = rt_pass_producer(value, "Concat");
  if (!whole || whole->input_count != 2 || size < 2 || size % 2 != 0 ||
      rt_pass_axis(rt_attrs_int(&whole->op.attrs, "axis", 0), 4) != 3)
    return 0;
  rt_node *negated = rt_pass_producer(whole->operands[0], "Neg");
  rt_node *high = negated ? slice_of(negated->operands[0], size / 2, size, size) : NULL;
  rt_node *low = slice_of(whole->operands[1], 0, size / 2, size);
  if (!high || !low || high->operands[0] != f->x || low->operands[0] != f->x) return 0;
  f->nodes[f->count++] = high;
  f->nodes[f->count++] = low;
  f->nodes[f->count++] = negated;
  f->nodes[f->count++] = whole;
  return 1;
}

// --- Cosines and sines -----------------------------------------------------------------------

static int constant_repeats(const rt_constant *constant) {
  if (constant->sparse || constant->rank < 1 || !constant->data || constant->element_count < 1)
    return 0;
  const uint64_t length = (uint64_t)constant->dims[constant->rank - 1];
  const uint64_t row = constant->size / ((uint64_t)constant->element_count / length);
  if (length % 2 != 0) return 0;
  const char *data = constant->data;
  for (uint64_t at = 0; at + row <= constant->size; at += row)
    if (memcmp(data + at, data + at + row / 2, row / 2) != 0) return 0;
  return 1;
}

// 1 if both halves of the last dimension are known to be equal.
static int repeats(const rt_value *value) {
  static const char *const peeled[] = {"Unsqueeze", "Cos", "Sin", "Cast", "Identity", "Mul"};
  for (int step = 0; value && step < MAX_PEELED; ++step) {
    if (rt_value_constant(value)) return constant_repeats(rt_value_constant(value));
    const rt_node *both = rt_pass_producer(value, "Concat");
    if (both)
      return both->input_count == 2 && both->operands[0] == both->operands[1] &&
             rt_pass_axis(rt_attrs_int(&both->op.attrs, "axis", 0), rt_pass_rank(value)) ==
                 rt_pass_rank(value) - 1;
    const rt_node *node = NULL;
    for (size_t i = 0; i < sizeof peeled / sizeof peeled[0] && !node; ++i)
      node = rt_pass_producer(value, peeled[i]);
    if (!node) return 0;
    double factor;
    const rt_value *before = rt_pass_is(node, "Mul")
                                 ? rt_pass_with_any_scalar(value, "Mul", &factor)
                                 : node->operands[0];
    // A new last dimension would not be the one that repeats.
    if (rt_pass_is(node, "Unsqueeze") &&
        !rt_dim_equal(before->type.dims[rt_pass_rank(before) - 1],
                      value->type.dims[rt_pass_rank(value) - 1]))
      return 0;
    value = before;
  }
  return 0;
}

static const char *check_table(const formula *f, const rt_value *table) {
  if (rt_pass_rank(table) != 4 || rt_pass_dim(table, 1) != 1 ||
      !rt_dim_equal(table->type.dims[0], f->x->type.dims[0]) ||
      !rt_dim_equal(table->type.dims[2], f->x->type.dims[2]) ||
      !rt_dim_equal(table->type.dims[3], f->x->type.dims[3]))
    return "the cosines have not the shape [batch, 1, length, size]";
  return repeats(table) ? NULL : "the halves of the cosines are not known to be equal";
}

// [batch, 1, length, size] to [batch, length, size/2].
static int32_t take_half(rt_pass_context *context, const formula *f, rt_node *before,
                         rt_value **table, ops_error *error) {
  const int64_t zero = 0, half = rt_pass_dim(f->x, 3) / 2, last = 3, heads = 1;
  rt_graph *graph = before->graph;
  rt_value *inputs[4] = {*table}, *axes;
  rt_node *slice, *squeeze;
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(graph, "start", &zero, 1, &inputs[1], error));
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(graph, "half", &half, 1, &inputs[2], error));
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(graph, "axis", &last, 1, &inputs[3], error));
  const rt_node_desc cut = {
      .op = "Slice", .inputs = inputs, .input_count = 4, .output_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &cut, before, &before, 1, &slice, error));
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(graph, "heads", &heads, 1, &axes, error));
  rt_value *squeezed[] = {slice->outputs[0], axes};
  const rt_node_desc drop = {
      .op = "Squeeze", .inputs = squeezed, .input_count = 2, .output_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &drop, before, &before, 1, &squeeze, error));
  *table = squeeze->outputs[0];
  return OPS_OK;
}

static int32_t fuse(rt_pass_context *context, formula *f, ops_error *error) {
  rt_node *last = f->nodes[f->count - 1], *fused;
  rt_value *inputs[] = {f->x, f->cosine, f->sine};
  if (context->options->keep_opsets && last->op.opset < ROTARY_OPSET) {
    rt_pass_miss(context, "Add '%s': not made RotaryEmbedding, which is of opset %d",
                 last->name, ROTARY_OPSET);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(take_half(context, f, last, &inputs[1], error));
  OPS_RETURN_IF_ERROR(take_half(context, f, last, &inputs[2], error));
  const rt_node_desc desc = {.op = "RotaryEmbedding",
                             .opset = ROTARY_OPSET,
                             .inputs = inputs,
                             .input_count = 3,
                             .output_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, f->nodes, f->count, &fused, error));
  if (fused) {
    rt_pass_hit(context, "formula that ends in Add '%s': made RotaryEmbedding", last->name);
    return OPS_OK;
  }
  for (int i = 1; i < 3; ++i)
    OPS_RETURN_IF_ERROR(rt_pass_drop(context, inputs[i]->producer, error));
  return OPS_OK;
}

// x·cos of the one operand, rotate(x)·sin of the other.
static int read_sum(formula *f, rt_node *sum, uint32_t index) {
  rt_node *plain = rt_pass_producer(sum->operands[index], "Mul");
  rt_node *rotated = rt_pass_producer(sum->operands[1 - index], "Mul");
  for (uint32_t i = 0; plain && rotated && i < 4; ++i) {
    f->count = 0;
    f->x = plain->operands[i & 1];
    f->cosine = plain->operands[1 - (i & 1)];
    f->sine = rotated->operands[1 - (i >> 1)];
    if (!f->x || rt_pass_rank(f->x) != 4 || !read_rotated(f, rotated->operands[i >> 1]))
      continue;
    f->nodes[f->count++] = plain;
    f->nodes[f->count++] = rotated;
    f->nodes[f->count++] = sum;
    return 1;
  }
  return 0;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  formula f = {0};
  // Before opset 13 Squeeze has its axes elsewhere.
  if (!rt_pass_is(node, "Add") || node->input_count != 2 || node->op.opset < 13 ||
      (!read_sum(&f, node, 0) && !read_sum(&f, node, 1)))
    return OPS_OK;
  const char *why = rt_pass_is_real(f.x) ? NULL : "the type is not floating-point";
  if (!why) why = check_table(&f, f.cosine);
  if (!why) why = check_table(&f, f.sine);
  if (!why && !rt_pass_is_closed(f.nodes, f.count)) why = "others read what is between";
  if (!why) return fuse(context, &f, error);
  rt_pass_miss(context, "Add '%s': not made RotaryEmbedding, %s", node->name, why);
  return OPS_OK;
}

const rt_pass rt_pass_rotary_embedding = {.roots = roots, .visit = visit};

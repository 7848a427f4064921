// SPDX-License-Identifier: Apache-2.0
//
// softmax(Q·Kᵀ·scale + mask)·V with four dimensions each, as exporters write it, is Attention
// of opset 23. Keys may come turned in one step with the split into heads ([0, 2, 3, 1]); the
// turning of the last two dimensions is then taken out of it.
#include <string.h>

#include "passes/pattern.h"

static const char *const roots[] = {"Softmax", NULL};

#define ATTENTION_OPSET 23
#define MAX_NODES 8
#define HIDDEN (-1e4)  // added to a score or put in its place, it leaves no weight

typedef struct formula {
  rt_value *q, *k, *v, *mask;
  rt_node *past_k, *past_v;  // Concat of earlier keys or values with k or v; both or none
  double scale;
  rt_node *turn;    // the Transpose of the keys
  int64_t perm[4];  // that gives the keys from its input; the identity: the input itself
  rt_node *nodes[MAX_NODES];
  uint32_t count;
} formula;

static void take(formula *f, rt_node *node) {
  f->nodes[f->count++] = node;
}

// 1 if the value is constant and leaves something of each row: a row that is masked as a whole
// gives equal weights here, and nothing in Attention.
static int leaves_something(const rt_value *visible) {
  const rt_constant *constant = rt_value_constant(visible);
  if (!constant || constant->elem_type != OPS_TYPE_BOOL || constant->rank < 2 ||
      constant->sparse)
    return 0;
  const int64_t length = constant->dims[constant->rank - 1];
  const uint8_t *row = constant->data;
  for (int64_t i = 0; i + length <= constant->element_count && length > 0; i += length)
    if (!memchr(row + i, 1, (size_t)length)) return 0;
  return constant->element_count > 0;
}

// Q·Kᵀ, with or without a factor. NULL if `value` is something else.
static rt_node *read_scores(formula *f, rt_value *value) {
  rt_value *inner = rt_pass_with_any_scalar(value, "Mul", &f->scale);
  const int divides = !inner && (inner = rt_pass_with_any_scalar(value, "Div", &f->scale));
  if (divides) f->scale = 1 / f->scale;
  if (!inner) f->scale = 1;
  rt_node *product = rt_pass_producer(inner ? inner : value, "MatMul");
  if (!product || product->input_count != 2) return NULL;
  take(f, product);
  if (inner) take(f, value->producer);
  return product;
}

static const char *read_keys(formula *f, const rt_node *product) {
  rt_node *turn = rt_pass_producer(product->operands[1], "Transpose");
  int64_t perm[OPS_MAX_RANK];
  if (!turn || rt_pass_perm(turn, perm) != 4) return "the keys are not transposed before";
  // The keys themselves: the same without the last exchange.
  const int64_t keys[4] = {perm[0], perm[1], perm[3], perm[2]};
  for (int i = 0; i < 4; ++i) f->perm[i] = keys[i];
  f->turn = turn;
  f->q = product->operands[0];
  f->k = turn->operands[0];
  return NULL;
}

// Keys or values before each of their heads is repeated, heads/groups times in a row; the value
// itself where that is not so.
static rt_value *before_repeating(rt_value *value) {
  const rt_node *merge = rt_pass_producer(value, "Reshape");
  const rt_node *repeat = merge ? rt_pass_producer(merge->operands[0], "Expand") : NULL;
  rt_value *open = repeat ? repeat->operands[0] : NULL;
  if (!open || open->kind != RT_VALUE_OUTPUT || rt_pass_rank(value) != 4 ||
      rt_pass_rank(open) != 5 || rt_pass_rank(merge->operands[0]) != 5 ||
      (!rt_pass_is(open->producer, "Unsqueeze") && !rt_pass_is(open->producer, "Reshape")))
    return value;
  rt_value *base = open->producer->operands[0];
  if (rt_pass_rank(base) != 4) return value;
  static const int from_open[4] = {0, 1, 3, 4};
  for (int i = 0; i < 4; ++i) {
    const rt_dim dim = base->type.dims[i];
    if (!rt_dim_equal(dim, open->type.dims[from_open[i]]) ||
        !rt_dim_equal(dim, merge->operands[0]->type.dims[from_open[i]]) ||
        (i != 1 && !rt_dim_equal(dim, value->type.dims[i])))
      return value;
  }
  const int64_t times = rt_pass_dim(merge->operands[0], 2);
  return rt_pass_dim(open, 2) == 1 && times > 0 && rt_pass_dim(base, 1) > 0 &&
                 rt_pass_dim(value, 1) == rt_pass_dim(base, 1) * times
             ? base
             : value;
}

static int is_plain(const int64_t *perm) {
  for (int i = 0; i < 4; ++i)
    if (perm[i] != i) return 0;
  return 1;
}

static rt_dim dim_of(const rt_value *value, int i) {
  return rt_pass_rank(value) == 4 ? value->type.dims[i] : rt_dim_unknown();
}

// The mask must have a number for each key: a shorter one means something else to Attention.
static int mask_fits(const formula *f) {
  const int32_t rank = rt_pass_rank(f->mask);
  if (!f->mask) return 1;
  const int32_t type = rt_pass_elem(f->mask);
  if (rank < 2 || rank > 4 || (type != rt_pass_elem(f->q) && type != OPS_TYPE_BOOL)) return 0;
  return rt_dim_equal(f->mask->type.dims[rank - 1], dim_of(f->v, 2));
}

static const char *check(const formula *f) {
  if (rt_pass_rank(f->q) != 4 || rt_pass_rank(f->v) != 4 || rt_pass_rank(f->k) != 4)
    return "queries, keys and values have not four dimensions each";
  if (!rt_pass_is_real(f->q)) return "the type is not floating-point";
  const rt_dim heads = dim_of(f->v, 1), groups = dim_of(f->q, 1);
  const int grouped = rt_dim_is_const(heads) && rt_dim_is_const(groups) && heads.value > 0 &&
                      groups.value % heads.value == 0;
  if (!rt_dim_equal(dim_of(f->q, 0), dim_of(f->v, 0)) ||
      !rt_dim_equal(dim_of(f->q, 0), dim_of(f->k, (int)f->perm[0])) ||
      !rt_dim_equal(heads, dim_of(f->k, (int)f->perm[1])) ||
      (!rt_dim_equal(groups, heads) && !grouped))
    return "batch or heads of queries, keys and values do not fit, or are not known to";
  if (!mask_fits(f)) return "the mask has not one number for each key";
  return rt_pass_is_closed(f->nodes, f->count) ? NULL : "others read what is between";
}

static int32_t turn_keys(rt_pass_context *context, formula *f, rt_node **out_turn,
                         ops_error *error) {
  *out_turn = NULL;
  if (is_plain(f->perm)) return OPS_OK;
  const rt_attr attr = {.name = "perm", .kind = RT_ATTR_INTS, .count = 4, .ints = f->perm};
  const rt_node_desc desc = {.op = "Transpose",
                             .inputs = &f->k,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  OPS_RETURN_IF_ERROR(
      rt_pass_add_node(context, &desc, f->nodes[f->count - 1], &f->turn, 1, out_turn, error));
  f->k = (*out_turn)->outputs[0];
  return OPS_OK;
}

// --- Earlier keys and values -----------------------------------------------------------------

// The Concat of what was before with what is new, if only the formula and outputs of the graph
// read it.
static rt_node *read_past(const formula *f, const rt_value *value) {
  rt_node *concat = rt_pass_producer(value, "Concat");
  if (!concat || concat->input_count != 2 ||
      rt_pass_axis(rt_attrs_int(&concat->op.attrs, "axis", 0), 4) != 2)
    return NULL;
  for (uint32_t i = 0; i < value->use_count; ++i)
    if (value->uses[i].node != f->turn && value->uses[i].node != f->nodes[f->count - 1])
      return NULL;
  return concat;
}

static void find_past(formula *f) {
  if (!is_plain(f->perm)) return;
  f->past_k = read_past(f, f->k);
  f->past_v = read_past(f, f->v);
  if (!f->past_k || !f->past_v || f->past_k == f->past_v) f->past_k = f->past_v = NULL;
}

static int32_t fuse_with_past(rt_pass_context *context, formula *f, ops_error *error) {
  rt_node *last = f->nodes[f->count - 1], *fused;
  rt_node *const replaced[] = {f->past_k, f->past_v, f->nodes[0], f->nodes[f->count - 2], last};
  const float scale = (float)f->scale;
  const char *why;
  rt_value *inputs[] = {f->q,    f->past_k->operands[1], f->past_v->operands[1],
                        f->mask, f->past_k->operands[0], f->past_v->operands[0]};
  const rt_attr attr = {.name = "scale", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &scale};
  const rt_node_desc desc = {
      .name = last->name,
      .op = "Attention",
      .opset = last->op.opset > ATTENTION_OPSET ? last->op.opset : ATTENTION_OPSET,
      .inputs = inputs,
      .input_count = 6,
      .output_count = 3,
      .attrs = &attr,
      .attr_count = 1};
  if (context->options->keep_opsets && last->op.opset < ATTENTION_OPSET) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, last, replaced, 5, &fused, error));
  OPS_RETURN_IF_ERROR(rt_pass_claimed(context, fused, replaced, 5, &why, error));
  if (why) {
    rt_pass_miss(context, "Concat '%s' and '%s': not taken into Attention, %s", f->past_k->name,
                 f->past_v->name, why);
    return rt_graph_remove_node(last->graph, fused, error);
  }
  rt_pass_hit(context, "Concat '%s', '%s' and formula that ends in MatMul '%s': made Attention",
              f->past_k->name, f->past_v->name, last->name);
  rt_node *const pasts[] = {f->past_k, f->past_v};
  OPS_RETURN_IF_ERROR(rt_pass_replace(context, last, fused->outputs[0], error));
  for (uint32_t i = 0; i < 2; ++i)
    if (!pasts[i]->removed)
      OPS_RETURN_IF_ERROR(rt_pass_replace(context, pasts[i], fused->outputs[1 + i], error));
  return OPS_OK;
}

static int32_t fuse(rt_pass_context *context, formula *f, ops_error *error) {
  rt_node *turn, *fused;
  find_past(f);
  if (f->past_k) {
    OPS_RETURN_IF_ERROR(fuse_with_past(context, f, error));
    if (f->nodes[f->count - 1]->removed) return OPS_OK;
  }
  const float scale = (float)f->scale;
  const rt_node *softmax = f->nodes[f->count - 2];
  OPS_RETURN_IF_ERROR(turn_keys(context, f, &turn, error));
  rt_value *inputs[] = {f->q, f->k, f->v, f->mask};
  const rt_attr attr = {.name = "scale", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &scale};
  const rt_node_desc desc = {.op = "Attention",
                             .opset = ATTENTION_OPSET,
                             .inputs = inputs,
                             .input_count = f->mask ? 4 : 3,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, f->nodes, f->count, &fused, error));
  if (fused)
    rt_pass_hit(context, "formula around Softmax '%s': made Attention", softmax->name);
  else if (turn)
    return rt_pass_drop(context, turn, error);
  return OPS_OK;
}

// Where(visible, scores, very small): the mask is what is visible.
static rt_node *read_choice(formula *f, rt_node *choice) {
  double hidden;
  if (choice->input_count != 3 || !rt_pass_scalar(choice->operands[2], &hidden) ||
      hidden > HIDDEN || !leaves_something(choice->operands[0]))
    return NULL;
  rt_node *product = read_scores(f, choice->operands[1]);
  if (!product) return NULL;
  f->mask = choice->operands[0];
  take(f, choice);
  return product;
}

// The sum with a mask, a choice by one, or the scores themselves.
static rt_node *read_sum(formula *f, rt_value *value) {
  rt_node *sum = rt_pass_producer(value, "Add"), *choice = rt_pass_producer(value, "Where");
  if (choice) return read_choice(f, choice);
  if (!sum) return read_scores(f, value);
  for (uint32_t i = 0; i < 2; ++i) {
    rt_node *product = read_scores(f, sum->operands[i]);
    if (!product) continue;
    f->mask = sum->operands[1 - i];
    take(f, sum);
    return product;
  }
  return NULL;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  formula f = {0};
  if (!rt_pass_is(node, "Softmax") || !rt_node_input(node, 0)) return OPS_OK;
  const int32_t rank = rt_pass_rank(node->operands[0]);
  const int64_t axis = rt_attrs_int(&node->op.attrs, "axis", node->op.opset < 13 ? 1 : -1);
  rt_node *last = rt_pass_next(node, "MatMul");
  if (rank != 4 || rt_pass_axis(axis, rank) != 3 || !last ||
      last->operands[0] != node->outputs[0])
    return OPS_OK;
  const rt_node *product = read_sum(&f, node->operands[0]);
  if (!product) return OPS_OK;
  take(&f, node);
  take(&f, last);
  f.v = last->operands[1];
  const char *why = read_keys(&f, product);
  if (!why && is_plain(f.perm)) {
    rt_value *k = before_repeating(f.k), *v = before_repeating(f.v);
    if (k != f.k && v != f.v) f.k = k, f.v = v;
  }
  if (!why) why = check(&f);
  if (!why) return fuse(context, &f, error);
  rt_pass_miss(context, "Softmax '%s': not made Attention, %s", node->name, why);
  return OPS_OK;
}

const rt_pass rt_pass_attention = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// Normalisation over the last dimensions, as exporters write it:
//
//   d = x − mean(x);  y = d/√(mean(d²) + ε)·scale + bias     LayerNormalization (opset 17)
//   y = x/√(mean(x²) + ε)·scale                              RMSNormalization (opset 23)
//
// The root may be Sqrt with Div, Sqrt with Reciprocal and Mul, or Pow with ½; scale and bias
// are any operands that have the shape of the dimensions that are normalised.
#include "passes/pattern.h"

static const char *const roots[] = {"ReduceMean", NULL};

#define LAYER_OPSET 17
#define RMS_OPSET 23
#define MAX_NODES 12

typedef struct formula {
  rt_value *x;
  rt_value *scale, *bias;
  rt_node *nodes[MAX_NODES];
  uint32_t count;
  double epsilon;
  int32_t axis;  // the first that is normalised
} formula;

static void take(formula *f, rt_node *node) {
  if (f->count < MAX_NODES) f->nodes[f->count++] = node;
}

// The first of the last dimensions over which a ReduceMean goes, keeping them; -1 if it is
// none.
static int32_t mean_axis(const rt_node *mean) {
  int64_t axes[OPS_MAX_RANK];
  const int32_t rank = rt_pass_rank(rt_node_input(mean, 0));
  if (rank < 1 || rt_attrs_int(&mean->op.attrs, "keepdims", 1) != 1) return -1;
  const int64_t count = rt_pass_ints(mean, "axes", 1, axes, OPS_MAX_RANK);
  uint64_t seen = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t axis = rt_pass_axis(axes[i], rank);
    if (axis < 0) return -1;
    seen |= (uint64_t)1 << axis;
  }
  if (count < 1) return -1;
  const int32_t first = rank - (int32_t)count;
  return seen == (((uint64_t)1 << rank) - ((uint64_t)1 << first)) ? first : -1;
}

// 1 if `value` can be scale or bias: its shape is that of the normalised dimensions.
static int is_parameter(const formula *f, const rt_value *value) {
  const int32_t rank = rt_pass_rank(f->x), own = rt_pass_rank(value);
  if (own != rank - f->axis) return 0;
  for (int32_t i = 0; i < own; ++i)
    if (!rt_dim_equal(value->type.dims[i], f->x->type.dims[f->axis + i])) return 0;
  return 1;
}

// From mean(d²) to d/√(mean + ε). The node that gives the quotient, or NULL.
static rt_node *read_root(formula *f, rt_node *mean, const rt_value *numerator) {
  rt_node *sum = rt_pass_next(mean, "Add");
  if (!sum || rt_pass_with_any_scalar(sum->outputs[0], "Add", &f->epsilon) != mean->outputs[0])
    return NULL;
  rt_node *root = rt_pass_next(sum, "Sqrt"), *quotient;
  take(f, sum);
  if (!root) {
    root = rt_pass_next(sum, "Pow");
    if (!root) return NULL;
    take(f, root);
    if (rt_pass_with_scalar(root->outputs[0], "Pow", -0.5) == sum->outputs[0])
      quotient = rt_pass_next(root, "Mul");
    else if (rt_pass_with_scalar(root->outputs[0], "Pow", 0.5) == sum->outputs[0])
      quotient = rt_pass_next(root, "Div");
    else
      return NULL;
  } else {
    take(f, root);
    quotient = rt_pass_next(root, "Div");
    rt_node *reciprocal = rt_pass_next(root, "Reciprocal");
    if (quotient && rt_pass_is_near(quotient->operands[0], 1)) {
      reciprocal = quotient;
      quotient = NULL;
    }
    if (reciprocal) {
      take(f, reciprocal);
      quotient = rt_pass_next(reciprocal, "Mul");
      root = reciprocal;
    }
  }
  if (!quotient || rt_pass_other(quotient, root->outputs[0]) != numerator) return NULL;
  if (rt_pass_is(quotient, "Div") && quotient->operands[0] != numerator) return NULL;
  take(f, quotient);
  return quotient;
}

// Scale, then bias, as far as they are there.
static void read_parameters(formula *f, rt_node *quotient, int with_bias) {
  rt_node *product = rt_pass_next(quotient, "Mul");
  rt_value *scale = product ? rt_pass_other(product, quotient->outputs[0]) : NULL;
  if (!scale || !is_parameter(f, scale)) return;
  take(f, product);
  f->scale = scale;
  rt_node *sum = with_bias ? rt_pass_next(product, "Add") : NULL;
  rt_value *bias = sum ? rt_pass_other(sum, product->outputs[0]) : NULL;
  if (!bias || !is_parameter(f, bias)) return;
  take(f, sum);
  f->bias = bias;
}

// --- What the mean is of ---------------------------------------------------------------------

// `mean` is mean(square): finds x and, for LayerNormalization, the nodes before.
static const char *read_inner(formula *f, rt_node *mean, rt_value **out_numerator) {
  rt_value *square = rt_node_input(mean, 0), *d = rt_pass_square_of(square);
  if (!d) return "none";
  *out_numerator = d;
  f->x = d;
  rt_node *difference = rt_pass_producer(d, "Sub");
  rt_node *inner = difference && difference->input_count == 2
                       ? rt_pass_producer(difference->operands[1], "ReduceMean")
                       : NULL;
  if (inner && rt_node_input(inner, 0) == difference->operands[0] &&
      mean_axis(inner) == f->axis) {
    take(f, inner);
    take(f, difference);
    f->x = difference->operands[0];
  }
  take(f, square->producer);
  take(f, mean);
  return NULL;
}

static int32_t fuse(rt_pass_context *context, formula *f, int layer, ops_error *error) {
  const float epsilon = (float)f->epsilon;
  const int64_t axis = f->axis - (int64_t)rt_pass_rank(f->x);
  const rt_attr attrs[] = {
      {.name = "axis", .kind = RT_ATTR_INT, .count = 1, .ints = &axis},
      {.name = "epsilon", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &epsilon}};
  rt_value *inputs[] = {f->x, f->scale, f->bias};
  const char *op = layer ? "LayerNormalization" : "RMSNormalization";
  const rt_node_desc desc = {.op = op,
                             .opset = layer ? LAYER_OPSET : RMS_OPSET,
                             .inputs = inputs,
                             .input_count = f->bias ? 3 : 2,
                             .output_count = 1,
                             .attrs = attrs,
                             .attr_count = 2};
  const char *name = f->nodes[f->count - 1]->name, *last = f->nodes[f->count - 1]->op.name;
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, f->nodes, f->count, &fused, error));
  if (fused) rt_pass_hit(context, "formula that ends in %s '%s': made %s", last, name, op);
  return OPS_OK;
}

static int32_t visit(rt_pass_context *context, rt_node *mean, ops_error *error) {
  formula f = {0};
  rt_value *numerator = NULL;
  if (!rt_pass_is(mean, "ReduceMean") || !rt_node_input(mean, 0)) return OPS_OK;
  f.axis = mean_axis(mean);
  if (f.axis < 0 || read_inner(&f, mean, &numerator)) return OPS_OK;
  const int layer = f.x != numerator;
  const char *what = layer ? "LayerNormalization" : "RMSNormalization";
  rt_node *quotient = read_root(&f, mean, numerator);
  if (!quotient) return OPS_OK;
  read_parameters(&f, quotient, layer);
  const char *why = NULL;
  if (!f.scale)
    why = "no factor has the shape of what is normalised";
  else if (f.count == MAX_NODES || !rt_pass_is_closed(f.nodes, f.count))
    why = "others read what is between";
  else if (!rt_pass_is_real(f.x) || !rt_pass_same_type(f.x, f.nodes[f.count - 1]->outputs[0]))
    why = "the result has another type or shape";
  if (!why) return fuse(context, &f, layer, error);
  rt_pass_miss(context, "ReduceMean '%s': not made %s, %s", mean->name, what, why);
  return OPS_OK;
}

const rt_pass rt_pass_normalization_fusion = {.roots = roots, .visit = visit};

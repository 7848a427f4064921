// SPDX-License-Identifier: Apache-2.0
//
// DequantizeLinear before, QuantizeLinear behind: Conv becomes QLinearConv and MatMul
// QLinearMatMul of ONNX, Gemm, Add, Sum and Mul become QGemm, QLinearAdd and QLinearMul of
// com.microsoft. The sums are then exact.
//
// The bias of QLinearConv and QGemm is int32 with the scale of input times weights; a bias that
// is quantised so already is taken as it is, a real one is rounded to it.
#include <stdlib.h>
#include <string.h>

#include "passes/pattern.h"
#include "passes/quantized.h"

static const char *const roots[] = {"Conv", "MatMul", "Gemm", "Add", "Sum", "Mul", NULL};

typedef struct operands {
  rt_quantized a, b, y;
  rt_value *zeros[3];
} operands;

static const char *read_operands(const rt_node *node, operands *out) {
  out->a = rt_quantized_source(rt_node_input(node, 0));
  out->b = rt_quantized_source(rt_node_input(node, 1));
  if (!out->a.node || !out->b.node) return "";
  out->y = rt_quantized_target(node);
  if (!out->y.node) return "nothing but a QuantizeLinear must read the result";
  if (out->a.scales != 1 || out->y.scales != 1) return "input or result has several scales";
  return NULL;
}

static int32_t make_zeros(operands *o, ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_quantized_zero(&o->a, &o->zeros[0], error));
  OPS_RETURN_IF_ERROR(rt_quantized_zero(&o->b, &o->zeros[1], error));
  return rt_quantized_zero(&o->y, &o->zeros[2], error);
}

static int32_t fuse(rt_pass_context *context, rt_node *node, const operands *o,
                    const rt_node_desc *desc, ops_error *error) {
  rt_node *const replaced[] = {node, o->y.node};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, desc, replaced, 2, &fused, error));
  if (fused) {
    rt_pass_hit(context, "%s '%s' between DequantizeLinear and QuantizeLinear: made %s",
                node->op.name, node->name, desc->op);
    return OPS_OK;
  }
  for (int i = 0; i < 3; ++i) OPS_RETURN_IF_ERROR(rt_pass_drop_value(o->zeros[i], error));
  return OPS_OK;
}

// --- Conv and Gemm ---------------------------------------------------------------------------

static double scale_at(const rt_quantized *x, int64_t i) {
  const rt_constant *scale = rt_value_constant(x->scale);
  return (double)((const float *)scale->data)[x->scales == 1 ? 0 : i];
}

static int is_near(double a, double b) {
  return fabs(a - b) <= 1e-5 * fabs(b);
}

// The bias as int32 with the scale of the sums. NULL in *out_bias and OK: there is none.
static const char *take_bias(const operands *o, rt_value *value, int64_t filters,
                             int32_t *out_values) {
  const rt_quantized quantized = rt_quantized_source(value);
  const rt_constant *real = rt_value_constant(value);
  if (quantized.node) {
    const rt_constant *ints = rt_value_constant(quantized.q);
    if (!ints || ints->elem_type != OPS_TYPE_INT32 || ints->element_count != filters)
      return "the bias is no constant of int32";
    if (quantized.zero && !rt_pass_all_equal(quantized.zero, 0))
      return "the bias has a zero point";
    for (int64_t i = 0; i < filters; ++i)
      if (!is_near(scale_at(&quantized, i), scale_at(&o->a, 0) * scale_at(&o->b, i)))
        return "the bias has another scale than the sums";
    memcpy(out_values, ints->data, (size_t)filters * sizeof *out_values);
    return NULL;
  }
  if (!real || real->elem_type != OPS_TYPE_FLOAT || real->element_count != filters)
    return "the bias is not constant";
  for (int64_t i = 0; i < filters; ++i) {
    const double value_in_units =
        ((const float *)real->data)[i] / (scale_at(&o->a, 0) * scale_at(&o->b, i));
    if (!(fabs(value_in_units) < 2147483000.0)) return "the bias does not fit into int32";
    out_values[i] = (int32_t)nearbyint(value_in_units);
  }
  return NULL;
}

// The bias in *out_list, NULL if there is none. Returns why it does not become int32, or NULL.
static int32_t make_bias(rt_node *node, const operands *o, int64_t filters, rt_value **out_list,
                         const char **out_why, ops_error *error) {
  rt_value *bias = rt_node_input(node, 2);
  rt_constant *constant = NULL;
  *out_list = NULL;
  if (!bias) return OPS_OK;
  int32_t *values = malloc(((size_t)filters + 1) * sizeof *values);
  if (!values) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a bias");
  *out_why = take_bias(o, bias, filters, values);
  int32_t status = OPS_OK;
  if (!*out_why)
    status = rt_constant_create(OPS_TYPE_INT32, 1, &filters, values, &constant, error);
  free(values);
  if (*out_why || status != OPS_OK) return status;
  return rt_pass_add_constant(node->graph, "bias", constant, out_list, error);
}

static int32_t fuse_conv(rt_pass_context *context, rt_node *node, operands *o,
                         const char **out_why, ops_error *error) {
  rt_value *list;
  const rt_constant *weights = rt_value_constant(o->b.q);
  *out_why = !weights                             ? "the weights are not constant"
             : o->b.scales != 1 && o->b.axis != 0 ? "the weights have no scale for each filter"
                                                  : NULL;
  if (*out_why) return OPS_OK;
  OPS_RETURN_IF_ERROR(make_bias(node, o, weights->dims[0], &list, out_why, error));
  if (*out_why) return OPS_OK;
  OPS_RETURN_IF_ERROR(make_zeros(o, error));
  rt_value *inputs[] = {o->a.q,      o->a.scale, o->zeros[0], o->b.q, o->b.scale,
                        o->zeros[1], o->y.scale, o->zeros[2], list};
  const rt_node_desc desc = {.name = node->name,
                             .op = "QLinearConv",
                             .opset = node->op.opset > 10 ? node->op.opset : 10,
                             .inputs = inputs,
                             .input_count = list ? 9 : 8,
                             .output_count = 1,
                             .attrs = node->op.attrs.items,
                             .attr_count = node->op.attrs.count};
  OPS_RETURN_IF_ERROR(fuse(context, node, o, &desc, error));
  return rt_pass_drop_value(list, error);
}

static const char *check_gemm(const rt_node *node, const operands *o, int transposed) {
  const rt_value *bias = rt_node_input(node, 2);
  if (!rt_value_constant(o->b.q)) return "the weights are not constant";
  if (o->b.scales != 1 && o->b.axis != !transposed)
    return "the weights have no scale for each column";
  if (rt_attrs_float(&node->op.attrs, "alpha", 1) != 1 ||
      (bias && rt_attrs_float(&node->op.attrs, "beta", 1) != 1))
    return "alpha or beta is not 1";
  if (bias && rt_pass_rank(bias) != 1) return "what it adds is no row";
  return NULL;
}

static int32_t fuse_gemm(rt_pass_context *context, rt_node *node, operands *o,
                         const char **out_why, ops_error *error) {
  rt_value *list;
  rt_attr attrs[2];
  uint32_t count = 0;
  const int transposed = rt_attrs_int(&node->op.attrs, "transB", 0) != 0;
  *out_why = check_gemm(node, o, transposed);
  if (*out_why) return OPS_OK;
  const int64_t columns = rt_value_constant(o->b.q)->dims[!transposed];
  OPS_RETURN_IF_ERROR(make_bias(node, o, columns, &list, out_why, error));
  if (*out_why) return OPS_OK;
  OPS_RETURN_IF_ERROR(make_zeros(o, error));
  for (uint32_t i = 0; i < node->op.attrs.count && count < 2; ++i)
    if (strncmp(node->op.attrs.items[i].name, "trans", 5) == 0)
      attrs[count++] = node->op.attrs.items[i];
  rt_value *inputs[] = {o->a.q,      o->a.scale, o->zeros[0], o->b.q,     o->b.scale,
                        o->zeros[1], list,       o->y.scale,  o->zeros[2]};
  const rt_node_desc desc = {.name = node->name,
                             .op = "QGemm",
                             .domain = "com.microsoft",
                             .opset = 1,
                             .inputs = inputs,
                             .input_count = 9,
                             .output_count = 1,
                             .attrs = attrs,
                             .attr_count = count};
  OPS_RETURN_IF_ERROR(fuse(context, node, o, &desc, error));
  return rt_pass_drop_value(list, error);
}

// --- The others ------------------------------------------------------------------------------

// Inputs a, scale, zero, b, scale, zero, scale and zero of y.
static int32_t fuse_binary(rt_pass_context *context, rt_node *node, operands *o, const char *op,
                           const char *domain, int32_t opset, ops_error *error) {
  OPS_RETURN_IF_ERROR(make_zeros(o, error));
  rt_value *inputs[] = {o->a.q,     o->a.scale,  o->zeros[0], o->b.q,
                        o->b.scale, o->zeros[1], o->y.scale,  o->zeros[2]};
  const rt_node_desc desc = {.name = node->name,
                             .op = op,
                             .domain = domain,
                             .opset = opset,
                             .inputs = inputs,
                             .input_count = 8,
                             .output_count = 1};
  return fuse(context, node, o, &desc, error);
}

static const char *check_binary(const rt_node *node, const operands *o, int matmul) {
  if (matmul && o->b.scales != 1 && o->b.axis != rt_pass_rank(o->b.q) - 1)
    return "the second operand has no scale for each column";
  if (!matmul && o->b.scales != 1) return "the second operand has several scales";
  const int32_t type = rt_pass_elem(o->a.q);
  if (!matmul && (type != rt_pass_elem(o->b.q) || type != rt_pass_elem(o->y.q)))
    return "the types of the integers differ";
  (void)node;
  return NULL;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  operands o = {0};
  if (node->post_count || node->op.domain[0] || node->op.opset < 10 ||
      (rt_pass_is(node, "Sum") && node->input_count != 2))
    return OPS_OK;
  const char *why = read_operands(node, &o);
  if (why && !*why) return OPS_OK;
  const int matmul = rt_pass_is(node, "MatMul");
  if (!why && rt_pass_is(node, "Conv")) {
    OPS_RETURN_IF_ERROR(fuse_conv(context, node, &o, &why, error));
  } else if (!why && rt_pass_is(node, "Gemm")) {
    OPS_RETURN_IF_ERROR(fuse_gemm(context, node, &o, &why, error));
  } else if (!why) {
    why = check_binary(node, &o, matmul);
    if (!why && matmul)
      return fuse_binary(context, node, &o, "QLinearMatMul", "",
                         node->op.opset > 10 ? node->op.opset : 10, error);
    if (!why)
      return fuse_binary(context, node, &o,
                         rt_pass_is(node, "Mul") ? "QLinearMul" : "QLinearAdd", "com.microsoft",
                         1, error);
  }
  if (why)
    rt_pass_miss(context, "%s '%s': not made an operator on integers, %s", node->op.name,
                 node->name, why);
  return OPS_OK;
}

const rt_pass rt_pass_quantized_operators = {.roots = roots, .visit = visit};

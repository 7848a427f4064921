// SPDX-License-Identifier: Apache-2.0
//
// What quantisation at run time makes of MatMul:
//
//   q, s, z = DynamicQuantizeLinear(x)
//   y = Cast(MatMulInteger(q, W, z, zw))·(s·sw) + bias
//
// is DynamicQuantizeMatMul(x, W, sw, zw, bias) of com.microsoft, and MatMulIntegerToFloat where
// several products share what was quantised.
#include "passes/pattern.h"

static const char *const roots[] = {"MatMulInteger", NULL};

typedef struct formula {
  rt_node *quantize, *product, *cast, *factor, *scaled, *sum;
  rt_value *scale_w, *zero_w, *bias;
} formula;

static const char *read(rt_node *product, formula *f) {
  const rt_value *q = rt_node_input(product, 0), *zero = rt_node_input(product, 2);
  f->product = product;
  f->quantize = rt_pass_producer(q, "DynamicQuantizeLinear");
  if (!f->quantize || f->quantize->output_count != 3 || zero != f->quantize->outputs[2])
    return "";
  f->cast = rt_pass_next(product, "Cast");
  f->scaled = f->cast ? rt_pass_next(f->cast, "Mul") : NULL;
  if (!f->scaled) return "a Cast and a Mul must follow";
  rt_value *factor = rt_pass_other(f->scaled, f->cast->outputs[0]);
  f->factor = rt_pass_producer(factor, "Mul");
  f->scale_w = f->factor ? rt_pass_other(f->factor, f->quantize->outputs[1]) : NULL;
  if (!f->scale_w) return "the factor is not the product of both scales";
  f->zero_w = rt_node_input(product, 3);
  f->sum = rt_pass_next(f->scaled, "Add");
  f->bias = f->sum ? rt_pass_other(f->sum, f->scaled->outputs[0]) : NULL;
  if (!f->bias || rt_pass_rank(f->bias) != 1) f->sum = NULL, f->bias = NULL;
  return rt_pass_rank(f->scale_w) == 0 || rt_pass_rank(f->scale_w) == 1
             ? NULL
             : "the scale of the weights is neither one number nor a vector";
}

// 1 if the quantised tensor serves this product alone.
static int is_private(const formula *f) {
  return f->quantize->outputs[0]->use_count == 1 && f->quantize->outputs[2]->use_count == 1 &&
         f->quantize->outputs[0]->output_count == 0 &&
         f->quantize->outputs[1]->use_count == 1 && rt_node_input(f->quantize, 0);
}

static int32_t fuse(rt_pass_context *context, const formula *f, ops_error *error) {
  const int whole = is_private(f);
  rt_value *all[] = {rt_node_input(f->quantize, 0), rt_node_input(f->product, 1), f->scale_w,
                     f->zero_w, f->bias};
  rt_value *part[] = {f->quantize->outputs[0],
                      rt_node_input(f->product, 1),
                      f->quantize->outputs[1],
                      f->scale_w,
                      f->quantize->outputs[2],
                      f->zero_w,
                      f->bias};
  rt_node *nodes[6];
  uint32_t count = 0;
  if (whole) nodes[count++] = f->quantize;
  nodes[count++] = f->product;
  nodes[count++] = f->cast;
  nodes[count++] = f->scaled;
  if (f->sum) nodes[count++] = f->sum;
  const uint32_t least = whole ? 3 : 5;
  const rt_node_desc desc = {.name = f->product->name,
                             .op = whole ? "DynamicQuantizeMatMul" : "MatMulIntegerToFloat",
                             .domain = "com.microsoft",
                             .opset = 1,
                             .inputs = whole ? all : part,
                             .input_count = f->bias     ? least + 2
                                            : f->zero_w ? least + 1
                                                        : least,
                             .output_count = 1};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, nodes, count, &fused, error));
  if (fused) rt_pass_hit(context, "MatMulInteger '%s': made %s", f->product->name, desc.op);
  return OPS_OK;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  formula f = {0};
  if (!rt_pass_is(node, "MatMulInteger")) return OPS_OK;
  const char *why = read(node, &f);
  if (!why) return fuse(context, &f, error);
  if (*why) rt_pass_miss(context, "MatMulInteger '%s': not merged, %s", node->name, why);
  return OPS_OK;
}

const rt_pass rt_pass_dynamic_quantize_matmul = {.roots = roots, .visit = visit};

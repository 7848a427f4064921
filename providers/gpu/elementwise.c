// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators with broadcasting: each node is an expression of one term.
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <string.h>

#include "elementwise_list.h"

static const char *const gpu_gelu_variants[] = {"none", "tanh", NULL};
static const char *const gpu_shift_variants[] = {"LEFT", "RIGHT", NULL};

#define F(name, fallback) \
  { name, 0, fallback }
#define I(name, fallback) \
  { name, 1, fallback }
#define X(symbol, macro, operands_, flags_, variant_, variants_, ...) \
  const gpu_elementwise gpu_elementwise_##symbol = {                  \
      .base = {.claim = gpu_elementwise_claim,                        \
               .attribute_bytes = sizeof(gpu_expression),             \
               .parse = gpu_elementwise_parse,                        \
               .plan = gpu_elementwise_plan},                         \
      .name = macro,                                                  \
      .operands = operands_,                                          \
      .flags = flags_,                                                \
      .variant = variant_,                                            \
      .variants = variants_,                                          \
      .params = {__VA_ARGS__}};
GPU_UNARY_LIST(X)
GPU_BINARY_LIST(X)
#undef X

void gpu_elementwise_claim(const ops_device *device, const ops_kernel_def *def,
                           const ops_node *node, ops_claim *claim) {
  (void)device;
  const gpu_elementwise *row = (const gpu_elementwise *)def->context;
  if (node->input_count > kGpuMaxOperands)
    ops_claim_refuse(claim, OPS_REASON_ARITY, "%llu inputs, at most %d",
                     (unsigned long long)node->input_count, kGpuMaxOperands);
  for (uint64_t i = 0; row->flags & GPU_ELEMENTWISE_FOLDS && i < node->input_count; ++i)
    if (!ops_node_input(node, i))
      ops_claim_refuse(claim, OPS_REASON_ARITY, "input %llu is left out",
                       (unsigned long long)i);
}

static int32_t read_variant(const gpu_elementwise *row, const ops_node *node, gpu_term *term,
                            ops_error *error) {
  const char *const *at = row->variants;
  const ops_str fallback = {*at, strlen(*at)};
  const ops_str value = ops_node_string(node, row->variant, fallback);
  while (*at && !ops_str_equal(value, *at)) ++at;
  if (!*at)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%.*s: %s is '%.*s', expected '%s' or '%s'", OPS_STR_FMT(node->op),
                         row->variant, OPS_STR_FMT(value), row->variants[0], row->variants[1]);
  snprintf(term->macro, sizeof term->macro, "OP_%s_%s", row->name, *at);
  return OPS_OK;
}

static int32_t read_macro(const gpu_elementwise *row, const ops_node *node, gpu_term *term,
                          ops_error *error) {
  int mask = 0;
  for (int32_t i = 1; i < row->operands; ++i)
    if (!ops_node_input(node, (uint64_t)i)) mask |= 1 << (i - 1);
  if (row->variant) return read_variant(row, node, term, error);
  if (mask && !(row->flags & GPU_ELEMENTWISE_FOLDS))
    snprintf(term->macro, sizeof term->macro, "OP_%s_%d", row->name, mask);
  else
    snprintf(term->macro, sizeof term->macro, "OP_%s", row->name);
  return OPS_OK;
}

static int32_t check_cast(const ops_node *node, int32_t result, ops_error *error) {
  const int64_t to = ops_node_int(node, "to", OPS_TYPE_UNDEFINED);
  if (to == result) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "%.*s: attribute to is %lld, expected a type, that of the output (%s)",
                       OPS_STR_FMT(node->op), (long long)to, ops_type_name(result));
}

int32_t gpu_term_read(const gpu_elementwise *row, const ops_node *node, gpu_term *term,
                      ops_error *error) {
  const uint64_t typed = row->flags & GPU_ELEMENTWISE_TYPE_OF_1 ? 1 : 0;
  const ops_operand *input = ops_node_input(node, typed), *output = ops_node_output(node, 0);
  if (!input || !output)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%.*s: input %llu and output 0 are required", OPS_STR_FMT(node->op),
                         (unsigned long long)typed);
  *term = (gpu_term){.row = row, .type = input->type->type, .result_type = output->type->type};
  OPS_RETURN_IF_ERROR(read_macro(row, node, term, error));
  if (row->flags & GPU_ELEMENTWISE_CASTS)
    OPS_RETURN_IF_ERROR(check_cast(node, term->result_type, error));
  for (int i = 0; i < kGpuMaxParams && row->params[i].name; ++i) {
    const gpu_param *p = &row->params[i];
    term->params[term->param_count++] =
        p->is_int ? (float)ops_node_int(node, p->name, (int64_t)p->fallback)
                  : ops_node_float(node, p->name, p->fallback);
  }
  return OPS_OK;
}

int32_t gpu_elementwise_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                              ops_error *error) {
  gpu_expression *expression = attributes;
  gpu_term *term = &expression->terms[0];
  OPS_RETURN_IF_ERROR(gpu_term_read((const gpu_elementwise *)def->context, node, term, error));
  for (uint64_t i = 0; i < node->input_count && i < kGpuMaxOperands; ++i)
    if (ops_node_input(node, i)) term->operands[term->operand_count++] = ~(int32_t)i;
  expression->term_count = 1;
  expression->input_count = (int32_t)node->input_count;
  expression->output_count = 1;
  return OPS_OK;
}

void gpu_elementwise_plan(const ops_kernel *kernel, gpu_plan *plan) {
  gpu_expression_plan(kernel->attributes, plan);
}

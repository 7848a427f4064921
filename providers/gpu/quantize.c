// SPDX-License-Identifier: Apache-2.0
//
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Scale and zero point are one number,
// one for each place along an axis, or one for each block along it.
#include "quantize.h"

#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>

enum { X, SCALE, ZERO };
enum { kParts = 4096 };

typedef struct quantize_attributes {
  int64_t axis, block;
  int32_t type;       // of the output
  int32_t precision;  // type of the quotient; 0: that of the scale
} quantize_attributes;

static const struct {
  int32_t type;
  const char *lowest, *highest;
} kCodes[] = {{OPS_TYPE_INT8, "-128", "127"},
              {OPS_TYPE_UINT8, "0", "255"},
              {OPS_TYPE_INT16, "-32768", "32767"},
              {OPS_TYPE_UINT16, "0", "65535"}};

static int32_t is_quotient_type(int64_t type) {
  return type == 0 || type == OPS_TYPE_FLOAT || type == OPS_TYPE_FLOAT16 ||
         type == OPS_TYPE_BFLOAT16;
}

static void quantize_claim(const ops_device *device, const ops_kernel_def *def,
                           const ops_node *node, ops_claim *claim) {
  (void)device;
  (void)def;
  const int64_t precision = ops_node_int(node, "precision", 0);
  if (!is_quotient_type(precision))
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE,
                     "precision must be float, float16 or bfloat16, found type %lld",
                     (long long)precision);
  if (ops_node_int(node, "block_size", 0) < 0)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "block_size must not be negative");
}

static int32_t quantize_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                              ops_error *error) {
  (void)def;
  const ops_operand *output = ops_node_output(node, 0);
  if (!output)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "%.*s: output 0 is required",
                         OPS_STR_FMT(node->op));
  *(quantize_attributes *)attributes =
      (quantize_attributes){.axis = ops_node_int(node, "axis", 1),
                            .block = ops_node_int(node, "block_size", 0),
                            .type = output->type->type,
                            .precision = (int32_t)ops_node_int(node, "precision", 0)};
  return OPS_OK;
}

static int64_t product_of(const int64_t *values, int32_t count) {
  int64_t result = 1;
  for (int32_t i = 0; i < count; ++i) result *= values[i];
  return result;
}

// parameters_t of the kernels.
typedef struct parameters {
  int64_t count, inner, length, block;
  int64_t step[3];
} parameters;

static int32_t same_shape(const ops_type_info *a, const ops_type_info *b) {
  int32_t same = a->rank == b->rank;
  for (int32_t i = 0; same && i < a->rank; ++i) same = a->dims[i] == b->dims[i];
  return same;
}

// The form of the parameters, by their shapes; 0 after a refusal.
static int32_t read_form(gpu_plan *plan, const quantize_attributes *own, parameters *out) {
  const ops_type_info *x = gpu_input_type(plan, X), *scale = gpu_input_type(plan, SCALE);
  const ops_type_info *zero = gpu_input_type(plan, ZERO);
  const int64_t scales = product_of(scale->dims, scale->rank);
  const int64_t axis = own->axis < 0 ? own->axis + x->rank : own->axis;
  *out = (parameters){product_of(x->dims, x->rank), 1, 1, 1, {0, 0, 0}};
  if (zero && !same_shape(zero, scale) &&
      !(product_of(zero->dims, zero->rank) == 1 && scales == 1)) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the zero point has not the shape of the scale");
    return 0;
  }
  if (own->block == 0 && scales == 1) return 1;
  if (axis < 0 || axis >= x->rank) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "attribute axis is %lld, expected one of %d dimensions", (long long)own->axis,
                  x->rank);
    return 0;
  }
  const int64_t blocks = own->block ? (x->dims[axis] + own->block - 1) / own->block : 0;
  int32_t fits = own->block ? scale->rank == x->rank : scale->rank == 1;
  for (int32_t i = 0; own->block && fits && i < x->rank; ++i)
    fits = scale->dims[i] == (i == axis ? blocks : x->dims[i]);
  if (!own->block) fits = fits && scales == x->dims[axis];
  if (!fits) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the scale has %lld numbers, expected one, or one for each of %lld %s of "
                  "dimension %lld",
                  (long long)scales, (long long)(own->block ? blocks : x->dims[axis]),
                  own->block ? "blocks" : "places", (long long)axis);
    return 0;
  }
  out->inner = product_of(x->dims + axis + 1, x->rank - (int32_t)axis - 1);
  out->length = x->dims[axis];
  out->block = own->block ? own->block : 1;
  out->step[0] = blocks * out->inner;
  out->step[1] = own->block ? out->inner : 1;
  out->step[2] = own->block ? 1 : 0;
  return 1;
}

static gpu_step *add_step(gpu_plan *plan, const quantize_attributes *own, const parameters *g,
                          const char *define, const char *function) {
  const ops_type_info *zero = gpu_input_type(plan, ZERO);
  gpu_step *step = gpu_plan_step(plan, &gpu_quantize_source, function);
  gpu_define(step, define, "1");
  gpu_define_type(step, "TX", gpu_input_type(plan, X)->type);
  gpu_define_type(step, "TS", gpu_input_type(plan, SCALE)->type);
  gpu_define_type(step, "TZ", zero ? zero->type : OPS_TYPE_UINT8);
  gpu_define_type(step, "TY", own->type);
  for (uint64_t i = 0; i < 3; ++i) gpu_arg_input(step, i);
  gpu_arg_output(step, 0);
  gpu_arg_bytes(step, g, sizeof *g);
  gpu_grid_items(step, g->count);
  return step;
}

static void quantize_plan(const ops_kernel *kernel, gpu_plan *plan) {
  const quantize_attributes *own = kernel->attributes;
  const ops_type_info *x = gpu_input_type(plan, X);
  parameters g;
  if (!read_form(plan, own, &g)) return;
  gpu_plan_output(plan, 0, own->type, x->rank, x->dims);
  if (plan->status != OPS_OK || g.count == 0) return;
  gpu_step *step = add_step(plan, own, &g, "QUANTIZE", "quantize");
  gpu_define_type(step, "TQ",
                  own->precision ? own->precision : gpu_input_type(plan, SCALE)->type);
  for (size_t i = 0; i < sizeof kCodes / sizeof *kCodes; ++i)
    if (kCodes[i].type == own->type) {
      gpu_define(step, "LOWEST", "%s", kCodes[i].lowest);
      gpu_define(step, "HIGHEST", "%s", kCodes[i].highest);
    }
}

static void dequantize_plan(const ops_kernel *kernel, gpu_plan *plan) {
  const quantize_attributes *own = kernel->attributes;
  const ops_type_info *x = gpu_input_type(plan, X);
  parameters g;
  if (!read_form(plan, own, &g)) return;
  gpu_plan_output(plan, 0, own->type, x->rank, x->dims);
  if (plan->status != OPS_OK || g.count == 0) return;
  gpu_step *step = add_step(plan, own, &g, "DEQUANTIZE", "dequantize");
  gpu_define(step, "FROM_EXACT(v)", "%s",
             own->type == OPS_TYPE_FLOAT ? "(float)(v)" : "half_source(v)");
}

const gpu_op gpu_quantize = {.claim = quantize_claim,
                             .attribute_bytes = sizeof(quantize_attributes),
                             .parse = quantize_parse,
                             .plan = quantize_plan};
const gpu_op gpu_dequantize = {.claim = quantize_claim,
                               .attribute_bytes = sizeof(quantize_attributes),
                               .parse = quantize_parse,
                               .plan = dequantize_plan};

// ---- By the range of the numbers ----

static gpu_step *dynamic_step(gpu_plan *plan, const char *function, uint32_t group) {
  gpu_step *step = gpu_plan_step(plan, &gpu_quantize_source, function);
  gpu_define(step, "DYNAMIC", "1");
  gpu_define(step, "GROUP", "%u", group);
  return step;
}

static void dynamic_plan(const ops_kernel *kernel, gpu_plan *plan) {
  (void)kernel;
  const ops_type_info *x = gpu_input_type(plan, X);
  const int64_t count = product_of(x->dims, x->rank);
  const uint32_t group = gpu_group_items(plan->device, 256);
  gpu_plan_output(plan, 0, OPS_TYPE_UINT8, x->rank, x->dims);
  gpu_plan_output(plan, 1, OPS_TYPE_FLOAT, 0, NULL);
  gpu_plan_output(plan, 2, OPS_TYPE_UINT8, 0, NULL);
  const int64_t wanted = (count + 63) / 64;  // each part sees a few numbers at least
  const int64_t groups = ((wanted < kParts ? wanted : kParts) + group - 1) / group;
  const int64_t parts = (groups ? groups : 1) * group;
  const uint64_t at = gpu_plan_workspace(plan, (uint64_t)(2 * parts + 2) * sizeof(float));
  gpu_step *range = dynamic_step(plan, "range", group);
  gpu_arg_input(range, X);
  gpu_arg_workspace(range, at);
  gpu_arg_long(range, count);
  gpu_grid_groups(range, parts / group, 1, 1, group, 1);
  gpu_step *choose = dynamic_step(plan, "choose", group);
  gpu_arg_workspace(choose, at);
  gpu_arg_output(choose, 1);
  gpu_arg_output(choose, 2);
  gpu_arg_int(choose, (int32_t)parts);
  gpu_grid_groups(choose, 1, 1, 1, group, 1);
  if (count == 0) return;
  gpu_step *apply = dynamic_step(plan, "apply", group);
  gpu_arg_input(apply, X);
  gpu_arg_workspace(apply, at + (uint64_t)(2 * parts) * sizeof(float));
  gpu_arg_output(apply, 0);
  gpu_arg_long(apply, count);
  gpu_grid_items(apply, count);
}

const gpu_op gpu_dynamic_quantize = {.plan = dynamic_plan};

// SPDX-License-Identifier: Apache-2.0
//
// BatchNormalization (inference) and LRN: one work-item for each element.
#include "channels.h"

#include <ops_support/checked.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdio.h>

typedef struct channels {
  float epsilon, alpha, beta, bias;
  int64_t size;
} channels;

// A step over all elements of input 0, whose first parameters are the inputs, the output and
// count, channels, each.
static gpu_step *add_step(const ops_kernel *kernel, gpu_plan *plan, const char *function,
                          int64_t count, int64_t channel_count) {
  const ops_type_info *x = gpu_input_type(plan, 0);
  const int32_t wide = count > INT32_MAX - 65536;
  int64_t numbers[3] = {count, channel_count, 1};
  char name[64];
  for (int32_t d = 2; d < x->rank; ++d) numbers[2] *= x->dims[d];
  gpu_step *step = gpu_plan_step(plan, &gpu_channels_source, function);
  snprintf(name, sizeof name, "OP_%.*s", OPS_STR_FMT(kernel->def->op));
  gpu_define(step, name, "1");
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  gpu_define(step, "IS_DOUBLE", "%d", x->type == OPS_TYPE_DOUBLE);
  gpu_define_type(step, "T", x->type);
  for (uint64_t i = 0; i < kernel->input_count; ++i) gpu_arg_input(step, i);
  gpu_arg_output(step, 0);
  for (int32_t i = 0; i < 3; ++i)
    if (wide)
      gpu_arg_long(step, numbers[i]);
    else
      gpu_arg_int(step, (int32_t)numbers[i]);
  gpu_grid_items(step, count);
  return step;
}

// Shape of the output; how many elements it has.
static int64_t state_output(gpu_plan *plan) {
  const ops_type_info *x = gpu_input_type(plan, 0);
  int64_t count = 0;
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  if (!ops_checked_count(x->dims, x->rank, &count))
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "the size of input 0 overflows");
  return count;
}

// ---- BatchNormalization ----

static void claim_batch(const ops_device *device, const ops_kernel_def *def,
                        const ops_node *node, ops_claim *claim) {
  (void)device;
  (void)def;
  if (node->output_count > 1 || ops_node_int(node, "training_mode", 0) != 0 ||
      (node->opset < 7 && ops_node_int(node, "is_test", 0) == 0))
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "training is not supported");
  if (node->opset < 9 && ops_node_int(node, "spatial", 1) != 1)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "spatial must be 1");
}

static int32_t parse_batch(const ops_kernel_def *def, const ops_node *node, void *attributes,
                           ops_error *error) {
  (void)def;
  (void)error;
  ((channels *)attributes)->epsilon = ops_node_float(node, "epsilon", 1e-5f);
  return OPS_OK;
}

static void plan_batch(const ops_kernel *kernel, gpu_plan *plan) {
  const channels *own = kernel->attributes;
  const ops_type_info *x = gpu_input_type(plan, 0);
  if (x->rank < 1) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "X has rank 0, expected at least 1");
    return;
  }
  const int64_t channel_count = x->rank > 1 ? x->dims[1] : 1;
  for (uint64_t i = 1; i <= 4; ++i)
    if (gpu_input_type(plan, i)->rank != 1 || gpu_input_type(plan, i)->dims[0] != channel_count)
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "input %llu: expected one number per channel, the shape [%lld]",
                    (unsigned long long)i, (long long)channel_count);
  const int64_t count = state_output(plan);
  if (plan->status != OPS_OK) return;
  gpu_step *step = add_step(kernel, plan, "batch_normalize", count, channel_count);
  gpu_define_type(step, "S", gpu_input_type(plan, 1)->type);
  gpu_define_type(step, "V", gpu_input_type(plan, 3)->type);
  gpu_arg_float(step, own->epsilon);
}

const gpu_op gpu_batch_normalization = {.claim = claim_batch,
                                        .attribute_bytes = sizeof(channels),
                                        .parse = parse_batch,
                                        .plan = plan_batch};

// ---- LRN ----

static int32_t parse_lrn(const ops_kernel_def *def, const ops_node *node, void *attributes,
                         ops_error *error) {
  channels *own = attributes;
  (void)def;
  own->alpha = ops_node_float(node, "alpha", 0.0001f);
  own->beta = ops_node_float(node, "beta", 0.75f);
  own->bias = ops_node_float(node, "bias", 1.0f);
  own->size = ops_node_int(node, "size", 0);
  if (own->size >= 1 && own->size <= INT32_MAX) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "LRN: attribute size: expected at least 1, found %lld",
                       (long long)own->size);
}

static void plan_lrn(const ops_kernel *kernel, gpu_plan *plan) {
  const channels *own = kernel->attributes;
  const ops_type_info *x = gpu_input_type(plan, 0);
  if (x->rank < 2) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "X has rank %d, expected at least 2",
                  x->rank);
    return;
  }
  const int64_t count = state_output(plan);
  if (plan->status != OPS_OK) return;
  gpu_step *step = add_step(kernel, plan, "lrn", count, x->dims[1]);
  gpu_arg_int(step, (int32_t)own->size);
  gpu_arg_float(step, own->alpha);
  gpu_arg_float(step, own->beta);
  gpu_arg_float(step, own->bias);
}

const gpu_op gpu_lrn = {
    .attribute_bytes = sizeof(channels), .parse = parse_lrn, .plan = plan_lrn};

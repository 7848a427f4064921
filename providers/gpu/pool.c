// SPDX-License-Identifier: Apache-2.0
//
// MaxPool, AveragePool and LpPool; their global forms are reductions of every plane.
#include "pool.h"

#include <ops_support/checked.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <string.h>

#include "reduce.h"
#include "window.h"

typedef struct pool {
  gpu_window_attributes window;
  int32_t counts_padding, column_major;
  int64_t power;  // LpPool
} pool;

static void claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                  ops_claim *claim) {
  (void)device;
  (void)def;
  gpu_window_claim(node, claim);
}

static int32_t parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                     ops_error *error) {
  pool *own = attributes;
  (void)def;
  own->counts_padding = ops_node_int(node, "count_include_pad", 0) != 0;
  own->column_major = ops_node_int(node, "storage_order", 0) != 0;
  own->power = ops_node_int(node, "p", 2);
  return gpu_window_read(node, &own->window, error);
}

// What an empty window of MaxPool gives.
static const char *lowest_of(int32_t type) {
  return type == OPS_TYPE_UINT8 ? "0" : type == OPS_TYPE_INT8 ? "-128" : "-INFINITY";
}

static const char *accumulator(int32_t type) {
  const int32_t whole = type == OPS_TYPE_INT8 || type == OPS_TYPE_UINT8;
  return whole ? "int" : gpu_accumulator(type);
}

static void add_index(gpu_step *step, int32_t wide, const int64_t *values, uint32_t count) {
  int32_t narrow[sizeof(gpu_window) / sizeof(int64_t)];
  for (uint32_t i = 0; i < count; ++i) narrow[i] = (int32_t)values[i];
  if (wide)
    gpu_arg_bytes(step, values, count * (uint32_t)sizeof *values);
  else
    gpu_arg_bytes(step, narrow, count * (uint32_t)sizeof *narrow);
}

static void add_launch(const ops_kernel *kernel, gpu_plan *plan, const gpu_window *w,
                       int32_t type, int64_t in_count, int64_t count) {
  const pool *own = kernel->attributes;
  const int32_t indices = (kernel->wanted_outputs >> 1) & 1;
  const int64_t most = INT32_MAX / 4;
  int32_t wide = in_count > most || count > most;
  for (uint32_t i = 0; i < sizeof *w / sizeof(int64_t); ++i)
    wide |= ((const int64_t *)w)[i] > 1 << 24;
  for (int32_t d = 0; d < kGpuWindowDims; ++d) wide |= w->kernel[d] * w->dilation[d] > 1 << 24;
  char name[64];
  gpu_step *step = gpu_plan_step(plan, &gpu_pool_source, "pool");
  snprintf(name, sizeof name, "OP_%.*s", OPS_STR_FMT(kernel->def->op));
  gpu_define(step, name, "1");
  gpu_define(step, "P", "%d", own->power == 1 || own->power == 2 ? (int)own->power : 0);
  gpu_define(step, "HAS_INDICES", "%d", indices);
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  gpu_define(step, "ACC", "%s", accumulator(type));
  gpu_define(step, "LOWEST", "(%s)", lowest_of(type));
  gpu_define_type(step, "T", type);
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  if (indices)
    gpu_arg_output(step, 1);
  else
    gpu_arg_absent(step);
  add_index(step, wide, &count, 1);
  add_index(step, wide, (const int64_t *)w, sizeof *w / sizeof(int64_t));
  gpu_arg_int(step, own->counts_padding);
  gpu_arg_int(step, own->column_major);
  gpu_arg_float(step, (float)own->power);
  gpu_grid_items(step, count);
}

static void plan_pool(const ops_kernel *kernel, gpu_plan *plan) {
  const pool *own = kernel->attributes;
  const ops_type_info *x = ops_request_input(plan->request, 0)->type;
  int64_t dims[OPS_MAX_RANK], in_count, count;
  gpu_window w;
  if (!gpu_window_slide(plan, &own->window, x, &w)) return;
  for (int32_t d = 0; d < 2; ++d) dims[d] = x->dims[d];
  for (int32_t d = 2; d < x->rank; ++d) dims[d] = w.out[kGpuWindowDims - x->rank + d];
  gpu_plan_output(plan, 0, x->type, x->rank, dims);
  gpu_plan_output(plan, 1, OPS_TYPE_INT64, x->rank, dims);
  if (!ops_checked_count(x->dims, x->rank, &in_count) ||
      !ops_checked_count(dims, x->rank, &count))
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "the size of a tensor overflows");
  else if (plan->status == OPS_OK)
    add_launch(kernel, plan, &w, x->type, in_count, count);
}

const gpu_op gpu_pool = {
    .claim = claim, .attribute_bytes = sizeof(pool), .parse = parse, .plan = plan_pool};

// ---- Global pools ----

static void claim_global(const ops_device *device, const ops_kernel_def *def,
                         const ops_node *node, ops_claim *claim) {
  const int64_t p = ops_node_int(node, "p", 2);
  (void)device;
  (void)def;
  if (p != 1 && p != 2)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "p is %lld, expected 1 or 2", (long long)p);
}

static int32_t parse_global(const ops_kernel_def *def, const ops_node *node, void *attributes,
                            ops_error *error) {
  gpu_reduction *r = attributes;
  (void)error;
  r->row = ops_str_equal(def->op, "GlobalMaxPool")       ? &gpu_reduce_Max
           : ops_str_equal(def->op, "GlobalAveragePool") ? &gpu_reduce_Mean
           : ops_node_int(node, "p", 2) == 1             ? &gpu_reduce_L1
                                                         : &gpu_reduce_L2;
  r->keep = 1;
  return OPS_OK;
}

static void plan_global(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = ops_request_input(plan->request, 0)->type;
  if (x->rank < 2)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "X has rank %d, expected at least 2",
                  x->rank);
  else
    gpu_reduce_plan_axes(kernel->attributes, plan,
                         ((UINT64_C(1) << x->rank) - 1) & ~UINT64_C(3));
}

const gpu_op gpu_global_pool = {.claim = claim_global,
                                .attribute_bytes = sizeof(gpu_reduction),
                                .parse = parse_global,
                                .plan = plan_global};

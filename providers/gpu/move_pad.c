// SPDX-License-Identifier: Apache-2.0
//
// Pad in all modes; negative pads cut elements off.
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "move.h"

// In the order of PAD_… in kernels/move.cl.
static const char *const kModes[] = {"constant", "reflect", "edge", "wrap", NULL};

// pads_t of kernels/move.cl.
enum { kSize, kBegin, kDim, kStride, kRows };
typedef int64_t padding[kRows][kGpuMaxDims];

// Pads of every axis: begin in out_pads[0, rank), end behind.
static void read_pads(const gpu_move *move, gpu_plan *plan, int32_t rank, int64_t *out_pads) {
  gpu_list pads, axes;
  uint8_t marked[kGpuMaxDims];
  gpu_list_resolve(plan, &move->lists[0], 1, &pads);
  gpu_list_resolve(plan, NULL, 3, &axes);
  if (axes.count < 0)
    for (axes.count = 0; axes.count < rank; ++axes.count) axes.values[axes.count] = axes.count;
  if (plan->status == OPS_OK) gpu_mark_axes(plan, &axes, rank, marked);
  if (pads.count != 2 * axes.count)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "pads has %d values, expected %d",
                  pads.count, 2 * axes.count);
  memset(out_pads, 0, 2 * kGpuMaxDims * sizeof *out_pads);
  for (int32_t i = 0; i < axes.count && plan->status == OPS_OK; ++i) {
    const int32_t axis = gpu_plan_axis(plan, axes.values[i], rank);
    out_pads[axis] = pads.values[i];
    out_pads[rank + axis] = pads.values[axes.count + i];
  }
}

static void pad_axis(gpu_plan *plan, int32_t mode, const ops_type_info *x, int32_t d,
                     const int64_t *pads, padding p) {
  const int64_t dim = x->dims[d], begin = pads[d], end = pads[x->rank + d];
  int64_t size;
  p[kDim][d] = dim;
  p[kBegin][d] = begin;
  if (__builtin_add_overflow(dim, begin, &size) || __builtin_add_overflow(size, end, &size) ||
      size < 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "pads %lld and %lld do not fit dimension %d of %lld elements",
                  (long long)begin, (long long)end, d, (long long)dim);
  else if (size > 0 && dim == 0 && mode != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "dimension %d is empty: mode %s has nothing to repeat", d, kModes[mode]);
  else
    p[kSize][d] = size;
}

// The padding value: input 2, or a constant made of the attribute.
static void add_value(const gpu_move *move, gpu_plan *plan, gpu_step *step, int32_t type) {
  const int is_attribute = move->lists[0].count >= 0;
  const double wide = move->value;
  static const uint8_t zero[8];
  if (!is_attribute && gpu_plan_input(plan, 2))
    gpu_arg_input(step, 2);
  else
    gpu_arg_constant(step,
                     gpu_plan_constant(plan,
                                       !is_attribute             ? (const void *)zero
                                       : type == OPS_TYPE_DOUBLE ? (const void *)&wide
                                                                 : (const void *)&move->value,
                                       8 - 4 * (is_attribute && type != OPS_TYPE_DOUBLE)));
}

static void plan_pad(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const gpu_move *move = kernel->attributes;
  int64_t pads[2 * kGpuMaxDims];
  padding p = {{0}};
  read_pads(move, plan, x->rank, pads);
  for (int32_t d = 0; d < x->rank && plan->status == OPS_OK; ++d)
    pad_axis(plan, move->variant, x, d, pads, p);
  if (plan->status == OPS_OK) gpu_plan_output(plan, 0, x->type, x->rank, p[kSize]);
  const int64_t count = gpu_product_of(p[kSize], 0, x->rank);
  if (plan->status != OPS_OK || count == 0) return;
  ops_strides_contiguous(x->rank, x->dims, p[kStride]);
  int32_t wide = count > INT32_MAX / 4 || gpu_product_of(x->dims, 0, x->rank) > INT32_MAX / 4;
  for (int32_t d = 0; d < 2 * x->rank; ++d)
    wide |= pads[d] > INT32_MAX / 4 || pads[d] < -INT32_MAX / 4;
  gpu_step *step = gpu_move_step(plan, x->type, wide, "pad");
  gpu_arg_input(step, 0);
  add_value(move, plan, step, x->type);
  gpu_arg_output(step, 0);
  gpu_arg_indices(step, wide, p[0], kRows * kGpuMaxDims);
  gpu_arg_int(step, x->rank);
  gpu_arg_int(step, move->variant);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

const gpu_move_op gpu_pad_op = {GPU_MOVE(plan_pad), .lists = {"pads"}, .variant = "mode",
                                .variants = kModes};
const gpu_move_op gpu_pad_1_op = {GPU_MOVE(plan_pad), .lists = {"paddings"}, .variant = "mode",
                                  .variants = kModes};

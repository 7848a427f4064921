// SPDX-License-Identifier: Apache-2.0
//
// Operators that keep every element in its place and change the shape alone: Reshape, Flatten,
// Squeeze, Unsqueeze.
#include <ops_support/node.h>
#include <string.h>

#include "move.h"

// States the output and copies all elements as one row.
static void copy_all(gpu_plan *plan, int32_t rank, const int64_t *dims) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int64_t count = gpu_product_of(x->dims, 0, x->rank);
  if (plan->status == OPS_OK) gpu_plan_output(plan, 0, x->type, rank, dims);
  if (plan->status != OPS_OK) return;
  if (gpu_product_of(dims, 0, rank) != count) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the input has %lld elements, the output shape %lld", (long long)count,
                  (long long)gpu_product_of(dims, 0, rank));
    return;
  }
  const gpu_walk walk = {1, {count}, {1}, {1}, 0, 0};
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

static void plan_flatten(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  int64_t axis = ((const gpu_move *)kernel->attributes)->ints[0];
  if (axis < -x->rank || axis > x->rank) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis %lld, expected one in [%d, %d]",
                  (long long)axis, -x->rank, x->rank);
    return;
  }
  if (axis < 0) axis += x->rank;
  const int64_t dims[] = {gpu_product_of(x->dims, 0, (int32_t)axis),
                          gpu_product_of(x->dims, (int32_t)axis, x->rank)};
  copy_all(plan, 2, dims);
}

static void plan_squeeze(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  gpu_list axes;
  uint8_t marked[kGpuMaxDims];
  int64_t dims[kGpuMaxDims];
  int32_t rank = 0;
  gpu_list_resolve(plan, &((const gpu_move *)kernel->attributes)->lists[0], 1, &axes);
  gpu_mark_axes(plan, &axes, x->rank, marked);
  for (int32_t i = 0; i < x->rank && plan->status == OPS_OK; ++i) {
    const int removed = axes.count < 0 ? x->dims[i] == 1 : marked[i];
    if (removed && x->dims[i] != 1)
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis %d has %lld elements, expected 1",
                    i, (long long)x->dims[i]);
    if (!removed) dims[rank++] = x->dims[i];
  }
  copy_all(plan, rank, dims);
}

static void plan_unsqueeze(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  gpu_list axes;
  uint8_t marked[kGpuMaxDims + kGpuMaxList];
  int64_t dims[kGpuMaxDims + kGpuMaxList];
  gpu_list_resolve(plan, &((const gpu_move *)kernel->attributes)->lists[0], 1, &axes);
  if (axes.count < 0) gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axes are missing");
  if (plan->status != OPS_OK) return;
  const int32_t rank = x->rank + axes.count;
  if (rank > OPS_MAX_RANK) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the output would have rank %d, expected at most %d", rank, OPS_MAX_RANK);
    return;
  }
  gpu_mark_axes(plan, &axes, rank, marked);
  for (int32_t i = 0, k = 0; i < rank && plan->status == OPS_OK; ++i)
    dims[i] = marked[i] ? 1 : x->dims[k++];
  copy_all(plan, rank, dims);
}

// Replaces the one -1 by what remains of the elements.
static void infer_dim(gpu_plan *plan, int64_t count, int32_t unknown, int32_t rank,
                      int64_t *dims) {
  int64_t rest = 1;
  dims[unknown] = 1;
  for (int32_t i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(rest, dims[i], &rest)) rest = 0;
  if (rest == 0 || count % rest != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "%lld elements do not divide into rows of %lld, so dimension %d cannot be "
                  "inferred",
                  (long long)count, (long long)rest, unknown);
  else
    dims[unknown] = count / rest;
}

static void plan_reshape(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const gpu_move *move = kernel->attributes;
  int32_t unknown = -1;
  gpu_list shape;
  gpu_list_resolve(plan, &move->lists[0], 1, &shape);
  if (shape.count < 0 || shape.count > OPS_MAX_RANK)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "shape has %d values, expected 0 to %d",
                  shape.count, OPS_MAX_RANK);
  for (int32_t i = 0; i < shape.count && plan->status == OPS_OK; ++i) {
    int64_t *dim = &shape.values[i];
    if (*dim == 0 && move->ints[0] == 0) {
      if (i < x->rank)
        *dim = x->dims[i];
      else
        gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                      "shape copies dimension %d of an input of rank %d", i, x->rank);
    } else if (*dim == -1 && unknown < 0) {
      unknown = i;
    } else if (*dim < 0) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "shape[%d] is %lld; only one -1 is possible", i, (long long)*dim);
    }
  }
  if (plan->status == OPS_OK && unknown >= 0)
    infer_dim(plan, gpu_product_of(x->dims, 0, x->rank), unknown, shape.count, shape.values);
  if (plan->status == OPS_OK) copy_all(plan, shape.count, shape.values);
}

const gpu_move_op gpu_reshape_op = {GPU_MOVE(plan_reshape), .lists = {"shape"},
                                    .ints = {{"allowzero", 0}}};
const gpu_move_op gpu_flatten_op = {GPU_MOVE(plan_flatten), .ints = {{"axis", 1}}};
const gpu_move_op gpu_squeeze_op = {GPU_MOVE(plan_squeeze), .lists = {"axes"}};
const gpu_move_op gpu_unsqueeze_op = {GPU_MOVE(plan_unsqueeze), .lists = {"axes"}};

// SPDX-License-Identifier: Apache-2.0
//
// Operators with indices in device memory: Gather, GatherElements, GatherND, ScatterElements,
// ScatterND, ReverseSequence, OneHot. A first launch checks the indices, see fault.c: those out
// of range are the stream's failure, and nothing is written.
#include <ops_support/claim.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "move.h"

extern const gpu_source gpu_gather_source;

static int64_t count_of(const ops_type_info *type) {
  return gpu_product_of(type->dims, 0, type->rank);
}

// 1 if one of the inputs or outputs has more elements than an int counts.
static int32_t is_wide(const gpu_plan *plan, int64_t output_count) {
  int32_t wide = output_count > INT32_MAX - 4096;
  for (uint64_t i = 0; i < plan->request->input_count; ++i)
    wide |= gpu_plan_input(plan, i) && count_of(gpu_plan_input(plan, i)) > INT32_MAX - 4096;
  return wide;
}

static gpu_step *add_step(gpu_plan *plan, const char *function, const char *type,
                          uint64_t indices, int32_t wide) {
  gpu_step *step = gpu_plan_step(plan, &gpu_gather_source, function);
  gpu_define(step, "T", "%s", type);
  gpu_define_type(step, "INDEX", gpu_plan_input(plan, indices)->type);
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  return step;
}

// axes_t of kernels/gather.cl.
static void add_axes(gpu_step *step, int32_t wide, int32_t rank, const int64_t *sizes,
                     const int64_t *strides) {
  int64_t values[2][kGpuMaxDims] = {{0}};
  for (int32_t d = 0; d < kGpuMaxDims; ++d) {
    values[0][d] = d < rank ? sizes[d] : 1;
    values[1][d] = d < rank ? strides[d] : 0;
  }
  gpu_arg_indices(step, wide, values[0], 2 * kGpuMaxDims);
}

// The launch that refuses indices outside of [low, high) of their column.
static void check_columns(gpu_plan *plan, const char *type, uint64_t indices, int32_t wide,
                          int32_t width, const int64_t *low, const int64_t *high) {
  const int64_t count = count_of(gpu_plan_input(plan, indices));
  int64_t limits[2][kGpuMaxDims] = {{0}};
  if (count == 0) return;
  memcpy(limits[0], low, (size_t)width * sizeof *low);
  memcpy(limits[1], high, (size_t)width * sizeof *high);
  gpu_step *step = add_step(plan, "check", type, indices, wide);
  gpu_arg_input(step, indices);
  gpu_arg_fault(step);
  gpu_arg_bytes(step, limits, sizeof limits);
  gpu_arg_int(step, width);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

static void check_indices(gpu_plan *plan, const char *type, uint64_t indices, int32_t wide,
                          int32_t width, const int64_t *dims) {
  int64_t low[kGpuMaxDims];
  for (int32_t i = 0; i < width; ++i) low[i] = -dims[i];
  check_columns(plan, type, indices, wide, width, low, dims);
}

// ---- Gather ----

static void plan_gather(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  int64_t dims[2 * kGpuMaxDims];
  const int32_t axis =
      gpu_plan_axis(plan, ((const gpu_move *)kernel->attributes)->ints[0], x->rank);
  if (plan->status != OPS_OK) return;
  const int32_t rank = x->rank - 1 + indices->rank;
  for (int32_t i = 0; i < rank; ++i)
    dims[i] = i < axis                   ? x->dims[i]
              : i < axis + indices->rank ? indices->dims[i - axis]
                                         : x->dims[i - indices->rank + 1];
  gpu_plan_output(plan, 0, x->type, rank, dims);
  const int64_t count = gpu_product_of(dims, 0, rank);
  const int32_t wide = is_wide(plan, count);
  const char *type = gpu_word(x->type);
  if (plan->status != OPS_OK) return;
  check_indices(plan, type, 1, wide, 1, &x->dims[axis]);
  if (count == 0) return;
  gpu_step *step = add_step(plan, "gather", type, 1, wide);
  gpu_arg_input(step, 0);
  gpu_arg_input(step, 1);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  gpu_arg_index(step, wide, x->dims[axis]);
  gpu_arg_index(step, wide, count_of(indices));
  gpu_arg_index(step, wide, gpu_product_of(x->dims, axis + 1, x->rank));
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

// ---- GatherElements ----

// The indices of an …Elements operator: of data's rank, and but for the axis of no larger
// shape.
static int32_t elements_axis(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  const int32_t axis =
      gpu_plan_axis(plan, ((const gpu_move *)kernel->attributes)->ints[0], x->rank);
  int32_t fits = indices->rank == x->rank;
  for (int32_t d = 0; fits && d < x->rank; ++d)
    fits = d == axis || indices->dims[d] <= x->dims[d];
  if (!fits)
    gpu_plan_fail(
        plan, OPS_ERROR_INVALID_ARGUMENT,
        "indices: expected rank %d and no dimension larger than data's except axis %d", x->rank,
        axis);
  return axis;
}

static void plan_gather_elements(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  int64_t strides[OPS_MAX_RANK];
  const int32_t axis = elements_axis(kernel, plan);
  if (plan->status != OPS_OK) return;
  const int64_t count = count_of(indices);
  const int32_t wide = is_wide(plan, count);
  const char *type = gpu_word(x->type);
  gpu_plan_output(plan, 0, x->type, indices->rank, indices->dims);
  if (plan->status != OPS_OK || count == 0) return;
  check_indices(plan, type, 1, wide, 1, &x->dims[axis]);
  ops_strides_contiguous(x->rank, x->dims, strides);
  gpu_step *step = add_step(plan, "gather_elements", type, 1, wide);
  gpu_arg_input(step, 0);
  gpu_arg_input(step, 1);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  add_axes(step, wide, x->rank, indices->dims, strides);
  gpu_arg_int(step, x->rank);
  gpu_arg_int(step, axis);
  gpu_arg_index(step, wide, x->dims[axis]);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

// ---- GatherND ----

// The number of indices in a tuple, if they fit the rank that remains behind `batch`; -1 else.
static int32_t tuple_width(gpu_plan *plan, int32_t batch) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  const int64_t width = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
  int32_t fits = x->rank > 0 && indices->rank > batch && width <= x->rank - batch;
  for (int32_t d = 0; fits && d < batch; ++d) fits = x->dims[d] == indices->dims[d];
  if (fits) return (int32_t)width;
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                "indices: expected rank above %d, tuples of at most %d, and the first %d "
                "dimensions of data",
                batch, x->rank - batch, batch);
  return -1;
}

static void plan_gather_nd(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  const int64_t given = ((const gpu_move *)kernel->attributes)->ints[0];
  int64_t strides[OPS_MAX_RANK], dims[2 * kGpuMaxDims];
  const int32_t batch = given >= 0 && given < x->rank ? (int32_t)given : kGpuMaxDims;
  const int32_t width = tuple_width(plan, batch);
  if (plan->status != OPS_OK) return;
  const int32_t lead = indices->rank - 1, used = batch + width;
  const int32_t rank = lead + x->rank - used;
  for (int32_t i = 0; i < rank; ++i)
    dims[i] = i < lead ? indices->dims[i] : x->dims[i - lead + used];
  gpu_plan_output(plan, 0, x->type, rank, dims);
  const int64_t count = gpu_product_of(dims, 0, rank);
  const int32_t wide = is_wide(plan, count);
  const char *type = gpu_word(x->type);
  if (plan->status != OPS_OK) return;
  if (width > 0) check_indices(plan, type, 1, wide, width, x->dims + batch);
  if (count == 0) return;
  ops_strides_contiguous(x->rank, x->dims, strides);
  gpu_step *step = add_step(plan, "gather_nd", type, 1, wide);
  gpu_arg_input(step, 0);
  gpu_arg_input(step, 1);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  add_axes(step, wide, width, x->dims + batch, strides + batch);
  gpu_arg_int(step, width);
  gpu_arg_index(step, wide, gpu_product_of(indices->dims, batch, lead));
  gpu_arg_index(step, wide, gpu_product_of(x->dims, batch, x->rank));
  gpu_arg_index(step, wide, gpu_product_of(x->dims, used, x->rank));
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

// ---- Scatter ----

// In the order of REDUCE_… in kernels/gather.cl.
static const char *const kReductions[] = {"none", "add", "mul", "max", "min", NULL};

static void claim_scatter(const ops_device *device, const ops_kernel_def *def,
                          const ops_node *node, ops_claim *claim) {
  static const ops_str kNone = OPS_STR("none");
  const ops_operand *x = ops_node_input(node, 0);
  gpu_move_claim(device, def, node, claim);
  if (x && x->type && x->type->type == OPS_TYPE_BOOL &&
      !ops_str_equal(ops_node_string(node, "reduction", kNone), "none"))
    ops_claim_refuse(claim, OPS_REASON_TYPE, "reductions are of numbers, data is bool");
}

// Data copied to the output, unless the indices are refused.
static void copy_checked(gpu_plan *plan, const char *type, int32_t wide, int64_t count) {
  gpu_step *step = add_step(plan, "copy_checked", type, 1, wide);
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

static void scatter_elements(gpu_plan *plan, const char *type, int32_t wide, int32_t axis,
                             const int64_t *strides) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  const int64_t count = count_of(indices);
  copy_checked(plan, type, wide, count_of(x));
  if (count == 0) return;
  gpu_step *step = add_step(plan, "scatter_elements", type, 1, wide);
  gpu_arg_input(step, 1);
  gpu_arg_input(step, 2);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  add_axes(step, wide, x->rank, indices->dims, strides);
  gpu_arg_int(step, x->rank);
  gpu_arg_int(step, axis);
  gpu_arg_index(step, wide, x->dims[axis]);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

static void reduce_elements(gpu_plan *plan, const char *type, int32_t wide, int32_t axis,
                            const int64_t *strides, int32_t reduction) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  int64_t own[OPS_MAX_RANK];
  ops_strides_contiguous(x->rank, indices->dims, own);
  gpu_step *step = add_step(plan, "reduce_elements", type, 1, wide);
  for (uint64_t i = 0; i < 3; ++i) gpu_arg_input(step, i);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  add_axes(step, wide, x->rank, indices->dims, own);
  add_axes(step, wide, x->rank, x->dims, strides);
  gpu_arg_int(step, x->rank);
  gpu_arg_int(step, axis);
  gpu_arg_int(step, reduction);
  gpu_arg_index(step, wide, count_of(x));
  gpu_grid_items(step, count_of(x));
}

static void plan_scatter_elements(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  const ops_type_info *updates = gpu_plan_input(plan, 2);
  const int32_t reduction = ((const gpu_move *)kernel->attributes)->variant;
  int64_t strides[OPS_MAX_RANK];
  const int32_t axis = elements_axis(kernel, plan);
  int32_t same = updates->rank == indices->rank;
  for (int32_t d = 0; same && d < indices->rank; ++d)
    same = updates->dims[d] == indices->dims[d];
  if (!same)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "updates: expected the shape of indices");
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  if (plan->status != OPS_OK) return;
  const int32_t wide = is_wide(plan, count_of(x));
  const char *type = reduction ? ops_type_name(x->type) : gpu_word(x->type);
  check_indices(plan, type, 1, wide, 1, &x->dims[axis]);
  if (count_of(x) == 0) return;
  ops_strides_contiguous(x->rank, x->dims, strides);
  if (reduction)
    reduce_elements(plan, type, wide, axis, strides, reduction);
  else
    scatter_elements(plan, type, wide, axis, strides);
}

static void scatter_nd(gpu_plan *plan, const char *type, int32_t wide, int32_t width,
                       const int64_t *strides) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int64_t count = count_of(gpu_plan_input(plan, 2));
  copy_checked(plan, type, wide, count_of(x));
  if (count == 0) return;
  gpu_step *step = add_step(plan, "scatter_nd", type, 1, wide);
  gpu_arg_input(step, 1);
  gpu_arg_input(step, 2);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  add_axes(step, wide, width, x->dims, strides);
  gpu_arg_int(step, width);
  gpu_arg_index(step, wide, gpu_product_of(x->dims, width, x->rank));
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

static void reduce_nd(gpu_plan *plan, const char *type, int32_t wide, int32_t width,
                      const int64_t *strides, int32_t reduction) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  gpu_step *step = add_step(plan, "reduce_nd", type, 1, wide);
  for (uint64_t i = 0; i < 3; ++i) gpu_arg_input(step, i);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  add_axes(step, wide, width, x->dims, strides);
  gpu_arg_int(step, width);
  gpu_arg_index(step, wide, gpu_product_of(indices->dims, 0, indices->rank - 1));
  gpu_arg_index(step, wide, gpu_product_of(x->dims, width, x->rank));
  gpu_arg_int(step, reduction);
  gpu_arg_index(step, wide, count_of(x));
  gpu_grid_items(step, count_of(x));
}

static void check_updates(gpu_plan *plan, int32_t width) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *indices = gpu_plan_input(plan, 1);
  const ops_type_info *updates = gpu_plan_input(plan, 2);
  const int32_t lead = indices->rank - 1;
  int32_t fits = updates->rank == lead + x->rank - width;
  for (int32_t i = 0; fits && i < updates->rank; ++i)
    fits = updates->dims[i] == (i < lead ? indices->dims[i] : x->dims[i - lead + width]);
  if (!fits)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "updates: expected the shape of indices without its last dimension, then the "
                  "last %d of data",
                  x->rank - width);
}

static void plan_scatter_nd(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int32_t reduction = ((const gpu_move *)kernel->attributes)->variant;
  int64_t strides[OPS_MAX_RANK];
  const int32_t width = tuple_width(plan, 0);
  if (plan->status == OPS_OK) check_updates(plan, width);
  if (plan->status == OPS_OK) gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  if (plan->status != OPS_OK) return;
  const int32_t wide = is_wide(plan, count_of(x));
  const char *type = reduction ? ops_type_name(x->type) : gpu_word(x->type);
  if (width > 0) check_indices(plan, type, 1, wide, width, x->dims);
  if (count_of(x) == 0) return;
  ops_strides_contiguous(x->rank, x->dims, strides);
  if (reduction)
    reduce_nd(plan, type, wide, width, strides, reduction);
  else
    scatter_nd(plan, type, wide, width, strides);
}

// ---- ReverseSequence ----

static void plan_reverse_sequence(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *lengths = gpu_plan_input(plan, 1);
  const gpu_move *move = kernel->attributes;
  const int64_t batch = move->ints[0], time = move->ints[1];
  if (x->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch || lengths->rank != 1 ||
      lengths->dims[0] != x->dims[batch]) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "expected an input of rank 2 or more, batch_axis and time_axis 0 and 1 in "
                  "either order, and a length for each batch");
    return;
  }
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  const int64_t count = count_of(x), low = 0, high = x->dims[time] + 1;
  if (plan->status != OPS_OK || count == 0) return;
  const int32_t wide = is_wide(plan, count);
  const char *type = gpu_word(x->type);
  check_columns(plan, type, 1, wide, 1, &low, &high);
  gpu_step *step = add_step(plan, "reverse_sequence", type, 1, wide);
  gpu_arg_input(step, 0);
  gpu_arg_input(step, 1);
  gpu_arg_output(step, 0);
  gpu_arg_fault(step);
  gpu_arg_index(step, wide, x->dims[0]);
  gpu_arg_index(step, wide, x->dims[1]);
  gpu_arg_index(step, wide, gpu_product_of(x->dims, 2, x->rank));
  gpu_arg_int(step, time == 0);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

// ---- OneHot ----

static void plan_one_hot(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *indices = gpu_plan_input(plan, 0), *values = gpu_plan_input(plan, 2);
  int64_t dims[kGpuMaxDims + 1];
  double depth = 0;
  const int32_t axis =
      gpu_plan_axis(plan, ((const gpu_move *)kernel->attributes)->ints[0], indices->rank + 1);
  if (!gpu_plan_number(plan, 1, &depth) || !(depth >= 1) || depth > (double)(1LL << 52) ||
      values->rank != 1 || values->dims[0] != 2)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "expected a depth of 1 or more, found %g, and two values", depth);
  if (plan->status != OPS_OK) return;
  for (int32_t i = 0; i <= indices->rank; ++i)
    dims[i] = i < axis ? indices->dims[i] : i == axis ? (int64_t)depth : indices->dims[i - 1];
  gpu_plan_output(plan, 0, values->type, indices->rank + 1, dims);
  if (plan->status != OPS_OK) return;
  const int64_t count = gpu_product_of(dims, 0, indices->rank + 1);
  if (count == 0) return;
  const int32_t wide = is_wide(plan, count);
  gpu_step *step = add_step(plan, "one_hot", gpu_word(values->type), 0, wide);
  gpu_arg_input(step, 0);
  gpu_arg_input(step, 2);
  gpu_arg_output(step, 0);
  gpu_arg_index(step, wide, dims[axis]);
  gpu_arg_index(step, wide, gpu_product_of(dims, axis + 1, indices->rank + 1));
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

#define SCATTER(plan_)                          \
  .base = {.claim = claim_scatter,              \
           .attribute_bytes = sizeof(gpu_move), \
           .parse = gpu_move_parse,             \
           .plan = (plan_)},                    \
  .variant = "reduction", .variants = kReductions
const gpu_move_op gpu_gather_op = {GPU_MOVE(plan_gather), .ints = {{"axis", 0}}};
const gpu_move_op gpu_gather_elements_op = {GPU_MOVE(plan_gather_elements),
                                            .ints = {{"axis", 0}}};
const gpu_move_op gpu_gather_nd_op = {GPU_MOVE(plan_gather_nd), .ints = {{"batch_dims", 0}}};
const gpu_move_op gpu_scatter_elements_op = {SCATTER(plan_scatter_elements),
                                             .ints = {{"axis", 0}}};
const gpu_move_op gpu_scatter_nd_op = {SCATTER(plan_scatter_nd)};
const gpu_move_op gpu_reverse_sequence_op = {GPU_MOVE(plan_reverse_sequence),
                                             .ints = {{"batch_axis", 1}, {"time_axis", 0}}};
const gpu_move_op gpu_one_hot_op = {GPU_MOVE(plan_one_hot), .ints = {{"axis", -1}}};

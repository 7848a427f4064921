// SPDX-License-Identifier: Apache-2.0
//
// Tensors made from little (ConstantOfShape, EyeLike, Range, Shape, Size), Trilu, and what goes
// along an axis: CumSum, TopK.
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "move.h"

extern const gpu_source gpu_line_source;

static int32_t is_wide(int64_t count) {
  return count > INT32_MAX - 4096;
}

static uint32_t bytes_of(int32_t type) {
  return (uint32_t)ops_type_bits(type) / 8;
}

// ---- ConstantOfShape ----

// The dense tensor of one element in an attribute; NULL if it is something else.
static const ops_tensor *one_value(const ops_attribute *attribute) {
  if (!attribute->constants || attribute->count != 1) return NULL;
  const ops_constant *constant = attribute->constants[0];
  if (constant->format != OPS_CONSTANT_DENSE || constant->dense.kind != OPS_ARG_TENSOR)
    return NULL;
  const ops_tensor *tensor = &constant->dense.tensor;
  const int32_t bits = ops_type_bits(tensor->type);
  return bits >= 8 && bits <= 64 && ops_tensor_count(tensor) == 1 ? tensor : NULL;
}

static int32_t parse_constant(const ops_kernel_def *def, const ops_node *node, void *attributes,
                              ops_error *error) {
  gpu_move *move = attributes;
  const ops_attribute *value = ops_node_attribute(node, "value");
  const ops_tensor *tensor = value ? one_value(value) : NULL;
  OPS_RETURN_IF_ERROR(gpu_move_parse(def, node, attributes, error));
  move->type = OPS_TYPE_FLOAT;
  if (!value) return OPS_OK;
  if (!tensor)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%.*s: value must be a dense tensor of one element",
                         OPS_STR_FMT(node->op));
  move->type = tensor->type;
  memcpy(move->pattern, ops_tensor_data(tensor), bytes_of(tensor->type));
  return OPS_OK;
}

static void plan_constant(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_move *move = kernel->attributes;
  const ops_type_info *input = gpu_plan_input(plan, 0);
  gpu_list shape;
  gpu_list_resolve(plan, NULL, 0, &shape);
  if (input->rank != 1 || shape.count > OPS_MAX_RANK)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input: expected a vector of at most %d numbers, found rank %d", OPS_MAX_RANK,
                  input->rank);
  if (plan->status != OPS_OK) return;
  gpu_plan_output(plan, 0, move->type, shape.count, shape.values);
  if (plan->status != OPS_OK) return;
  const int64_t count = gpu_product_of(shape.values, 0, shape.count);
  if (count == 0) return;
  gpu_step *step = gpu_move_step(plan, move->type, is_wide(count), "fill");
  gpu_arg_constant(step, gpu_plan_constant(plan, move->pattern, sizeof move->pattern));
  gpu_arg_output(step, 0);
  gpu_arg_index(step, is_wide(count), count);
  gpu_grid_items(step, count);
}

// ---- EyeLike and Trilu ----

// The bits of 1.
static uint64_t one_of(int32_t type) {
  switch (type) {
    case OPS_TYPE_FLOAT:
      return 0x3f800000;
    case OPS_TYPE_DOUBLE:
      return 0x3ff0000000000000;
    case OPS_TYPE_FLOAT16:
      return 0x3c00;
    case OPS_TYPE_BFLOAT16:
      return 0x3f80;
    default:
      return 1;
  }
}

static void plan_eye(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_move *move = kernel->attributes;
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int32_t type = move->ints[0] ? (int32_t)move->ints[0] : x->type;
  const uint64_t one = one_of(type);
  if (x->rank != 2)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "input: expected rank 2, found %d",
                  x->rank);
  if (plan->status != OPS_OK) return;
  gpu_plan_output(plan, 0, type, 2, x->dims);
  const int64_t count = gpu_product_of(x->dims, 0, 2);
  if (plan->status != OPS_OK || count == 0) return;
  gpu_step *step = gpu_move_step(plan, type, is_wide(count), "eye");
  gpu_arg_constant(step, gpu_plan_constant(plan, &one, sizeof one));
  gpu_arg_output(step, 0);
  gpu_arg_index(step, is_wide(count), x->dims[1]);
  gpu_arg_long(step, move->ints[1]);
  gpu_arg_index(step, is_wide(count), count);
  gpu_grid_items(step, count);
}

static void claim_eye(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_claim *claim) {
  const int64_t type = ops_node_int(node, "dtype", OPS_TYPE_FLOAT);
  const int32_t bits = type > 0 && type <= INT32_MAX ? ops_type_bits((int32_t)type) : 0;
  gpu_move_claim(device, def, node, claim);
  if (bits < 8 || bits > 64)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "dtype %lld is no type of numbers",
                     (long long)type);
}

static void plan_trilu(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0), *k = gpu_plan_input(plan, 1);
  if (x->rank < 2 || (k && gpu_product_of(k->dims, 0, k->rank) != 1)) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "expected an input of rank 2 or more, found %d, and one k", x->rank);
    return;
  }
  const int64_t count = gpu_product_of(x->dims, 0, x->rank);
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  if (plan->status != OPS_OK || count == 0) return;
  gpu_step *step = gpu_move_step(plan, x->type, is_wide(count), "triangle");
  gpu_arg_input(step, 0);
  gpu_arg_input(step, k ? 1 : 0);
  gpu_arg_output(step, 0);
  gpu_arg_index(step, is_wide(count), x->dims[x->rank - 2]);
  gpu_arg_index(step, is_wide(count), x->dims[x->rank - 1]);
  gpu_arg_int(step, ((const gpu_move *)kernel->attributes)->ints[0] != 0);
  gpu_arg_int(step, k != NULL);
  gpu_arg_index(step, is_wide(count), count);
  gpu_grid_items(step, count);
}

// ---- Shape and Size ----

static int64_t clamp_axis(int64_t axis, int32_t rank) {
  if (axis < 0) axis = axis < -rank ? 0 : axis + rank;
  return axis > rank ? rank : axis;
}

static void plan_numbers(gpu_plan *plan, int32_t rank, const int64_t *numbers, int64_t count) {
  gpu_plan_output(plan, 0, OPS_TYPE_INT64, rank, &count);
  if (plan->status != OPS_OK || count == 0) return;
  gpu_step *step = gpu_move_step(plan, OPS_TYPE_INT64, 0, "copy");
  int64_t walk[3 * kGpuMaxWalk];
  for (int i = 0; i < 3 * kGpuMaxWalk; ++i) walk[i] = i == 0 ? count : 1;
  gpu_arg_constant(step, gpu_plan_constant(plan, numbers, (uint64_t)count * sizeof *numbers));
  gpu_arg_output(step, 0);
  gpu_arg_indices(step, 0, walk, 3 * kGpuMaxWalk);
  gpu_arg_int(step, 1);
  gpu_arg_int(step, 0);
  gpu_arg_int(step, 0);
  gpu_arg_int(step, (int32_t)count);
  gpu_grid_items(step, count);
}

static void plan_shape(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_move *move = kernel->attributes;
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int64_t start = clamp_axis(move->ints[0], x->rank);
  const int64_t end = clamp_axis(move->ints[1], x->rank);
  plan_numbers(plan, 1, x->dims + start, end > start ? end - start : 0);
}

static void plan_size(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int64_t size = gpu_product_of(x->dims, 0, x->rank);
  (void)kernel;
  plan_numbers(plan, 0, &size, 1);
}

// ---- Along an axis ----

static gpu_step *line_step(gpu_plan *plan, int32_t type, int32_t wide, const char *function) {
  gpu_step *step = gpu_plan_step(plan, &gpu_line_source, function);
  gpu_define_type(step, "T", type);
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  return step;
}

// How many numbers lie from start to limit; -1: delta leads nowhere, or they are too many.
static int64_t range_count(gpu_plan *plan) {
  double numbers[3];
  int64_t whole[3];
  int32_t is_whole = 1;
  for (uint64_t i = 0; i < 3; ++i) {
    if (!gpu_plan_number(plan, i, &numbers[i])) return -1;
    is_whole &= ops_operand_ints(ops_request_input(plan->request, i), &whole[i], 1) == 1;
  }
  if (numbers[2] == 0) return -1;
  if (is_whole) {
    const int up = whole[2] > 0;
    if (up ? whole[1] <= whole[0] : whole[1] >= whole[0]) return 0;
    const uint64_t span =
        up ? (uint64_t)whole[1] - (uint64_t)whole[0] : (uint64_t)whole[0] - (uint64_t)whole[1];
    const uint64_t step = up ? (uint64_t)whole[2] : 0 - (uint64_t)whole[2];
    return (int64_t)((span - 1) / step + 1);
  }
  const double count = ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (!(fabs(count) < 9e15)) return -1;
  return count > 0 ? (int64_t)count : 0;
}

static void plan_range(const ops_kernel *kernel, gpu_plan *plan) {
  const int32_t type = gpu_plan_input(plan, 0)->type;
  const uint32_t size = bytes_of(type);
  const int64_t count = range_count(plan);
  uint8_t numbers[16];
  (void)kernel;
  if (count < 0) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "expected one start, limit and delta, and a delta that leads from start to "
                  "limit");
    return;
  }
  gpu_plan_output(plan, 0, type, 1, &count);
  if (plan->status != OPS_OK || count == 0) return;
  for (uint64_t i = 0; i < 2; ++i)
    memcpy(numbers + i * size,
           ops_tensor_data(ops_operand_contents(ops_request_input(plan->request, 2 * i))),
           size);
  gpu_step *step = line_step(plan, type, is_wide(count), "range");
  gpu_arg_constant(step, gpu_plan_constant(plan, numbers, 2 * size));
  gpu_arg_output(step, 0);
  gpu_arg_index(step, is_wide(count), count);
  gpu_grid_items(step, count);
}

static void plan_cumulate(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_move *move = kernel->attributes;
  const ops_type_info *x = gpu_plan_input(plan, 0);
  gpu_list axes;
  gpu_list_resolve(plan, NULL, 1, &axes);
  if (axes.count != 1)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis: expected one number, found %d",
                  axes.count);
  if (plan->status != OPS_OK) return;
  const int32_t axis = gpu_plan_axis(plan, axes.values[0], x->rank);
  if (plan->status == OPS_OK) gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  const int64_t count = gpu_product_of(x->dims, 0, x->rank);
  if (plan->status != OPS_OK || count == 0) return;
  const int64_t lines = count / x->dims[axis];
  gpu_step *step = line_step(plan, x->type, is_wide(count), "cumulate");
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  gpu_arg_index(step, is_wide(count), x->dims[axis]);
  gpu_arg_index(step, is_wide(count), gpu_product_of(x->dims, axis + 1, x->rank));
  gpu_arg_int(step, move->ints[0] != 0);
  gpu_arg_int(step, move->ints[1] != 0);
  gpu_arg_index(step, is_wide(count), lines);
  gpu_grid_items(step, lines);
}

enum { kTopGroup = 64 };  // GROUP of kernels/line.cl

static void plan_top_k(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_move *move = kernel->attributes;
  const ops_type_info *x = gpu_plan_input(plan, 0);
  int64_t dims[kGpuMaxDims], k = move->ints[2];
  const int32_t axis = gpu_plan_axis(plan, move->ints[0], x->rank);
  gpu_list given;
  gpu_list_resolve(plan, NULL, 1, &given);
  if (plan->status != OPS_OK) return;
  if (given.count >= 0) k = given.count == 1 ? given.values[0] : -1;
  if (k < 0 || k > x->dims[axis]) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "K: expected one number of 0 to %lld, found %lld", (long long)x->dims[axis],
                  (long long)k);
    return;
  }
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[axis] = k;
  gpu_plan_output(plan, 0, x->type, x->rank, dims);
  gpu_plan_output(plan, 1, OPS_TYPE_INT64, x->rank, dims);
  const int64_t count = gpu_product_of(dims, 0, x->rank);
  const int32_t wide = is_wide(gpu_product_of(x->dims, 0, x->rank));
  const int has_indices = (kernel->wanted_outputs & 2) != 0;
  if (plan->status != OPS_OK || count == 0) return;
  gpu_step *step = line_step(plan, x->type, wide, "top_k");
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  gpu_arg_output(step, has_indices ? 1 : 0);
  gpu_arg_index(step, wide, x->dims[axis]);
  gpu_arg_index(step, wide, gpu_product_of(x->dims, axis + 1, x->rank));
  gpu_arg_index(step, wide, k);
  gpu_arg_int(step, move->ints[1] != 0 ? 1 : -1);
  gpu_arg_int(step, has_indices);
  gpu_grid_groups(step, count / k, 1, 1, gpu_group_items(plan->device, kTopGroup), 1);
}

const gpu_move_op gpu_constant_of_shape_op = {.base = {.claim = gpu_move_claim,
                                                       .attribute_bytes = sizeof(gpu_move),
                                                       .parse = parse_constant,
                                                       .plan = plan_constant}};
const gpu_move_op gpu_eye_like_op = {.base = {.claim = claim_eye,
                                              .attribute_bytes = sizeof(gpu_move),
                                              .parse = gpu_move_parse,
                                              .plan = plan_eye},
                                     .ints = {{"dtype", 0}, {"k", 0}}};
const gpu_move_op gpu_trilu_op = {GPU_MOVE(plan_trilu), .ints = {{"upper", 1}}};
const gpu_move_op gpu_shape_op = {GPU_MOVE(plan_shape),
                                  .ints = {{"start", 0}, {"end", INT64_MAX}}};
const gpu_move_op gpu_size_op = {GPU_MOVE(plan_size)};
const gpu_move_op gpu_range_op = {GPU_MOVE(plan_range)};
const gpu_move_op gpu_cum_sum_op = {GPU_MOVE(plan_cumulate),
                                    .ints = {{"exclusive", 0}, {"reverse", 0}}};
const gpu_move_op gpu_top_k_op = {GPU_MOVE(plan_top_k),
                                  .ints = {{"axis", -1}, {"largest", 1}, {"k", -1}}};

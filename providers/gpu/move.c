// SPDX-License-Identifier: Apache-2.0
#include "move.h"

#include <ops_support/checked.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

// ---- Attributes ----

void gpu_move_claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                    ops_claim *claim) {
  const gpu_move_op *op = (const gpu_move_op *)def->context;
  (void)device;
  for (int i = 0; i < kGpuMoveLists && op->lists[i]; ++i) {
    uint64_t count;
    ops_node_ints(node, op->lists[i], &count);
    if (count > kGpuMaxList)
      ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "%s has %llu values, at most %d",
                       op->lists[i], (unsigned long long)count, kGpuMaxList);
  }
  if (node->output_count > kGpuMaxList)
    ops_claim_refuse(claim, OPS_REASON_ARITY, "%llu outputs, at most %d",
                     (unsigned long long)node->output_count, kGpuMaxList);
}

static void read_list(const ops_node *node, const char *name, gpu_list *list) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  if (count > kGpuMaxList) count = kGpuMaxList;
  list->count = values || ops_node_attribute(node, name) ? (int32_t)count : -1;
  if (count > 0) memcpy(list->values, values, count * sizeof *values);
}

static int32_t read_variant(const gpu_move_op *op, const ops_node *node, int32_t *out_variant,
                            ops_error *error) {
  const ops_str fallback = {op->variants[0], strlen(op->variants[0])};
  const ops_str value = ops_node_string(node, op->variant, fallback);
  for (*out_variant = 0; op->variants[*out_variant]; ++*out_variant)
    if (ops_str_equal(value, op->variants[*out_variant])) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "%.*s: %s is '%.*s', expected one such as '%s' or '%s'",
                       OPS_STR_FMT(node->op), op->variant, OPS_STR_FMT(value), op->variants[0],
                       op->variants[1]);
}

int32_t gpu_move_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                       ops_error *error) {
  const gpu_move_op *op = (const gpu_move_op *)def->context;
  gpu_move *move = attributes;
  for (int i = 0; i < kGpuMoveLists; ++i) {
    move->lists[i].count = -1;
    if (op->lists[i]) read_list(node, op->lists[i], &move->lists[i]);
  }
  for (int i = 0; i < kGpuMoveInts && op->ints[i].name; ++i)
    move->ints[i] = ops_node_int(node, op->ints[i].name, op->ints[i].fallback);
  move->value = ops_node_float(node, "value", 0);
  return op->variant ? read_variant(op, node, &move->variant, error) : OPS_OK;
}

// ---- Shapes ----

const ops_type_info *gpu_plan_input(const gpu_plan *plan, uint64_t index) {
  const ops_operand *input = ops_request_input(plan->request, index);
  return input ? input->type : NULL;
}

void gpu_list_resolve(gpu_plan *plan, const gpu_list *attribute, uint64_t index,
                      gpu_list *out_list) {
  const ops_operand *input = ops_request_input(plan->request, index);
  out_list->count = -1;
  if (attribute && attribute->count >= 0) {
    *out_list = *attribute;
  } else if (input) {
    out_list->count = (int32_t)ops_operand_ints(input, out_list->values, kGpuMaxList);
    if (out_list->count < 0)
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "input %llu: expected at most %d integers in host memory",
                    (unsigned long long)index, kGpuMaxList);
  }
}

int32_t gpu_plan_axis(gpu_plan *plan, int64_t axis, int32_t rank) {
  if (axis >= -rank && axis < rank) return (int32_t)(axis < 0 ? axis + rank : axis);
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis %lld, expected one in [%d, %d)",
                (long long)axis, -rank, rank);
  return 0;
}

void gpu_mark_axes(gpu_plan *plan, const gpu_list *axes, int32_t rank, uint8_t *out_marked) {
  memset(out_marked, 0, rank > 0 ? (size_t)rank : 0);
  for (int32_t i = 0; i < axes->count; ++i) {
    const int32_t axis = gpu_plan_axis(plan, axes->values[i], rank);
    if (plan->status != OPS_OK) return;
    if (out_marked[axis])
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis %d is named twice", axis);
    out_marked[axis] = 1;
  }
}

const char *gpu_word(int32_t type) {
  static const char *const kNames[] = {NULL, "uint8", "uint16", NULL,    "uint32",
                                       NULL, NULL,    NULL,     "uint64"};
  return kNames[ops_type_bits(type) / 8];
}

int32_t gpu_plan_number(gpu_plan *plan, uint64_t index, double *out_number) {
  const ops_operand *input = ops_request_input(plan->request, index);
  const ops_tensor *tensor = ops_operand_contents(input);
  const void *data = tensor ? ops_tensor_data(tensor) : NULL;
  if (!data || ops_tensor_count(tensor) != 1) return 0;
#define READ(type, T)                       \
  case type:                                \
    *out_number = (double)*(const T *)data; \
    return 1
  switch (tensor->type) {
    READ(OPS_TYPE_INT8, int8_t);
    READ(OPS_TYPE_INT16, int16_t);
    READ(OPS_TYPE_INT32, int32_t);
    READ(OPS_TYPE_INT64, int64_t);
    READ(OPS_TYPE_UINT8, uint8_t);
    READ(OPS_TYPE_UINT16, uint16_t);
    READ(OPS_TYPE_UINT32, uint32_t);
    READ(OPS_TYPE_UINT64, uint64_t);
    READ(OPS_TYPE_FLOAT, float);
    READ(OPS_TYPE_DOUBLE, double);
    default:
      return 0;
  }
#undef READ
}

int64_t gpu_product_of(const int64_t *dims, int32_t begin, int32_t end) {
  int64_t product = 1;
  for (int32_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

// ---- Launches ----

gpu_step *gpu_move_step(gpu_plan *plan, int32_t type, int32_t wide, const char *function) {
  gpu_step *step = gpu_plan_step(plan, &gpu_move_source, function);
  gpu_define(step, "WORD", "%s", gpu_word(type));
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  return step;
}

void gpu_arg_index(gpu_step *step, int32_t wide, int64_t value) {
  if (wide)
    gpu_arg_long(step, value);
  else
    gpu_arg_int(step, (int32_t)value);
}

void gpu_arg_indices(gpu_step *step, int32_t wide, const int64_t *values, uint32_t count) {
  int32_t narrow[kGpuValueBytes / sizeof(int32_t)];
  if (wide) {
    gpu_arg_bytes(step, values, count * (uint32_t)sizeof *values);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) narrow[i] = (int32_t)values[i];
  gpu_arg_bytes(step, narrow, count * (uint32_t)sizeof *narrow);
}

static void merge_dims(gpu_walk *w) {
  int32_t kept = 0;
  for (int32_t d = 0; d < w->rank; ++d) {
    if (w->size[d] == 1) continue;
    if (kept > 0 && w->from[kept - 1] == w->from[d] * w->size[d] &&
        w->to[kept - 1] == w->to[d] * w->size[d]) {
      w->size[kept - 1] *= w->size[d];
    } else {
      w->size[kept++] = w->size[d];
    }
    w->from[kept - 1] = w->from[d];
    w->to[kept - 1] = w->to[d];
  }
  w->rank = kept;
}

// 1 if an index on the way would not fit an int.
static int32_t is_wide(const gpu_walk *w, int64_t count) {
  const int64_t most = INT32_MAX - 4096;
  int64_t from = w->from_begin, to = w->to_begin;
  for (int32_t d = 0; d < w->rank; ++d) {
    from += w->size[d] * (w->from[d] < 0 ? 0 : w->from[d]);
    to += w->size[d] * (w->to[d] < 0 ? 0 : w->to[d]);
  }
  return count > most || from > most || to > most;
}

void gpu_plan_copy(gpu_plan *plan, int32_t type, uint64_t input, uint64_t output,
                   const gpu_walk *walk) {
  gpu_walk w = *walk;
  const int64_t count = gpu_product_of(w.size, 0, w.rank);
  if (plan->status != OPS_OK || count == 0 || !((plan->kernel->wanted_outputs >> output) & 1))
    return;
  merge_dims(&w);
  if (w.rank == 0) w = (gpu_walk){1, {1}, {0}, {0}, w.from_begin, w.to_begin};
  if (w.rank > kGpuMaxWalk) {
    gpu_plan_fail(plan, OPS_ERROR_UNSUPPORTED, "%d dimensions remain after merging, at most %d",
                  w.rank, kGpuMaxWalk);
    return;
  }
  const int32_t wide = is_wide(&w, count);
  int64_t sizes[3 * kGpuMaxWalk];
  for (int32_t d = 0; d < kGpuMaxWalk; ++d) {
    const int used = d < w.rank;
    sizes[d] = used ? w.size[d] : 1;
    sizes[kGpuMaxWalk + d] = used ? w.from[d] : 0;
    sizes[2 * kGpuMaxWalk + d] = used ? w.to[d] : 0;
  }
  gpu_step *step = gpu_move_step(plan, type, wide, "copy");
  gpu_arg_input(step, input);
  gpu_arg_output(step, output);
  gpu_arg_indices(step, wide, sizes, 3 * kGpuMaxWalk);
  gpu_arg_int(step, w.rank);
  gpu_arg_index(step, wide, w.from_begin);
  gpu_arg_index(step, wide, w.to_begin);
  gpu_arg_index(step, wide, count);
  gpu_grid_items(step, count);
}

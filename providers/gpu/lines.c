// SPDX-License-Identifier: Apache-2.0
//
// Cutting shapes into lines, and choosing the work-groups that walk them.
#include "lines.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

// ---- Axes ----

int32_t gpu_axes_read(const ops_node *node, const char *name, gpu_axes *out_axes,
                      ops_error *error) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  if (count > OPS_MAX_RANK)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%.*s: attribute %s has %llu values, at most %d are possible",
                         OPS_STR_FMT(node->op), name, (unsigned long long)count, OPS_MAX_RANK);
  out_axes->count = values || ops_node_attribute(node, name) ? (int32_t)count : -1;
  if (count > 0) memcpy(out_axes->values, values, count * sizeof *values);
  return OPS_OK;
}

int32_t gpu_axes_resolve(gpu_plan *plan, const gpu_axes *attribute, uint64_t input,
                         gpu_axes *out_axes) {
  const ops_operand *operand = ops_request_input(plan->request, input);
  *out_axes = *attribute;
  if (attribute->count >= 0) return 1;
  if (!operand) return 0;
  const int64_t count = ops_operand_ints(operand, out_axes->values, OPS_MAX_RANK);
  if (count < 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the contents of input %llu must be known when shapes are, an int32 or int64 "
                  "vector of at most %d elements",
                  (unsigned long long)input, OPS_MAX_RANK);
  out_axes->count = (int32_t)count;
  return count >= 0;
}

int32_t gpu_axis_resolve(gpu_plan *plan, int64_t axis, int32_t rank) {
  if (axis >= -rank && axis < rank) return (int32_t)(axis < 0 ? axis + rank : axis);
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis must be in [%d, %d], found %lld", -rank,
                rank - 1, (long long)axis);
  return 0;
}

uint64_t gpu_axes_mark(gpu_plan *plan, const gpu_axes *axes, int32_t rank) {
  uint64_t marked = 0;
  for (int32_t i = 0; i < axes->count && plan->status == OPS_OK; ++i) {
    const uint64_t bit = UINT64_C(1) << gpu_axis_resolve(plan, axes->values[i], rank);
    if (marked & bit)
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "axis %lld is named twice",
                    (long long)axes->values[i]);
    marked |= bit;
  }
  return marked;
}

// ---- Cutting ----

// Appends a dimension that lies inside those before it; it merges with the last one if that is
// its neighbour in memory.
static int32_t append(gpu_dims *dims, int64_t size, int64_t stride) {
  if (size == 1) return 1;
  const int32_t last = dims->rank - 1;
  dims->count *= size;
  if (last >= 0 && dims->stride[last] == size * stride) {
    dims->size[last] *= size;
    dims->stride[last] = stride;
    return 1;
  }
  if (dims->rank == kGpuLineDims) return 0;
  dims->size[dims->rank] = size;
  dims->stride[dims->rank++] = stride;
  return 1;
}

// Neighbouring items read neighbouring elements: along the line where its elements are
// adjacent, across lines where these are. Few different shapes of groups, because some drivers
// compile for each.
static void choose_items(uint32_t group, gpu_lines *lines) {
  const gpu_dims *kept = &lines->kept;
  const int64_t count = lines->inner.count;
  const int32_t across =
      kept->rank > 0 && kept->stride[kept->rank - 1] == 1 && kept->size[kept->rank - 1] >= 8;
  uint32_t items = 1;
  if (across)
    items = count >= 64 ? 8 : 1;
  else
    items = count >= 512 ? 256 : count >= 32 ? 32 : count >= 8 ? 4 : 1;
  lines->items_y = items < group ? items : group;
  lines->items_x = group / lines->items_y;
}

void gpu_lines_cut(gpu_plan *plan, int32_t rank, const int64_t *dims, uint64_t reduced,
                   gpu_lines *out_lines) {
  int64_t stride[OPS_MAX_RANK], all;
  *out_lines = (gpu_lines){.kept.count = 1, .inner.count = 1};
  if (!ops_checked_count(dims, rank, &all)) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "the size of an input overflows");
    return;
  }
  ops_strides_contiguous(rank, dims, stride);
  for (int32_t d = 0; d < rank; ++d) {
    gpu_dims *set = (reduced >> d) & 1 ? &out_lines->inner : &out_lines->kept;
    if (!append(set, dims[d], stride[d]))
      gpu_plan_fail(plan, OPS_ERROR_UNSUPPORTED,
                    "more than %d dimensions remain after merging on one side of the axes",
                    kGpuLineDims);
  }
  out_lines->wide = all > INT32_MAX - 65536;
  choose_items(gpu_group_items(plan->device, kGpuLineGroup), out_lines);
}

// ---- The launch ----

const char *gpu_accumulator(int32_t type) {
  return type == OPS_TYPE_DOUBLE ? "double" : "float";
}

void gpu_lines_define(gpu_step *step, const gpu_lines *lines) {
  gpu_define(step, "IDX", "%s", lines->wide ? "long" : "int");
  gpu_define(step, "GROUP", "%u", gpu_group_items(step->plan->device, kGpuLineGroup));
}

void gpu_lines_index(gpu_step *step, const gpu_lines *lines, int64_t value) {
  if (lines->wide)
    gpu_arg_long(step, value);
  else
    gpu_arg_int(step, (int32_t)value);
}

void gpu_lines_arg(gpu_step *step, const gpu_lines *lines) {
  enum { kValues = 4 * kGpuLineDims + 4 };
  const gpu_dims *sets[2] = {&lines->kept, &lines->inner};
  int64_t values[kValues] = {0};
  int32_t narrow[kValues];
  for (int32_t s = 0; s < 2; ++s) {
    int64_t *to = values + s * (2 * kGpuLineDims + 2);
    to[0] = sets[s]->rank;
    to[1] = sets[s]->count;
    memcpy(to + 2, sets[s]->size, sizeof sets[s]->size);
    memcpy(to + 2 + kGpuLineDims, sets[s]->stride, sizeof sets[s]->stride);
  }
  for (int32_t i = 0; i < kValues; ++i) narrow[i] = (int32_t)values[i];
  if (lines->wide)
    gpu_arg_bytes(step, values, sizeof values);
  else
    gpu_arg_bytes(step, narrow, sizeof narrow);
}

void gpu_lines_grid(gpu_step *step, const gpu_lines *lines, int64_t parts) {
  const int64_t x = lines->items_x;
  gpu_grid_groups(step, (lines->kept.count + x - 1) / x, parts, 1, lines->items_x,
                  lines->items_y);
}

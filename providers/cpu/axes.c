// SPDX-License-Identifier: Apache-2.0
//
// Lists of integers from an attribute or an input.
#include "axes.h"

#include <string.h>

void cpu_list_read(const ops_node *node, const char *name, cpu_list *out_list) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  if (count > OPS_MAX_RANK) count = OPS_MAX_RANK;
  out_list->count = values || ops_node_attribute(node, name) ? (int32_t)count : -1;
  if (count > 0) memcpy(out_list->values, values, count * sizeof *values);
}

void cpu_list_claim(const ops_node *node, const char *name, ops_claim *claim) {
  uint64_t count;
  ops_node_ints(node, name, &count);
  if (count > OPS_MAX_RANK)
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE, "%s has %llu values, at most %d are possible", name,
               (unsigned long long)count, OPS_MAX_RANK);
}

int32_t cpu_list_resolve(const ops_kernel *kernel, const cpu_list *attribute,
                         const ops_prepare_request *request, int32_t input, cpu_list *out_list,
                         ops_error *error) {
  if (attribute->count >= 0) {
    *out_list = *attribute;
    return OPS_OK;
  }
  return cpu_ints(kernel, request, input, out_list->values, &out_list->count, error);
}

int32_t cpu_list_mark_axes(const ops_kernel *kernel, const cpu_list *axes, int32_t rank,
                           uint8_t *out_marked, ops_error *error) {
  if (rank > 0) memset(out_marked, 0, (size_t)rank);
  for (int32_t i = 0; i < axes->count; ++i) {
    int32_t axis;
    OPS_RETURN_IF_ERROR(cpu_axis(kernel, axes->values[i], rank, &axis, error));
    if (out_marked[axis]) return cpu_invalid(kernel, error, "axis %d is named twice", axis);
    out_marked[axis] = 1;
  }
  return OPS_OK;
}

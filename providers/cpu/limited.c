// SPDX-License-Identifier: Apache-2.0
//
// Inputs are contiguous, so that a shape with ones behind it describes the same elements.
#include "limited.h"

#include <string.h>

// These take any number of inputs and never broadcast by attributes.
static int is_fold(ops_str op) {
  static const char *const names[] = {"Max", "Mean", "Min", "Sum"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (ops_str_equal(op, names[i])) return 1;
  return 0;
}

void cpu_limited_read(const ops_node *node, cpu_limited *out) {
  const int fold = is_fold(node->op);
  *out = (cpu_limited){CPU_LIMITED_OFF, ops_node_int(node, "axis", -1)};
  if (node->opset > CPU_LIMITED_UNTIL + fold) return;
  out->mode = CPU_LIMITED_EQUAL;
  if (!fold && ops_node_int(node, "broadcast", 0) != 0) out->mode = CPU_LIMITED_STRETCH;
  if (ops_str_equal(node->op, "PRelu")) out->mode = CPU_LIMITED_CHANNEL;
}

static int same_shape(const cpu_shape *a, const cpu_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) == 0;
}

int32_t cpu_limited_align(const ops_kernel *kernel, const cpu_limited *limited,
                          const cpu_shape *a, cpu_shape *b, ops_error *error) {
  if (limited->mode == CPU_LIMITED_OFF) return OPS_OK;
  if (limited->mode == CPU_LIMITED_EQUAL)
    return same_shape(a, b) ? OPS_OK
                            : cpu_invalid(kernel, error,
                                          "the inputs must have one shape, unless attribute "
                                          "broadcast is 1");
  const int one = cpu_count(b) == 1;
  if (b->rank > a->rank || (limited->mode == CPU_LIMITED_CHANNEL && b->rank > 1 && !one))
    return cpu_invalid(kernel, error, "the second input has rank %d, too much for %d", b->rank,
                       a->rank);
  int64_t axis = limited->mode == CPU_LIMITED_CHANNEL ? (a->rank > 1 ? 1 : 0) : limited->axis;
  if (axis < 0 || one) axis = a->rank - b->rank;
  if (axis > a->rank - b->rank)
    return cpu_invalid(kernel, error, "axis %lld leaves no room for the second input's rank %d",
                       (long long)axis, b->rank);
  for (int32_t i = 0; i < b->rank; ++i)
    if (b->dims[i] != 1 && b->dims[i] != a->dims[axis + i])
      return cpu_invalid(kernel, error,
                         "dimension %d of the second input is %lld, expected 1 or %lld", i,
                         (long long)b->dims[i], (long long)a->dims[axis + i]);
  while (axis + b->rank < a->rank) b->dims[b->rank++] = 1;
  return OPS_OK;
}

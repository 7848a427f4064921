// SPDX-License-Identifier: Apache-2.0
//
// Questions about types.
#include "graph/type.h"

#include <ops_support/checked.h>

static int is_tensor(const rt_type *type) {
  return type->kind == RT_TYPE_TENSOR || type->kind == RT_TYPE_SPARSE_TENSOR;
}

int rt_type_is_static(const rt_type *type, int64_t *out_count) {
  int64_t dims[OPS_MAX_RANK];
  int64_t count;
  if (!is_tensor(type) || type->rank < 0 || type->rank > OPS_MAX_RANK) return 0;
  for (int32_t i = 0; i < type->rank; ++i) {
    if (!rt_dim_is_const(type->dims[i])) return 0;
    dims[i] = type->dims[i].value;
  }
  if (!ops_checked_count(dims, type->rank, &count)) return 0;
  if (out_count) *out_count = count;
  return 1;
}

int rt_type_equal(const rt_type *a, const rt_type *b) {
  if (a->kind != b->kind || a->elem_type != b->elem_type) return 0;
  if (is_tensor(a)) {
    if (a->rank != b->rank) return 0;
    for (int32_t i = 0; i < a->rank; ++i) {
      if (!rt_dim_equal(a->dims[i], b->dims[i])) return 0;
    }
    return 1;
  }
  if (!a->element || !b->element) return a->element == b->element;
  return rt_type_equal(a->element, b->element);
}

int rt_type_contradicts(const rt_type *found, const rt_type *declared) {
  if (!found->kind || !declared->kind) return 0;
  if (found->kind != declared->kind) return declared->kind != RT_TYPE_OPTIONAL;
  if (found->kind != RT_TYPE_TENSOR) return 0;
  if (found->elem_type && declared->elem_type && found->elem_type != declared->elem_type)
    return 1;
  if (found->rank < 0 || declared->rank < 0) return 0;
  if (found->rank != declared->rank) return 1;
  for (int32_t i = 0; i < found->rank; ++i) {
    const rt_dim a = found->dims[i], b = declared->dims[i];
    if (rt_dim_is_const(a) && rt_dim_is_const(b) && a.value != b.value) return 1;
  }
  return 0;
}

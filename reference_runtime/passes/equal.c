// SPDX-License-Identifier: Apache-2.0
#include "passes/equal.h"

#include <string.h>

static int strings_equal(const ops_str *a, const ops_str *b, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, a[i].size) != 0))
      return 0;
  return 1;
}

int rt_pass_constants_equal(const rt_constant *a, const rt_constant *b) {
  if (a == b) return 1;
  if (a->sparse || b->sparse || a->elem_type != b->elem_type || a->rank != b->rank ||
      a->size != b->size || a->element_count != b->element_count)
    return 0;
  for (int32_t i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return 0;
  if (a->elem_type == OPS_TYPE_STRING)
    return strings_equal(a->strings, b->strings, a->element_count);
  return a->size == 0 || a->data == b->data || memcmp(a->data, b->data, a->size) == 0;
}

static int attr_equal(const rt_attr *a, const rt_attr *b) {
  if (a->kind != b->kind || a->count != b->count) return 0;
  switch (a->kind) {
    case RT_ATTR_FLOAT:
    case RT_ATTR_FLOATS:
      return a->count == 0 || memcmp(a->floats, b->floats, a->count * sizeof *a->floats) == 0;
    case RT_ATTR_INT:
    case RT_ATTR_INTS:
      return a->count == 0 || memcmp(a->ints, b->ints, a->count * sizeof *a->ints) == 0;
    case RT_ATTR_STRING:
    case RT_ATTR_STRINGS:
      return strings_equal(a->strings, b->strings, a->count);
    case RT_ATTR_GRAPH:
    case RT_ATTR_GRAPHS:
      return 0;
    case RT_ATTR_TYPE:
    case RT_ATTR_TYPES:
      for (uint32_t i = 0; i < a->count; ++i)
        if (!rt_type_equal(&a->types[i], &b->types[i])) return 0;
      return 1;
    default:
      for (uint32_t i = 0; i < a->count; ++i)
        if (!rt_pass_constants_equal(a->tensors[i], b->tensors[i])) return 0;
      return 1;
  }
}

int rt_pass_attrs_equal(const rt_attrs *a, const rt_attrs *b) {
  if (a->count != b->count) return 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    const rt_attr *other = rt_attrs_find(b, a->items[i].name);
    if (!other || !attr_equal(&a->items[i], other)) return 0;
  }
  return 1;
}

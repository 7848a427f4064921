// SPDX-License-Identifier: Apache-2.0
//
// Looking attributes up. Lists are short, so the search is linear.
#include "graph/attribute.h"

#include <string.h>

int rt_op_is(const rt_op *op, const char *name) {
  return op->domain[0] == '\0' && strcmp(op->name, name) == 0;
}

const rt_attr *rt_attrs_find(const rt_attrs *attrs, const char *name) {
  for (uint32_t i = 0; i < attrs->count; ++i) {
    if (strcmp(attrs->items[i].name, name) == 0) return &attrs->items[i];
  }
  return NULL;
}

static const rt_attr *find_kind(const rt_attrs *attrs, const char *name, int32_t kind) {
  const rt_attr *attr = rt_attrs_find(attrs, name);
  return attr && attr->kind == kind ? attr : NULL;
}

int64_t rt_attrs_int(const rt_attrs *attrs, const char *name, int64_t missing) {
  const rt_attr *attr = find_kind(attrs, name, RT_ATTR_INT);
  return attr ? attr->ints[0] : missing;
}

float rt_attrs_float(const rt_attrs *attrs, const char *name, float missing) {
  const rt_attr *attr = find_kind(attrs, name, RT_ATTR_FLOAT);
  return attr ? attr->floats[0] : missing;
}

const int64_t *rt_attrs_ints(const rt_attrs *attrs, const char *name, uint32_t *out_count) {
  static const int64_t none = 0;
  const rt_attr *attr = find_kind(attrs, name, RT_ATTR_INTS);
  *out_count = attr ? attr->count : 0;
  if (!attr) return NULL;
  return attr->count ? attr->ints : &none;
}

const float *rt_attrs_floats(const rt_attrs *attrs, const char *name, uint32_t *out_count) {
  static const float none = 0;
  const rt_attr *attr = find_kind(attrs, name, RT_ATTR_FLOATS);
  *out_count = attr ? attr->count : 0;
  if (!attr) return NULL;
  return attr->count ? attr->floats : &none;
}

ops_str rt_attrs_string(const rt_attrs *attrs, const char *name) {
  const rt_attr *attr = find_kind(attrs, name, RT_ATTR_STRING);
  return attr ? attr->strings[0] : (ops_str){NULL, 0};
}

int rt_attrs_string_is(const rt_attrs *attrs, const char *name, const char *text) {
  const ops_str value = rt_attrs_string(attrs, name);
  return value.data && value.size == strlen(text) && memcmp(value.data, text, value.size) == 0;
}

rt_constant *rt_attrs_tensor(const rt_attrs *attrs, const char *name) {
  const rt_attr *attr = rt_attrs_find(attrs, name);
  if (!attr || (attr->kind != RT_ATTR_TENSOR && attr->kind != RT_ATTR_SPARSE_TENSOR)) {
    return NULL;
  }
  return attr->tensors[0];
}

struct rt_graph *rt_attrs_graph(const rt_attrs *attrs, const char *name) {
  const rt_attr *attr = find_kind(attrs, name, RT_ATTR_GRAPH);
  return attr ? attr->graphs[0] : NULL;
}

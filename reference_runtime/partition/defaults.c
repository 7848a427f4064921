// SPDX-License-Identifier: Apache-2.0
//
// Defaults are views straight into the constant table of schemas.
#include "partition/defaults.h"

#include <string.h>

#include "schema/schema.h"

static const rt_schema *schema_of(const rt_op *op) {
  return rt_schema_find((ops_str){op->domain, strlen(op->domain)},
                        (ops_str){op->name, strlen(op->name)}, op->opset);
}

static int is_missing(const rt_op *op, const rt_schema_attribute *attribute) {
  return attribute->has_default && !rt_attrs_find(&op->attrs, attribute->name);
}

uint32_t rt_defaults_count(const rt_op *op) {
  const rt_schema *schema = schema_of(op);
  uint32_t count = 0;
  for (int32_t i = 0; schema && i < schema->attribute_count; ++i)
    count += (uint32_t)is_missing(op, &schema->attributes[i]);
  return count;
}

static void fill(const rt_schema_attribute *attribute, ops_attribute *view) {
  *view = (ops_attribute){.struct_size = sizeof *view,
                          .name = {attribute->name, strlen(attribute->name)},
                          .kind = attribute->kind,
                          .count = attribute->default_count};
  switch (attribute->kind) {
    case OPS_ATTRIBUTE_FLOAT:
    case OPS_ATTRIBUTE_FLOATS:
      view->floats = attribute->default_value.floats;
      return;
    case OPS_ATTRIBUTE_INT:
    case OPS_ATTRIBUTE_INTS:
      view->ints = attribute->default_value.ints;
      return;
    default:
      view->strings = attribute->default_value.strings;
  }
}

uint32_t rt_defaults_fill(const rt_op *op, ops_attribute *out_attributes) {
  const rt_schema *schema = schema_of(op);
  uint32_t count = 0;
  for (int32_t i = 0; schema && i < schema->attribute_count; ++i)
    if (is_missing(op, &schema->attributes[i]))
      fill(&schema->attributes[i], &out_attributes[count++]);
  return count;
}

// SPDX-License-Identifier: Apache-2.0
//
// What the schemas of ONNX say about an operator's name.
#include <opsrt/opsrt.h>

#include "schema/schema.h"

void opsrt_operator_find(ops_str domain, ops_str name, opsrt_operator *out_operator) {
  const int64_t newest = rt_schema_newest_opset(domain);
  const rt_schema *first = rt_schema_find_first(domain, name);
  const rt_schema *near = first ? NULL : rt_schema_find_near(domain, name, newest);
  *out_operator = (opsrt_operator){.newest_opset = newest, .since = first ? first->since : 0};
  if (!near) return;
  out_operator->near_domain = near->domain[0] ? near->domain : "ai.onnx";
  out_operator->near_name = near->name;
}

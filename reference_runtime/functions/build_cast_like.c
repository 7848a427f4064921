// SPDX-License-Identifier: Apache-2.0
//
// CastLike: Cast to the element type of the second input.
#include "functions/table.h"
#include "schema/schema.h"

int32_t rt_build_cast_like(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 1);
  if (!type) return rt_function_unknown(node, 1, "element type", error);
  const rt_schema *schema =
      rt_schema_find((ops_str)OPS_STR(""), (ops_str)OPS_STR("CastLike"), node->op.opset);
  rt_text_add(text, "(input, target_type) => (output) {\noutput = Cast <to: int = %d", type);
  if (rt_schema_attribute_find(schema, (ops_str)OPS_STR("saturate")))
    rt_text_add(text, ", saturate: int = @saturate");
  if (rt_schema_attribute_find(schema, (ops_str)OPS_STR("round_mode")))
    rt_text_add(text, ", round_mode: string = @round_mode");
  rt_text_add(text, "> (input)\n}");
  return OPS_OK;
}

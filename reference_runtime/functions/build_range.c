// SPDX-License-Identifier: Apache-2.0
//
// Range from opset 27 on: 16-bit numbers are counted in the type that stash_type states; all
// others as before.
#include "functions/table.h"

int32_t rt_build_range(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 0);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text, "(start, limit, delta) => (output) {\n");
  if (type != OPS_TYPE_FLOAT16 && type != OPS_TYPE_BFLOAT16) {
    rt_text_add(text, "output = Range (start, limit, delta)\n}");
    return OPS_OK;
  }
  const int32_t stash = (int32_t)rt_attrs_int(&node->op.attrs, "stash_type", OPS_TYPE_FLOAT);
  rt_text_add(text,
              "wide_start = Cast <to: int = %d> (start)\n"
              "wide_limit = Cast <to: int = %d> (limit)\n"
              "wide_delta = Cast <to: int = %d> (delta)\n"
              "wide = Range (wide_start, wide_limit, wide_delta)\n"
              "output = Cast <to: int = %d> (wide)\n}",
              stash, stash, stash, type);
  return OPS_OK;
}

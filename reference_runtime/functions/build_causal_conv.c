// SPDX-License-Identifier: Apache-2.0
//
// CausalConvWithState: a convolution per channel over the state of the last k - 1 positions
// (zeros where there is none) and the input, which leaves the state for the next call.
#include "functions/table.h"

int32_t rt_build_causal_conv(rt_text *text, const rt_node *node, ops_error *error) {
  const rt_value *weight = rt_node_input(node, 1);
  const rt_type *type = weight ? &weight->type : NULL;
  if (!type || type->kind != RT_TYPE_TENSOR || type->rank != 3 ||
      !rt_dim_is_const(type->dims[0]) || !rt_dim_is_const(type->dims[2]))
    return rt_function_unknown(node, 1, "shape", error);
  const int64_t state = type->dims[2].value - 1, axis = 2, end = INT64_MAX;
  rt_text_add(text, "(input, weight, bias, past_state) => (output, present_state) {\n");
  rt_text_ints(text, "axis", &axis, 1);
  if (rt_function_has(node, 3)) {
    rt_text_add(text, "whole = Concat <axis: int = 2> (past_state, input)\n");
  } else {
    const int64_t pads[] = {state, 0};
    rt_text_ints(text, "pads", pads, 2);
    rt_text_add(text, "whole = Pad (input, pads, , axis)\n");
  }
  const int is_plain = !rt_attrs_find(&node->op.attrs, "activation") ||
                       rt_attrs_string_is(&node->op.attrs, "activation", "none");
  rt_text_add(text, "%s = Conv <group: int = %lld> (whole, weight, bias)\n",
              is_plain ? "output" : "sum", (long long)type->dims[0].value);
  if (!is_plain) rt_text_add(text, "gate = Sigmoid (sum)\noutput = Mul (sum, gate)\n");
  rt_text_add(text,
              "length = Shape <start: int = 2, end: int = 3> (whole)\n"
              "state = Constant <value: tensor = int64[1] {%lld}> ()\n"
              "start = Sub (length, state)\n",
              (long long)state);
  rt_text_ints(text, "end", &end, 1);
  rt_text_add(text, "present_state = Slice (whole, start, end, axis)\n}");
  return OPS_OK;
}

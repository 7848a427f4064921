// SPDX-License-Identifier: Apache-2.0
//
// Softmax and LogSoftmax from opset 13 on, along one axis; the maximum is subtracted first, so
// that no exponential overflows.
#include "functions/table.h"

static void begin(rt_text *text, const rt_node *node) {
  const int64_t axis = rt_attrs_int(&node->op.attrs, "axis", -1);
  rt_text_add(text, "(input) => (output) {\n");
  rt_text_ints(text, "axes", &axis, 1);
  rt_text_add(text,
              "highest = ReduceMax (input, axes)\n"
              "shifted = Sub (input, highest)\n"
              "exponentials = Exp (shifted)\n"
              "sum = ReduceSum (exponentials, axes)\n");
}

int32_t rt_build_softmax(rt_text *text, const rt_node *node, ops_error *error) {
  (void)error;
  begin(text, node);
  rt_text_add(text, "output = Div (exponentials, sum)\n}");
  return OPS_OK;
}

int32_t rt_build_log_softmax(rt_text *text, const rt_node *node, ops_error *error) {
  (void)error;
  begin(text, node);
  rt_text_add(text, "logarithm = Log (sum)\noutput = Sub (shifted, logarithm)\n}");
  return OPS_OK;
}

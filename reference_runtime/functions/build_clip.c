// SPDX-License-Identifier: Apache-2.0
//
// Clip: min(max(x, min), max) with comparisons, so that NaN passes; each bound may be absent.
#include "functions/table.h"

int32_t rt_build_clip(rt_text *text, const rt_node *node, ops_error *error) {
  (void)error;
  const char *low = "input", *high = "output";
  rt_text_add(text, "(input, min, max) => (output) {\n");
  if (rt_function_has(node, 1)) {
    low = rt_function_has(node, 2) ? "raised" : "output";
    rt_text_add(text, "below = Less (input, min)\n%s = Where (below, min, input)\n", low);
  }
  if (rt_function_has(node, 2))
    rt_text_add(text, "above = Less (max, %s)\n%s = Where (above, max, %s)\n", low, high, low);
  if (!rt_function_has(node, 1) && !rt_function_has(node, 2))
    rt_text_add(text, "output = Identity (input)\n");
  rt_text_add(text, "}");
  return OPS_OK;
}

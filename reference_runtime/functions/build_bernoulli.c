// SPDX-License-Identifier: Apache-2.0
//
// Bernoulli: 1 with the probability that the input states, else 0.
#include "functions/table.h"

int32_t rt_build_bernoulli(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t type = rt_function_type(node, 0);
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text,
              "(input) => (output) {\n"
              "drawn = RandomUniformLike <dtype: int = %d, low: float = 0, high: float = 1, "
              "seed: float = @seed> (input)\n"
              "is_one = Less (drawn, input)\n"
              "output = Cast <to: int = %lld> (is_one)\n}",
              type, (long long)rt_attrs_int(&node->op.attrs, "dtype", type));
  return OPS_OK;
}

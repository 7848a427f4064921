// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: operators that work element by element.
#ifndef RT_PASSES_ELEMENTWISE_H_
#define RT_PASSES_ELEMENTWISE_H_

#include "graph/graph.h"

// 1 for operators with one input whose result at each place depends on that place alone.
int rt_pass_is_unary(const rt_node *node);
// 1 for operators whose inputs broadcast to the result in the usual way.
int rt_pass_is_broadcasting(const rt_node *node);

#endif  // RT_PASSES_ELEMENTWISE_H_

// SPDX-License-Identifier: Apache-2.0
//
// The moment at which a plan has most alive, and how that grows with the model's symbols.
#ifndef RT_PLAN_FULLEST_H_
#define RT_PLAN_FULLEST_H_

#include "plan/plan.h"

typedef struct rt_plan_fullest {
  // The one during which the lower bound of the arena is alive; NULL: after all of them, or
  // while several run at once.
  const rt_action *action;
  // Bytes alive then as an expression of the graph's symbols: sizes of values, whose shapes
  // inference knows. What depends on shapes in a way that only kernels know is a number.
  rt_dim bytes;
} rt_plan_fullest;

// Of one arena of a plan of `graph`; uses the graph's symbols, which are not thread-safe. Fails
// with OUT_OF_MEMORY. The expression has the value stats.lower_bound at the plan's shapes.
int32_t rt_plan_find_fullest(const rt_plan *plan, const rt_graph *graph, uint32_t arena,
                             rt_plan_fullest *out_fullest, ops_error *error);

#endif  // RT_PLAN_FULLEST_H_

// SPDX-License-Identifier: Apache-2.0
//
// The cheapest layouts for a sequence of steps, each of which can run in a few combinations of
// layouts. Layouts are labels: 0 is the strided one, the others are private ones.
//
// A value exists in the label in which its step made it; a step that wants another pays for a
// reorder, of which later steps have the result, too. From one private label to another the way
// leads through label 0. The whole costs the combinations' own costs and the reorders.
//
// Method: dynamic programming over the steps. A state says, for each value that is still to be
// read, in which labels it exists; of all ways to reach a state only the cheapest is kept. What
// is to come depends on the state alone (Bellman's principle), and a reorder is never cheaper
// before it is needed, so the result is optimal. The states are as many as the values alive at
// once allow, in networks a handful. Beyond RT_LAYOUT_MAX_STATES the cheapest of them go on,
// and the result says that it need not be optimal.
#ifndef RT_PLAN_LAYOUTS_H_
#define RT_PLAN_LAYOUTS_H_

#include <ops/status.h>
#include <stdint.h>

#define RT_LAYOUT_MAX_LABELS 16
#define RT_LAYOUT_MAX_STATES 1024
#define RT_LAYOUT_NO_VALUE UINT32_MAX

// Labels for each input and output.
typedef struct rt_layout_option {
  double cost;
  const uint8_t *inputs;
  const uint8_t *outputs;
} rt_layout_option;

typedef struct rt_layout_step {
  const rt_layout_option *options;
  uint32_t option_count;   // at least 1
  const uint32_t *inputs;  // numbers of values; RT_LAYOUT_NO_VALUE: nobody minds the layout
  uint32_t input_count;
  const uint32_t *outputs;
  uint32_t output_count;
} rt_layout_step;

typedef struct rt_layout_value {
  double reorder;      // cost of a reorder from or to label 0
  uint16_t labels;     // bit for each label in which it exists before the first step
  int32_t is_strided;  // 1: wanted in label 0 after the last step
} rt_layout_value;

typedef struct rt_layout_problem {
  const rt_layout_step *steps;
  uint32_t step_count;
  const rt_layout_value *values;
  uint32_t value_count;
} rt_layout_problem;

// For each step the number of its option. The cost of a step that has one option and only
// values that are strided in any case is left out of *out_cost. *out_optimal is 0 if there were
// too many states. Fails only with OUT_OF_MEMORY.
int32_t rt_layouts_choose(const rt_layout_problem *problem, uint32_t *out_options,
                          double *out_cost, int *out_optimal, ops_error *error);

#endif  // RT_PLAN_LAYOUTS_H_

// SPDX-License-Identifier: Apache-2.0
//
// Random small problems: the choice must cost what the cheapest of all combinations costs, each
// of which is priced by the number of reorders that its labels need, value by value.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>

#include "plan/layouts.h"

#define MAX_STEPS 9
#define MAX_OPTIONS 3
#define MAX_ARGUMENTS 3
#define MAX_VALUES (2 + 2 * MAX_STEPS)

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state % limit);
}

typedef struct random_problem {
  rt_layout_problem problem;
  rt_layout_step steps[MAX_STEPS];
  rt_layout_option options[MAX_STEPS][MAX_OPTIONS];
  rt_layout_value values[MAX_VALUES];
  uint8_t labels[MAX_STEPS][MAX_OPTIONS][2 * MAX_ARGUMENTS];
  uint32_t arguments[MAX_STEPS][2 * MAX_ARGUMENTS];
} random_problem;

static void make_step(random_problem *p, uint32_t index, uint32_t labels) {
  rt_layout_step *step = &p->steps[index];
  uint32_t *arguments = p->arguments[index];
  *step = (rt_layout_step){.options = p->options[index],
                           .option_count = 1 + random_below(MAX_OPTIONS),
                           .inputs = arguments,
                           .input_count = 1 + random_below(MAX_ARGUMENTS),
                           .outputs = arguments + MAX_ARGUMENTS,
                           .output_count = 1 + random_below(2)};
  for (uint32_t i = 0; i < step->input_count; ++i)
    arguments[i] = random_below(8) ? random_below(p->problem.value_count) : RT_LAYOUT_NO_VALUE;
  for (uint32_t i = 0; i < step->output_count; ++i)
    arguments[MAX_ARGUMENTS + i] = p->problem.value_count++;
  for (uint32_t k = 0; k < step->option_count; ++k) {
    for (uint32_t i = 0; i < 2 * MAX_ARGUMENTS; ++i)
      p->labels[index][k][i] = (uint8_t)random_below(labels);
    p->options[index][k] = (rt_layout_option){.cost = random_below(12),
                                              .inputs = p->labels[index][k],
                                              .outputs = p->labels[index][k] + MAX_ARGUMENTS};
  }
}

// One of the values before the first step exists in a private layout alone.
static void make_problem(random_problem *p) {
  const uint32_t labels = 2 + random_below(2);
  memset(p, 0, sizeof *p);
  p->problem = (rt_layout_problem){.steps = p->steps,
                                   .step_count = 1 + random_below(MAX_STEPS),
                                   .values = p->values,
                                   .value_count = 2};
  for (uint32_t i = 0; i < p->problem.step_count; ++i) make_step(p, i, labels);
  for (uint32_t v = 0; v < p->problem.value_count; ++v)
    p->values[v] = (rt_layout_value){.reorder = 1 + random_below(9),
                                     .labels = v < 2 ? (uint16_t)(1u << v) : 0,
                                     .is_strided = random_below(3) == 0};
}

// How many reorders a value costs that was made in `made` and is wanted in the labels `wanted`:
// one for each private label but its own, and one for label 0 if that, or the way, is wanted.
static int count_reorders(uint32_t made, uint32_t wanted) {
  const uint32_t others = wanted & ~(1u << made) & ~1u;
  const int strided = made != 0 && ((wanted & 1u) || others);
  return __builtin_popcount(others) + strided;
}

static double price(const random_problem *p, const uint32_t *chosen) {
  uint32_t made[MAX_VALUES] = {0, 1}, wanted[MAX_VALUES] = {0};
  double cost = 0;
  for (uint32_t i = 0; i < p->problem.step_count; ++i) {
    const rt_layout_step *step = &p->steps[i];
    const rt_layout_option *option = &step->options[chosen[i]];
    cost += option->cost;
    for (uint32_t k = 0; k < step->input_count; ++k)
      if (step->inputs[k] != RT_LAYOUT_NO_VALUE)
        wanted[step->inputs[k]] |= 1u << option->inputs[k];
    for (uint32_t k = 0; k < step->output_count; ++k)
      made[step->outputs[k]] = option->outputs[k];
  }
  for (uint32_t v = 0; v < p->problem.value_count; ++v)
    cost += p->values[v].reorder *
            count_reorders(made[v], wanted[v] | (p->values[v].is_strided ? 1u : 0));
  return cost;
}

static double cheapest(const random_problem *p) {
  uint32_t chosen[MAX_STEPS] = {0};
  double best = INFINITY;
  for (;;) {
    const double cost = price(p, chosen);
    if (cost < best) best = cost;
    uint32_t i = 0;
    while (i < p->problem.step_count && ++chosen[i] == p->steps[i].option_count)
      chosen[i++] = 0;
    if (i == p->problem.step_count) return best;
  }
}

static void choice_is_the_cheapest(void **state) {
  (void)state;
  for (int round = 0; round < 3000; ++round) {
    static random_problem p;
    uint32_t chosen[MAX_STEPS];
    double cost = 0;
    int optimal = 0;
    make_problem(&p);
    assert_int_equal(rt_layouts_choose(&p.problem, chosen, &cost, &optimal, NULL), OPS_OK);
    assert_int_equal(optimal, 1);
    const double best = cheapest(&p), paid = price(&p, chosen);
    if (fabs(paid - best) > 1e-9)
      fail_msg("round %d: the choice costs %g, the cheapest %g", round, paid, best);
  }
}

// Many values alive at once, each in two layouts: too many states to keep. The result still is
// a choice, and says that it may not be the cheapest.
static void too_many_states(void **state) {
  enum { COUNT = 24 };
  static const uint8_t labels[2] = {0, 1};
  rt_layout_step steps[2 * COUNT];
  rt_layout_value values[2 * COUNT + 1] = {{.labels = 1}};
  uint32_t arguments[2 * COUNT][2], chosen[2 * COUNT];
  rt_layout_option options[2] = {{.inputs = labels, .outputs = labels},
                                 {.cost = 1, .inputs = labels, .outputs = labels + 1}};
  double cost = 0;
  int optimal = 1;
  (void)state;
  for (uint32_t i = 0; i < 2 * COUNT; ++i) {
    // Every value of the first half is read in the second, so that all are alive in between.
    arguments[i][0] = i < COUNT ? 0 : i - COUNT + 1;
    arguments[i][1] = i + 1;
    values[i + 1] = (rt_layout_value){.reorder = 1};
    steps[i] = (rt_layout_step){options, 2, &arguments[i][0], 1, &arguments[i][1], 1};
  }
  const rt_layout_problem problem = {steps, 2 * COUNT, values, 2 * COUNT + 1};
  assert_int_equal(rt_layouts_choose(&problem, chosen, &cost, &optimal, NULL), OPS_OK);
  assert_int_equal(optimal, 0);
  for (uint32_t i = 0; i < 2 * COUNT; ++i) assert_true(chosen[i] < 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(choice_is_the_cheapest),
                                     cmocka_unit_test(too_many_states)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

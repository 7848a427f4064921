// SPDX-License-Identifier: Apache-2.0
//
// Dynamic programming over states of living values. See layouts.h.
#include "plan/layouts.h"

#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#define STRIDED 1u  // the bit of label 0

// Makes a value exist in `label` too; returns what that costs.
static double want(uint16_t *labels, uint32_t label, double reorder) {
  const uint16_t bit = (uint16_t)(1u << label);
  if (*labels & bit) return 0;
  const int there = (*labels & STRIDED) != 0;
  const double cost = label == 0 || there ? reorder : 2 * reorder;
  *labels = (uint16_t)(*labels | bit | STRIDED);
  return cost;
}

// ---- States ---------------------------------------------------------------------------------

// A way to a state: the option that led here from state `parent` of the step before.
typedef struct way {
  uint32_t parent;
  uint32_t option;
} way;

// All states between two steps; `width` living values each.
typedef struct layer {
  uint32_t count, capacity, width;
  uint16_t *labels;  // [count][width]
  double *costs;
  way *ways;
} layer;

typedef struct solver {
  const rt_layout_problem *problem;
  uint32_t *last_use;   // by value: 1 + the last step that reads it; step_count + 1: the end
  uint8_t *matters;     // by value: 1 if it can ever be in a private layout
  uint32_t *live;       // values alive before the step; a slot for each
  uint32_t *next_live;  // and after it
  uint32_t *slots;      // by value: its slot in the state that a transition works on
  uint16_t *work;       // that state: the values before the step, then its outputs
  way **history;        // by step: the ways to the states behind it
  uint32_t *table;      // hash → 1 + number of a state
  uint32_t table_size;  // a power of two
  int optimal;
} solver;

static int reserve(layer *l, uint32_t width, uint32_t capacity) {
  *l = (layer){.width = width, .capacity = capacity};
  l->labels = malloc(((size_t)capacity * width + 1) * sizeof *l->labels);
  l->costs = malloc(capacity * sizeof *l->costs);
  l->ways = malloc(capacity * sizeof *l->ways);
  return l->labels && l->costs && l->ways;
}

static void release(layer *l) {
  free(l->labels);
  free(l->costs);
  free(l->ways);
  *l = (layer){0};
}

static uint64_t hash_of(const uint16_t *labels, uint32_t width) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (uint32_t i = 0; i < width; ++i) hash = (hash ^ labels[i]) * 1099511628211u;
  return hash ^ hash >> 29;
}

// Adds a state, or a cheaper way to one that is there.
static void add_state(solver *s, layer *l, const uint16_t *labels, double cost, way from) {
  const size_t bytes = l->width * sizeof *labels;
  uint32_t at = (uint32_t)hash_of(labels, l->width) & (s->table_size - 1);
  for (; s->table[at]; at = (at + 1) & (s->table_size - 1)) {
    const uint32_t state = s->table[at] - 1;
    if (memcmp(l->labels + (size_t)state * l->width, labels, bytes) != 0) continue;
    // Sums in another order may differ in their last bits: the first way wins a tie.
    if (cost < l->costs[state] * (1 - 1e-12)) {
      l->costs[state] = cost;
      l->ways[state] = from;
    }
    return;
  }
  s->table[at] = l->count + 1;
  memcpy(l->labels + (size_t)l->count * l->width, labels, bytes);
  l->costs[l->count] = cost;
  l->ways[l->count++] = from;
}

// ---- One step -------------------------------------------------------------------------------

static double take_option(solver *s, const rt_layout_step *step,
                          const rt_layout_option *option) {
  const rt_layout_value *values = s->problem->values;
  double cost = option->cost;
  for (uint32_t i = 0; i < step->input_count; ++i) {
    const uint32_t value = step->inputs[i];
    if (value != RT_LAYOUT_NO_VALUE && s->matters[value])
      cost += want(&s->work[s->slots[value]], option->inputs[i], values[value].reorder);
  }
  for (uint32_t i = 0; i < step->output_count; ++i) {
    const uint32_t value = step->outputs[i];
    if (value != RT_LAYOUT_NO_VALUE && s->matters[value])
      s->work[s->slots[value]] = (uint16_t)(1u << option->outputs[i]);
  }
  return cost;
}

// The values alive after the step, and slots for all that it touches.
static uint32_t find_live(solver *s, uint32_t index, uint32_t width) {
  const rt_layout_step *step = &s->problem->steps[index];
  uint32_t count = 0, slot = width;
  for (uint32_t i = 0; i < width; ++i) {
    s->slots[s->live[i]] = i;
    if (s->last_use[s->live[i]] > index + 1) s->next_live[count++] = s->live[i];
  }
  for (uint32_t i = 0; i < step->output_count; ++i) {
    const uint32_t value = step->outputs[i];
    if (value == RT_LAYOUT_NO_VALUE || !s->matters[value]) continue;
    s->slots[value] = slot++;
    if (s->last_use[value] > index + 1) s->next_live[count++] = value;
  }
  return count;
}

static int compare_costs(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Keeps the cheapest states, in their order.
static int prune(solver *s, layer *l) {
  if (l->count <= RT_LAYOUT_MAX_STATES) return 1;
  double *sorted = malloc(l->count * sizeof *sorted);
  if (!sorted) return 0;
  memcpy(sorted, l->costs, l->count * sizeof *sorted);
  qsort(sorted, l->count, sizeof *sorted, compare_costs);
  const double limit = sorted[RT_LAYOUT_MAX_STATES - 1];
  free(sorted);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < l->count && kept < RT_LAYOUT_MAX_STATES; ++i) {
    if (l->costs[i] > limit) continue;
    memmove(l->labels + (size_t)kept * l->width, l->labels + (size_t)i * l->width,
            l->width * sizeof *l->labels);
    l->costs[kept] = l->costs[i];
    l->ways[kept++] = l->ways[i];
  }
  l->count = kept;
  s->optimal = 0;
  return 1;
}

static int clear_table(solver *s, uint32_t states) {
  uint32_t size = 16;
  while (size < 2 * states) size *= 2;
  if (size > s->table_size) {
    free(s->table);
    s->table = malloc(size * sizeof *s->table);
    s->table_size = s->table ? size : 0;
  }
  if (s->table) memset(s->table, 0, s->table_size * sizeof *s->table);
  return s->table != NULL;
}

// 1 if the step leaves all states as they are, but for a cost that is the same for all.
static int changes_nothing(const solver *s, const rt_layout_step *step) {
  if (step->option_count > 1) return 0;
  for (uint32_t i = 0; i < step->input_count; ++i)
    if (step->inputs[i] != RT_LAYOUT_NO_VALUE && s->matters[step->inputs[i]]) return 0;
  for (uint32_t i = 0; i < step->output_count; ++i)
    if (step->outputs[i] != RT_LAYOUT_NO_VALUE && s->matters[step->outputs[i]]) return 0;
  return 1;
}

static int advance(solver *s, uint32_t index, layer *now) {
  const rt_layout_step *step = &s->problem->steps[index];
  const uint32_t width = find_live(s, index, now->width);
  const uint32_t most = now->count * step->option_count;
  layer next;
  int ok = reserve(&next, width, most) && clear_table(s, most);
  for (uint32_t state = 0; ok && state < now->count; ++state)
    for (uint32_t i = 0; i < step->option_count; ++i) {
      uint16_t *kept = s->work + s->problem->value_count;
      memcpy(s->work, now->labels + (size_t)state * now->width, now->width * sizeof *s->work);
      const double cost = now->costs[state] + take_option(s, step, &step->options[i]);
      for (uint32_t k = 0; k < width; ++k) kept[k] = s->work[s->slots[s->next_live[k]]];
      add_state(s, &next, kept, cost, (way){state, i});
    }
  ok = ok && prune(s, &next);
  if (ok) {
    s->history[index] = next.ways;
    next.ways = NULL;
    uint32_t *live = s->live;
    s->live = s->next_live;
    s->next_live = live;
  }
  release(now);
  *now = next;
  return ok;
}

// ---- All steps ------------------------------------------------------------------------------

static void note_step(solver *s, uint32_t index) {
  const rt_layout_step *step = &s->problem->steps[index];
  for (uint32_t i = 0; i < step->input_count; ++i) {
    if (step->inputs[i] == RT_LAYOUT_NO_VALUE) continue;
    s->last_use[step->inputs[i]] = index + 1;
    for (uint32_t k = 0; k < step->option_count; ++k)
      s->matters[step->inputs[i]] |= step->options[k].inputs[i] != 0;
  }
  for (uint32_t i = 0; i < step->output_count; ++i)
    for (uint32_t k = 0; step->outputs[i] != RT_LAYOUT_NO_VALUE && k < step->option_count; ++k)
      s->matters[step->outputs[i]] |= step->options[k].outputs[i] != 0;
}

static int solver_init(solver *s, const rt_layout_problem *problem) {
  const size_t values = (size_t)problem->value_count + 1;
  *s = (solver){.problem = problem, .optimal = 1};
  s->last_use = calloc(values, sizeof *s->last_use);
  s->matters = calloc(values, sizeof *s->matters);
  s->live = calloc(values, sizeof *s->live);
  s->next_live = calloc(values, sizeof *s->next_live);
  s->slots = calloc(values, sizeof *s->slots);
  s->work = calloc(2 * values, sizeof *s->work);
  s->history = calloc((size_t)problem->step_count + 1, sizeof *s->history);
  return s->last_use && s->matters && s->live && s->next_live && s->slots && s->work &&
         s->history;
}

static void solver_finish(solver *s) {
  for (uint32_t i = 0; s->history && i < s->problem->step_count; ++i) free(s->history[i]);
  free(s->last_use);
  free(s->matters);
  free(s->live);
  free(s->next_live);
  free(s->slots);
  free(s->work);
  free(s->history);
  free(s->table);
}

// The only state before the first step.
static int start(solver *s, layer *now) {
  const rt_layout_problem *p = s->problem;
  uint32_t width = 0;
  for (uint32_t i = 0; i < p->step_count; ++i) note_step(s, i);
  for (uint32_t v = 0; v < p->value_count; ++v) {
    if (p->values[v].is_strided) s->last_use[v] = p->step_count + 1;
    if (p->values[v].labels > STRIDED) s->matters[v] = 1;
    if (p->values[v].labels && s->matters[v] && s->last_use[v]) s->live[width++] = v;
  }
  if (!reserve(now, width, 1)) return 0;
  for (uint32_t i = 0; i < width; ++i) now->labels[i] = p->values[s->live[i]].labels;
  now->costs[0] = 0;
  now->count = 1;
  return 1;
}

// What makes the values strided that have to be, and from which state that is cheapest.
static uint32_t finish(const solver *s, layer *now, double *out_cost) {
  uint32_t best = 0;
  for (uint32_t state = 0; state < now->count; ++state) {
    for (uint32_t i = 0; i < now->width; ++i)
      now->costs[state] += want(&now->labels[(size_t)state * now->width + i], 0,
                                s->problem->values[s->live[i]].reorder);
    if (now->costs[state] < now->costs[best] * (1 - 1e-12)) best = state;
  }
  *out_cost = now->costs[best];
  return best;
}

int32_t rt_layouts_choose(const rt_layout_problem *problem, uint32_t *out_options,
                          double *out_cost, int *out_optimal, ops_error *error) {
  solver s;
  layer now = {0};
  int ok = solver_init(&s, problem) && start(&s, &now);
  for (uint32_t i = 0; ok && i < problem->step_count; ++i)
    if (!changes_nothing(&s, &problem->steps[i])) ok = advance(&s, i, &now);
  if (ok) {
    uint32_t state = finish(&s, &now, out_cost);
    for (uint32_t i = problem->step_count; i-- > 0;) {
      out_options[i] = s.history[i] ? s.history[i][state].option : 0;
      if (s.history[i]) state = s.history[i][state].parent;
    }
  }
  *out_optimal = s.optimal;
  release(&now);
  solver_finish(&s);
  return ok ? OPS_OK : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "choosing layouts");
}

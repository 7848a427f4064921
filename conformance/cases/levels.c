// SPDX-License-Identifier: Apache-2.0
//
// The values that varied attributes take, and whether a combination of them is a valid node.
#include <math.h>
#include <stdlib.h>

#include "cases/generator.h"
#include "ops_support/error.h"

static int32_t append_level(oc_generator *gen, oc_levels *list, oc_value value) {
  if (list->count >= OC_CASE_MAX_COMBINATIONS) {
    return oc_generator_fail(
        gen, gen->contract->at,
        "an attribute takes too many values (OC_CASE_MAX_COMBINATIONS); list fewer");
  }
  oc_value *items = realloc(list->items, (list->count + 1) * sizeof *items);
  if (!items) return oc_generator_no_memory(gen);
  list->items = items;
  list->items[list->count++] = value;
  return OPS_OK;
}

static int32_t append_each(oc_generator *gen, oc_levels *list, const oc_case *draft,
                           uint32_t attribute) {
  const oc_binding binding = oc_case_binding(draft);
  oc_interval range;
  OPS_RETURN_IF_ERROR(oc_binding_interval(&binding, &gen->contract->attributes[attribute].range,
                                          &range, gen->error));
  if (isinf(range.lo) || isinf(range.hi)) {
    return oc_generator_fail(gen, gen->contract->attributes[attribute].at,
                             "'each' needs a range with two ends");
  }
  for (double at = ceil(range.lo); at <= range.hi; at += 1) {
    if (!oc_interval_contains(&range, at)) continue;
    int64_t *number = oc_arena_alloc(gen->cases->arena, 1, sizeof *number);
    double *real = oc_arena_alloc(gen->cases->arena, 1, sizeof *real);
    if (!number || !real) return oc_generator_no_memory(gen);
    *number = (int64_t)at;
    *real = at;
    OPS_RETURN_IF_ERROR(append_level(
        gen, list,
        (oc_value){.kind = OC_VALUE_INT, .count = 1, .ints = number, .floats = real}));
  }
  return OPS_OK;
}

static int32_t expand(oc_generator *gen, const oc_case *draft, const oc_vary *vary,
                      oc_levels *list) {
  for (size_t i = 0; i < vary->count; ++i) {
    OPS_RETURN_IF_ERROR(vary->values[i].kind == OC_VALUE_EACH
                            ? append_each(gen, list, draft, vary->attribute)
                            : append_level(gen, list, vary->values[i]));
  }
  return OPS_OK;
}

int32_t oc_levels_init(oc_generator *gen, const oc_case *draft, oc_levels *lists) {
  const oc_row *row = draft->row;
  for (size_t i = 0; i < OC_PAIRWISE_MAX_FACTORS; ++i) lists[i] = (oc_levels){NULL, 0};
  if (row->vary_count > OC_PAIRWISE_MAX_FACTORS) {
    return oc_generator_fail(gen, row->at, "too many varied attributes");
  }
  for (size_t i = 0; i < row->vary_count; ++i) {
    OPS_RETURN_IF_ERROR(expand(gen, draft, &row->vary[i], &lists[i]));
  }
  return OPS_OK;
}

void oc_levels_finish(oc_levels *lists) {
  for (size_t i = 0; i < OC_PAIRWISE_MAX_FACTORS; ++i) free(lists[i].items);
}

void oc_levels_apply(const oc_row *row, const oc_levels *lists, const uint32_t *numbers,
                     oc_value *attributes) {
  for (size_t i = 0; i < row->vary_count; ++i) {
    attributes[row->vary[i].attribute] = lists[i].items[numbers[i]];
  }
}

int32_t oc_generator_holds(const oc_case *draft, bool *out_holds, ops_error *error) {
  const oc_binding binding = oc_case_binding(draft);
  OPS_RETURN_IF_ERROR(oc_binding_valid(&binding, out_holds, NULL, error));
  if (!*out_holds || !draft->row->when) return OPS_OK;
  const oc_expr_env env = oc_binding_env(&binding);
  return oc_expr_eval_bool(draft->row->when, &env, out_holds, error);
}

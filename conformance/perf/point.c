// SPDX-License-Identifier: Apache-2.0
//
// Performance entries to cases. An entry becomes a row of its own that the correctness run does
// not know, so its id cannot be that of another case.
#include "perf/point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "ops_support/error.h"

#define ARENA_LIMIT ((size_t)1 << 26)

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for performance points");
}

static int32_t entry_error(const oc_contract *contract, const oc_performance *entry,
                           const char *text, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                       "%s:%u:%u: %s: performance point \"%s\": %s", entry->at.file,
                       entry->at.line, entry->at.column, contract->op, entry->name, text);
}

// ---- One point ------------------------------------------------------------------------------

// The entry's type for each variable that can have it, else the first of its own.
static int32_t choose_types(const oc_contract *contract, const oc_performance *entry,
                            int32_t *types, ops_error *error) {
  for (size_t i = 0; i < contract->type_var_count; ++i) {
    const uint64_t set = contract->type_vars[i].types;
    const bool fits = (set & OPS_TYPE_BIT(entry->type)) != 0;
    if (i == 0 && !fits) {
      return entry_error(contract, entry, "its type is not one of the first type variable",
                         error);
    }
    types[i] = fits ? entry->type : __builtin_ctzll(set);
  }
  return OPS_OK;
}

static int32_t check_inputs(const oc_contract *contract, const oc_performance *entry,
                            ops_error *error) {
  char text[200];
  for (size_t i = 0; i < contract->input_count; ++i) {
    if (contract->inputs[i].optional || entry->inputs[i].count > 0) continue;
    snprintf(text, sizeof text, "it gives no shape for the input \"%.100s\"",
             contract->inputs[i].name);
    return entry_error(contract, entry, text, error);
  }
  return OPS_OK;
}

static int32_t check_valid(const oc_case *item, const oc_performance *entry, ops_error *error) {
  const oc_binding binding = oc_case_binding(item);
  bool valid;
  const char *why = "";
  char text[600];
  OPS_RETURN_IF_ERROR(oc_binding_valid(&binding, &valid, &why, error));
  if (valid) return OPS_OK;
  snprintf(text, sizeof text, "it is no valid node, this does not hold: %.500s", why);
  return entry_error(item->contract, entry, text, error);
}

static uint32_t required_outputs(const oc_contract *contract) {
  uint32_t count = 0;
  while (count < contract->output_count && !contract->outputs[count].optional) ++count;
  return count ? count : 1;
}

static const char *make_id(const oc_contract *contract, const oc_performance *entry,
                           oc_arena *arena) {
  char op[128], id[OC_CASE_MAX_ID];
  oc_case_op_name(contract, op, sizeof op);
  const int size = snprintf(id, sizeof id, "%s-%d/perf/%s/%s", op, contract->since,
                            oc_element_name(entry->type), entry->name);
  return oc_arena_copy_string(arena, id, size < (int)sizeof id ? (size_t)size : sizeof id - 1);
}

static int32_t make_case(const oc_contract *contract, const oc_performance *entry,
                         uint64_t seed, oc_arena *arena, oc_case *out_case, ops_error *error) {
  oc_row *row = oc_arena_alloc(arena, 1, sizeof *row);
  int32_t *types = oc_arena_alloc(arena, contract->type_var_count, sizeof *types);
  uint64_t *sets = oc_arena_alloc(arena, contract->type_var_count, sizeof *sets);
  const char *id = make_id(contract, entry, arena);
  if (!row || !types || !sets || !id) return no_memory(error);
  OPS_RETURN_IF_ERROR(choose_types(contract, entry, types, error));
  for (size_t i = 0; i < contract->type_var_count; ++i) sets[i] = OPS_TYPE_BIT(types[i]);
  *row = (oc_row){.id = entry->name,
                  .at = entry->at,
                  .inputs = entry->inputs,
                  .attributes = entry->attributes,
                  .types = sets,
                  .judge = contract->judge,
                  .fills = 1u << OC_FILL_UNIFORM,
                  .output_count = required_outputs(contract)};
  *out_case = (oc_case){.id = id,
                        .seed = oc_random_seed(id, seed),
                        .contract = contract,
                        .row = row,
                        .types = types,
                        .inputs = entry->inputs,
                        .attributes = entry->attributes,
                        .fill = OC_FILL_UNIFORM};
  OPS_RETURN_IF_ERROR(check_inputs(contract, entry, error));
  return check_valid(out_case, entry, error);
}

// ---- All ------------------------------------------------------------------------------------

static bool is_wanted(const oc_contract *contract, const char *op) {
  char name[128];
  oc_case_op_name(contract, name, sizeof name);
  return !op || strcmp(op, name) == 0;
}

static int32_t check_distinct(const oc_cases *cases, const oc_performance *entry,
                              ops_error *error) {
  const oc_case *last = &cases->items[cases->count - 1];
  for (size_t i = 0; i + 1 < cases->count; ++i) {
    if (strcmp(cases->items[i].id, last->id) == 0) {
      return entry_error(last->contract, entry, "another one has this name and type", error);
    }
  }
  return OPS_OK;
}

static int32_t add_all(oc_perf_points *points, const oc_contracts *contracts, const char *op,
                       uint64_t seed, ops_error *error) {
  oc_cases *cases = points->cases;
  for (size_t i = 0; i < contracts->count; ++i) {
    const oc_contract *contract = &contracts->items[i];
    for (size_t k = 0; is_wanted(contract, op) && k < contract->performance_count; ++k) {
      const oc_performance *entry = &contract->performance[k];
      OPS_RETURN_IF_ERROR(
          make_case(contract, entry, seed, cases->arena, &cases->items[cases->count], error));
      points->entries[cases->count++] = entry;
      OPS_RETURN_IF_ERROR(check_distinct(cases, entry, error));
    }
  }
  return OPS_OK;
}

int32_t oc_perf_points_create(const oc_contracts *contracts, const char *op, uint64_t seed,
                              oc_perf_points **out_points, ops_error *error) {
  size_t most = 0;
  for (size_t i = 0; i < contracts->count; ++i) most += contracts->items[i].performance_count;
  oc_perf_points *points = calloc(1, sizeof *points);
  if (points) points->cases = calloc(1, sizeof *points->cases);
  if (points && points->cases) {
    points->cases->arena = oc_arena_create(ARENA_LIMIT);
    points->cases->items = calloc(most + 1, sizeof *points->cases->items);
    points->entries = calloc(most + 1, sizeof *points->entries);
  }
  int32_t status = OPS_OK;
  if (!points || !points->cases || !points->cases->arena || !points->cases->items ||
      !points->entries) {
    status = no_memory(error);
  }
  if (status == OPS_OK) status = add_all(points, contracts, op, seed, error);
  if (status != OPS_OK) {
    oc_perf_points_destroy(points);
    return status;
  }
  *out_points = points;
  return OPS_OK;
}

void oc_perf_points_destroy(oc_perf_points *points) {
  if (!points) return;
  oc_cases_destroy(points->cases);
  free(points->entries);
  free(points);
}

// ---- Inputs and work ------------------------------------------------------------------------

oc_case oc_perf_point_set(const oc_case *item, uint32_t set) {
  oc_case other = *item;
  if (set > 0) other.seed = oc_random_seed(item->id, item->seed + set);
  return other;
}

static bool is_constant(const oc_inputs *inputs, size_t i, const oc_performance *entry) {
  return inputs->items[i].present && (entry->constants >> inputs->params[i] & 1);
}

int32_t oc_perf_point_inputs(oc_inputs *inputs, const oc_case *set, const oc_performance *entry,
                             const oc_inputs *first, ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_inputs_init(inputs, set, error));
  for (size_t i = 0; first && i < inputs->count; ++i) {
    if (!is_constant(inputs, i, entry)) continue;
    memcpy(inputs->items[i].data, first->items[i].data, inputs->items[i].bytes);
  }
  return OPS_OK;
}

uint64_t oc_perf_point_constants(const oc_inputs *inputs, const oc_performance *entry) {
  uint64_t mask = 0;
  for (size_t i = 0; i < inputs->count; ++i) {
    if (is_constant(inputs, i, entry)) mask |= (uint64_t)1 << i;
  }
  return mask;
}

int32_t oc_perf_point_work(const oc_case *item, const oc_performance *entry, double *out_flops,
                           double *out_bytes, ops_error *error) {
  const oc_binding binding = oc_case_binding(item);
  const oc_expr_env env = oc_binding_env(&binding);
  *out_flops = 0;
  *out_bytes = 0;
  if (entry->flops) {
    OPS_RETURN_IF_ERROR(oc_expr_eval_number(entry->flops, &env, out_flops, error));
  }
  return entry->bytes ? oc_expr_eval_number(entry->bytes, &env, out_bytes, error) : OPS_OK;
}

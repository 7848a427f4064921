// SPDX-License-Identifier: Apache-2.0
//
// Contracts to cases: what each tier takes, the list, error cases.
#include "cases/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/generator.h"
#include "ops_support/error.h"

#define ARENA_LIMIT ((size_t)1 << 31)

static const oc_tier_plan kPlans[OC_TIER_COUNT] = {
    [OC_TIER_MERGE] = {.rotate = true, .draws = 8},
    [OC_TIER_FULL] = {.draws = 250},
    [OC_TIER_EXHAUSTIVE] = {.draws = 1000, .codes = true},
};

int32_t oc_generator_no_memory(const oc_generator *gen) {
  return ops_error_set(gen->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the list of cases");
}

int32_t oc_generator_fail(const oc_generator *gen, oc_position at, const char *text) {
  return ops_error_set(gen->error, OPS_ERROR_INVALID_MODEL, "%s:%u:%u: %s: %s", at.file,
                       at.line, at.column, gen->contract->op, text);
}

static void *copy_items(const oc_generator *gen, const void *items, size_t count, size_t size) {
  void *copy = oc_arena_alloc(gen->cases->arena, count, size);
  if (copy && count > 0) memcpy(copy, items, count * size);
  return copy;
}

// ---- Adding one case ------------------------------------------------------------------------

static bool grow(oc_generator *gen) {
  oc_cases *cases = gen->cases;
  if (cases->count < gen->capacity) return true;
  const size_t capacity = gen->capacity ? 2 * gen->capacity : 1024;
  oc_case *items = realloc(cases->items, capacity * sizeof *items);
  if (!items) return false;
  cases->items = items;
  gen->capacity = capacity;
  return true;
}

int32_t oc_generator_add(oc_generator *gen, const oc_case *draft) {
  char id[OC_CASE_MAX_ID];
  oc_case_print_id(draft, id, sizeof id);
  bool fresh;
  if (!oc_case_index_add(gen->meanings, oc_case_meaning(draft), &fresh)) {
    return oc_generator_no_memory(gen);
  }
  if (!fresh) {
    ++gen->cases->merged;
    return OPS_OK;
  }
  if (!oc_case_index_add(gen->ids, oc_case_hash_text(id), &fresh))
    return oc_generator_no_memory(gen);
  if (!fresh) {
    char text[OC_CASE_MAX_ID + 64];
    snprintf(text, sizeof text, "two different cases have the id '%s'; name one row anew", id);
    return oc_generator_fail(gen, draft->row->at, text);
  }
  if (gen->cases->count >= OC_CASES_MAX) {
    return oc_generator_fail(gen, draft->row->at,
                             "too many cases in all (OC_CASES_MAX); vary fewer values");
  }
  if (!grow(gen)) return oc_generator_no_memory(gen);
  oc_case item = *draft;
  const oc_contract *contract = gen->contract;
  item.id = oc_arena_copy_string(gen->cases->arena, id, strlen(id));
  item.types = copy_items(gen, draft->types, contract->type_var_count, sizeof *draft->types);
  if (draft->inputs != draft->row->inputs) {
    item.inputs = copy_items(gen, draft->inputs, contract->input_count, sizeof *draft->inputs);
  }
  item.attributes =
      copy_items(gen, draft->attributes, contract->attribute_count, sizeof *draft->attributes);
  if (!item.id || !item.types || !item.inputs || !item.attributes)
    return oc_generator_no_memory(gen);
  item.seed = oc_random_seed(item.id, gen->options->seed);
  gen->cases->items[gen->cases->count++] = item;
  return OPS_OK;
}

int32_t oc_generator_note(oc_generator *gen, const oc_case *draft) {
  bool fresh;
  const bool noted = oc_case_index_add(gen->meanings, oc_case_meaning(draft), &fresh);
  return noted ? OPS_OK : oc_generator_no_memory(gen);
}

// ---- Error cases ----------------------------------------------------------------------------

static int32_t add_error(oc_generator *gen, const oc_error_case *error) {
  int32_t types[OC_CONTRACT_MAX_PARAMS] = {0};
  oc_value attributes[OC_CONTRACT_MAX_PARAMS];
  oc_row_input inputs[OC_CONTRACT_MAX_PARAMS];
  const oc_contract *contract = gen->contract;
  OPS_RETURN_IF_ERROR(oc_error_case_bind(contract, error, gen->cases->arena, types, inputs,
                                         attributes, gen->error));
  const oc_case draft = {.contract = contract,
                         .row = &contract->rows[error->row],
                         .error = error,
                         .types = types,
                         .inputs = inputs,
                         .attributes = attributes,
                         .fill = OC_FILL_UNIFORM};
  return oc_generator_add(gen, &draft);
}

// ---- Entry ----------------------------------------------------------------------------------

static int32_t add_rows(oc_generator *gen) {
  for (size_t i = 0; i < gen->contract->row_count; ++i) {
    const oc_row *row = &gen->contract->rows[i];
    bool any;
    OPS_RETURN_IF_ERROR(oc_generator_add_row(gen, row, i, &any));
    if (any) continue;
    char text[OC_CASE_MAX_ID + 128];
    snprintf(text, sizeof text,
             "row \"%.*s\" yields no case: `when` and the constraints drop all of its "
             "combinations",
             OC_CASE_MAX_ID, row->id);
    return oc_generator_fail(gen, row->at, text);
  }
  return OPS_OK;
}

static int32_t add_contract(oc_generator *gen) {
  memset(gen->tried_types, 0, sizeof gen->tried_types);
  OPS_RETURN_IF_ERROR(add_rows(gen));
  if (gen->plan->codes) OPS_RETURN_IF_ERROR(oc_generator_add_codes(gen));
  OPS_RETURN_IF_ERROR(oc_generator_add_drawn(gen));
  for (size_t i = 0; i < gen->contract->error_count; ++i) {
    OPS_RETURN_IF_ERROR(add_error(gen, &gen->contract->errors[i]));
  }
  return OPS_OK;
}

static int32_t generate(oc_generator *gen, const oc_contracts *contracts) {
  for (size_t i = 0; i < contracts->count; ++i) {
    char name[128];
    gen->contract = &contracts->items[i];
    oc_case_op_name(gen->contract, name, sizeof name);
    if (gen->options->op && strcmp(gen->options->op, name) != 0) continue;
    OPS_RETURN_IF_ERROR(add_contract(gen));
  }
  return OPS_OK;
}

int32_t oc_cases_create(const oc_contracts *contracts, const oc_cases_options *options,
                        oc_cases **out_cases, ops_error *error) {
  oc_generator gen = {.options = options, .plan = &kPlans[options->tier], .error = error};
  gen.cases = calloc(1, sizeof *gen.cases);
  gen.ids = oc_case_index_create();
  gen.meanings = oc_case_index_create();
  int32_t status = OPS_OK;
  if (gen.cases) gen.cases->arena = oc_arena_create(ARENA_LIMIT);
  if (!gen.cases || !gen.cases->arena || !gen.ids || !gen.meanings)
    status = oc_generator_no_memory(&gen);
  if (status == OPS_OK) status = generate(&gen, contracts);
  oc_case_index_destroy(gen.ids);
  oc_case_index_destroy(gen.meanings);
  if (status != OPS_OK) {
    oc_cases_destroy(gen.cases);
    return status;
  }
  *out_cases = gen.cases;
  return OPS_OK;
}

void oc_cases_destroy(oc_cases *cases) {
  if (!cases) return;
  oc_arena_destroy(cases->arena);
  free(cases->items);
  free(cases);
}

oc_binding oc_case_binding(const oc_case *item) {
  return (oc_binding){.contract = item->contract,
                      .types = item->types,
                      .inputs = item->inputs,
                      .attributes = item->attributes};
}

int32_t oc_case_main_type(const oc_case *item) {
  const oc_contract *contract = item->contract;
  const oc_binding binding = oc_case_binding(item);
  if (contract->type_var_count > 0) return item->types[0];
  if (contract->input_count > 0) return oc_binding_type(&binding, &contract->inputs[0]);
  return contract->output_count > 0 ? oc_binding_type(&binding, &contract->outputs[0])
                                    : OPS_TYPE_UNDEFINED;
}

const char *oc_tier_name(oc_tier tier) {
#define TIER_NAME(constant, name) name,
  static const char *const names[] = {OC_TIER_LIST(TIER_NAME)};
#undef TIER_NAME
  return tier < OC_TIER_COUNT ? names[tier] : "unknown";
}

int32_t oc_case_base(const oc_case *item, oc_arena *arena, oc_case *out_base,
                     ops_error *error) {
  const oc_contract *contract = item->contract;
  int32_t *types = oc_arena_alloc(arena, contract->type_var_count, sizeof *types);
  oc_value *attributes = oc_arena_alloc(arena, contract->attribute_count, sizeof *attributes);
  if (!types || !attributes) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a node");
  }
  OPS_RETURN_IF_ERROR(oc_row_first(contract, item->row, arena, types, attributes, error));
  *out_base = *item;
  out_base->error = NULL;
  out_base->types = types;
  out_base->attributes = attributes;
  out_base->inputs = item->row->inputs;
  return OPS_OK;
}

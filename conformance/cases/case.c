// SPDX-License-Identifier: Apache-2.0
//
// Contracts to cases: rows x types x pairwise attributes x fills, then the error cases.
#include "cases/case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case_text.h"
#include "cases/element.h"
#include "cases/fill.h"
#include "cases/pairwise.h"
#include "cases/random.h"
#include "ops_support/error.h"

#define ARENA_LIMIT ((size_t)1 << 30)

typedef struct generator {
  oc_cases *cases;
  size_t capacity;
  oc_case_index *ids;       // of ids
  oc_case_index *meanings;  // of what a case tests
  const oc_cases_options *options;
  const oc_contract *contract;
  ops_error *error;
  size_t legal;  // combinations of the current row, of all its types
} generator;

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the list of cases");
}

static int32_t contract_error(const generator *gen, oc_position at, const char *text) {
  return ops_error_set(gen->error, OPS_ERROR_INVALID_MODEL, "%s:%u:%u: %s: %s", at.file,
                       at.line, at.column, gen->contract->op, text);
}

static void *copy_items(const generator *gen, const void *items, size_t count, size_t size) {
  void *copy = oc_arena_alloc(gen->cases->arena, count, size);
  if (copy && count > 0) memcpy(copy, items, count * size);
  return copy;
}

// ---- Adding one case ------------------------------------------------------------------------

static bool grow(generator *gen) {
  oc_cases *cases = gen->cases;
  if (cases->count < gen->capacity) return true;
  const size_t capacity = gen->capacity ? 2 * gen->capacity : 1024;
  oc_case *items = realloc(cases->items, capacity * sizeof *items);
  if (!items) return false;
  cases->items = items;
  gen->capacity = capacity;
  return true;
}

// Copies `draft`, whose arrays are the generator's own, into the list.
static int32_t add_case(generator *gen, const oc_case *draft) {
  char id[OC_CASE_MAX_ID];
  oc_case_print_id(draft, id, sizeof id);
  bool fresh;
  if (!oc_case_index_add(gen->meanings, oc_case_meaning(draft), &fresh)) {
    return no_memory(gen->error);
  }
  if (!fresh) {
    ++gen->cases->merged;
    return OPS_OK;
  }
  if (!oc_case_index_add(gen->ids, oc_case_hash_text(id), &fresh)) return no_memory(gen->error);
  if (!fresh) {
    char text[OC_CASE_MAX_ID + 64];
    snprintf(text, sizeof text, "two different cases have the id '%s'; name one row anew", id);
    return contract_error(gen, draft->row->at, text);
  }
  if (gen->cases->count >= OC_CASES_MAX) {
    return contract_error(gen, draft->row->at,
                          "too many cases in all (OC_CASES_MAX); vary fewer values");
  }
  if (!grow(gen)) return no_memory(gen->error);
  oc_case item = *draft;
  const oc_contract *contract = gen->contract;
  item.id = oc_arena_copy_string(gen->cases->arena, id, strlen(id));
  item.types = copy_items(gen, draft->types, contract->type_var_count, sizeof *draft->types);
  item.inputs = copy_items(gen, draft->inputs, contract->input_count, sizeof *draft->inputs);
  item.attributes =
      copy_items(gen, draft->attributes, contract->attribute_count, sizeof *draft->attributes);
  if (!item.id || !item.types || !item.inputs || !item.attributes) return no_memory(gen->error);
  item.seed = oc_random_seed(item.id, gen->options->seed);
  gen->cases->items[gen->cases->count++] = item;
  return OPS_OK;
}

static int32_t add_fills(generator *gen, oc_case *draft, bool first_types) {
  bool merge_taken = false, any = false;
  for (int fill = 0; fill < OC_FILL_COUNT; ++fill) {
    if (!(draft->row->fills >> fill & 1) || !oc_fill_suits(draft, (oc_fill)fill)) continue;
    any = true;
    if (gen->options->tier == OC_TIER_MERGE && !first_types && merge_taken) continue;
    merge_taken = true;
    draft->fill = (oc_fill)fill;
    OPS_RETURN_IF_ERROR(add_case(gen, draft));
  }
  if (any || !oc_fill_suits(draft, OC_FILL_UNIFORM)) return OPS_OK;
  bool filled = false;
  for (size_t i = 0; i < gen->contract->input_count; ++i) {
    const oc_row_input *input = &draft->inputs[i];
    filled = filled || (input->count > 0 && input->contents.kind == OC_VALUE_NONE);
  }
  if (filled) return OPS_OK;
  draft->fill = OC_FILL_UNIFORM;  // every input has its contents: one case, nothing is drawn
  return add_case(gen, draft);
}

// ---- Attributes -----------------------------------------------------------------------------

// The values of one varied attribute for a binding, `each` spelled out.
typedef struct level_list {
  oc_value *items;
  size_t count;
} level_list;

static int32_t append_level(generator *gen, level_list *list, oc_value value) {
  if (list->count >= OC_CASE_MAX_COMBINATIONS) {
    return contract_error(
        gen, gen->contract->at,
        "an attribute takes too many values (OC_CASE_MAX_COMBINATIONS); list fewer");
  }
  oc_value *items = realloc(list->items, (list->count + 1) * sizeof *items);
  if (!items) return no_memory(gen->error);
  list->items = items;
  list->items[list->count++] = value;
  return OPS_OK;
}

static int32_t append_each(generator *gen, level_list *list, const oc_case *draft,
                           uint32_t attribute) {
  const oc_binding binding = oc_case_binding(draft);
  oc_interval range;
  OPS_RETURN_IF_ERROR(oc_binding_interval(&binding, &gen->contract->attributes[attribute].range,
                                          &range, gen->error));
  if (isinf(range.lo) || isinf(range.hi)) {
    return contract_error(gen, gen->contract->attributes[attribute].at,
                          "'each' needs a range with two ends");
  }
  for (double at = ceil(range.lo); at <= range.hi; at += 1) {
    if (!oc_interval_contains(&range, at)) continue;
    int64_t *number = oc_arena_alloc(gen->cases->arena, 1, sizeof *number);
    double *real = oc_arena_alloc(gen->cases->arena, 1, sizeof *real);
    if (!number || !real) return no_memory(gen->error);
    *number = (int64_t)at;
    *real = at;
    OPS_RETURN_IF_ERROR(append_level(
        gen, list,
        (oc_value){.kind = OC_VALUE_INT, .count = 1, .ints = number, .floats = real}));
  }
  return OPS_OK;
}

static int32_t expand_levels(generator *gen, const oc_case *draft, const oc_vary *vary,
                             level_list *list) {
  for (size_t i = 0; i < vary->count; ++i) {
    OPS_RETURN_IF_ERROR(vary->values[i].kind == OC_VALUE_EACH
                            ? append_each(gen, list, draft, vary->attribute)
                            : append_level(gen, list, vary->values[i]));
  }
  return OPS_OK;
}

static int32_t holds(generator *gen, const oc_case *draft, bool *out_holds) {
  const oc_binding binding = oc_case_binding(draft);
  OPS_RETURN_IF_ERROR(oc_binding_valid(&binding, out_holds, NULL, gen->error));
  if (!*out_holds || !draft->row->when) return OPS_OK;
  const oc_expr_env env = oc_binding_env(&binding);
  return oc_expr_eval_bool(draft->row->when, &env, out_holds, gen->error);
}

// The legal combinations of levels, `factors` numbers each.
typedef struct combination_list {
  uint32_t *levels;
  size_t count;
  size_t factors;
} combination_list;

static void apply_levels(const oc_case *draft, const level_list *lists, const uint32_t *levels,
                         oc_value *attributes) {
  for (size_t i = 0; i < draft->row->vary_count; ++i) {
    attributes[draft->row->vary[i].attribute] = lists[i].items[levels[i]];
  }
}

static bool next_combination(const level_list *lists, size_t factors, uint32_t *levels) {
  for (size_t i = factors; i-- > 0;) {
    if (++levels[i] < lists[i].count) return true;
    levels[i] = 0;
  }
  return false;
}

static int32_t list_combinations(generator *gen, oc_case *draft, const level_list *lists,
                                 oc_value *attributes, combination_list *out) {
  const size_t factors = draft->row->vary_count;
  uint32_t levels[OC_PAIRWISE_MAX_FACTORS] = {0};
  size_t visited = 0;
  for (size_t i = 0; i < factors; ++i) {
    if (lists[i].count == 0) return OPS_OK;
  }
  do {
    if (++visited > OC_CASE_MAX_COMBINATIONS) {
      return contract_error(
          gen, draft->row->at,
          "too many combinations of attribute values (OC_CASE_MAX_COMBINATIONS); vary fewer");
    }
    bool legal;
    apply_levels(draft, lists, levels, attributes);
    OPS_RETURN_IF_ERROR(holds(gen, draft, &legal));
    if (!legal) continue;
    ++gen->legal;
    const size_t width = factors ? factors : 1;
    uint32_t *grown = realloc(out->levels, (out->count + 1) * width * sizeof *grown);
    if (!grown) return no_memory(gen->error);
    out->levels = grown;
    memcpy(grown + out->count * width, levels, width * sizeof *grown);
    ++out->count;
  } while (next_combination(lists, factors, levels));
  return OPS_OK;
}

static int32_t add_selected(generator *gen, oc_case *draft, const level_list *lists,
                            oc_value *attributes, const combination_list *list,
                            bool first_types) {
  unsigned char *selected = calloc(list->count + 1, 1);
  if (!selected) return no_memory(gen->error);
  const size_t factors = draft->row->vary_count;
  int32_t status = oc_pairwise_select(list->levels, list->count, factors, selected, gen->error);
  for (size_t i = 0; i < list->count && status == OPS_OK; ++i) {
    if (!selected[i]) continue;
    apply_levels(draft, lists, list->levels + i * factors, attributes);
    status = add_fills(gen, draft, first_types);
  }
  free(selected);
  return status;
}

static int32_t add_attributes(generator *gen, oc_case *draft, oc_value *attributes,
                              bool first_types) {
  level_list lists[OC_PAIRWISE_MAX_FACTORS] = {{NULL, 0}};
  combination_list combinations = {NULL, 0, draft->row->vary_count};
  if (draft->row->vary_count > OC_PAIRWISE_MAX_FACTORS) {
    return contract_error(gen, draft->row->at, "too many varied attributes");
  }
  int32_t status = OPS_OK;
  for (size_t i = 0; i < draft->row->vary_count && status == OPS_OK; ++i) {
    status = expand_levels(gen, draft, &draft->row->vary[i], &lists[i]);
  }
  if (status == OPS_OK)
    status = list_combinations(gen, draft, lists, attributes, &combinations);
  if (status == OPS_OK) {
    status = add_selected(gen, draft, lists, attributes, &combinations, first_types);
  }
  free(combinations.levels);
  for (size_t i = 0; i < draft->row->vary_count; ++i) free(lists[i].items);
  return status;
}

// ---- Rows and types -------------------------------------------------------------------------

static int32_t lowest_type(uint64_t set) {
  return set ? __builtin_ctzll(set) : OPS_TYPE_UNDEFINED;
}

// The next assignment of types, the last variable fastest; false after the last one.
static bool next_types(const oc_row *row, size_t count, int32_t *types) {
  for (size_t i = count; i-- > 0;) {
    const uint64_t later = types[i] < 63 ? row->types[i] & (UINT64_MAX << (types[i] + 1)) : 0;
    if (later) {
      types[i] = lowest_type(later);
      return true;
    }
    types[i] = lowest_type(row->types[i]);
  }
  return false;
}

// Attributes that name the type chosen for a variable.
static int32_t bind_type_attributes(generator *gen, const int32_t *types,
                                    oc_value *attributes) {
  for (size_t i = 0; i < gen->contract->attribute_count; ++i) {
    const int32_t variable = gen->contract->attributes[i].type_var;
    if (variable < 0 || gen->contract->attributes[i].type != OC_ATTR_TYPE) continue;
    int64_t *number = oc_arena_alloc(gen->cases->arena, 1, sizeof *number);
    double *real = oc_arena_alloc(gen->cases->arena, 1, sizeof *real);
    if (!number || !real) return no_memory(gen->error);
    *number = types[variable];
    *real = (double)*number;
    attributes[i] =
        (oc_value){.kind = OC_VALUE_INT, .count = 1, .ints = number, .floats = real};
  }
  return OPS_OK;
}

static int32_t add_row(generator *gen, const oc_row *row) {
  int32_t types[OC_CONTRACT_MAX_PARAMS] = {0};
  oc_value attributes[OC_CONTRACT_MAX_PARAMS];
  const oc_contract *contract = gen->contract;
  for (size_t i = 0; i < contract->type_var_count; ++i) types[i] = lowest_type(row->types[i]);
  oc_case draft = {.contract = contract,
                   .row = row,
                   .types = types,
                   .inputs = row->inputs,
                   .attributes = attributes};
  bool first = true;
  gen->legal = 0;
  do {
    for (size_t i = 0; i < contract->attribute_count; ++i) attributes[i] = row->attributes[i];
    OPS_RETURN_IF_ERROR(bind_type_attributes(gen, types, attributes));
    OPS_RETURN_IF_ERROR(add_attributes(gen, &draft, attributes, first));
    first = false;
  } while (next_types(row, contract->type_var_count, types));
  if (gen->legal > 0) return OPS_OK;
  char text[OC_CASE_MAX_ID + 128];
  snprintf(text, sizeof text,
           "row \"%.*s\" yields no case: `when` and the constraints drop all of its "
           "combinations",
           OC_CASE_MAX_ID, row->id);
  return contract_error(gen, row->at, text);
}

// ---- Error cases ----------------------------------------------------------------------------

static int32_t add_error(generator *gen, const oc_error_case *error) {
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
  return add_case(gen, &draft);
}

// ---- Entry ----------------------------------------------------------------------------------

static int32_t add_contract(generator *gen) {
  for (size_t i = 0; i < gen->contract->row_count; ++i) {
    OPS_RETURN_IF_ERROR(add_row(gen, &gen->contract->rows[i]));
  }
  for (size_t i = 0; i < gen->contract->error_count; ++i) {
    OPS_RETURN_IF_ERROR(add_error(gen, &gen->contract->errors[i]));
  }
  return OPS_OK;
}

static int32_t generate(generator *gen, const oc_contracts *contracts) {
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
  generator gen = {.options = options, .error = error};
  gen.cases = calloc(1, sizeof *gen.cases);
  gen.ids = oc_case_index_create();
  gen.meanings = oc_case_index_create();
  int32_t status = OPS_OK;
  if (gen.cases) gen.cases->arena = oc_arena_create(ARENA_LIMIT);
  if (!gen.cases || !gen.cases->arena || !gen.ids || !gen.meanings) status = no_memory(error);
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
  if (!types || !attributes) return no_memory(error);
  OPS_RETURN_IF_ERROR(oc_row_first(contract, item->row, arena, types, attributes, error));
  *out_base = *item;
  out_base->error = NULL;
  out_base->types = types;
  out_base->attributes = attributes;
  out_base->inputs = item->row->inputs;
  return OPS_OK;
}

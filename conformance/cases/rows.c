// SPDX-License-Identifier: Apache-2.0
//
// Rows x types x pairwise attributes x fills. A plan that rotates takes a part of that product
// in which every row, every legal pair of attribute values, every fill of a row and, over the
// rows, every type still stands:
//
//   first types of a row   all chosen combinations of attributes; all fills for the first of
//                          them, one fill for each other, in turn
//   its other types        one assignment, in turn by the row's number; and those with a type
//                          that no earlier row has had; one combination and one fill in turn
//
// What is left out is noted, so that a part of the product is a part of the whole list: what
// means the same has the same id in both, or is in neither.
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/fill.h"
#include "cases/generator.h"
#include "ops_support/error.h"

// One row on its way to cases.
typedef struct row_walk {
  oc_generator *gen;
  oc_case draft;
  oc_value *attributes;  // of the draft
  size_t number;         // of the row
  size_t type_number;    // of the assignment of types
  bool first;            // no earlier assignment had a legal combination
  bool taken;            // this assignment, in part at least
  size_t legal;          // combinations, of all types
} row_walk;

// ---- Fills ----------------------------------------------------------------------------------

static bool all_given(const oc_case *draft) {
  for (size_t i = 0; i < draft->contract->input_count; ++i) {
    const oc_row_input *input = &draft->inputs[i];
    if (input->count > 0 && input->contents.kind == OC_VALUE_NONE) return false;
  }
  return true;
}

size_t oc_generator_fills(const oc_case *draft, oc_fill *out_fills) {
  size_t count = 0;
  for (int fill = 0; fill < OC_FILL_COUNT; ++fill) {
    if (!(draft->row->fills >> fill & 1) || !oc_fill_suits(draft, (oc_fill)fill)) continue;
    out_fills[count++] = (oc_fill)fill;
  }
  if (count == 0 && all_given(draft)) out_fills[count++] = OC_FILL_UNIFORM;
  return count;
}

static int32_t add_fills(row_walk *walk, size_t combination, bool taken) {
  oc_fill fills[OC_FILL_COUNT];
  const size_t count = oc_generator_fills(&walk->draft, fills);
  const bool all = !walk->gen->plan->rotate || (walk->first && combination == 0);
  const size_t turn = combination + walk->number + walk->type_number;
  for (size_t i = 0; i < count; ++i) {
    walk->draft.fill = fills[i];
    OPS_RETURN_IF_ERROR(taken && (all || i == turn % count)
                            ? oc_generator_add(walk->gen, &walk->draft)
                            : oc_generator_note(walk->gen, &walk->draft));
  }
  return OPS_OK;
}

// ---- Attributes -----------------------------------------------------------------------------

// The legal combinations of levels, `factors` numbers each.
typedef struct combination_list {
  uint32_t *levels;
  size_t count;
} combination_list;

static bool next_combination(const oc_levels *lists, size_t factors, uint32_t *levels) {
  for (size_t i = factors; i-- > 0;) {
    if (++levels[i] < lists[i].count) return true;
    levels[i] = 0;
  }
  return false;
}

static int32_t append_combination(row_walk *walk, combination_list *list,
                                  const uint32_t *levels) {
  const size_t factors = walk->draft.row->vary_count, width = factors ? factors : 1;
  uint32_t *grown = realloc(list->levels, (list->count + 1) * width * sizeof *grown);
  if (!grown) return oc_generator_no_memory(walk->gen);
  list->levels = grown;
  memcpy(grown + list->count++ * width, levels, width * sizeof *grown);
  ++walk->legal;
  return OPS_OK;
}

static int32_t list_combinations(row_walk *walk, const oc_levels *lists,
                                 combination_list *out) {
  const oc_row *row = walk->draft.row;
  uint32_t levels[OC_PAIRWISE_MAX_FACTORS] = {0};
  size_t visited = 0;
  for (size_t i = 0; i < row->vary_count; ++i) {
    if (lists[i].count == 0) return OPS_OK;
  }
  do {
    if (++visited > OC_CASE_MAX_COMBINATIONS) {
      return oc_generator_fail(
          walk->gen, row->at,
          "too many combinations of attribute values (OC_CASE_MAX_COMBINATIONS); vary fewer");
    }
    bool legal;
    oc_levels_apply(row, lists, levels, walk->attributes);
    OPS_RETURN_IF_ERROR(oc_generator_holds(&walk->draft, &legal, walk->gen->error));
    if (legal) OPS_RETURN_IF_ERROR(append_combination(walk, out, levels));
  } while (next_combination(lists, row->vary_count, levels));
  return OPS_OK;
}

static size_t count_selected(const unsigned char *selected, size_t count) {
  size_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += selected[i];
  return sum;
}

static int32_t add_selected(row_walk *walk, const oc_levels *lists,
                            const combination_list *list) {
  const size_t factors = walk->draft.row->vary_count;
  unsigned char *selected = calloc(list->count + 1, 1);
  if (!selected) return oc_generator_no_memory(walk->gen);
  int32_t status =
      oc_pairwise_select(list->levels, list->count, factors, selected, walk->gen->error);
  const size_t chosen = count_selected(selected, list->count);
  const bool one = walk->gen->plan->rotate && !walk->first;
  const size_t turn = walk->number + walk->type_number;
  for (size_t i = 0, at = 0; i < list->count && status == OPS_OK; ++i) {
    if (!selected[i]) continue;
    const size_t combination = at++;
    const bool taken = walk->taken && (!one || combination == turn % chosen);
    oc_levels_apply(walk->draft.row, lists, list->levels + i * factors, walk->attributes);
    status = add_fills(walk, combination, taken);
  }
  free(selected);
  return status;
}

static int32_t add_attributes(row_walk *walk) {
  oc_levels lists[OC_PAIRWISE_MAX_FACTORS];
  combination_list combinations = {NULL, 0};
  int32_t status = oc_levels_init(walk->gen, &walk->draft, lists);
  if (status == OPS_OK) status = list_combinations(walk, lists, &combinations);
  if (status == OPS_OK) status = add_selected(walk, lists, &combinations);
  free(combinations.levels);
  oc_levels_finish(lists);
  return status;
}

// ---- Types ----------------------------------------------------------------------------------

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

static size_t count_types(const oc_row *row, size_t variables) {
  size_t count = 1;
  for (size_t i = 0; i < variables; ++i) {
    count *= (size_t)__builtin_popcountll(row->types[i]);
  }
  return count;
}

// Whether assignment `number` of `count` is taken.
static bool takes_types(const row_walk *walk, size_t number, size_t count) {
  const oc_generator *gen = walk->gen;
  if (!gen->plan->rotate || walk->first) return true;
  if ((number - 1) % (count - 1) == walk->number % (count - 1)) return true;
  for (size_t i = 0; i < gen->contract->type_var_count; ++i) {
    if (!(gen->tried_types[i] & OPS_TYPE_BIT(walk->draft.types[i]))) return true;
  }
  return false;
}

static void note_types(row_walk *walk) {
  for (size_t i = 0; i < walk->gen->contract->type_var_count; ++i) {
    walk->gen->tried_types[i] |= OPS_TYPE_BIT(walk->draft.types[i]);
  }
}

int32_t oc_generator_bind_types(oc_generator *gen, const int32_t *types, oc_value *attributes) {
  for (size_t i = 0; i < gen->contract->attribute_count; ++i) {
    const int32_t variable = gen->contract->attributes[i].type_var;
    if (variable < 0 || gen->contract->attributes[i].type != OC_ATTR_TYPE) continue;
    int64_t *number = oc_arena_alloc(gen->cases->arena, 1, sizeof *number);
    double *real = oc_arena_alloc(gen->cases->arena, 1, sizeof *real);
    if (!number || !real) return oc_generator_no_memory(gen);
    *number = types[variable];
    *real = (double)*number;
    attributes[i] =
        (oc_value){.kind = OC_VALUE_INT, .count = 1, .ints = number, .floats = real};
  }
  return OPS_OK;
}

// ---- Entry ----------------------------------------------------------------------------------

int32_t oc_generator_add_row(oc_generator *gen, const oc_row *row, size_t number,
                             bool *out_any) {
  const oc_contract *contract = gen->contract;
  int32_t types[OC_CONTRACT_MAX_PARAMS] = {0};
  oc_value attributes[OC_CONTRACT_MAX_PARAMS];
  row_walk walk = {.gen = gen, .attributes = attributes, .number = number};
  walk.draft = (oc_case){.contract = contract,
                         .row = row,
                         .types = types,
                         .inputs = row->inputs,
                         .attributes = attributes};
  for (size_t i = 0; i < contract->type_var_count; ++i) types[i] = lowest_type(row->types[i]);
  const size_t count = count_types(row, contract->type_var_count);
  do {
    walk.first = walk.legal == 0;
    walk.taken = takes_types(&walk, walk.type_number, count);
    for (size_t i = 0; i < contract->attribute_count; ++i) attributes[i] = row->attributes[i];
    OPS_RETURN_IF_ERROR(oc_generator_bind_types(gen, types, attributes));
    const size_t before = walk.legal;
    OPS_RETURN_IF_ERROR(add_attributes(&walk));
    if (walk.taken && walk.legal > before) note_types(&walk);
  } while (++walk.type_number, next_types(row, contract->type_var_count, types));
  *out_any = walk.legal > 0;
  return OPS_OK;
}

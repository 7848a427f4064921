// SPDX-License-Identifier: Apache-2.0
//
// Rows that hold every code of 8- and 16-bit types, every pair of codes of 8-bit types, and
// strata of wider floating types.
//
// They are made for operators that see each element by itself: outputs keep the shape of inputs
// and no expression of the contract looks at one. Floating codes include those outside the
// range of a parameter, so a row lends its types and attributes to them only if it has a fill
// that leaves the range, too. Integers stay in theirs.
#include <stdio.h>
#include <string.h>

#include "cases/element.h"
#include "cases/generator.h"
#include "ops_support/error.h"

#define BEYOND_RANGE (1u << OC_FILL_SPECIAL | 1u << OC_FILL_EVERY | 1u << OC_FILL_STRATA)

// ---- Whether elements are seen one by one ---------------------------------------------------

static bool looks_at_shapes(const oc_expr *expr) {
  static const char *const words[] = {"rank(", "dim(", "shape(", "numel(", "broadcast("};
  const char *text = expr ? oc_expr_text(expr) : "";
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strstr(text, words[i])) return true;
  }
  return false;
}

static bool range_looks(const oc_range *range) {
  return looks_at_shapes(range->lo) || looks_at_shapes(range->hi);
}

static bool sees_elements_alone(const oc_contract *contract) {
  const oc_tolerance *tolerance = contract->precision.tolerance;
  bool looks = !oc_generator_keeps_shape(contract);
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    looks = looks || range_looks(&contract->attributes[i].range);
  }
  for (size_t i = 0; i < contract->let_count; ++i) {
    looks = looks || looks_at_shapes(contract->lets[i].expr);
  }
  for (size_t i = 0; i < contract->constraint_count; ++i) {
    looks = looks || looks_at_shapes(contract->constraints[i].check);
  }
  for (size_t i = 0; i < contract->input_count; ++i) {
    for (int k = 0; k < OC_CLASS_COUNT; ++k) {
      looks = looks || range_looks(&contract->inputs[i].ranges[k]);
    }
  }
  for (int i = 0; i < OC_PROFILE_COUNT; ++i) {
    looks = looks || looks_at_shapes(tolerance[i].ulp) || looks_at_shapes(tolerance[i].k);
  }
  return !looks && !looks_at_shapes(contract->draw);
}

// ---- The rows -------------------------------------------------------------------------------

typedef struct code_set {
  const char *name;
  oc_fill fill;
  int32_t bits;  // of the types; 0: wider floating types
  size_t inputs;
  int32_t rank;
  int64_t dims[2];
} code_set;

static const code_set kSets[] = {
    {"codes8", OC_FILL_EVERY, 8, 1, 1, {256}},
    {"codes16", OC_FILL_EVERY, 16, 1, 2, {256, 256}},
    {"pairs8", OC_FILL_EVERY, 8, 2, 2, {256, 256}},
    {"strata", OC_FILL_STRATA, 0, 1, 1, {131072}},
};

static bool in_set(const code_set *set, const oc_row *row, int32_t type) {
  const bool floating = oc_element_format_of(type) != NULL;
  const int32_t bits = oc_element_bits(type);
  if (floating && !(row->fills & BEYOND_RANGE)) return false;
  if (set->bits == 0) return floating && bits > 16;
  return type != OPS_TYPE_BOOL && bits == set->bits;
}

// The type variable that all inputs without contents share, or -1.
static int32_t shared_variable(const oc_contract *contract, const oc_row *row, size_t inputs) {
  int32_t variable = -1;
  size_t found = 0;
  for (size_t i = 0; i < contract->input_count; ++i) {
    const oc_row_input *input = &row->inputs[i];
    if (input->count == 0 || input->contents.kind != OC_VALUE_NONE) continue;
    if (input->count != 1 || contract->inputs[i].type_var < 0) return -1;
    if (found++ > 0 && contract->inputs[i].type_var != variable) return -1;
    variable = contract->inputs[i].type_var;
  }
  return found == inputs ? variable : -1;
}

static uint64_t types_of(const code_set *set, const oc_row *row, int32_t variable) {
  uint64_t types = 0;
  for (int32_t type = 0; type < OPS_TYPE_COUNT; ++type) {
    const uint64_t bit = OPS_TYPE_BIT(type);
    if ((row->types[variable] & bit) && in_set(set, row, type)) types |= bit;
  }
  return types;
}

static oc_row *make_row(oc_generator *gen, const code_set *set, const oc_row *from,
                        int32_t variable, uint64_t types) {
  const oc_contract *contract = gen->contract;
  oc_arena *arena = gen->cases->arena;
  oc_row *row = oc_arena_alloc(arena, 1, sizeof *row);
  oc_row_input *inputs = oc_arena_alloc(arena, contract->input_count, sizeof *inputs);
  uint64_t *sets = oc_arena_alloc(arena, contract->type_var_count, sizeof *sets);
  oc_shape *shape = oc_arena_alloc(arena, 1, sizeof *shape);
  char id[OC_CASE_MAX_ID];
  const int length = snprintf(id, sizeof id, "%.100s.%s", from->id, set->name);
  if (!row || !inputs || !sets || !shape) return NULL;
  *shape = (oc_shape){.rank = set->rank, .dims = set->dims};
  memcpy(sets, from->types, contract->type_var_count * sizeof *sets);
  sets[variable] = types;
  for (size_t i = 0; i < contract->input_count; ++i) {
    inputs[i] = from->inputs[i];
    if (inputs[i].count > 0 && inputs[i].contents.kind == OC_VALUE_NONE) {
      inputs[i].shapes = shape;
    }
  }
  *row = *from;
  row->id = oc_arena_copy_string(arena, id, (size_t)length);
  row->inputs = inputs;
  row->types = sets;
  row->fills = 1u << set->fill;
  return row->id ? row : NULL;
}

static int32_t add_set(oc_generator *gen, const code_set *set, size_t number) {
  const oc_row *from = &gen->contract->rows[number];
  const int32_t variable = shared_variable(gen->contract, from, set->inputs);
  const uint64_t types = variable >= 0 ? types_of(set, from, variable) : 0;
  bool any;
  if (types == 0) return OPS_OK;
  const oc_row *row = make_row(gen, set, from, variable, types);
  return row ? oc_generator_add_row(gen, row, number, &any) : oc_generator_no_memory(gen);
}

int32_t oc_generator_add_codes(oc_generator *gen) {
  if (!sees_elements_alone(gen->contract)) return OPS_OK;
  for (size_t i = 0; i < gen->contract->row_count; ++i) {
    for (size_t k = 0; k < sizeof kSets / sizeof *kSets; ++k) {
      OPS_RETURN_IF_ERROR(add_set(gen, &kSets[k], i));
    }
  }
  return OPS_OK;
}

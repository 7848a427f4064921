// SPDX-License-Identifier: Apache-2.0
//
// The list of cases while it is being made. Private to this folder.
//
//   case.c      entry: contracts one by one, and what each tier takes
//   rows.c      rows x types x attributes x fills
//   levels.c    the values that varied attributes take
//   draw.c      rows whose shapes are drawn
//   codes.c     rows that hold every code of narrow types
#ifndef OC_CASES_GENERATOR_H_
#define OC_CASES_GENERATOR_H_

#include "cases/case.h"
#include "cases/case_text.h"
#include "cases/pairwise.h"
#include "cases/random.h"

// What a tier takes of a contract.
typedef struct oc_tier_plan {
  bool rotate;     // types, fills and attributes take turns over the rows
  uint32_t draws;  // rows with drawn shapes, of each contract
  bool codes;      // every code of narrow types, strata of wide ones
} oc_tier_plan;

typedef struct oc_generator {
  oc_cases *cases;
  size_t capacity;
  oc_case_index *ids;       // of ids
  oc_case_index *meanings;  // of what a case tests
  const oc_cases_options *options;
  const oc_tier_plan *plan;
  const oc_contract *contract;
  uint64_t tried_types[OC_CONTRACT_MAX_PARAMS];  // per type variable, by rows so far
  ops_error *error;
} oc_generator;

int32_t oc_generator_no_memory(const oc_generator *gen);
int32_t oc_generator_fail(const oc_generator *gen, oc_position at, const char *text);

// Copies `draft` into the list, unless an earlier case means the same. Its row, and the arrays
// that its inputs and values point to, must live as long as the cases.
int32_t oc_generator_add(oc_generator *gen, const oc_case *draft);

// Takes note of what `draft` means, so that no later case is made of it.
int32_t oc_generator_note(oc_generator *gen, const oc_case *draft);

// ---- Rows -----------------------------------------------------------------------------------

// All cases of a row, as the plan says; `number` decides what is in turn. *out_any: whether a
// combination of its attributes is legal.
int32_t oc_generator_add_row(oc_generator *gen, const oc_row *row, size_t number,
                             bool *out_any);

// The fills of the draft's row that mean something for its types, in the order of oc_fill;
// `uniform` alone where every input has its contents. Returns their number.
size_t oc_generator_fills(const oc_case *draft, oc_fill *out_fills);

// Sets attributes that name the type chosen for a variable.
int32_t oc_generator_bind_types(oc_generator *gen, const int32_t *types, oc_value *attributes);

// ---- Values of varied attributes ------------------------------------------------------------

typedef struct oc_levels {
  oc_value *items;
  size_t count;
} oc_levels;

// The values of each varied attribute of the draft's row, `each` spelled out for its shapes.
// `lists` holds OC_PAIRWISE_MAX_FACTORS of them; oc_levels_finish frees them, whatever came.
int32_t oc_levels_init(oc_generator *gen, const oc_case *draft, oc_levels *lists);
void oc_levels_finish(oc_levels *lists);

// Writes the values with the given numbers into `attributes`.
void oc_levels_apply(const oc_row *row, const oc_levels *lists, const uint32_t *numbers,
                     oc_value *attributes);

// Whether the constraints, and `when` of the row, hold. Errors of their evaluation.
int32_t oc_generator_holds(const oc_case *draft, bool *out_holds, ops_error *error);

// ---- Other sources of rows ------------------------------------------------------------------

int32_t oc_generator_add_drawn(oc_generator *gen);
int32_t oc_generator_add_codes(oc_generator *gen);

// Whether every output has the shape of an input or the common shape of two: then sizes of 0
// and further leading dimensions are legal wherever the constraints hold.
bool oc_generator_keeps_shape(const oc_contract *contract);

#endif  // OC_CASES_GENERATOR_H_

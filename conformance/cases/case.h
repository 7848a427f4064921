// SPDX-License-Identifier: Apache-2.0
//
// Cases: what a contract promises, one node at a time. How they follow from a contract is
// written at the top of contract/contract.h.
//
// A case is a pure function of the contract and its id; its data come from a seed that is the
// hash of id and base seed. So any case runs alone, on any machine, with the same bits.
#ifndef OC_CASES_CASE_H_
#define OC_CASES_CASE_H_

#include "contract/binding.h"
#include "contract/contract.h"

// What each takes is a table in case.c.
//   merge       every row, pair of attributes, fill and type, but types and fills in turn;
//               a few drawn shapes
//   full        every row in every type, attributes pairwise, all fills; hundreds of drawn
//   shapes exhaustive  besides, all codes of narrow types, strata of wide ones, thousands of
//   shapes
#define OC_TIER_LIST(X)     \
  X(OC_TIER_MERGE, "merge") \
  X(OC_TIER_FULL, "full")   \
  X(OC_TIER_EXHAUSTIVE, "exhaustive")
typedef enum oc_tier { OC_TIER_LIST(OC_ENUM_ITEM) OC_TIER_COUNT } oc_tier;

#define OC_CASE_MAX_ID 200              // bytes of an id, the terminator included
#define OC_CASE_MAX_TENSORS 64          // inputs of one node, variadic ones counted singly
#define OC_CASES_MAX 2000000            // of one run
#define OC_CASE_MAX_COMBINATIONS 20000  // assignments of the varied attributes of one row

typedef struct oc_case {
  const char *id;  // "Softmax-13/float/2x3x5/axis=-1/uniform"
  uint64_t seed;
  const oc_contract *contract;
  const oc_row *row;
  const oc_error_case *error;  // NULL: the node is valid
  const int32_t *types;        // per type variable
  const oc_row_input *inputs;  // per input of the contract, changes of `error` applied
  const oc_value *attributes;  // per attribute: a value, ABSENT or NONE (the default holds)
  oc_fill fill;
  // Not 0: no node, but a case about the provider as a whole (checks/provider_case.h); it has
  // an id and a contract that names it, nothing else.
  uint32_t provider_case;
} oc_case;

// Sorted as the contracts are; ids are distinct, and so are meanings: two rows that lead to the
// same node, types, contents and fill yield one case.
typedef struct oc_cases {
  oc_case *items;
  size_t count;
  size_t merged;  // how many were dropped because an earlier case means the same
  oc_arena *arena;
} oc_cases;

typedef struct oc_cases_options {
  uint64_t seed;  // the base seed
  oc_tier tier;
  const char *op;  // NULL: every operator; else "Relu" or "com.microsoft.Gelu"
} oc_cases_options;

// Borrows `contracts`. Errors: INVALID_MODEL with the place in the contract, OUT_OF_MEMORY.
int32_t oc_cases_create(const oc_contracts *contracts, const oc_cases_options *options,
                        oc_cases **out_cases, ops_error *error);
void oc_cases_destroy(oc_cases *cases);

// The binding of a case for expressions of its contract; borrows the case.
oc_binding oc_case_binding(const oc_case *item);

// The valid node that the error case `item` spoils: the plain assignment of its row. Borrows
// `item`; allocates from `arena`.
int32_t oc_case_base(const oc_case *item, oc_arena *arena, oc_case *out_base, ops_error *error);

// The operator as ids and reports print it: "Softmax", "com.microsoft.Gelu".
void oc_case_op_name(const oc_contract *contract, char *text, size_t size);

// The element type that stands for the case in a table operator x type: that of the first type
// variable, else of the first input, else of the first output.
int32_t oc_case_main_type(const oc_case *item);

const char *oc_tier_name(oc_tier tier);

#endif  // OC_CASES_CASE_H_

// SPDX-License-Identifier: Apache-2.0
//
// A binding gives every name of a contract a concrete meaning: one assignment of types, shapes,
// contents and attributes. Expressions of the contract are evaluated against it.
#ifndef OC_CONTRACT_BINDING_H_
#define OC_CONTRACT_BINDING_H_

#include "contract/contract.h"

// Everything is borrowed. Arrays are parallel to those of the contract.
typedef struct oc_binding {
  const oc_contract *contract;
  const int32_t *types;        // per type variable; may be NULL: the first of each set
  const oc_row_input *inputs;  // per input
  const oc_value *attributes;  // per attribute; NONE and ABSENT: its default holds
  const oc_shape *outputs;     // per output, or NULL while unknown
  size_t output_count;
} oc_binding;

// The environment in which `binding`'s expressions are evaluated; borrows `binding`.
oc_expr_env oc_binding_env(const oc_binding *binding);

// The attribute's value with its default filled in; NONE if it has neither.
oc_value oc_binding_attribute(const oc_binding *binding, uint32_t attribute);

// The element type of parameter `param` (an input or output of the contract).
int32_t oc_binding_type(const oc_binding *binding, const oc_param *param);

// The bounds of a range as numbers. A range that is not given yields (-inf, inf).
typedef struct oc_interval {
  double lo;
  double hi;
  bool lo_open;
  bool hi_open;
} oc_interval;
int32_t oc_binding_interval(const oc_binding *binding, const oc_range *range,
                            oc_interval *out_interval, ops_error *error);
bool oc_interval_contains(const oc_interval *interval, double value);

// True when every attribute lies in its range and every constraint holds. When false,
// *out_why (may be NULL) is the text of what does not hold; it lives as long as the contract.
int32_t oc_binding_valid(const oc_binding *binding, bool *out_valid, const char **out_why,
                         ops_error *error);

// The plain assignment of a row: the first type of each variable, fixed attributes, and of each
// varied one the first value that is valid on its own (`each`: the least of its range). Fills
// `out_types` and `out_attributes` (contract->type_var_count and attribute_count of them).
int32_t oc_row_first(const oc_contract *contract, const oc_row *row, oc_arena *arena,
                     int32_t *out_types, oc_value *out_attributes, ops_error *error);

// The node of an error case: its row's plain assignment with the changes applied, expressions
// evaluated against the unchanged row. Fills also `out_inputs` (contract->input_count).
int32_t oc_error_case_bind(const oc_contract *contract, const oc_error_case *error_case,
                           oc_arena *arena, int32_t *out_types, oc_row_input *out_inputs,
                           oc_value *out_attributes, ops_error *error);

#endif  // OC_CONTRACT_BINDING_H_

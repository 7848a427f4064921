// SPDX-License-Identifier: Apache-2.0
//
// The plain assignment of a row, and the changed node of an error case.
#include <math.h>
#include <ops_support/error.h>
#include <string.h>

#include "contract/binding.h"

static int32_t set_number(oc_arena *arena, bool integer, double real, int64_t number,
                          oc_value *out, ops_error *error) {
  int64_t *ints = oc_arena_alloc(arena, 1, sizeof(*ints));
  double *floats = oc_arena_alloc(arena, 1, sizeof(*floats));
  if (!ints || !floats) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an attribute");
  }
  *ints = number;
  *floats = integer ? (double)number : real;
  *out = (oc_value){.kind = integer ? OC_VALUE_INT : OC_VALUE_FLOAT,
                    .count = 1,
                    .ints = integer ? ints : NULL,
                    .floats = floats};
  return OPS_OK;
}

// The least integer of the attribute's range.
static int32_t least_of_range(const oc_binding *binding, const oc_attribute *attribute,
                              oc_arena *arena, oc_value *out, ops_error *error) {
  oc_interval interval;
  OPS_RETURN_IF_ERROR(oc_binding_interval(binding, &attribute->range, &interval, error));
  double least = ceil(interval.lo);
  if (interval.lo_open && least == interval.lo) least += 1;
  if (!(fabs(least) < 0x1p53)) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "the range of \"%s\" has no least integer", attribute->name);
  }
  return set_number(arena, true, 0, (int64_t)least, out, error);
}

static int32_t pick_varied(const oc_binding *binding, const oc_vary *vary, oc_arena *arena,
                           oc_value *slot, ops_error *error) {
  const oc_attribute *attribute = &binding->contract->attributes[vary->attribute];
  for (size_t i = 0; i < vary->count; ++i) {
    oc_value value = vary->values[i];
    if (value.kind == OC_VALUE_EACH) {
      OPS_RETURN_IF_ERROR(least_of_range(binding, attribute, arena, &value, error));
    }
    *slot = value;
    ops_error ignored = OPS_ERROR_INIT;
    bool valid = false;
    const int32_t status = oc_binding_valid(binding, &valid, NULL, &ignored);
    if (status == OPS_OK && valid) return OPS_OK;
  }
  *slot = vary->values[0].kind == OC_VALUE_EACH ? (oc_value){0} : vary->values[0];
  return OPS_OK;
}

int32_t oc_row_first(const oc_contract *contract, const oc_row *row, oc_arena *arena,
                     int32_t *out_types, oc_value *out_attributes, ops_error *error) {
  for (size_t i = 0; i < contract->type_var_count; ++i) {
    out_types[i] = __builtin_ctzll(row->types[i]);
  }
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    const oc_attribute *attribute = &contract->attributes[i];
    out_attributes[i] = row->attributes[i];
    if (attribute->type != OC_ATTR_TYPE || attribute->type_var < 0) continue;
    OPS_RETURN_IF_ERROR(
        set_number(arena, true, 0, out_types[attribute->type_var], &out_attributes[i], error));
  }
  // Give every varied attribute a value before any is judged: constraints may relate them.
  for (size_t i = 0; i < row->vary_count; ++i) {
    const oc_value first = row->vary[i].values[0];
    if (first.kind != OC_VALUE_EACH) out_attributes[row->vary[i].attribute] = first;
  }
  const oc_binding binding = {.contract = contract,
                              .types = out_types,
                              .inputs = row->inputs,
                              .attributes = out_attributes};
  for (size_t i = 0; i < row->vary_count; ++i) {
    OPS_RETURN_IF_ERROR(pick_varied(&binding, &row->vary[i], arena,
                                    &out_attributes[row->vary[i].attribute], error));
  }
  return OPS_OK;
}

static int32_t set_attributes(const oc_contract *contract, const oc_error_case *change,
                              const oc_binding *base, oc_arena *arena, oc_value *attributes,
                              ops_error *error) {
  const oc_expr_env env = oc_binding_env(base);
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    const oc_value *value = &change->attributes[i];
    if (value->kind == OC_VALUE_NONE) continue;
    attributes[i] = *value;
    if (value->kind != OC_VALUE_EXPR) continue;
    oc_expr_value result;
    const bool integer = contract->attributes[i].type == OC_ATTR_INT;
    double real = 0;
    if (integer) {
      OPS_RETURN_IF_ERROR(oc_expr_eval_int(value->expr, &env, &result.i, error));
    } else {
      OPS_RETURN_IF_ERROR(oc_expr_eval_number(value->expr, &env, &real, error));
    }
    OPS_RETURN_IF_ERROR(
        set_number(arena, integer, real, integer ? result.i : 0, &attributes[i], error));
  }
  return OPS_OK;
}

int32_t oc_error_case_bind(const oc_contract *contract, const oc_error_case *error_case,
                           oc_arena *arena, int32_t *out_types, oc_row_input *out_inputs,
                           oc_value *out_attributes, ops_error *error) {
  const oc_row *row = &contract->rows[error_case->row];
  oc_value *base = oc_arena_alloc(arena, contract->attribute_count, sizeof(*base));
  if (!base) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for attributes");
  OPS_RETURN_IF_ERROR(oc_row_first(contract, row, arena, out_types, base, error));
  for (size_t i = 0; i < contract->attribute_count; ++i) out_attributes[i] = base[i];
  for (size_t i = 0; i < contract->input_count; ++i) {
    const oc_row_input *changed = &error_case->inputs[i];
    out_inputs[i] = row->inputs[i];
    if (changed->count || changed->contents.kind != OC_VALUE_NONE) out_inputs[i] = *changed;
    if (error_case->remove[i]) out_inputs[i] = (oc_row_input){0};
  }
  const oc_binding binding = {
      .contract = contract, .types = out_types, .inputs = row->inputs, .attributes = base};
  return set_attributes(contract, error_case, &binding, arena, out_attributes, error);
}

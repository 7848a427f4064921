// SPDX-License-Identifier: Apache-2.0
//
// Looks names up in a binding. Names of `let` are evaluated on the way; since each may only use
// those before it, that ends.
#include "contract/binding.h"

#include <math.h>
#include <ops_support/error.h>
#include <string.h>

static int32_t list_from(const int64_t *items, size_t count, const char *name,
                         oc_expr_value *out, ops_error *error) {
  if (count > OC_EXPR_MAX_LIST) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "\"%s\" has %zu items, expressions see at most %d", name, count,
                         OC_EXPR_MAX_LIST);
  }
  out->kind = OC_EXPR_LIST;
  out->count = count;
  if (count) memcpy(out->list, items, count * sizeof(*items));
  return OPS_OK;
}

oc_value oc_binding_attribute(const oc_binding *binding, uint32_t attribute) {
  const oc_attribute *a = &binding->contract->attributes[attribute];
  if (binding->attributes) {
    const oc_value value = binding->attributes[attribute];
    if (value.kind != OC_VALUE_NONE && value.kind != OC_VALUE_ABSENT) return value;
  }
  return a->default_value;
}

static int32_t attribute_value(const oc_binding *binding, uint32_t index, oc_expr_value *out,
                               ops_error *error) {
  const oc_attribute *a = &binding->contract->attributes[index];
  const oc_value value = oc_binding_attribute(binding, index);
  switch (value.kind) {
    case OC_VALUE_INT:
      out->kind = OC_EXPR_INT;
      out->i = value.ints[0];
      return OPS_OK;
    case OC_VALUE_FLOAT:
      out->kind = OC_EXPR_REAL;
      out->real = value.floats[0];
      return OPS_OK;
    case OC_VALUE_STRING:
      out->kind = OC_EXPR_STRING;
      out->string = value.strings[0];
      return OPS_OK;
    case OC_VALUE_INTS:
      return list_from(value.ints, value.count, a->name, out, error);
    case OC_VALUE_NONE:
      // A list that is left out is an empty one; anything else has no value to speak of.
      if (a->type == OC_ATTR_INTS) return list_from(NULL, 0, a->name, out, error);
      return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                           "the attribute \"%s\" has neither a value nor a default", a->name);
    default:
      return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                           "the attribute \"%s\" cannot stand in an expression", a->name);
  }
}

static int32_t env_value(void *context, const char *name, oc_expr_value *out,
                         ops_error *error) {
  const oc_binding *binding = context;
  const int32_t attribute = oc_contract_find_attribute(binding->contract, name);
  if (attribute >= 0) return attribute_value(binding, (uint32_t)attribute, out, error);
  for (size_t i = 0; i < binding->contract->let_count; ++i) {
    if (strcmp(binding->contract->lets[i].name, name) != 0) continue;
    const oc_expr_env env = oc_binding_env(binding);
    return oc_expr_eval(binding->contract->lets[i].expr, &env, out, error);
  }
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "\"%s\" has no value", name);
}

static int32_t env_tensor_count(void *context, const char *name, size_t *out_count,
                                ops_error *error) {
  const oc_binding *binding = context;
  const int32_t input = oc_contract_find_input(binding->contract, name);
  if (input >= 0) {
    *out_count = binding->inputs[input].count;
    return OPS_OK;
  }
  const int32_t output = oc_contract_find_output(binding->contract, name);
  if (output < 0 || !binding->outputs) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "the tensor \"%s\" is not known here",
                         name);
  }
  const size_t first = (size_t)output;
  const bool variadic = binding->contract->outputs[output].variadic;
  *out_count = first >= binding->output_count ? 0
               : variadic                     ? binding->output_count - first
                                              : 1;
  return OPS_OK;
}

static int32_t env_tensor_shape(void *context, const char *name, size_t index,
                                oc_expr_value *out_shape, ops_error *error) {
  const oc_binding *binding = context;
  const int32_t input = oc_contract_find_input(binding->contract, name);
  const oc_shape *shape =
      input >= 0 ? &binding->inputs[input].shapes[index]
                 : &binding->outputs[oc_contract_find_output(binding->contract, name) + index];
  return list_from(shape->dims, (size_t)shape->rank, name, out_shape, error);
}

static int32_t env_tensor_values(void *context, const char *name, oc_expr_value *out_list,
                                 ops_error *error) {
  const oc_binding *binding = context;
  const int32_t input = oc_contract_find_input(binding->contract, name);
  const oc_value *contents = input >= 0 ? &binding->inputs[input].contents : NULL;
  if (!contents || !contents->ints) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "the input \"%s\" has no constant integers here", name);
  }
  return list_from(contents->ints, contents->count, name, out_list, error);
}

static int32_t first_type(uint64_t types) {
  return types ? __builtin_ctzll(types) : OPS_TYPE_UNDEFINED;
}

static int32_t var_type(const oc_binding *binding, size_t var) {
  return binding->types ? binding->types[var]
                        : first_type(binding->contract->type_vars[var].types);
}

static int32_t env_type(void *context, const char *name, int32_t *out_type, ops_error *error) {
  const oc_binding *binding = context;
  for (size_t i = 0; i < binding->contract->type_var_count; ++i) {
    if (strcmp(binding->contract->type_vars[i].name, name) != 0) continue;
    *out_type = var_type(binding, i);
    return OPS_OK;
  }
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "unknown type variable \"%s\"", name);
}

oc_expr_env oc_binding_env(const oc_binding *binding) {
  return (oc_expr_env){.context = (void *)binding,
                       .value = env_value,
                       .tensor_count = env_tensor_count,
                       .tensor_shape = env_tensor_shape,
                       .tensor_values = env_tensor_values,
                       .type = env_type};
}

int32_t oc_binding_type(const oc_binding *binding, const oc_param *param) {
  return param->type_var < 0 ? param->type : var_type(binding, (size_t)param->type_var);
}

int32_t oc_binding_interval(const oc_binding *binding, const oc_range *range,
                            oc_interval *out_interval, ops_error *error) {
  *out_interval = (oc_interval){-INFINITY, INFINITY, true, true};
  if (!range->lo) return OPS_OK;
  const oc_expr_env env = oc_binding_env(binding);
  OPS_RETURN_IF_ERROR(oc_expr_eval_number(range->lo, &env, &out_interval->lo, error));
  OPS_RETURN_IF_ERROR(oc_expr_eval_number(range->hi, &env, &out_interval->hi, error));
  out_interval->lo_open = range->lo_open;
  out_interval->hi_open = range->hi_open;
  return OPS_OK;
}

bool oc_interval_contains(const oc_interval *interval, double value) {
  const bool above = interval->lo_open ? value > interval->lo : value >= interval->lo;
  const bool below = interval->hi_open ? value < interval->hi : value <= interval->hi;
  return above && below;
}

static int32_t attribute_in_range(const oc_binding *binding, uint32_t index, bool *out_inside,
                                  ops_error *error) {
  oc_interval interval;
  const oc_attribute *a = &binding->contract->attributes[index];
  const oc_value value = oc_binding_attribute(binding, index);
  *out_inside = true;
  if (!a->range.lo || !value.floats) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_binding_interval(binding, &a->range, &interval, error));
  for (size_t i = 0; i < value.count; ++i) {
    if (!oc_interval_contains(&interval, value.floats[i])) *out_inside = false;
  }
  return OPS_OK;
}

int32_t oc_binding_valid(const oc_binding *binding, bool *out_valid, const char **out_why,
                         ops_error *error) {
  const oc_contract *c = binding->contract;
  const oc_expr_env env = oc_binding_env(binding);
  *out_valid = true;
  for (size_t i = 0; i < c->attribute_count && *out_valid; ++i) {
    OPS_RETURN_IF_ERROR(attribute_in_range(binding, (uint32_t)i, out_valid, error));
    if (!*out_valid && out_why) *out_why = c->attributes[i].name;
  }
  for (size_t i = 0; i < c->constraint_count && *out_valid; ++i) {
    OPS_RETURN_IF_ERROR(oc_expr_eval_bool(c->constraints[i].check, &env, out_valid, error));
    if (!*out_valid && out_why) *out_why = oc_expr_text(c->constraints[i].check);
  }
  return OPS_OK;
}

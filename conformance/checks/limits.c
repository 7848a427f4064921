// SPDX-License-Identifier: Apache-2.0
//
// Tolerances of a contract are expressions over the case: they are evaluated here.
#include "checks/limits.h"

#include "cases/element.h"
#include "ops_support/checked.h"
#include "ops_support/error.h"

static int32_t evaluate(const oc_expr *expr, const oc_expr_env *env, double *out,
                        ops_error *error) {
  *out = 0;
  return expr ? oc_expr_eval_number(expr, env, out, error) : OPS_OK;
}

static bool exact_wanted(const oc_case *item) {
  const oc_judge judge = item->row->judge;
  return item->fill == OC_FILL_EXACT_INTEGER && !item->contract->precision.transformed &&
         (judge == OC_JUDGE_EXACT || judge == OC_JUDGE_DOT);
}

static int32_t evaluate_all(oc_compare_input *input, const oc_case *item,
                            const oc_expr_env *env, oc_profile_id profile, ops_error *error) {
  const oc_tolerance *tolerance = &item->contract->precision.tolerance[profile];
  // Integers have no last place: their results are equal or wrong.
  if (oc_element_is_floating(input->type)) {
    OPS_RETURN_IF_ERROR(evaluate(tolerance->ulp, env, &input->ulp, error));
    OPS_RETURN_IF_ERROR(evaluate(tolerance->absolute, env, &input->absolute, error));
  }
  OPS_RETURN_IF_ERROR(evaluate(tolerance->k, env, &input->k, error));
  OPS_RETURN_IF_ERROR(evaluate(tolerance->cap, env, &input->cap, error));
  if (!item->row->trivial) return OPS_OK;
  return oc_expr_eval_bool(item->row->trivial, env, &input->trivial, error);
}

// Bias is judged by a bound for errors that have nothing to do with each other. Where a result
// is a sum of few terms, and one of them is the same number in many results, that number alone
// decides on which side all of them are rounded: x + s rounds to x for every x far above s.
#define FEW_TERMS 8
#define FEW_ELEMENTS 16

static bool shares_an_operand(const oc_case *item, double terms, size_t results) {
  if (terms >= FEW_TERMS || results < FEW_ELEMENTS) return false;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    const oc_row_input *input = &item->inputs[i];
    for (size_t k = 0; k < input->count && input->contents.kind == OC_VALUE_NONE; ++k) {
      int64_t elements = 0;
      ops_checked_count(input->shapes[k].dims, input->shapes[k].rank, &elements);
      if (elements < FEW_ELEMENTS) return true;
    }
  }
  return false;
}

// The lines of an array along `axis`; none where it has no such axis.
static oc_line line_of(const oc_array *array, int64_t axis) {
  oc_line line = {1, 0};
  if (axis < 0) axis += array->rank;
  if (axis < 0 || axis >= array->rank || array->count == 0) return line;
  for (int32_t i = (int32_t)axis + 1; i < array->rank; ++i) line.step *= (size_t)array->dims[i];
  line.length = (size_t)array->dims[axis];
  return line;
}

// Judge index: along which axis results are ordered, and what they name.
static int32_t find_lines(oc_compare_input *input, const oc_case *item,
                          const oc_expected *expected, const oc_expr_env *env, size_t output,
                          ops_error *error) {
  const oc_judging *judging = &item->contract->judging;
  const oc_array *named = &expected->named;
  int64_t axis = 0;
  if (item->row->judge != OC_JUDGE_INDEX || !judging->axis) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_expr_eval_int(judging->axis, env, &axis, error));
  if (judging->unordered) {
    OPS_RETURN_IF_ERROR(oc_expr_eval_bool(judging->unordered, env, &input->unordered, error));
  }
  if (named->present) {
    input->named.type = named->type;
    input->named.data = named->data;
    input->named.line = line_of(named, axis);
    // A reduced axis leaves one result per line, whether or not its dimension is kept.
    const oc_array *result = &expected->outputs[output];
    input->line = named->rank != result->rank ? (oc_line){input->named.line.step, 1}
                                              : line_of(result, axis);
    return OPS_OK;
  }
  input->line = line_of(&expected->outputs[output], axis);
  return OPS_OK;
}

// Everything but what the oracle has computed.
static int32_t fill(oc_compare_input *out_input, const oc_case *item, const oc_binding *binding,
                    oc_profile_id profile, int32_t type, ops_error *error) {
  const oc_precision *precision = &item->contract->precision;
  const int32_t accumulate = precision->accumulate[type];
  const oc_expr_env env = oc_binding_env(binding);
  *out_input = (oc_compare_input){
      .judge = item->row->judge,
      .type = type,
      .accumulate = accumulate ? accumulate : type,
      .special = oc_special_resolve(profile, precision),
      .exact = exact_wanted(item),
      .random_fill = item->fill == OC_FILL_UNIFORM || item->fill == OC_FILL_NORMAL,
  };
  return evaluate_all(out_input, item, &env, profile, error);
}

int32_t oc_limits_of(oc_compare_input *out_input, const oc_case *item,
                     const oc_expected *expected, oc_profile_id profile, size_t output,
                     ops_error *error) {
  const oc_array *array = &expected->outputs[output];
  oc_shape shapes[OC_NODE_MAX_OUTPUTS];
  for (size_t i = 0; i < expected->count; ++i) {
    shapes[i] =
        (oc_shape){.rank = expected->outputs[i].rank, .dims = expected->outputs[i].dims};
  }
  oc_binding binding = oc_case_binding(item);
  binding.outputs = shapes;
  binding.output_count = expected->count;
  OPS_RETURN_IF_ERROR(fill(out_input, item, &binding, profile, array->type, error));
  out_input->count = (size_t)array->count;
  if (shares_an_operand(item, out_input->k, out_input->count)) out_input->random_fill = false;
  out_input->expected = array->data;
  out_input->wide = expected->wide[output];
  out_input->magnitude = expected->magnitude[output];
  out_input->deviation = expected->deviation[output];
  out_input->lower = expected->lower[output];
  out_input->upper = expected->lower[output] ? expected->upper[output] : NULL;
  if (expected->has_law[output]) out_input->law = &expected->laws[output];
  const oc_expr_env env = oc_binding_env(&binding);
  return find_lines(out_input, item, expected, &env, output, error);
}

int32_t oc_limits_by_contract(oc_compare_input *out_input, const oc_case *item,
                              oc_profile_id profile, size_t output, ops_error *error) {
  const oc_binding binding = oc_case_binding(item);
  const oc_contract *contract = item->contract;
  const int32_t type = output < contract->output_count
                           ? oc_binding_type(&binding, &contract->outputs[output])
                           : OPS_TYPE_UNDEFINED;
  if (type > OPS_TYPE_UNDEFINED && type < OPS_TYPE_COUNT) {
    return fill(out_input, item, &binding, profile, type, error);
  }
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "the contract alone does not say the type of output %zu", output);
}

// SPDX-License-Identifier: Apache-2.0
//
// Tolerances of a contract are expressions over the case: they are evaluated here.
#include "checks/limits.h"

#include "cases/element.h"
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

int32_t oc_limits_of(oc_compare_input *out_input, const oc_case *item,
                     const oc_expected *expected, oc_profile_id profile, size_t output,
                     ops_error *error) {
  const oc_array *array = &expected->outputs[output];
  const oc_precision *precision = &item->contract->precision;
  const int32_t accumulate = precision->accumulate[array->type];
  oc_shape shapes[OC_NODE_MAX_OUTPUTS];
  for (size_t i = 0; i < expected->count; ++i) {
    shapes[i] =
        (oc_shape){.rank = expected->outputs[i].rank, .dims = expected->outputs[i].dims};
  }
  oc_binding binding = oc_case_binding(item);
  binding.outputs = shapes;
  binding.output_count = expected->count;
  const oc_expr_env env = oc_binding_env(&binding);
  *out_input = (oc_compare_input){
      .judge = item->row->judge,
      .type = array->type,
      .accumulate = accumulate ? accumulate : array->type,
      .count = (size_t)array->count,
      .expected = array->data,
      .wide = expected->wide[output],
      .magnitude = expected->magnitude[output],
      .deviation = expected->deviation[output],
      .special = oc_special_resolve(profile, precision),
      .exact = exact_wanted(item),
      .random_fill = item->fill == OC_FILL_UNIFORM || item->fill == OC_FILL_NORMAL,
  };
  return evaluate_all(out_input, item, &env, profile, error);
}

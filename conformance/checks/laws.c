// SPDX-License-Identifier: Apache-2.0
//
// Expressions are evaluated, inputs read as doubles.
#include "checks/laws.h"

#include <stdlib.h>

#include "cases/element.h"
#include "ops_support/error.h"

static const oc_array *input_of(const oc_question *plain, int32_t param) {
  for (size_t i = 0; i < plain->inputs->count && param >= 0; ++i) {
    const oc_array *array = &plain->inputs->items[i];
    if (plain->inputs->params[i] == param) return array->present ? array : NULL;
  }
  return NULL;
}

static int32_t read_numbers(oc_expected *expected, const oc_question *plain, const oc_law *law,
                            ops_error *error) {
  oc_random_law *out = &expected->laws[law->output];
  const oc_array *array = input_of(plain, law->of);
  const oc_array *result = &expected->outputs[law->output];
  const bool rows = law->kind == OC_LAW_CATEGORICAL;
  if (law->of < 0) return OPS_OK;
  if (!array || (rows ? array->rank != 2 : array->count != result->count)) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "%s: the law of output %u needs its input %s", plain->item->id,
                         law->output,
                         rows ? "as rows of logits" : "with one number for each result");
  }
  double *numbers = malloc(((size_t)array->count + 1) * sizeof *numbers);
  if (!numbers) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a law");
  for (int64_t i = 0; i < array->count; ++i) {
    numbers[i] = oc_element_load(array->type, array->data, (uint64_t)i);
  }
  expected->law_numbers[law->output] = numbers;
  out->of = numbers;
  out->count = (size_t)array->count;
  out->classes = rows ? (size_t)array->dims[1] : 0;
  return OPS_OK;
}

static int32_t resolve(oc_expected *expected, const oc_question *plain, const oc_law *law,
                       ops_error *error) {
  const oc_binding binding = oc_case_binding(plain->item);
  const oc_expr_env env = oc_binding_env(&binding);
  const oc_array *share = input_of(plain, law->share);
  oc_random_law *out = &expected->laws[law->output];
  *out = (oc_random_law){.kind = law->kind, .share = 0.5};
  if (share && share->count == 1) out->share = oc_element_load(share->type, share->data, 0);
  if (law->a) OPS_RETURN_IF_ERROR(oc_expr_eval_number(law->a, &env, &out->a, error));
  if (law->b) OPS_RETURN_IF_ERROR(oc_expr_eval_number(law->b, &env, &out->b, error));
  expected->has_law[law->output] = true;
  return read_numbers(expected, plain, law, error);
}

int32_t oc_laws_resolve(oc_expected *expected, const oc_question *plain, ops_error *error) {
  const oc_judging *judging = &plain->item->contract->judging;
  for (size_t i = 0; i < judging->law_count; ++i) {
    if (judging->laws[i].output >= expected->count) continue;
    OPS_RETURN_IF_ERROR(resolve(expected, plain, &judging->laws[i], error));
  }
  return OPS_OK;
}

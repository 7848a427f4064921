// SPDX-License-Identifier: Apache-2.0
//
// Check `invariants`: properties that hold whatever the oracle says, so that oracle and
// candidate cannot be wrong together. They speak of numbers: elements for which the oracle
// expects NaN, and sums that contain one, are left out.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "checks/check.h"
#include "compare/compare.h"
#include "ops_support/error.h"

typedef struct view {
  oc_trial *trial;
  const oc_invariant *invariant;
  const oc_array *output;
  const oc_array *expected;
  oc_expr_env env;
  const oc_binding *binding;
} view;

static bool broken(const view *at, int64_t element, const char *text, double value) {
  at->trial->result->output = (int32_t)at->invariant->output;
  at->trial->result->element = element;
  return oc_trial_end(at->trial, OC_STATUS_FAIL, "invariants",
                      "%s: '%s': output %u, element %lld: %s, found %.9g",
                      oc_run_name(at->trial->run), at->invariant->id, at->invariant->output,
                      (long long)element, text, value);
}

static double element_of(const view *at, int64_t index) {
  return oc_element_load(at->output->type, at->output->data, (uint64_t)index);
}

// Where NaN is expected there is no promise.
static bool is_promised(const view *at, int64_t index) {
  return !isnan(oc_element_load(at->expected->type, at->expected->data, (uint64_t)index));
}

static bool check_nonnegative(const view *at) {
  for (int64_t i = 0; i < at->output->count; ++i) {
    const double value = element_of(at, i);
    if (!(value >= 0) && is_promised(at, i))
      return broken(at, i, "expected no negative number", value);
  }
  return true;
}

static bool check_bounded(const view *at) {
  ops_error error = OPS_ERROR_INIT;
  oc_interval range;
  if (oc_binding_interval(at->binding, &at->invariant->range, &range, &error) != OPS_OK) {
    return oc_trial_end(at->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.500s",
                        error.message);
  }
  for (int64_t i = 0; i < at->output->count; ++i) {
    const double value = element_of(at, i);
    if (!oc_interval_contains(&range, value) && is_promised(at, i)) {
      return broken(at, i, "expected a number inside the bounds", value);
    }
  }
  return true;
}

// One unit in the last place of 1.0, times the terms, times the judge's limit or 1.
static double sum_tolerance(const view *at, double equals, int64_t terms) {
  const oc_precision *precision = &at->trial->item->contract->precision;
  const oc_tolerance *tolerance = &precision->tolerance[at->trial->bench->profile];
  const oc_element_format *format = oc_element_format_of(at->output->type);
  const int32_t named = precision->accumulate[at->output->type];
  double ulp = 1;
  if (!format) return 0;
  if (tolerance->ulp) oc_expr_eval_number(tolerance->ulp, &at->env, &ulp, NULL);
  const double limit =
      oc_compare_ulp_limit(ulp, at->output->type, named ? named : at->output->type);
  return fmax(limit, 1) * (double)terms * fmax(fabs(equals), 1) *
         ldexp(1, -format->mantissa_bits);
}

static bool check_sum(const view *at) {
  ops_error error = OPS_ERROR_INIT;
  double equals = 0;
  int64_t axis = 0;
  if (oc_expr_eval_number(at->invariant->equals, &at->env, &equals, &error) != OPS_OK ||
      oc_expr_eval_int(at->invariant->axis, &at->env, &axis, &error) != OPS_OK) {
    return oc_trial_end(at->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.500s",
                        error.message);
  }
  const oc_array *output = at->output;
  if (axis < 0) axis += output->rank;
  if (axis < 0 || axis >= output->rank || output->count == 0) return true;
  int64_t inner = 1;
  for (int32_t i = (int32_t)axis + 1; i < output->rank; ++i) inner *= output->dims[i];
  const int64_t length = output->dims[axis], outer = output->count / (length * inner);
  const double tolerance = sum_tolerance(at, equals, length);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      bool promised = true;
      for (int64_t k = 0; k < length; ++k) {
        const int64_t index = (o * length + k) * inner + i;
        sum += element_of(at, index);
        promised = promised && is_promised(at, index);
      }
      if (promised && !(fabs(sum - equals) <= tolerance)) {
        return broken(at, o * length * inner + i, "the sum along the axis is off", sum);
      }
    }
  }
  return true;
}

static int compare_codes(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static uint64_t *sorted_codes(const oc_array *array) {
  uint64_t *codes = malloc(((size_t)array->count + 1) * sizeof *codes);
  for (int64_t i = 0; codes && i < array->count; ++i) {
    codes[i] = oc_element_load_bits(array->type, array->data, (uint64_t)i);
  }
  if (codes) qsort(codes, (size_t)array->count, sizeof *codes, compare_codes);
  return codes;
}

static bool check_rearranges(const view *at) {
  const uint32_t param = at->invariant->input;
  const oc_inputs *inputs = &at->trial->inputs;
  size_t i = 0;
  while (i < inputs->count && inputs->params[i] != (int32_t)param) ++i;
  if (i == inputs->count || !inputs->items[i].present) return true;
  const oc_array *input = &inputs->items[i];
  if (input->count != at->output->count || input->type != at->output->type) {
    return broken(at, 0, "expected as many elements as the input has",
                  (double)at->output->count);
  }
  uint64_t *before = sorted_codes(input), *after = sorted_codes(at->output);
  const size_t bytes = (size_t)input->count * sizeof *before;
  const bool same = before && after && memcmp(before, after, bytes) == 0;
  free(before);
  free(after);
  return same || broken(at, 0, "expected exactly the elements of the input", element_of(at, 0));
}

typedef bool (*invariant_fn)(const view *at);

static const invariant_fn kInvariants[] = {
    [OC_INVARIANT_NONNEGATIVE] = check_nonnegative,
    [OC_INVARIANT_BOUNDED] = check_bounded,
    [OC_INVARIANT_SUM_ALONG] = check_sum,
    [OC_INVARIANT_REARRANGES] = check_rearranges,
};

bool oc_check_invariants(oc_trial *trial) {
  const oc_contract *contract = trial->item->contract;
  const oc_binding binding = oc_case_binding(trial->item);
  for (size_t i = 0; i < contract->invariant_count; ++i) {
    const oc_invariant *invariant = &contract->invariants[i];
    if (invariant->output >= trial->expected.count) continue;
    if (trial->chain.count && invariant->output == 0) continue;  // a chain changes it

    const view at = {.trial = trial,
                     .invariant = invariant,
                     .output = &trial->got[trial->run][invariant->output],
                     .expected = &trial->expected.outputs[invariant->output],
                     .env = oc_binding_env(&binding),
                     .binding = &binding};
    if (!kInvariants[invariant->check](&at)) return false;
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
//
// Check `values`: the contract's judge over every output. An element that is wrong and still
// holds the poison is reported as `unwritten`; expected values that something trivial would
// meet make the case untrusted.
#include <math.h>
#include <stdio.h>

#include "cases/element.h"
#include "checks/check.h"
#include "ops_support/error.h"

// ---- Limits of the case ---------------------------------------------------------------------

static int32_t evaluate(const oc_expr *expr, const oc_expr_env *env, double *out,
                        ops_error *error) {
  *out = 0;
  return expr ? oc_expr_eval_number(expr, env, out, error) : OPS_OK;
}

static bool exact_wanted(const oc_case *item) {
  const oc_judge judge = item->contract->judge;
  return item->fill == OC_FILL_EXACT_INTEGER && !item->contract->precision.transformed &&
         (judge == OC_JUDGE_EXACT || judge == OC_JUDGE_DOT);
}

static int32_t set_limits(const oc_trial *trial, oc_compare_input *input, ops_error *error) {
  const oc_case *item = trial->item;
  const oc_precision *precision = &item->contract->precision;
  const oc_tolerance *tolerance = &precision->tolerance[trial->bench->profile];
  oc_shape shapes[OC_NODE_MAX_OUTPUTS];
  for (size_t i = 0; i < trial->expected.count; ++i) {
    const oc_array *array = &trial->expected.outputs[i];
    shapes[i] = (oc_shape){.rank = array->rank, .dims = array->dims};
  }
  oc_binding binding = oc_case_binding(item);
  binding.outputs = shapes;
  binding.output_count = trial->expected.count;
  const oc_expr_env env = oc_binding_env(&binding);
  bool trivial = false;
  OPS_RETURN_IF_ERROR(evaluate(tolerance->ulp, &env, &input->ulp, error));
  OPS_RETURN_IF_ERROR(evaluate(tolerance->absolute, &env, &input->absolute, error));
  OPS_RETURN_IF_ERROR(evaluate(tolerance->k, &env, &input->k, error));
  if (item->row->trivial) {
    OPS_RETURN_IF_ERROR(oc_expr_eval_bool(item->row->trivial, &env, &trivial, error));
  }
  input->trivial = trivial;
  input->special = oc_special_resolve(trial->bench->profile, precision);
  if (trial->kernel.def->flags & OPS_KERNEL_FLUSHES_DENORMALS) {
    input->special.denormal_any =
        input->special.denormal_any || precision->denormal == OC_DENORMAL_PROFILE;
  }
  return OPS_OK;
}

static int32_t judge_output(const oc_trial *trial, size_t index, oc_comparison *comparison,
                            ops_error *error) {
  const oc_array *expected = &trial->expected.outputs[index];
  const oc_array *got = &trial->got[trial->run][index];
  const oc_case *item = trial->item;
  const int32_t accumulate = item->contract->precision.accumulate[expected->type];
  oc_compare_input input = {
      .judge = item->contract->judge,
      .type = expected->type,
      .accumulate = accumulate ? accumulate : expected->type,
      .count = (size_t)expected->count,
      .got = got->data,
      .expected = expected->data,
      .wide = trial->expected.wide[index],
      .magnitude = trial->expected.magnitude[index],
      .exact = exact_wanted(item),
      .random_fill = item->fill == OC_FILL_UNIFORM || item->fill == OC_FILL_NORMAL,
  };
  OPS_RETURN_IF_ERROR(set_limits(trial, &input, error));
  return oc_compare(&input, comparison, error);
}

// ---- The verdict ----------------------------------------------------------------------------

static bool holds_poison(const oc_trial *trial, const oc_array *got, size_t element) {
  unsigned char poison[16];
  const int32_t bits = oc_element_bits(got->type);
  oc_block_poison(poison, sizeof poison, trial->launch->poison);
  return bits >= 8 && oc_element_load_bits(got->type, got->data, element) ==
                          oc_element_load_bits(got->type, poison,
                                               bits == 8    ? element % 4
                                               : bits == 16 ? element % 2
                                                            : 0);
}

static void keep_worst(oc_result *result, size_t index, const oc_comparison *comparison) {
  const bool worse =
      !result->measured || comparison->verdict != OC_MATCH || comparison->error > result->error;
  if (!worse) return;
  result->measured = 1;
  result->output = (int32_t)index;
  result->element = (int64_t)comparison->worst;
  result->error = comparison->error;
  result->limit = comparison->limit;
  snprintf(result->metric, sizeof result->metric, "%s", comparison->metric);
  snprintf(result->expected, sizeof result->expected, "%s", comparison->expected);
  snprintf(result->got, sizeof result->got, "%s", comparison->got);
}

static bool report_mismatch(oc_trial *trial, size_t index, const oc_comparison *comparison) {
  const oc_array *got = &trial->got[trial->run][index];
  const char *name = trial->item->contract->outputs[index].name;
  const bool unwritten = holds_poison(trial, got, comparison->worst);
  if (unwritten) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_UNWRITTEN,
                        "%s: output %zu '%s', element %zu still holds the poison %s: expected "
                        "%s; %zu of %lld elements are wrong",
                        oc_run_name(trial->run), index, name, comparison->worst,
                        oc_block_poison_name(trial->launch->poison), comparison->expected,
                        comparison->wrong, (long long)got->count);
  }
  return oc_trial_end(
      trial, OC_STATUS_FAIL, OC_CHECK_VALUES,
      "%s: output %zu '%s', element %zu: expected %s, found %s, %s %.4g over the "
      "limit %.4g; %zu of %lld elements are wrong",
      oc_run_name(trial->run), index, name, comparison->worst, comparison->expected,
      comparison->got, comparison->metric, comparison->error, comparison->limit,
      comparison->wrong, (long long)got->count);
}

static bool check_real_shape(oc_trial *trial, size_t index) {
  const oc_array *expected = &trial->expected.outputs[index];
  const oc_array *got = &trial->got[trial->run][index];
  bool same = got->type == expected->type && got->rank == expected->rank;
  for (int32_t i = 0; same && i < got->rank; ++i) same = got->dims[i] == expected->dims[i];
  if (same) return true;
  char want[200], have[200];
  oc_array_print_shape(expected->rank, expected->dims, want, sizeof want);
  oc_array_print_shape(got->rank, got->dims, have, sizeof have);
  return oc_trial_end(trial, OC_STATUS_FAIL, "shape",
                      "%s: output %zu: expected the shape %s, found %s after the run",
                      oc_run_name(trial->run), index, want, have);
}

bool oc_check_values(oc_trial *trial) {
  for (size_t i = 0; i < trial->expected.count; ++i) {
    ops_error error = OPS_ERROR_INIT;
    oc_comparison comparison;
    if (!check_real_shape(trial, i)) return false;
    const int32_t status = judge_output(trial, i, &comparison, &error);
    if (status != OPS_OK) {
      return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS,
                          "cannot be judged: %.600s", error.message);
    }
    keep_worst(trial->result, i, &comparison);
    if (comparison.verdict == OC_MISMATCH) return report_mismatch(trial, i, &comparison);
    if (comparison.verdict == OC_UNTRUSTED) {
      return oc_trial_end(trial, OC_STATUS_UNTRUSTED, OC_CHECK_TRIVIAL,
                          "output %zu: %s would pass too; choose other inputs, or mark the row "
                          "trivial and say why",
                          i, comparison.trivial);
    }
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
//
// The oracle's part of a trial: expected values, and what each judge needs besides.
#include "checks/expected.h"

#include <stdlib.h>
#include <string.h>

#include "checks/laws.h"
#include "checks/oracle.h"
#include "checks/shaken.h"
#include "checks/ties.h"
#include "ops_support/error.h"

uint64_t oc_expected_constants(const oc_case *item, const oc_inputs *inputs) {
  uint64_t mask = 0;
  for (size_t i = 0; i < inputs->count; ++i) {
    const oc_value *contents = &item->inputs[inputs->params[i]].contents;
    if (contents->kind != OC_VALUE_NONE) mask |= (uint64_t)1 << i;
  }
  return mask;
}

static oc_question question_of(oc_bench *bench, const oc_case *item, const oc_inputs *inputs) {
  return (oc_question){
      .oracle = &bench->oracle, .beacon = bench->beacon, .item = item, .inputs = inputs};
}

int32_t oc_expected_shapes(oc_array *out_shapes, oc_bench *bench, const oc_case *item,
                           const oc_inputs *inputs, ops_error *error) {
  oc_kernel kernel;
  const oc_question question = question_of(bench, item, inputs);
  int32_t status = oc_oracle_prepare(&question, &kernel, error);
  for (size_t i = 0; i < kernel.output_count && status == OPS_OK; ++i) {
    const ops_output_info *info = &kernel.outputs[i];
    if (info->mode != OPS_SHAPE_KNOWN) continue;
    status = oc_array_init(&out_shapes[i], info->type, info->rank, info->dims, "output", error);
  }
  oc_kernel_finish(&kernel);
  return status;
}

// ---- What judges need besides ---------------------------------------------------------------

// Dot: the bound's b, and the values before they were rounded.
static int32_t ask_dot(oc_expected *expected, const oc_question *plain, ops_error *error) {
  oc_question wide = *plain;
  wide.widen = OPS_TYPE_DOUBLE;
  OPS_RETURN_IF_ERROR(oc_oracle_run_wide(&wide, expected->wide, error));
  wide.absolute = true;
  return oc_oracle_run_wide(&wide, expected->magnitude, error);
}

// Index: a copy of the input whose elements the results name.
static int32_t take_named(oc_expected *expected, const oc_question *plain, ops_error *error) {
  const int32_t of = plain->item->contract->judging.of;
  for (size_t i = 0; i < plain->inputs->count && of >= 0; ++i) {
    if (plain->inputs->params[i] != of || !plain->inputs->items[i].present) continue;
    return oc_array_copy(&expected->named, &plain->inputs->items[i], error);
  }
  return OPS_OK;
}

typedef int32_t (*ask_fn)(oc_expected *expected, const oc_question *plain, ops_error *error);

static const ask_fn kBesides[OC_JUDGE_COUNT] = {
    [OC_JUDGE_DOT] = ask_dot,           [OC_JUDGE_CONDITIONED] = oc_shaken_ask,
    [OC_JUDGE_QUANTISED] = oc_ties_ask, [OC_JUDGE_RANDOM] = oc_laws_resolve,
    [OC_JUDGE_INDEX] = take_named,
};

// ---- Entry ----------------------------------------------------------------------------------

static bool same_counts(const oc_expected *expected) {
  for (size_t i = 0; i < expected->count; ++i) {
    if (!expected->outputs[i].present) return false;
  }
  return true;
}

int32_t oc_expected_init(oc_expected *expected, oc_bench *bench, const oc_case *item,
                         const oc_inputs *inputs, ops_error *error) {
  const oc_question question = question_of(bench, item, inputs);
  const ask_fn besides = kBesides[item->row->judge];
  memset(expected, 0, sizeof *expected);
  expected->count = item->row->output_count;
  int32_t status = oc_oracle_run(&question, expected->outputs, error);
  if (status == OPS_OK && !same_counts(expected)) {
    status = ops_error_set(error, OPS_ERROR_INTERNAL, "the oracle left an output out");
  }
  if (status == OPS_OK && besides) status = besides(expected, &question, error);
  if (status != OPS_OK) oc_expected_finish(expected);
  return status;
}

void oc_expected_finish(oc_expected *expected) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    oc_array_finish(&expected->outputs[i]);
    free(expected->magnitude[i]);
    free(expected->wide[i]);
    free(expected->deviation[i]);
    free(expected->lower[i]);
    free(expected->upper[i]);
    free(expected->law_numbers[i]);
  }
  oc_array_finish(&expected->named);
  memset(expected, 0, sizeof *expected);
}

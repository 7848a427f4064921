// SPDX-License-Identifier: Apache-2.0
//
// Check `values`: the contract's judge over every output. An element that is wrong and still
// holds the poison is reported as `unwritten`; expected values that something trivial would
// meet make the case untrusted.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "checks/chained.h"
#include "checks/check.h"
#include "checks/limits.h"
#include "ops_support/error.h"

// ---- One output -----------------------------------------------------------------------------

// A definition that declares itself transformed computes in tiles: a result is judged by the
// largest sum of |xw| of its plane (the dimensions after the second), and small integers need
// not come out exact (CONFORMANCE.md). *out_tiles belongs to the caller.
static int32_t allow_tiles(const oc_array *expected, oc_compare_input *input,
                           double **out_tiles, ops_error *error) {
  size_t plane = 1;
  input->exact = false;
  if (!input->magnitude || input->count == 0) return OPS_OK;
  for (int32_t d = 2; d < expected->rank; ++d) plane *= (size_t)expected->dims[d];
  double *tiles = calloc(input->count, sizeof *tiles);
  if (!tiles) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for tiles");
  for (size_t begin = 0; begin < input->count; begin += plane) {
    double largest = 0;
    for (size_t i = begin; i < begin + plane; ++i) largest = fmax(largest, input->magnitude[i]);
    for (size_t i = begin; i < begin + plane; ++i) tiles[i] = largest;
  }
  input->magnitude = *out_tiles = tiles;
  return OPS_OK;
}

static int32_t judge_output(const oc_trial *trial, size_t index, oc_comparison *comparison,
                            ops_error *error) {
  const oc_precision *precision = &trial->item->contract->precision;
  oc_compare_input input;
  OPS_RETURN_IF_ERROR(
      oc_limits_of(&input, trial->item, &trial->expected, trial->bench->profile, index, error));
  input.got = trial->got[trial->run][index].data;
  input.random_fill = input.random_fill && !trial->alike;
  if (trial->kernel.def->flags & OPS_KERNEL_FLUSHES_DENORMALS) {
    input.special.denormal_any =
        input.special.denormal_any || precision->denormal == OC_DENORMAL_PROFILE;
  }
  if (trial->chain.count && index == 0) oc_chained_limits(trial, &input);
  // What would pass besides depends on the expected values alone: asked once, with the first
  // run.
  if (trial->run != OC_RUN_FIRST) input.trivial = true;
  double *tiles = NULL;
  int32_t status = OPS_OK;
  if (trial->kernel.def->flags & OPS_KERNEL_TRANSFORMED)
    status = allow_tiles(&trial->expected.outputs[index], &input, &tiles, error);
  if (status == OPS_OK) status = oc_compare(&input, comparison, error);
  free(tiles);
  return status;
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

// "first run", "with Add, Relu behind it".
static const char *where(const oc_trial *trial, char *text, size_t size) {
  if (!trial->chain.count) return oc_run_name(trial->run);
  snprintf(text, size, "with %s behind it", trial->chain.text);
  return text;
}

static bool report_mismatch(oc_trial *trial, size_t index, const oc_comparison *comparison) {
  const oc_array *got = &trial->got[trial->run][index];
  const char *name = trial->item->contract->outputs[index].name;
  char text[96];
  const bool unwritten = holds_poison(trial, got, comparison->worst);
  if (unwritten) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_UNWRITTEN,
                        "%s: output %zu '%s', element %zu still holds the poison %s: expected "
                        "%s; %zu of %lld elements are wrong",
                        where(trial, text, sizeof text), index, name, comparison->worst,
                        oc_block_poison_name(trial->launch->poison), comparison->expected,
                        comparison->wrong, (long long)got->count);
  }
  return oc_trial_end(
      trial, OC_STATUS_FAIL, OC_CHECK_VALUES,
      "%s: output %zu '%s', element %zu: expected %s, found %s, %s %.4g over the "
      "limit %.4g; %zu of %lld elements are wrong",
      where(trial, text, sizeof text), index, name, comparison->worst, comparison->expected,
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

// Bits that have been judged once for this trial and by the same rules need not be judged
// again.
static bool judged_before(const oc_trial *trial, size_t index) {
  const oc_array *first = &trial->got[OC_RUN_FIRST][index];
  const oc_array *got = &trial->got[trial->run][index];
  return trial->run != OC_RUN_FIRST && trial->chain.count == 0 && first->present &&
         trial->kernel.def->flags == trial->first_flags && first->bytes == got->bytes &&
         memcmp(first->data, got->data, got->bytes) == 0;
}

bool oc_check_values(oc_trial *trial) {
  if (trial->run == OC_RUN_FIRST) trial->first_flags = trial->kernel.def->flags;
  for (size_t i = 0; i < trial->expected.count; ++i) {
    ops_error error = OPS_ERROR_INIT;
    oc_comparison comparison;
    if (!check_real_shape(trial, i)) return false;
    if (judged_before(trial, i)) continue;
    const int32_t status = judge_output(trial, i, &comparison, &error);
    if (status != OPS_OK) {
      return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS,
                          "cannot be judged: %.600s", error.message);
    }
    keep_worst(trial->result, i, &comparison);
    if (comparison.verdict == OC_MISMATCH) return report_mismatch(trial, i, &comparison);
    if (comparison.untrusted) {
      return oc_trial_end(trial, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE,
                          "output %zu, element %zu: %s (%.4g of it)", i, comparison.worst,
                          comparison.untrusted, comparison.error);
    }
    if (comparison.verdict == OC_UNTRUSTED) {
      return oc_trial_end(trial, OC_STATUS_UNTRUSTED, OC_CHECK_TRIVIAL,
                          "output %zu: %s would pass too; choose other inputs, or mark the row "
                          "trivial and say why",
                          i, comparison.trivial);
    }
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
//
// What must hold between a result, its case and its contract:
//   PASS       no check is named; an error that was measured is within its limit; a node's
//              outputs were compared, or its refusal was checked
//   FAIL of the check values or unwritten with an error: the error is beyond its limit
//   other failures name the check that ended the case
//   a limit is the one that the contract's judge gives for the case. Limits that follow from
//   what the oracle computed (judges conditioned and fused, statistics of sums) are left out;
//   the certificate says how many were evaluated.
#include "bundle/derive.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/limits.h"
#include "checks/provider_case.h"
#include "compare/compare.h"
#include "ops_support/error.h"

int32_t oc_derive_journal(const char *const *paths, size_t count, oc_journal **out_journal,
                          ops_error *error) {
  oc_journal **read = calloc(count + 1, sizeof *read);
  if (!read) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for journals");
  int32_t status = OPS_OK;
  for (size_t i = 0; i < count && status == OPS_OK; ++i) {
    status = oc_journal_read(paths[i], &read[i], error);
  }
  if (status == OPS_OK) {
    status =
        oc_journal_merge((const oc_journal *const *)read, paths, count, out_journal, error);
  }
  for (size_t i = 0; i < count; ++i) oc_journal_destroy(read[i]);
  free(read);
  return status;
}

// ---- Cases ----------------------------------------------------------------------------------

static int32_t refuse(ops_error *error, const char *id, const char *what) {
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%.200s: %s", id, what);
}

// The made cases that the run selected must be those of the journal; out_made[i] is the made
// case of the i-th one.
static int32_t match_cases(const oc_journal *journal, const oc_cases *made,
                           const oc_case **out_made, ops_error *error) {
  const char *filter = journal->header.setup.filter;
  size_t next = 0;
  for (size_t i = 0; i < made->count; ++i) {
    const oc_case *item = &made->items[i];
    if (filter && fnmatch(filter, item->id, 0) != 0) continue;
    const oc_case *planned = next < journal->cases.count ? &journal->cases.items[next] : NULL;
    if (!planned || strcmp(planned->id, item->id) != 0 || planned->seed != item->seed) {
      return refuse(error, item->id,
                    "the contracts give this case next, the journals have another one");
    }
    out_made[next++] = item;
  }
  if (next == journal->cases.count) return OPS_OK;
  return refuse(error, journal->cases.items[next].id,
                "the journals have this case, the contracts do not give it");
}

// ---- Limits ---------------------------------------------------------------------------------

// The limit of the case by its contract alone, where that can be said: judged as an output of
// no elements. False where it takes what the oracle gives.
static bool limit_of(const oc_case *item, oc_profile_id profile, const oc_result *result,
                     oc_comparison *out) {
  static const double nothing[1];
  static const bool by_contract[OC_JUDGE_COUNT] = {[OC_JUDGE_EXACT] = true,
                                                   [OC_JUDGE_INDEX] = true,
                                                   [OC_JUDGE_ULP] = true,
                                                   [OC_JUDGE_DOT] = true};
  oc_compare_input input;
  if (item->error || result->output < 0 || !by_contract[item->row->judge] ||
      oc_limits_by_contract(&input, item, profile, (size_t)result->output, NULL) != OPS_OK) {
    return false;
  }
  input.expected = input.got = input.magnitude = input.wide = nothing;
  return oc_compare(&input, out, NULL) == OPS_OK;
}

static int32_t check_limit(const oc_case *item, oc_profile_id profile, const oc_result *result,
                           oc_certificate *certificate, ops_error *error) {
  oc_comparison comparison;
  memset(&comparison, 0, sizeof comparison);
  ++certificate->measured;
  if (!limit_of(item, profile, result, &comparison)) return OPS_OK;
  if (!comparison.metric || strcmp(comparison.metric, result->metric) != 0) return OPS_OK;
  ++certificate->evaluated;
  if (fabs(comparison.limit - result->limit) <= 1e-12 * fabs(comparison.limit)) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                       "%.200s: the contract allows %.17g (%s), the journal says %.17g",
                       item->id, comparison.limit, comparison.metric, result->limit);
}

// ---- Results --------------------------------------------------------------------------------

static bool was_put_to(const oc_result *result, const char *name) {
  size_t count;
  const oc_check *check = oc_checks_find(name);
  return check && (result->checks >> (check - oc_checks(&count)) & 1);
}

static const char *judge_pass(const oc_result *result, bool node) {
  const bool within = !result->measured || fabs(result->error) <= result->limit;
  if (result->check[0]) return "it passes although a check is said to have failed";
  if (!within) return "it passes with an error beyond its limit";
  if (node && !was_put_to(result, OC_CHECK_VALUES) && !was_put_to(result, OC_CHECK_ERROR)) {
    return "it passes although nothing was compared";
  }
  return NULL;
}

static const char *judge_failure(const oc_result *result) {
  if (result->status == OC_STATUS_UNSUPPORTED || result->status == OC_STATUS_NOT_RUN) {
    return NULL;
  }
  if (!oc_checks_find(result->check)) return "it fails without a check that fails";
  const bool by_error = strcmp(result->check, OC_CHECK_VALUES) == 0 && result->measured &&
                        result->status == OC_STATUS_FAIL;
  if (by_error && fabs(result->error) <= result->limit) {
    return "it fails with an error within its limit";
  }
  return NULL;
}

static int32_t check_result(const oc_journal *journal, const oc_case *item,
                            const oc_result *result, oc_certificate *certificate,
                            ops_error *error) {
  const char *wrong = result->status == OC_STATUS_PASS
                          ? judge_pass(result, item && !item->provider_case)
                          : judge_failure(result);
  if (wrong) return refuse(error, item ? item->id : "provider", wrong);
  if (!item || item->provider_case || !result->measured) return OPS_OK;
  return check_limit(item, journal->header.setup.profile, result, certificate, error);
}

static int32_t check_results(const oc_journal *journal, const oc_cases *made,
                             oc_certificate *certificate, ops_error *error) {
  const oc_case **items = calloc(journal->cases.count + 1, sizeof *items);
  if (!items) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for cases");
  int32_t status = match_cases(journal, made, items, error);
  for (size_t i = 0; i < journal->count && status == OPS_OK; ++i) {
    const oc_result *result = &journal->results[i];
    const oc_case *item =
        result->case_index < journal->cases.count ? items[result->case_index] : NULL;
    status = check_result(journal, item, result, certificate, error);
  }
  free(items);
  return status;
}

int32_t oc_derive_check(const oc_journal *journal, const char *contracts,
                        oc_certificate *certificate, ops_error *error) {
  const oc_report_setup *setup = &journal->header.setup;
  oc_contracts *set = NULL;
  oc_cases *made = NULL;
  certificate->cases = journal->cases.count;
  certificate->measured = certificate->evaluated = 0;
  const oc_cases_options options = {.seed = setup->seed, .tier = setup->tier, .op = setup->op};
  int32_t status = oc_contracts_load(contracts, &set, error);
  if (status == OPS_OK) status = oc_cases_create(set, &options, &made, error);
  if (status == OPS_OK && !setup->op) status = oc_provider_cases_append(made, error);
  if (status == OPS_OK) status = check_results(journal, made, certificate, error);
  oc_cases_destroy(made);
  oc_contracts_destroy(set);
  return status;
}

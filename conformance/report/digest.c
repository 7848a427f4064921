// SPDX-License-Identifier: Apache-2.0
//
// Adding up. Results stand in the order of the cases, and cases in that of the operators.
#include "report/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "ops_support/error.h"

bool oc_digest_is_claimed(const oc_digest_op *op) {
  return op->counts[OC_STATUS_UNSUPPORTED] < op->end - op->begin;
}

uint64_t oc_digest_failures(const oc_digest_op *op) {
  uint64_t failures = 0;
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (oc_status_is_failure(status)) failures += op->counts[status];
  }
  return failures;
}

double oc_digest_share(const oc_result *result) {
  if (!result->measured || result->error == 0) return 0;
  if (isnan(result->error) || !(result->limit > 0)) return INFINITY;
  return fabs(result->error) / result->limit;
}

static void add_checks(oc_digest *digest, oc_digest_op *op, const oc_result *result) {
  for (int bit = 0; bit < OC_DIGEST_CHECKS; ++bit) {
    if (!(result->checks >> bit & 1)) continue;
    ++op->asked[bit];
    ++digest->asked[bit];
  }
  size_t count;
  const oc_check *checks = oc_checks(&count), *check = oc_checks_find(result->check);
  if (!check || !oc_status_is_failure(result->status)) return;
  ++op->failed[check - checks];
  ++digest->failed[check - checks];
}

static void add_worst(oc_digest_op *op, const oc_report *report, const oc_result *result) {
  if (!result->measured) return;
  const double share = oc_digest_share(result);
  oc_digest_worst *worst = &op->worst[oc_report_type(report, result)];
  if (worst->result && share <= worst->share) return;
  *worst = (oc_digest_worst){.result = result, .share = share};
  if (share > op->share) op->share = share;
}

static void add_result(oc_digest *digest, const oc_report *report, size_t index) {
  const oc_result *result = &report->results[index];
  const oc_case *item = oc_report_case(report, result);
  oc_digest_op *op = digest->count ? &digest->ops[digest->count - 1] : NULL;
  char name[sizeof op->name];
  oc_case_op_name(item->contract, name, sizeof name);
  if (!op || strcmp(op->name, name) != 0) {
    op = &digest->ops[digest->count++];
    snprintf(op->name, sizeof op->name, "%s", name);
    op->begin = index;
  }
  op->end = index + 1;
  ++op->counts[result->status];
  op->seconds += result->seconds;
  add_checks(digest, op, result);
  add_worst(op, report, result);
}

// How many operators follow one another: an upper bound of the rows.
static size_t count_operators(const oc_report *report) {
  size_t count = 0;
  const oc_contract *last = NULL;
  for (size_t i = 0; i < report->count; ++i) {
    const oc_case *item = oc_report_case(report, &report->results[i]);
    if (item && item->contract != last) ++count;
    if (item) last = item->contract;
  }
  return count;
}

int32_t oc_digest_init(oc_digest *digest, const oc_report *report, ops_error *error) {
  memset(digest, 0, sizeof *digest);
  digest->ops = calloc(count_operators(report) + 1, sizeof *digest->ops);
  if (!digest->ops) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for sums");
  for (size_t i = 0; i < report->count; ++i) {
    if (oc_report_case(report, &report->results[i])) add_result(digest, report, i);
  }
  return OPS_OK;
}

void oc_digest_finish(oc_digest *digest) {
  free(digest->ops);
  digest->ops = NULL;
}

const oc_perf_point *oc_report_point(const oc_report *report, const oc_result *result) {
  const oc_perf_results *performance = report->performance;
  const char *id = oc_report_id(report, result);
  for (size_t i = 0; performance && i < performance->count; ++i) {
    if (strcmp(performance->points[i].id, id) == 0) return &performance->points[i];
  }
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
//
// Two sorted lists are walked side by side, once for cases and once for points.
#include "difference/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "report/report.h"

// How bad a status is; equal ranks are neither better nor worse than each other.
static const int kRanks[OC_STATUS_COUNT] = {
    [OC_STATUS_PASS] = 0,      [OC_STATUS_WAIVED] = 1, [OC_STATUS_UNSUPPORTED] = 2,
    [OC_STATUS_NOT_RUN] = 3,   [OC_STATUS_XPASS] = 4,  [OC_STATUS_FLAKY] = 4,
    [OC_STATUS_UNTRUSTED] = 4, [OC_STATUS_FAIL] = 5,   [OC_STATUS_TIMEOUT] = 6,
    [OC_STATUS_CRASH] = 7};

static const struct {
  const char *name, *title;
  bool fails;
} kKinds[OC_CHANGE_COUNT] = {
#define ROW(constant, name, title, fails) [constant] = {name, title, fails},
    OC_CHANGE_LIST(ROW)
#undef ROW
};

const char *oc_change_name(oc_change_kind kind) {
  return kKinds[kind].name;
}

const char *oc_change_title(oc_change_kind kind) {
  return kKinds[kind].title;
}

bool oc_change_fails(oc_change_kind kind) {
  return kKinds[kind].fails;
}

static void add(oc_difference *difference, const oc_change *change) {
  difference->changes[difference->count++] = *change;
  ++difference->counts[change->kind];
}

// ---- Cases ----------------------------------------------------------------------------------

static double share_of(const oc_reading_case *item) {
  if (item->error == 0) return 0;
  return isnan(item->error) || !(item->limit > 0) ? INFINITY : fabs(item->error) / item->limit;
}

static bool compare_errors(oc_change *change) {
  if (!change->before->measured || !change->after->measured) return false;
  const double before = share_of(change->before), after = share_of(change->after);
  if (before == after || fabs(after - before) <= OC_DIFFERENCE_STEP) return false;
  change->kind = after > before ? OC_CHANGE_ERROR_GREW : OC_CHANGE_ERROR_SHRANK;
  change->size = fabs(after - before);
  return true;
}

static bool compare_pair(oc_change *change) {
  const int before = kRanks[change->before->status], after = kRanks[change->after->status];
  if (before == after) return compare_errors(change);
  change->kind = after > before ? OC_CHANGE_WORSE : OC_CHANGE_BETTER;
  change->size = abs(after - before);
  return true;
}

static void compare_case(oc_difference *difference, const oc_reading_case *before,
                         const oc_reading_case *after) {
  oc_change change = {.before = before, .after = after};
  if (before && after) {
    if (compare_pair(&change)) {
      add(difference, &change);
    } else {
      ++difference->same;
    }
    return;
  }
  // A finding about the provider is no case: that it is no more is better.
  const bool finding = before && strcmp(before->id, "provider") == 0;
  const bool failing = after && oc_status_is_failure(after->status);
  change.kind = finding   ? OC_CHANGE_BETTER
                : before  ? OC_CHANGE_GONE
                : failing ? OC_CHANGE_NEW_FAILING
                          : OC_CHANGE_NEW;
  add(difference, &change);
}

static void compare_cases(oc_difference *difference) {
  const oc_reading *a = difference->before, *b = difference->after;
  for (size_t i = 0, k = 0; i < a->count || k < b->count;) {
    const int order = i == a->count   ? 1
                      : k == b->count ? -1
                                      : strcmp(a->cases[i].id, b->cases[k].id);
    compare_case(difference, order <= 0 ? &a->cases[i] : NULL,
                 order >= 0 ? &b->cases[k] : NULL);
    i += order <= 0;
    k += order >= 0;
  }
}

// ---- Points ---------------------------------------------------------------------------------

static void compare_point(oc_difference *difference, const oc_reading_point *before,
                          const oc_reading_point *after) {
  oc_change change = {.kind = OC_CHANGE_SLOWER, .point_before = before, .point_after = after};
  const bool given = before->ratio.given && after->ratio.given;
  const bool slower = given && after->ratio.low > before->ratio.high;
  const bool faster = given && after->ratio.high < before->ratio.low;
  if (given) change.size = fabs(log(after->ratio.value / before->ratio.value));
  if (slower || (!faster && after->stage < before->stage)) add(difference, &change);
  change.kind = OC_CHANGE_FASTER;
  if (faster || (!slower && after->stage > before->stage)) add(difference, &change);
}

static void compare_points(oc_difference *difference) {
  const oc_reading *a = difference->before, *b = difference->after;
  for (size_t i = 0, k = 0; i < a->point_count && k < b->point_count;) {
    const int order = strcmp(a->points[i].id, b->points[k].id);
    if (order == 0) compare_point(difference, &a->points[i], &b->points[k]);
    i += order <= 0;
    k += order >= 0;
  }
}

// ---- All ------------------------------------------------------------------------------------

static const char *id_of(const oc_change *change) {
  return change->after    ? change->after->id
         : change->before ? change->before->id
                          : change->point_after->id;
}

static int compare_changes(const void *a, const void *b) {
  const oc_change *left = a, *right = b;
  if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
  if (left->size != right->size) return left->size > right->size ? -1 : 1;
  return strcmp(id_of(left), id_of(right));
}

int32_t oc_difference_init(oc_difference *difference, const oc_reading *before,
                           const oc_reading *after, ops_error *error) {
  const size_t most =
      before->count + after->count + 2 * (before->point_count + after->point_count);
  *difference = (oc_difference){.before = before, .after = after};
  difference->changes = calloc(most + 1, sizeof *difference->changes);
  if (!difference->changes) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the comparison");
  }
  compare_cases(difference);
  compare_points(difference);
  qsort(difference->changes, difference->count, sizeof *difference->changes, compare_changes);
  return OPS_OK;
}

void oc_difference_finish(oc_difference *difference) {
  free(difference->changes);
  difference->changes = NULL;
}

bool oc_difference_is_worse(const oc_difference *difference) {
  for (int kind = 0; kind < OC_CHANGE_COUNT; ++kind) {
    if (difference->counts[kind] && kKinds[kind].fails) return true;
  }
  return false;
}

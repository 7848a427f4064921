// SPDX-License-Identifier: Apache-2.0
//
// What changed between two reports: cases that became better or worse, are new or gone, errors
// that grew or shrank relative to their limits, points that became faster or slower.
//
// Statuses are ordered: PASS, WAIVED, UNSUPPORTED, NOT_RUN, then XPASS, FLAKY and UNTRUSTED,
// FAIL, TIMEOUT, CRASH; further right is worse. Where the status stayed, a case is worse if its
// error grew by more than a tenth of its limit. A point is slower if the intervals of its ratio
// do not overlap; an operator's points lose maturity if the stage fell.
#ifndef OC_DIFFERENCE_DIFFERENCE_H_
#define OC_DIFFERENCE_DIFFERENCE_H_

#include <stdio.h>

#include "report/reading.h"

#define OC_DIFFERENCE_STEP 0.1  // of the limit: what an error must change to count

// X(constant, name, title, whether it makes the exit code 1)
#define OC_CHANGE_LIST(X)                                                 \
  X(OC_CHANGE_WORSE, "worse", "Became worse", true)                       \
  X(OC_CHANGE_ERROR_GREW, "error_grew", "Error grew", true)               \
  X(OC_CHANGE_SLOWER, "slower", "Became slower, or less mature", true)    \
  X(OC_CHANGE_GONE, "gone", "Gone", true)                                 \
  X(OC_CHANGE_NEW_FAILING, "new_failing", "New, and does not pass", true) \
  X(OC_CHANGE_BETTER, "better", "Became better", false)                   \
  X(OC_CHANGE_ERROR_SHRANK, "error_shrank", "Error shrank", false)        \
  X(OC_CHANGE_FASTER, "faster", "Became faster, or more mature", false)   \
  X(OC_CHANGE_NEW, "new", "New", false)
#define OC_CHANGE_ITEM(constant, name, title, fails) constant,
typedef enum oc_change_kind { OC_CHANGE_LIST(OC_CHANGE_ITEM) OC_CHANGE_COUNT } oc_change_kind;

typedef struct oc_change {
  oc_change_kind kind;
  const oc_reading_case *before, *after;  // NULL: not there; both NULL: a point
  const oc_reading_point *point_before, *point_after;
  double size;  // how much changed: by this the changes of a kind are sorted, largest first
} oc_change;

typedef struct oc_difference {
  const oc_reading *before, *after;
  oc_change *changes;  // by kind
  size_t count;
  size_t counts[OC_CHANGE_COUNT];
  size_t same;  // cases of both that changed in nothing
} oc_difference;

// Borrows both readings.
int32_t oc_difference_init(oc_difference *difference, const oc_reading *before,
                           const oc_reading *after, ops_error *error);
void oc_difference_finish(oc_difference *difference);

// True if anything changed that makes the exit code 1.
bool oc_difference_is_worse(const oc_difference *difference);

const char *oc_change_name(oc_change_kind kind);
const char *oc_change_title(oc_change_kind kind);
bool oc_change_fails(oc_change_kind kind);

// Text for people with at most `most` changes of a kind, Markdown, and JSON with all of them:
// summary (a count per kind, `same`, `exit_code`), before, after, changes.
void oc_difference_print(FILE *stream, const oc_difference *difference, size_t most);
void oc_difference_print_markdown(FILE *stream, const oc_difference *difference);
void oc_difference_print_json(FILE *stream, const oc_difference *difference);

#endif  // OC_DIFFERENCE_DIFFERENCE_H_

// SPDX-License-Identifier: Apache-2.0
//
// What every format says about a case that did not pass, in words: the same lines everywhere.
#ifndef OC_REPORT_DETAILS_H_
#define OC_REPORT_DETAILS_H_

#include "report/report.h"

#define OC_DETAILS_MAX 20

typedef struct oc_detail {
  const char *label;  // "check", "clause" (several), "inputs", "expected", "found", "error",
                      // "why", "repeat"
  const char *text;   // never empty
} oc_detail;

typedef struct oc_details {
  oc_detail items[OC_DETAILS_MAX];
  size_t count;
  char error[160];  // "12.5, limit 4 (ulp), output 0, element 17"
  char waiver[400];
  char *repeat;
  char *clauses;  // the texts of all, one after another
} oc_details;

// Points into `report` and `result`; finish frees the rest.
void oc_details_init(oc_details *details, const oc_report *report, const oc_result *result);
void oc_details_finish(oc_details *details);

#endif  // OC_REPORT_DETAILS_H_

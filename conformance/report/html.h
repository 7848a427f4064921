// SPDX-License-Identifier: Apache-2.0
//
// The sections of the page; private to report. The page is complete as it is written: its
// script filters and copies, and where scripts are forbidden all is still there.
#ifndef OC_REPORT_HTML_H_
#define OC_REPORT_HTML_H_

#include "report/digest.h"
#include "report/format.h"

#define OC_HTML_MAX_CASES 1000  // failing cases shown in full

void oc_html_failures(FILE *stream, const oc_report *report);
void oc_html_matrix(FILE *stream, const oc_digest *digest);
void oc_html_errors(FILE *stream, const oc_report *report, const oc_digest *digest);
void oc_html_waivers(FILE *stream, const oc_waivers *waivers);
void oc_html_performance(FILE *stream, const oc_perf_results *results);

// The class that colours a status: "good", "bad", "warn" or "none".
const char *oc_html_class(int32_t status);

#endif  // OC_REPORT_HTML_H_

// SPDX-License-Identifier: Apache-2.0
//
// Report files in formats for machines.
#ifndef OC_REPORT_JSON_H_
#define OC_REPORT_JSON_H_

#include "report/report.h"

// The whole report as text, owned by the caller (free).
//   JSON   summary, provider, environment, oracle, cases; conformance/report/README.md
//   JUnit  one testsuite per operator, one testcase per case
int32_t oc_report_json(const oc_report *report, char **out_text, ops_error *error);
int32_t oc_report_junit(const oc_report *report, char **out_text, ops_error *error);

#endif  // OC_REPORT_JSON_H_

// SPDX-License-Identifier: Apache-2.0
//
// The report as people watch it: what is on trial, progress, each failure as it happens with
// the line that repeats it, a table of operators, the verdict.
#ifndef OC_REPORT_CONSOLE_H_
#define OC_REPORT_CONSOLE_H_

#include "report/report.h"

typedef struct oc_console {
  FILE *stream;
  bool live;  // a terminal: one progress line that is written over
  double started;
  double last_update;
  size_t done;     // cases with a result
  size_t resumed;  // of these, not of this run
  size_t last_tenth;
  size_t failures;
  size_t same_reason;  // NOT_RUN, for the reason of the one before it
  char reason[sizeof((oc_result *)0)->message];
} oc_console;

oc_console oc_console_open(FILE *stream);
void oc_console_greet(oc_console *console, const oc_report *report);
// The results that the report has already, from the journal `path`.
void oc_console_resume(oc_console *console, const oc_report *report, const char *path);
void oc_console_result(oc_console *console, const oc_report *report, const oc_result *result);
void oc_console_close(oc_console *console, const oc_report *report);

// The table operator x type of what is claimed (mode support).
void oc_console_support(FILE *stream, const oc_report *report);

#endif  // OC_REPORT_CONSOLE_H_

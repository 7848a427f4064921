// SPDX-License-Identifier: Apache-2.0
//
// --report FORMAT:FILE, for every command that writes reports.
#ifndef OC_CLI_REPORT_FILES_H_
#define OC_CLI_REPORT_FILES_H_

#include "report/format.h"
#include "report/report.h"

#define OC_REPORT_FILES_MAX 64

typedef struct oc_report_files {
  struct {
    oc_format format;
    const char *path;  // borrowed
  } items[OC_REPORT_FILES_MAX];
  size_t count;
} oc_report_files;

// A reader for option tables: adds one file. INVALID_ARGUMENT for an unknown format, and where
// two reports would go to one file.
int32_t oc_report_files_read(oc_report_files *files, const char *name, const char *text,
                             ops_error *error);

// Can they be written? Asked before a long run.
int32_t oc_report_files_probe(const oc_report_files *files, ops_error *error);

int32_t oc_report_files_write(const oc_report_files *files, const oc_report *report,
                              ops_error *error);

#endif  // OC_CLI_REPORT_FILES_H_

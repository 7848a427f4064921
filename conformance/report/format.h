// SPDX-License-Identifier: Apache-2.0
//
// Reports as files. A format is a row of this list and a function that writes a report to a
// stream.
#ifndef OC_REPORT_FORMAT_H_
#define OC_REPORT_FORMAT_H_

#include "report/report.h"

// X(constant, name)
//   json   everything; report.schema.json states it
//   junit  one suite per operator, one test case per case; junit.xsd states it
//   csv    one row per case, RFC 4180
//   md     summary, failing cases, operator x check: for people, in a terminal or a pull
//   request html   the same and plots as one page that needs nothing else
#define OC_FORMAT_LIST(X)     \
  X(OC_FORMAT_JSON, "json")   \
  X(OC_FORMAT_JUNIT, "junit") \
  X(OC_FORMAT_CSV, "csv")     \
  X(OC_FORMAT_MARKDOWN, "md") \
  X(OC_FORMAT_HTML, "html")

#define OC_FORMAT_ITEM(constant, name) constant,
typedef enum oc_format { OC_FORMAT_LIST(OC_FORMAT_ITEM) OC_FORMAT_COUNT } oc_format;

// The whole report as text, owned by the caller (free).
int32_t oc_format_print(oc_format format, const oc_report *report, char **out_text,
                        size_t *out_size, ops_error *error);

// The same as a file: whole or not at all.
int32_t oc_format_save(oc_format format, const oc_report *report, const char *path,
                       ops_error *error);

// The writers of the formats. What fails is seen at the stream.
void oc_write_json(FILE *stream, const oc_report *report);
void oc_write_junit(FILE *stream, const oc_report *report);
void oc_write_csv(FILE *stream, const oc_report *report);
void oc_write_markdown(FILE *stream, const oc_report *report);
void oc_write_html(FILE *stream, const oc_report *report);

#endif  // OC_REPORT_FORMAT_H_

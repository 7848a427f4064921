// SPDX-License-Identifier: Apache-2.0
//
// The lines about a failing case.
#include "report/details.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add(oc_details *details, const char *label, const char *text) {
  if (!text || !text[0] || details->count == OC_DETAILS_MAX) return;
  details->items[details->count++] = (oc_detail){label, text};
}

static void print_error(const oc_result *result, char *text, size_t size) {
  int used = 0;
  if (result->measured) {
    used = snprintf(text, size, "%.6g, limit %.6g (%s), ", result->error, result->limit,
                    result->metric);
  }
  if (used >= 0 && (size_t)used < size && result->output >= 0) {
    used += snprintf(text + used, size - (size_t)used, "output %d, ", result->output);
  }
  if (used >= 0 && (size_t)used < size && result->element >= 0) {
    used +=
        snprintf(text + used, size - (size_t)used, "element %" PRId64 ", ", result->element);
  }
  if (used >= 2 && (size_t)used < size) text[used - 2] = 0;  // the last comma
}

// The provider clauses that the check covers: "CLAIMS-1: Asked twice …", an item each. Only the
// id where the text is not known.
static void add_clauses(oc_details *details, const oc_report *report, const oc_result *result) {
  size_t size = 0;
  const char *cursor = oc_report_clauses(result), *id;
  FILE *stream = open_memstream(&details->clauses, &size);
  if (!stream) return;
  for (size_t length; (id = oc_clauses_next_id(&cursor, &length));) {
    const oc_clause *clause = oc_clauses_find(report->clauses, id);
    fprintf(stream, "%.*s%s%s", (int)length, id, clause ? ": " : "",
            clause ? clause->text : "");
    fputc(0, stream);
  }
  if (fclose(stream) != 0) size = 0;
  for (size_t at = 0; at < size; at += strlen(details->clauses + at) + 1) {
    add(details, "clause", details->clauses + at);
  }
}

static void print_waiver(const oc_report *report, const oc_result *result, char *text,
                         size_t size) {
  const oc_waiver *waiver = oc_waivers_of(report->waivers, result);
  text[0] = 0;
  if (waiver) oc_waiver_print(report->waivers, waiver, text, size);
}

void oc_details_init(oc_details *details, const oc_report *report, const oc_result *result) {
  details->count = 0;
  details->error[0] = 0;
  details->clauses = NULL;
  print_error(result, details->error, sizeof details->error);
  print_waiver(report, result, details->waiver, sizeof details->waiver);
  details->repeat = oc_report_repeat(report, result);
  add(details, "check", result->check);
  add_clauses(details, report, result);
  add(details, "inputs", result->inputs);
  add(details, "expected", result->expected);
  add(details, "found", result->got);
  add(details, "error", details->error);
  add(details, "why", result->message);
  add(details, "waiver", details->waiver);
  add(details, "repeat", details->repeat);
}

void oc_details_finish(oc_details *details) {
  free(details->repeat);
  free(details->clauses);
}

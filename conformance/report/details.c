// SPDX-License-Identifier: Apache-2.0
//
// The lines about a failing case.
#include "report/details.h"

#include <inttypes.h>
#include <stdlib.h>

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

void oc_details_init(oc_details *details, const oc_report *report, const oc_result *result) {
  details->count = 0;
  details->error[0] = 0;
  print_error(result, details->error, sizeof details->error);
  details->repeat = oc_report_repeat(report, result);
  add(details, "check", result->check);
  add(details, "inputs", result->inputs);
  add(details, "expected", result->expected);
  add(details, "found", result->got);
  add(details, "error", details->error);
  add(details, "why", result->message);
  add(details, "repeat", details->repeat);
}

void oc_details_finish(oc_details *details) {
  free(details->repeat);
}

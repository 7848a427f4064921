// SPDX-License-Identifier: Apache-2.0
//
// The report as CSV, RFC 4180: a line of names, then one line per case.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "report/digest.h"
#include "report/escape.h"
#include "report/format.h"

typedef struct csv_row {
  FILE *stream;
  bool begun;
} csv_row;

static void put(csv_row *row, const char *text) {
  if (row->begun) fputc(',', row->stream);
  row->begun = true;
  oc_put_csv(row->stream, text);
}

static void put_if(csv_row *row, bool present, const char *format, double value) {
  char text[40] = "";
  if (present) snprintf(text, sizeof text, format, value);
  put(row, text);
}

static void end(csv_row *row) {
  fputs("\r\n", row->stream);
  row->begun = false;
}

// A provider's own words: a spreadsheet must not take them for a formula.
static void put_foreign(csv_row *row, const char *text) {
  char quoted[sizeof((oc_result *)0)->message + 2];
  const bool formula = text[0] && strchr("=+-@", text[0]);
  snprintf(quoted, sizeof quoted, "%s%s", formula ? "'" : "", text);
  put(row, quoted);
}

static void put_head(csv_row *row) {
  static const char *const names[] = {"id",        "op",
                                      "type",      "status",
                                      "check",     "metric",
                                      "error",     "limit",
                                      "output",    "element",
                                      "expected",  "got",
                                      "inputs",    "implementation",
                                      "phase",     "attempts",
                                      "seconds",   "seed",
                                      "message",   "repeat",
                                      "waiver",    "verdict",
                                      "stage",     "median_ms",
                                      "p95_ms",    "yardstick_median_ms",
                                      "ratio",     "ratio_low",
                                      "ratio_high"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) put(row, names[i]);
  end(row);
}

static void put_identity(csv_row *row, const oc_report *report, const oc_result *result) {
  char op[128] = "";
  const oc_case *item = oc_report_case(report, result);
  if (item) oc_case_op_name(item->contract, op, sizeof op);
  put(row, oc_report_id(report, result));
  put(row, op);
  const int32_t type = oc_report_type(report, result);
  put(row, type ? oc_element_name(type) : "");
}

// The last columns: empty for a case that was not timed.
static void put_performance(csv_row *row, const oc_perf_point *point) {
  static const oc_perf_point none;
  const oc_perf_point *at = point ? point : &none;
  const oc_perf_times *own = &at->candidate.times[OC_PERF_WARM];
  const oc_perf_times *other = &at->yardstick.times[OC_PERF_WARM];
  put(row, point ? oc_perf_verdict_name(point->verdict) : "");
  put_if(row, point != NULL, "%.0f", at->stage);
  put_if(row, own->samples > 0, "%.9g", own->median_ms);
  put_if(row, own->samples > 0, "%.9g", own->p95_ms);
  put_if(row, other->samples > 0, "%.9g", other->median_ms);
  put_if(row, at->ratio.given, "%.9g", at->ratio.value);
  put_if(row, at->ratio.given, "%.9g", at->ratio.low);
  put_if(row, at->ratio.given, "%.9g", at->ratio.high);
}

static void put_result(csv_row *row, const oc_report *report, const oc_result *result) {
  char seed[24] = "";
  const oc_case *item = oc_report_case(report, result);
  char *repeat = oc_report_repeat(report, result);
  if (item && !report->setup.onnx_tests) snprintf(seed, sizeof seed, "%" PRIu64, item->seed);
  put_identity(row, report, result);
  put(row, oc_status_name(result->status));
  put(row, result->check);
  put(row, result->metric);
  put_if(row, result->measured, "%.9g", result->error);
  put_if(row, result->measured, "%.9g", result->limit);
  put_if(row, result->output >= 0, "%.0f", result->output);
  put_if(row, result->element >= 0, "%.0f", (double)result->element);
  put(row, result->expected);
  put(row, result->got);
  put(row, result->inputs);
  put_foreign(row, result->implementation);
  put(row, result->status == OC_STATUS_PASS ? "" : oc_phase_name(result->phase));
  put_if(row, true, "%.0f", result->attempts);
  put_if(row, true, "%.6f", result->seconds);
  put(row, seed);
  put_foreign(row, result->message);
  put(row, repeat ? repeat : "");
  const oc_waiver *waiver = oc_waivers_of(report->waivers, result);
  put_if(row, waiver != NULL, "%.0f", waiver ? waiver->line : 0);
  put_performance(row, oc_report_point(report, result));
  end(row);
  free(repeat);
}

void oc_write_csv(FILE *stream, const oc_report *report) {
  csv_row row = {.stream = stream};
  put_head(&row);
  for (size_t i = 0; i < report->count; ++i) put_result(&row, report, &report->results[i]);
}

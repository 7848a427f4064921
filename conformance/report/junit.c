// SPDX-License-Identifier: Apache-2.0
//
// The report as JUnit XML: failure for what was judged wrong, error for a process that died or
// a case that proves nothing, skipped for what is not supported or was not run.
#include <string.h>

#include "report/details.h"
#include "report/escape.h"
#include "report/format.h"

typedef struct outcome_row {
  const char *element;  // NULL: passed
  int in_failures, in_errors, in_skipped;
} outcome_row;

static const outcome_row kOutcomes[OC_STATUS_COUNT] = {
    [OC_STATUS_FAIL] = {"failure", 1, 0, 0},    [OC_STATUS_CRASH] = {"error", 0, 1, 0},
    [OC_STATUS_TIMEOUT] = {"error", 0, 1, 0},   [OC_STATUS_UNSUPPORTED] = {"skipped", 0, 0, 1},
    [OC_STATUS_WAIVED] = {"skipped", 0, 0, 1},  [OC_STATUS_XPASS] = {"failure", 1, 0, 0},
    [OC_STATUS_UNTRUSTED] = {"error", 0, 1, 0}, [OC_STATUS_FLAKY] = {"failure", 1, 0, 0},
    [OC_STATUS_NOT_RUN] = {"skipped", 0, 0, 1},
};

static void suite_of(const oc_report *report, const oc_result *result, char *text,
                     size_t size) {
  const oc_case *item = oc_report_case(report, result);
  if (item) {
    oc_case_op_name(item->contract, text, size);
  } else {
    snprintf(text, size, "provider");
  }
}

static void put_details(FILE *stream, const oc_report *report, const oc_result *result) {
  oc_details details;
  oc_details_init(&details, report, result);
  for (size_t i = 0; i < details.count; ++i) {
    fprintf(stream, "%s: ", details.items[i].label);
    oc_put_xml(stream, details.items[i].text);
    fputc('\n', stream);
  }
  oc_details_finish(&details);
}

static void put_case(FILE *stream, const oc_report *report, const oc_result *result,
                     const char *suite) {
  const outcome_row *outcome = &kOutcomes[result->status];
  fputs("    <testcase", stream);
  oc_put_xml_attribute(stream, "classname", suite);
  oc_put_xml_attribute(stream, "name", oc_report_id(report, result));
  fprintf(stream, " time=\"%.6f\"", result->seconds);
  if (!outcome->element) {
    fputs("/>\n", stream);
    return;
  }
  fprintf(stream, ">\n      <%s", outcome->element);
  if (strcmp(outcome->element, "skipped") != 0) {
    oc_put_xml_attribute(stream, "type",
                         result->check[0] ? result->check : oc_status_name(result->status));
  }
  oc_put_xml_attribute(stream, "message", result->message);
  fprintf(stream, ">%s\n", oc_status_name(result->status));
  put_details(stream, report, result);
  fprintf(stream, "</%s>\n    </testcase>\n", outcome->element);
}

typedef struct suite_sums {
  size_t tests, failures, errors, skipped;
  double seconds;
} suite_sums;

static void add_row(suite_sums *sums, const outcome_row *outcome, double seconds) {
  ++sums->tests;
  sums->failures += (size_t)outcome->in_failures;
  sums->errors += (size_t)outcome->in_errors;
  sums->skipped += (size_t)outcome->in_skipped;
  sums->seconds += seconds;
}

static void add_outcome(suite_sums *sums, const oc_result *result) {
  add_row(sums, &kOutcomes[result->status], result->seconds);
}

static void put_sums(FILE *stream, const suite_sums *sums) {
  fprintf(stream,
          " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\"",
          sums->tests, sums->failures, sums->errors, sums->skipped, sums->seconds);
}

// The results [begin, end) of one operator. Results are in the order of the cases.
static size_t suite_end(const oc_report *report, size_t begin, char *suite, size_t size,
                        suite_sums *sums) {
  char other[128];
  size_t end = begin;
  suite_of(report, &report->results[begin], suite, size);
  memset(sums, 0, sizeof *sums);
  for (; end < report->count; ++end) {
    suite_of(report, &report->results[end], other, sizeof other);
    if (strcmp(suite, other) != 0) break;
    add_outcome(sums, &report->results[end]);
  }
  return end;
}

// Points that were timed are test cases of a suite of their own.
static const outcome_row kPerformance[OC_PERF_VERDICT_COUNT] = {
    [OC_PERF_UNMEASURED] = {"skipped", 0, 0, 1},
    [OC_PERF_REGRESSION] = {"failure", 1, 0, 0},
    [OC_PERF_OVER_BUDGET] = {"failure", 1, 0, 0},
    [OC_PERF_INCONCLUSIVE] = {"error", 0, 1, 0}};

static void put_point(FILE *stream, const oc_perf_point *point) {
  const outcome_row *outcome = &kPerformance[point->verdict];
  fputs("    <testcase classname=\"performance\"", stream);
  oc_put_xml_attribute(stream, "name", point->id);
  fprintf(stream, " time=\"%.6f\"", point->candidate.times[OC_PERF_WARM].median_ms * 1e-3);
  if (outcome->element) {
    fprintf(stream, "><%s", outcome->element);
    if (!outcome->in_skipped) {
      oc_put_xml_attribute(stream, "type", oc_perf_verdict_name(point->verdict));
    }
    oc_put_xml_attribute(stream, "message", point->reason);
    fputs("/></testcase>\n", stream);
  } else {
    fputs("/>\n", stream);
  }
}

static suite_sums sum_performance(const oc_perf_results *results) {
  suite_sums sums = {0};
  for (size_t i = 0; results && i < results->count; ++i) {
    const outcome_row *outcome = &kPerformance[results->points[i].verdict];
    add_row(&sums, outcome, results->points[i].candidate.times[OC_PERF_WARM].median_ms * 1e-3);
  }
  return sums;
}

static void put_performance(FILE *stream, const oc_report *report) {
  const suite_sums sums = sum_performance(report->performance);
  if (!report->performance) return;
  fputs("  <testsuite name=\"performance\"", stream);
  oc_put_xml_attribute(stream, "timestamp", report->started);
  put_sums(stream, &sums);
  fputs(">\n", stream);
  for (size_t i = 0; i < report->performance->count; ++i) {
    put_point(stream, &report->performance->points[i]);
  }
  fputs("  </testsuite>\n", stream);
}

void oc_write_junit(FILE *stream, const oc_report *report) {
  suite_sums sums = sum_performance(report->performance);
  for (size_t i = 0; i < report->count; ++i) add_outcome(&sums, &report->results[i]);
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"opsconform\"", stream);
  put_sums(stream, &sums);
  fputs(">\n", stream);
  for (size_t begin = 0; begin < report->count;) {
    char suite[128];
    const size_t end = suite_end(report, begin, suite, sizeof suite, &sums);
    fputs("  <testsuite", stream);
    oc_put_xml_attribute(stream, "name", suite);
    oc_put_xml_attribute(stream, "timestamp", report->started);
    put_sums(stream, &sums);
    fputs(">\n", stream);
    for (size_t i = begin; i < end; ++i) put_case(stream, report, &report->results[i], suite);
    fputs("  </testsuite>\n", stream);
    begin = end;
  }
  put_performance(stream, report);
  fputs("</testsuites>\n", stream);
}

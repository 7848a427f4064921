// SPDX-License-Identifier: Apache-2.0
//
// The report as JUnit XML: failure for what was judged wrong, error for a process that died or
// a case that proves nothing, skipped for what is not supported or was not run.
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "report/json.h"

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

// Text for an attribute or an element; the report's texts are clean UTF-8 already.
static void put_escaped(FILE *stream, const char *text) {
  for (; *text; ++text) {
    switch (*text) {
      case '&':
        fputs("&amp;", stream);
        break;
      case '<':
        fputs("&lt;", stream);
        break;
      case '>':
        fputs("&gt;", stream);
        break;
      case '"':
        fputs("&quot;", stream);
        break;
      default:
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, stream);
    }
  }
}

static void put_attribute(FILE *stream, const char *name, const char *text) {
  fprintf(stream, " %s=\"", name);
  put_escaped(stream, text);
  fputc('"', stream);
}

static void suite_of(const oc_report *report, const oc_result *result, char *text,
                     size_t size) {
  if (result->case_index >= report->cases->count) {
    snprintf(text, size, "provider");
    return;
  }
  oc_case_op_name(report->cases->items[result->case_index].contract, text, size);
}

static void put_case(FILE *stream, const oc_report *report, const oc_result *result,
                     const char *suite) {
  const outcome_row *outcome = &kOutcomes[result->status];
  fputs("    <testcase", stream);
  put_attribute(stream, "classname", suite);
  put_attribute(stream, "name", oc_report_id(report, result));
  fprintf(stream, " time=\"%.6f\"", result->seconds);
  if (!outcome->element) {
    fputs("/>\n", stream);
    return;
  }
  fprintf(stream, ">\n      <%s", outcome->element);
  if (strcmp(outcome->element, "skipped") != 0) {
    put_attribute(stream, "type",
                  result->check[0] ? result->check : oc_status_name(result->status));
  }
  put_attribute(stream, "message", result->message);
  fputc('>', stream);
  put_escaped(stream, oc_status_name(result->status));
  fputs(" inputs: ", stream);
  put_escaped(stream, result->inputs);
  char *repeat = oc_report_repeat(report, result);
  fputs(" repeat: ", stream);
  put_escaped(stream, repeat ? repeat : "");
  free(repeat);
  fprintf(stream, "</%s>\n    </testcase>\n", outcome->element);
}

typedef struct suite_sums {
  size_t tests, failures, errors, skipped;
  double seconds;
} suite_sums;

static void add_outcome(suite_sums *sums, const oc_result *result) {
  const outcome_row *outcome = &kOutcomes[result->status];
  ++sums->tests;
  sums->failures += (size_t)outcome->in_failures;
  sums->errors += (size_t)outcome->in_errors;
  sums->skipped += (size_t)outcome->in_skipped;
  sums->seconds += result->seconds;
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

static void put_suites(FILE *stream, const oc_report *report) {
  suite_sums sums = {0};
  for (size_t i = 0; i < report->count; ++i) add_outcome(&sums, &report->results[i]);
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"opsconform\"", stream);
  put_sums(stream, &sums);
  fputs(">\n", stream);
  for (size_t begin = 0; begin < report->count;) {
    char suite[128];
    const size_t end = suite_end(report, begin, suite, sizeof suite, &sums);
    fputs("  <testsuite", stream);
    put_attribute(stream, "name", suite);
    put_attribute(stream, "timestamp", report->started);
    put_sums(stream, &sums);
    fputs(">\n", stream);
    for (size_t i = begin; i < end; ++i) put_case(stream, report, &report->results[i], suite);
    fputs("  </testsuite>\n", stream);
    begin = end;
  }
  fputs("</testsuites>\n", stream);
}

int32_t oc_report_junit(const oc_report *report, char **out_text, ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (stream) put_suites(stream, report);
  if (stream && fclose(stream) == 0) {
    *out_text = text;
    return OPS_OK;
  }
  free(text);
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the report");
}

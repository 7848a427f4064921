// SPDX-License-Identifier: Apache-2.0
//
// A tool of the tests: writes a report of COUNT made-up cases in every format to DIR, with
// every status, errors near and beyond limits, timed points and texts that try to be markup.
//
// usage: report_sample COUNT DIR
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "ops_support/error.h"
#include "report/format.h"

#define OPERATORS 120
#define POINTS 60
#define HOSTILE "<img src=x onerror=alert(1)></script>|`*_[x](y) \"'& \xe2\x82\xac"

typedef struct sample {
  oc_contract contracts[OPERATORS];
  char names[OPERATORS][32];
  oc_case *cases;
  char (*ids)[96];
  oc_cases list;
  oc_perf_point points[POINTS];
  oc_perf_operator operators[POINTS];
  oc_perf_results performance;
} sample;

static void make_cases(sample *made, size_t count) {
  static const char *const types[] = {"float",    "double", "float16",
                                      "bfloat16", "int8",   "int32"};
  made->cases = calloc(count, sizeof *made->cases);
  made->ids = calloc(count, sizeof *made->ids);
  if (!made->cases || !made->ids) exit(1);
  for (size_t i = 0; i < OPERATORS; ++i) {
    snprintf(made->names[i], sizeof made->names[i], "Operator%03zu", i);
    made->contracts[i] =
        (oc_contract){.op = made->names[i], .domain = i % 10 ? "ai.onnx" : "com.example"};
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t op = i * OPERATORS / count;
    snprintf(made->ids[i], sizeof made->ids[i], "%s%s-13/%s/shapes-2x3x5/axis=%zu/uniform",
             op % 10 ? "" : "com.example.", made->names[op], types[i % 6], i);
    made->cases[i] =
        (oc_case){.id = made->ids[i], .contract = &made->contracts[op], .seed = UINT64_MAX - i};
  }
  made->list = (oc_cases){.items = made->cases, .count = count};
}

// One in a hundred does not pass; of the last operators nothing is claimed.
static oc_result make_result(size_t index, size_t count) {
  oc_result result = {.case_index = (uint32_t)index,
                      .status = OC_STATUS_PASS,
                      .phase = OC_PHASE_COMPARE,
                      .attempts = 1,
                      .seconds = 0.001,
                      .measured = 1,
                      .output = 0,
                      .element = 7,
                      .error = (double)(index % 97) / 97 * pow(10, -(double)(index % 3)),
                      .limit = index % 5 ? 1 : 0};
  if (result.limit == 0) result.error = 0;
  oc_checks_note_point(&result, OC_POINT_CLAIM);
  if (index > count - count / 10) {
    result.status = OC_STATUS_UNSUPPORTED;
    result.measured = 0;
    snprintf(result.message, sizeof result.message, "the device has no such unit");
    return result;
  }
  oc_checks_note_point(&result, OC_POINT_PREPARED);
  oc_checks_note_point(&result, OC_POINT_RAN);
  oc_checks_note(&result, OC_CHECK_VALUES);
  snprintf(result.metric, sizeof result.metric, "ulp");
  snprintf(result.implementation, sizeof result.implementation, "=tiled_8x8");
  snprintf(result.inputs, sizeof result.inputs, "float[2, 3, 5]");
  if (index % 100 != 3) return result;
  result.status = (int32_t)(index / 100 % OC_STATUS_COUNT);
  result.error = index % 700 == 3 ? INFINITY : index % 1100 == 3 ? NAN : 42;
  snprintf(result.check, sizeof result.check, OC_CHECK_VALUES);
  snprintf(result.expected, sizeof result.expected, "1.5");
  snprintf(result.got, sizeof result.got, "-1.5");
  snprintf(result.message, sizeof result.message, "first run: " HOSTILE);
  return result;
}

static void make_performance(sample *made) {
  for (size_t i = 0; i < POINTS; ++i) {
    oc_perf_point *point = &made->points[i];
    const double ratio = 0.4 + 0.05 * (double)i;
    *point = (oc_perf_point){.id = made->ids[i],
                             .type = "float",
                             .verdict = (oc_perf_verdict)(i % OC_PERF_VERDICT_COUNT),
                             .attempts = 1,
                             .ratio = {true, ratio, ratio * 0.9, ratio * 1.2},
                             .share_of_roofline = 0.5,
                             .stage = (int32_t)(i % 5)};
    snprintf(point->op, sizeof point->op, "%s", made->names[i % OPERATORS]);
    snprintf(point->inputs, sizeof point->inputs, "float[64, 64]");
    snprintf(point->reason, sizeof point->reason, HOSTILE);
    point->candidate.present = point->yardstick.present = true;
    point->candidate.times[OC_PERF_WARM] =
        (oc_perf_times){200, ratio, ratio * 1.1, ratio * 2, 0.1};
    point->yardstick.times[OC_PERF_WARM] = (oc_perf_times){200, 1, 1.1, 2, 0.1};
    point->gate.reference = OC_PERF_REFERENCE_AGAINST;
    point->gate.change = point->ratio;
    made->operators[i] =
        (oc_perf_operator){.op = point->op, .stage = point->stage, .why = "a < b"};
  }
  made->performance = (oc_perf_results){.points = made->points,
                                        .count = POINTS,
                                        .operators = made->operators,
                                        .operator_count = POINTS,
                                        .yardstick_name = HOSTILE};
}

static void make_report(oc_report *report, sample *made) {
  const oc_report_setup setup = {.provider = "libmynpu.so",
                                 .contracts = "contracts",
                                 .profile = OC_PROFILE_STANDARD,
                                 .tier = OC_TIER_FULL,
                                 .jobs = 2,
                                 .timeout = 10};
  ops_error error = OPS_ERROR_INIT;
  if (oc_report_init(report, &setup, &made->list, made->list.count, &error) != OPS_OK) exit(1);
  snprintf(report->hello.candidate.name, sizeof report->hello.candidate.name, HOSTILE);
  snprintf(report->hello.candidate.version, sizeof report->hello.candidate.version, "1.2");
  for (size_t i = 0; i < made->list.count; ++i) {
    const oc_result result = make_result(i, made->list.count);
    oc_report_add(report, &result);
  }
  oc_result whole = {.case_index = OC_NO_CASE, .attempts = 1, .output = -1, .element = -1};
  oc_result_end(&whole, OC_STATUS_FAIL, OC_CHECK_LIFECYCLE, "1 GB is left behind");
  oc_report_add(report, &whole);
  report->performance = &made->performance;
  oc_report_close(report, 61.5);
}

int main(int argc, char **argv) {
#define NAME(constant, name) name,
  static const char *const formats[] = {OC_FORMAT_LIST(NAME)};
  static sample made;
  oc_report report;
  ops_error error = OPS_ERROR_INIT;
  const long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
  if (count < POINTS) return 4;
  make_cases(&made, (size_t)count);
  make_performance(&made);
  make_report(&report, &made);
  for (int format = 0; format < OC_FORMAT_COUNT; ++format) {
    char path[4096];
    snprintf(path, sizeof path, "%s/sample.%s", argv[2], formats[format]);
    if (oc_format_save((oc_format)format, &report, path, &error) == OPS_OK) continue;
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  oc_report_finish(&report);
  free(made.cases);
  free(made.ids);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Baselines: what is written is read back, what is no baseline is refused with its place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "perf/baseline_json.h"

#define POINT                                                                                \
  "{\"id\": \"a\", \"blocks\": 2, \"rounds\": 1, \"log_ratios\": [0.25, -0.5], \"log_ms\": " \
  "[1, "                                                                                     \
  "2], \"p95\": {\"value\": 1.5, \"low\": 1, \"high\": 2}, \"floor\": 0.01, \"floor_p95\": " \
  "0, "                                                                                      \
  "\"budget\": {\"jitter_ms\": 3}}"
#define DEVICE(points)                                                           \
  "{\"fingerprint\": \"npu\", \"provider\": \"p 1\", \"yardstick\": \"cpu 1\", " \
  "\"yardstick_sha256\": \"ab\", \"workers\": 2, \"points\": [" points "]}"
#define FILE_OF(devices) \
  "{\"format\": \"opsconform-baseline\", \"version\": 1, \"devices\": [" devices "]}\n"

static int32_t parse(const char *text, oc_baseline *baseline, ops_error *error) {
  *baseline = (oc_baseline){0};
  *error = (ops_error)OPS_ERROR_INIT;
  return oc_baseline_parse("b.json", text, strlen(text), baseline, error);
}

static void check_content(const oc_baseline *baseline) {
  const oc_baseline_device *device = oc_baseline_find(baseline, "npu");
  const oc_baseline_point *point = oc_baseline_find_point(device, "a");
  assert_non_null(point);
  assert_int_equal(device->workers, 2);
  assert_int_equal(point->blocks, 2);
  assert_true(point->log_ratios[1] == -0.5);
  assert_true(point->log_ms[1] == 2);
  assert_true(point->p95.given && point->p95.value == 1.5);
  assert_true(point->budget.jitter_ms == 3 && point->budget.p95_ms == 0);
  assert_null(oc_baseline_find(baseline, "gpu"));
  assert_null(oc_baseline_find_point(device, "b"));
}

static void what_is_written_is_read_back(void **state) {
  (void)state;
  oc_baseline baseline, again;
  ops_error error;
  char *text = NULL;
  assert_int_equal(parse(FILE_OF(DEVICE(POINT)), &baseline, &error), OPS_OK);
  check_content(&baseline);
  assert_int_equal(oc_baseline_print(&baseline, &text, &error), OPS_OK);
  assert_int_equal(parse(text, &again, &error), OPS_OK);
  check_content(&again);
  free(text);
  oc_baseline_finish(&again);
  oc_baseline_finish(&baseline);
}

static void what_is_no_baseline_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *says;
  } rows[] = {
      {"", "no JSON"},
      {"{", "no JSON"},
      {FILE_OF("") "x", "no JSON"},
      {"[]", "expected an object"},
      {"{\"format\": \"other\", \"version\": 1, \"devices\": []}", "format"},
      {"{\"format\": \"opsconform-baseline\", \"version\": 2, \"devices\": []}", "version"},
      {"{\"format\": \"opsconform-baseline\", \"version\": 1}", "devices"},
      {"{\"format\": \"opsconform-baseline\", \"version\": 1, \"devices\": [], \"x\": 1}",
       "no such key"},
      {"{\"format\": \"opsconform-baseline\", \"version\": 1, \"version\": 1, \"devices\": []}",
       "once"},
      {FILE_OF(DEVICE("") ", " DEVICE("")), "no other device has"},
      {FILE_OF(DEVICE(POINT ", " POINT)), "devices[0].points[1].id"},
      {FILE_OF(DEVICE("{\"id\": \"a\", \"blocks\": 2, \"rounds\": 1, \"log_ms\": [1], "
                      "\"floor\": 0, \"floor_p95\": 0}")),
       "log_ms"},
      {FILE_OF(DEVICE("{\"id\": \"a\", \"blocks\": 1, \"rounds\": 1, \"log_ms\": [1e300], "
                      "\"floor\": 0, \"floor_p95\": 0}")),
       "log_ms"},
      {FILE_OF(DEVICE("{\"id\": \"a\", \"blocks\": 4096, \"rounds\": 2, \"log_ms\": [], "
                      "\"floor\": 0, \"floor_p95\": 0}")),
       "4096"},
      {FILE_OF(DEVICE("{\"id\": \"a\", \"blocks\": 0.5, \"rounds\": 1, \"log_ms\": [], "
                      "\"floor\": 0, \"floor_p95\": 0}")),
       "blocks"},
      {FILE_OF(DEVICE("{\"id\": \"a\", \"blocks\": 1, \"rounds\": 1, \"log_ms\": [1], "
                      "\"floor\": -1, \"floor_p95\": 0}")),
       "floor"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    oc_baseline baseline;
    ops_error error;
    assert_int_equal(parse(rows[i].text, &baseline, &error), OPS_ERROR_INVALID_ARGUMENT);
    if (strstr(error.message, "b.json") && strstr(error.message, rows[i].says)) continue;
    fail_msg("row %zu: expected '%s' in '%s'", i, rows[i].says, error.message);
  }
}

static void a_new_point_keeps_the_budget(void **state) {
  (void)state;
  oc_baseline baseline;
  ops_error error;
  oc_baseline_point point = {.id = strdup("a"), .blocks = 1, .rounds = 1};
  assert_int_equal(parse(FILE_OF(DEVICE(POINT)), &baseline, &error), OPS_OK);
  point.log_ms = calloc(1, sizeof *point.log_ms);
  assert_int_equal(oc_baseline_put(&baseline.devices[0], &point, &error), OPS_OK);
  assert_int_equal(baseline.devices[0].count, 1);
  assert_int_equal(baseline.devices[0].points[0].blocks, 1);
  assert_true(baseline.devices[0].points[0].budget.jitter_ms == 3);
  oc_baseline_finish(&baseline);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read_back),
      cmocka_unit_test(what_is_no_baseline_is_refused),
      cmocka_unit_test(a_new_point_keeps_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

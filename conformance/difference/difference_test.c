// SPDX-License-Identifier: Apache-2.0
//
// Pairs of small reports and what changed between them, by the rules at the top of
// difference.h; and reports that are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "difference/difference.h"
#include "ops_support/error.h"

#define REPORT(cases, points)                                                          \
  "{\"format\": 1, \"summary\": {\"exit_code\": 0}, \"provider\": {\"name\": \"p\"}, " \
  "\"environment\": {}, \"cases\": [" cases "], \"performance\": [" points "]}"
#define CASE(id, status) "{\"id\": \"" id "\", \"status\": \"" status "\"}"
#define ERROR(id, status, error, limit) \
  "{\"id\": \"" id "\", \"status\": \"" status "\", \"error\": " error ", \"limit\": " limit "}"
#define POINT(id, low, value, high, stage)                                                     \
  "{\"id\": \"" id "\", \"stage\": " stage ", \"ratio\": {\"low\": " low ", \"value\": " value \
  ", \"high\": " high "}}"

static oc_reading *parse(const char *text) {
  oc_reading *reading = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (oc_reading_parse("r.json", text, strlen(text), &reading, &error) != OPS_OK) {
    fail_msg("%s: %s", text, error.message);
  }
  return reading;
}

typedef struct change_row {
  const char *before, *after;
  int kind;  // of the only change; -1: none
} change_row;

static const change_row kRows[] = {
    {CASE("a", "PASS"), CASE("a", "PASS"), -1},
    {CASE("a", "PASS"), CASE("a", "FAIL"), OC_CHANGE_WORSE},
    {CASE("a", "PASS"), CASE("a", "WAIVED"), OC_CHANGE_WORSE},
    {CASE("a", "PASS"), CASE("a", "UNSUPPORTED"), OC_CHANGE_WORSE},
    {CASE("a", "FAIL"), CASE("a", "CRASH"), OC_CHANGE_WORSE},
    {CASE("a", "FAIL"), CASE("a", "FLAKY"), OC_CHANGE_BETTER},
    {CASE("a", "FLAKY"), CASE("a", "UNTRUSTED"), -1},
    {CASE("a", "TIMEOUT"), CASE("a", "PASS"), OC_CHANGE_BETTER},
    {CASE("a", "PASS"), "", OC_CHANGE_GONE},
    {"", CASE("a", "PASS"), OC_CHANGE_NEW},
    {"", CASE("a", "UNSUPPORTED"), OC_CHANGE_NEW},
    {"", CASE("a", "FAIL"), OC_CHANGE_NEW_FAILING},
    {CASE("provider", "FAIL"), "", OC_CHANGE_BETTER},
    {"", CASE("provider", "FAIL"), OC_CHANGE_NEW_FAILING},
    {ERROR("a", "PASS", "1", "4"), ERROR("a", "PASS", "1.4", "4"), -1},  // by 0.1 of the limit
    {ERROR("a", "PASS", "1", "4"), ERROR("a", "PASS", "1.5", "4"), OC_CHANGE_ERROR_GREW},
    {ERROR("a", "PASS", "1", "4"), ERROR("a", "PASS", "2", "8"), -1},
    {ERROR("a", "FAIL", "9", "4"), ERROR("a", "FAIL", "8", "4"), OC_CHANGE_ERROR_SHRANK},
    {ERROR("a", "FAIL", "9", "4"), ERROR("a", "FAIL", "\"inf\"", "4"), OC_CHANGE_ERROR_GREW},
    {ERROR("a", "FAIL", "\"inf\"", "4"), ERROR("a", "FAIL", "\"nan\"", "4"), -1},
    {ERROR("a", "PASS", "0", "0"), ERROR("a", "PASS", "0", "0"), -1},
    {ERROR("a", "PASS", "0", "0"), CASE("a", "PASS"), -1},
};

static void test_cases(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    char before[1000], after[1000];
    snprintf(before, sizeof before, REPORT("%s", ""), kRows[i].before);
    snprintf(after, sizeof after, REPORT("%s", ""), kRows[i].after);
    oc_reading *a = parse(before), *b = parse(after);
    oc_difference difference;
    assert_int_equal(oc_difference_init(&difference, a, b, NULL), OPS_OK);
    const int kind = difference.count ? (int)difference.changes[0].kind : -1;
    if (kind != kRows[i].kind || difference.count > 1) fail_msg("row %zu: found %d", i, kind);
    assert_int_equal(difference.same, kind == -1);
    oc_difference_finish(&difference);
    oc_reading_destroy(a);
    oc_reading_destroy(b);
  }
}

static void test_points(void **unused) {
  (void)unused;
  static const struct {
    const char *before, *after;
    int kind;
  } rows[] = {
      {POINT("x", "0.9", "1", "1.1", "2"), POINT("x", "1.0", "1.05", "1.2", "2"), -1},
      {POINT("x", "0.9", "1", "1.1", "2"), POINT("x", "1.2", "1.3", "1.4", "2"),
       OC_CHANGE_SLOWER},
      {POINT("x", "0.9", "1", "1.1", "2"), POINT("x", "0.5", "0.6", "0.7", "2"),
       OC_CHANGE_FASTER},
      {POINT("x", "0.9", "1", "1.1", "3"), POINT("x", "0.9", "1", "1.1", "2"),
       OC_CHANGE_SLOWER},
      {POINT("x", "0.9", "1", "1.1", "2"), POINT("x", "0.9", "1", "1.1", "4"),
       OC_CHANGE_FASTER},
      {POINT("x", "0.9", "1", "1.1", "2"), POINT("y", "1.2", "1.3", "1.4", "2"), -1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char before[1000], after[1000];
    snprintf(before, sizeof before, REPORT("", "%s"), rows[i].before);
    snprintf(after, sizeof after, REPORT("", "%s"), rows[i].after);
    oc_reading *a = parse(before), *b = parse(after);
    oc_difference difference;
    assert_int_equal(oc_difference_init(&difference, a, b, NULL), OPS_OK);
    const int kind = difference.count ? (int)difference.changes[0].kind : -1;
    if (kind != rows[i].kind) fail_msg("row %zu: found %d", i, kind);
    assert_int_equal(oc_difference_is_worse(&difference), kind == OC_CHANGE_SLOWER);
    oc_difference_finish(&difference);
    oc_reading_destroy(a);
    oc_reading_destroy(b);
  }
}

static void test_many_are_walked_side_by_side(void **unused) {
  (void)unused;
  oc_reading *a = parse(REPORT(
      CASE("c", "PASS") ", " CASE("a", "PASS") ", " CASE("d", "FAIL") ", " CASE("e", "PASS"),
      ""));
  oc_reading *b = parse(REPORT(
      CASE("b", "PASS") ", " CASE("e", "CRASH") ", " CASE("c", "PASS") ", " CASE("d", "PASS"),
      ""));
  oc_difference difference;
  assert_int_equal(oc_difference_init(&difference, a, b, NULL), OPS_OK);
  assert_int_equal(difference.count, 4);
  assert_int_equal(difference.same, 1);
  assert_string_equal(difference.changes[0].after->id, "e");
  assert_int_equal(difference.changes[1].kind, OC_CHANGE_GONE);
  assert_int_equal(difference.changes[2].kind, OC_CHANGE_BETTER);
  assert_int_equal(difference.changes[3].kind, OC_CHANGE_NEW);
  oc_difference_finish(&difference);
  oc_reading_destroy(a);
  oc_reading_destroy(b);
}

static void test_what_is_no_report(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *what;
  } rows[] = {
      {"", "this is not JSON"},
      {"[1, 2", "this is not JSON"},
      {"{}\n\n{}", "r.json:3: this is not JSON"},
      {"[]", "found no such format"},
      {"{\"format\": 2}", "found no such format"},
      {"{\"format\": 1}", "found no exit code"},
      {"{\"format\": 1, \"summary\": {\"exit_code\": 7}}", "found no exit code"},
      {"{\"format\": 1, \"summary\": {\"exit_code\": 0}, \"cases\": 5}", "found no cases"},
      {REPORT("5", ""), "cases[0]: expected an id"},
      {REPORT(CASE("a", "GOOD"), ""), "cases[0]: expected a status"},
      {REPORT(CASE("a", "PASS") ", {\"id\": \"b\", \"status\": \"PASS\", \"error\": 1}", ""),
       "cases[1]: expected error and limit"},
      {REPORT(CASE("a", "PASS") "," CASE("a", "FAIL"), ""), "'a' is there twice"},
      {REPORT("", "{\"id\": \"x\", \"stage\": 1e300}"), "performance[0]: expected a stage"},
      {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "nested 33 deep"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    oc_reading *reading = NULL;
    ops_error error = OPS_ERROR_INIT;
    const int32_t status =
        oc_reading_parse("r.json", rows[i].text, strlen(rows[i].text), &reading, &error);
    if (status != OPS_ERROR_INVALID_MODEL || !strstr(error.message, rows[i].what)) {
      fail_msg("row %zu: expected %s, found %d: %s", i, rows[i].what, status, error.message);
    }
  }
}

// A document of many small values is refused before it is built.
static void test_too_many_values(void **unused) {
  (void)unused;
  const size_t size = 2 * (OC_READING_MAX_VALUES + 2);
  char *text = malloc(size);
  oc_reading *reading = NULL;
  ops_error error = OPS_ERROR_INIT;
  assert_non_null(text);
  for (size_t i = 0; i < size; ++i) text[i] = i % 2 ? '1' : ',';
  text[0] = '[';
  text[size - 1] = ']';
  assert_int_equal(oc_reading_parse("r.json", text, size, &reading, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "values"));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_points),
      cmocka_unit_test(test_many_are_walked_side_by_side),
      cmocka_unit_test(test_what_is_no_report),
      cmocka_unit_test(test_too_many_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

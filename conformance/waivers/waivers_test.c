// SPDX-License-Identifier: Apache-2.0
//
// Waivers: what is refused and where; what becomes of results, by the table at the top of
// waivers.h. Versions are ordered as semver.org 2.0.0, section 11, orders its examples;
// patterns are held against the C library's fnmatch. Run with a path, the program writes
// grammar.md there instead.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "waivers/glob.h"
#include "waivers/version.h"
#include "waivers/waivers.h"

// ---- Versions and patterns ------------------------------------------------------------------

static void test_versions_in_order(void **unused) {
  (void)unused;
  static const char *const ascending[] = {"0.9",
                                          "1.0.0-alpha",
                                          "1.0.0-alpha.1",
                                          "1.0.0-alpha.beta",
                                          "1.0.0-beta",
                                          "1.0.0-beta.2",
                                          "1.0.0-beta.11",
                                          "1.0.0-rc.1",
                                          "1.0.0",
                                          "1.0.1",
                                          "1.2",
                                          "1.10",
                                          "v2.0",
                                          "10",
                                          "100000000000000000000000"};
  const size_t count = sizeof ascending / sizeof *ascending;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < count; ++k) {
      const int order = oc_version_compare(ascending[i], ascending[k]);
      assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
    }
  }
  assert_int_equal(oc_version_compare("1.2", "1.2.0"), 0);
  assert_int_equal(oc_version_compare("1.2.0+build7", "1.02"), 0);
}

static void test_ranges(void **unused) {
  (void)unused;
  static const struct {
    const char *version, *range;
    bool in;
  } rows[] = {{"1.2", "*", true},
              {"1.2", "1.2", true},
              {"1.2.0", "=1.2", true},
              {"1.3", "1.2", false},
              {"1.2", ">=1.2 <1.4", true},
              {"1.3.9", ">=1.2 <1.4", true},
              {"1.4", ">=1.2 <1.4", false},
              {"1.4-rc1", ">=1.2 <1.4", true},
              {"1.10", ">1.9", true},
              {"1.9", "<=1.9", true},
              {"", ">=0", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_null(oc_version_range_check(rows[i].range));
    assert_int_equal(oc_version_in_range(rows[i].version, rows[i].range), rows[i].in);
  }
  static const char *const bad[] = {"",     " ",       ">",     ">= 1.2",
                                    "~1.2", "1.2,1.3", ">=1<2", "latest"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    assert_non_null(oc_version_range_check(bad[i]));
  }
}

// All patterns and texts of a small alphabet that a counter spells.
static void test_patterns_match_as_fnmatch(void **unused) {
  (void)unused;
  static const char symbols[] = "*?ab\\";
  uint64_t state = 1;
  for (int round = 0; round < 200000; ++round) {
    char pattern[10] = "", text[10] = "";
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t bits = state >> 8;
    const size_t size = bits % 9;
    for (size_t i = 0; i < size; ++i, bits /= 5) pattern[i] = symbols[(bits >> 4) % 5];
    bits = state >> 40;
    for (size_t i = 0; i < (state >> 5) % 8; ++i, bits /= 2) text[i] = bits % 2 ? 'a' : 'b';
    if (size && pattern[size - 1] == '\\') continue;  // escapes nothing: no pattern to fnmatch
    if (oc_glob_match(pattern, text) != (fnmatch(pattern, text, 0) == 0)) {
      fail_msg("'%s' against '%s'", pattern, text);
    }
  }
  static const char *const sets[] = {"[ab]*", "[!a]b",   "[^a]?",  "*[a-b]", "[]a]*",
                                     "a[",    "[a\\]]b", "x[0-9]", "[!]]",   "[a-]*"};
  static const char *const texts[] = {"",   "a",  "b",  "ab", "ba", "]",
                                      "]b", "a[", "x7", "-",  "c"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
      if (oc_glob_match(sets[i], texts[k]) != (fnmatch(sets[i], texts[k], 0) == 0)) {
        fail_msg("'%s' against '%s'", sets[i], texts[k]);
      }
    }
  }
  char stars[400], letters[400];
  for (size_t i = 0; i < sizeof stars; ++i) stars[i] = i % 2 ? 'a' : '*', letters[i] = 'a';
  stars[398] = 'b', stars[399] = letters[399] = 0;
  assert_false(oc_glob_match(stars, letters));
}

// ---- The file -------------------------------------------------------------------------------

#define ENTRY(versions, cases, check, error, reason, expires)                               \
  "format: 1\nwaivers:\n  - provider: mynpu\n    versions: " versions "\n    cases: " cases \
  "\n" check "    largest_error: " error "\n    reason: " reason "\n    expires: " expires  \
  "\n"
#define GOOD \
  ENTRY("\">=1 <2\"", "[\"Softmax-*\"]", "", "12.5", "rounds twice, NPU-1", "2027-03-31")

static oc_waivers *parse(const char *text) {
  oc_waivers *waivers = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (oc_waivers_parse("w.yaml", text, strlen(text), &waivers, &error) != OPS_OK) {
    fail_msg("%s", error.message);
  }
  return waivers;
}

static void test_refused_with_place(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *place, *what;
  } rows[] = {
      {"", "w.yaml:1:1:", ""},
      {"format: 2\nwaivers: []\n", "w.yaml:1:9:", "format 2"},
      {"format: 1\n", "w.yaml:1:1:", "waivers"},
      {"format: 1\nwaivers: []\nwaiver: 1\n", "w.yaml:3:1:", "did you mean \"waivers\""},
      {"format: 1\nwaivers:\n  - provider: x\n", "w.yaml:3:5:", "versions"},
      {ENTRY("~1", "[a]", "", "1", "long enough", "2027-01-01"), "w.yaml:4:15:", "~1"},
      {ENTRY("\"*\"", "[]", "", "1", "long enough", "2027-01-01"),
       "w.yaml:5:12:", "at least one"},
      {ENTRY("\"*\"", "[\"\"]", "", "1", "long enough", "2027-01-01"),
       "w.yaml:5:13:", "nothing"},
      {ENTRY("\"*\"", "[a]", "    check: vales\n", "1", "long enough", "2027-01-01"),
       "w.yaml:6:12:", "values"},
      {ENTRY("\"*\"", "[a]", "", "-1", "long enough", "2027-01-01"), "w.yaml:6:20:", "-1"},
      {ENTRY("\"*\"", "[a]", "", "none", "long enough", "2027-01-01"),
       "w.yaml:6:20:", "measures an error"},
      {ENTRY("\"*\"", "[a]", "", "1", "flaky", "2027-01-01"), "w.yaml:7:13:", "flaky"},
      {ENTRY("\"*\"", "[a]", "", "1", "long enough", "2027-02-29"),
       "w.yaml:8:14:", "2027-02-29"},
      {ENTRY("\"*\"", "[a]", "", "1", "long enough", "never"), "w.yaml:8:14:", "never"},
      {GOOD "    expires: 2027-01-01\n", "w.yaml:9:5:", "expires"},
      {GOOD "---\nformat: 1\nwaivers: []\n", "w.yaml:", "one document"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    oc_waivers *waivers = NULL;
    ops_error error = OPS_ERROR_INIT;
    const int32_t status =
        oc_waivers_parse("w.yaml", rows[i].text, strlen(rows[i].text), &waivers, &error);
    if (status != OPS_ERROR_INVALID_MODEL ||
        strncmp(error.message, rows[i].place, strlen(rows[i].place)) != 0 ||
        !strstr(error.message, rows[i].what)) {
      fail_msg("row %zu: expected %s … %s, found %d: %s", i, rows[i].place, rows[i].what,
               status, error.message);
    }
  }
}

static void test_read(void **unused) {
  (void)unused;
  oc_waivers *waivers = parse(GOOD);
  const oc_waiver *waiver = &waivers->items[0];
  assert_int_equal(waivers->count, 1);
  assert_string_equal(waiver->check, "values");
  assert_string_equal(waiver->cases[0], "Softmax-*");
  assert_true(waiver->measured && waiver->largest_error == 12.5);
  assert_int_equal(waiver->line, 3);
  oc_waivers_destroy(waivers);
  waivers = parse("format: 1\nwaivers: []\n");
  assert_int_equal(waivers->count, 0);
  oc_waivers_destroy(waivers);
}

// ---- What they make of results --------------------------------------------------------------

static oc_result make(int32_t status, const char *check, double error) {
  oc_result result = {.status = status, .measured = 1, .error = error, .limit = 1};
  snprintf(result.check, sizeof result.check, "%s", check);
  return result;
}

static void test_statuses(void **unused) {
  (void)unused;
  static const struct {
    const char *id;
    int32_t status;
    const char *check;
    double error;
    int32_t becomes;
  } rows[] = {
      {"Softmax-13/a", OC_STATUS_FAIL, "values", 12.5, OC_STATUS_WAIVED},
      {"Softmax-13/a", OC_STATUS_FAIL, "values", -12.5, OC_STATUS_WAIVED},
      {"Softmax-13/a", OC_STATUS_FAIL, "values", 12.6, OC_STATUS_FAIL},
      {"Softmax-13/a", OC_STATUS_FAIL, "values", INFINITY, OC_STATUS_FAIL},
      {"Softmax-13/a", OC_STATUS_FAIL, "values", NAN, OC_STATUS_FAIL},
      {"Softmax-13/a", OC_STATUS_FAIL, "guard", 0, OC_STATUS_FAIL},
      {"Softmax-13/a", OC_STATUS_CRASH, "process", 0, OC_STATUS_CRASH},
      {"Softmax-13/a", OC_STATUS_PASS, "", 0.5, OC_STATUS_XPASS},
      {"Softmax-13/a", OC_STATUS_FLAKY, "values", 2, OC_STATUS_FLAKY},
      {"Softmax-13/a", OC_STATUS_UNTRUSTED, "trivial", 0, OC_STATUS_UNTRUSTED},
      {"Softmax-13/a", OC_STATUS_NOT_RUN, "harness", 0, OC_STATUS_NOT_RUN},
      {"Softmax-13/a", OC_STATUS_UNSUPPORTED, "", 0, OC_STATUS_UNSUPPORTED},
      {"Relu-14/a", OC_STATUS_FAIL, "values", 2, OC_STATUS_FAIL},
      {"Relu-14/a", OC_STATUS_PASS, "", 0, OC_STATUS_PASS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    oc_waivers *waivers = parse(GOOD);
    oc_waivers_begin(waivers, "mynpu", "1.5", "2026-11-30T12:00:00Z");
    oc_result result = make(rows[i].status, rows[i].check, rows[i].error);
    oc_waivers_apply(waivers, rows[i].id, &result);
    if (result.status != rows[i].becomes) fail_msg("row %zu: found %d", i, result.status);
    const bool touched =
        rows[i].becomes == OC_STATUS_WAIVED || rows[i].becomes == OC_STATUS_XPASS;
    if (touched) assert_ptr_equal(oc_waivers_of(waivers, &result), &waivers->items[0]);
    oc_waivers_destroy(waivers);
  }
}

// Which waivers are failures themselves.
static void test_findings(void **unused) {
  (void)unused;
  static const struct {
    const char *provider, *version, *day;
    bool used, complete;
    oc_waiver_state state;
  } rows[] = {
      {"mynpu", "1.5", "2026-11-30T00:00:00Z", true, true, OC_WAIVER_USED},
      {"mynpu", "1.5", "2027-03-31T23:59:59Z", true, true, OC_WAIVER_USED},
      {"mynpu", "1.5", "2027-04-01T00:00:00Z", true, true, OC_WAIVER_EXPIRED},
      {"mynpu", "1.5", "2027-04-01T00:00:00Z", false, false, OC_WAIVER_EXPIRED},
      {"mynpu", "1.5", "2026-11-30T00:00:00Z", false, true, OC_WAIVER_UNMATCHED},
      {"mynpu", "1.5", "2026-11-30T00:00:00Z", false, false, OC_WAIVER_IDLE},
      {"mynpu", "2.0", "2026-11-30T00:00:00Z", true, true, OC_WAIVER_ELSEWHERE},
      {"other", "1.5", "2026-11-30T00:00:00Z", true, true, OC_WAIVER_ELSEWHERE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    oc_waivers *waivers = parse(GOOD);
    oc_waivers_begin(waivers, rows[i].provider, rows[i].version, rows[i].day);
    oc_result result = make(OC_STATUS_FAIL, "values", 2), finding;
    if (rows[i].used) oc_waivers_apply(waivers, "Softmax-13/a", &result);
    oc_waivers_end(waivers, rows[i].complete);
    if (waivers->items[0].state != rows[i].state) {
      fail_msg("row %zu: found %s", i, oc_waiver_state_name(waivers->items[0].state));
    }
    const bool fails =
        rows[i].state == OC_WAIVER_EXPIRED || rows[i].state == OC_WAIVER_UNMATCHED;
    assert_int_equal(oc_waiver_finding(waivers, 0, &finding), fails);
    if (fails) {
      assert_int_equal(finding.status, OC_STATUS_FAIL);
      assert_non_null(strstr(finding.message, "w.yaml:3:"));
    }
    assert_int_equal(result.status,
                     rows[i].state == OC_WAIVER_USED ? OC_STATUS_WAIVED : OC_STATUS_FAIL);
    oc_waivers_destroy(waivers);
  }
}

// An unsupported case is no proof that the failure is still there.
static void test_unsupported_matches_nothing(void **unused) {
  (void)unused;
  oc_waivers *waivers = parse(GOOD);
  oc_waivers_begin(waivers, "mynpu", "1.5", "2026-11-30T00:00:00Z");
  oc_result result = make(OC_STATUS_UNSUPPORTED, "", 0);
  oc_waivers_apply(waivers, "Softmax-13/a", &result);
  oc_waivers_end(waivers, true);
  assert_int_equal(waivers->items[0].state, OC_WAIVER_UNMATCHED);
  oc_waivers_destroy(waivers);
}

static void test_grammar_is_documented(void **unused) {
  (void)unused;
  char *text = NULL, kept[1 << 14] = "";
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size), *file = fopen(GRAMMAR_FILE, "r");
  oc_waivers_grammar_print(stream);
  fclose(stream);
  assert_non_null(file);
  fread(kept, 1, sizeof kept - 1, file);
  fclose(file);
  if (strcmp(text, kept) != 0) {
    fail_msg("%s is not what the tables say; write it anew: oc_waivers_test %s", GRAMMAR_FILE,
             GRAMMAR_FILE);
  }
  free(text);
}

int main(int argc, char **argv) {
  if (argc == 2) {
    FILE *file = fopen(argv[1], "w");
    if (!file) return 1;
    oc_waivers_grammar_print(file);
    return fclose(file) == 0 ? 0 : 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions_in_order),
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_patterns_match_as_fnmatch),
      cmocka_unit_test(test_refused_with_place),
      cmocka_unit_test(test_read),
      cmocka_unit_test(test_statuses),
      cmocka_unit_test(test_findings),
      cmocka_unit_test(test_unsupported_matches_nothing),
      cmocka_unit_test(test_grammar_is_documented),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

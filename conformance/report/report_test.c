// SPDX-License-Identifier: Apache-2.0
//
// Reports: the exit codes of the documented table and their precedence, hostile texts, files
// that appear whole, and SHA-256 against the examples of FIPS 180-4 (NIST, "abc" and the empty
// message).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "report/details.h"
#include "report/file.h"
#include "report/format.h"
#include "report/report.h"
#include "report/sha256.h"

typedef struct exit_row {
  uint64_t pass, fail, crash, timeout, unsupported, xpass, untrusted, flaky, not_run, waived;
  size_t selected;
  bool harness;
  int32_t code;
} exit_row;

static void test_exit_codes(void **unused) {
  (void)unused;
  static const exit_row rows[] = {
      {.pass = 3, .selected = 3, .code = 0},
      {.pass = 3, .unsupported = 2, .selected = 5, .code = 0},
      {.pass = 3, .waived = 1, .selected = 4, .code = 0},
      {.pass = 3, .fail = 1, .selected = 4, .code = 1},
      {.pass = 3, .crash = 1, .selected = 4, .code = 1},
      {.pass = 3, .timeout = 1, .selected = 4, .code = 1},
      {.pass = 3, .xpass = 1, .selected = 4, .code = 1},
      {.pass = 3, .untrusted = 1, .selected = 4, .code = 1},
      {.pass = 3, .flaky = 1, .selected = 4, .code = 1},
      {.pass = 3, .not_run = 1, .selected = 4, .code = 6},
      {.pass = 3, .fail = 1, .not_run = 1, .selected = 5, .code = 1},  // 1 before 6
      {.unsupported = 4, .selected = 4, .code = 6},                    // nothing passed
      {.waived = 4, .selected = 4, .code = 6},
      {.selected = 0, .code = 6},  // nothing selected
      {.fail = 1, .not_run = 1, .selected = 2, .harness = true, .code = 5},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const exit_row *row = &rows[i];
    const uint64_t counts[OC_STATUS_COUNT] = {[OC_STATUS_PASS] = row->pass,
                                              [OC_STATUS_FAIL] = row->fail,
                                              [OC_STATUS_CRASH] = row->crash,
                                              [OC_STATUS_TIMEOUT] = row->timeout,
                                              [OC_STATUS_UNSUPPORTED] = row->unsupported,
                                              [OC_STATUS_XPASS] = row->xpass,
                                              [OC_STATUS_UNTRUSTED] = row->untrusted,
                                              [OC_STATUS_FLAKY] = row->flaky,
                                              [OC_STATUS_NOT_RUN] = row->not_run,
                                              [OC_STATUS_WAIVED] = row->waived};
    assert_int_equal(oc_exit_code(counts, row->selected, row->harness), row->code);
  }
}

static void test_clean(void **unused) {
  (void)unused;
  char text[32] = "a\n\x01\xff\xc3\xa9\xe2\x82\xac\xed\xa0\x80z";
  oc_text_clean(text, sizeof text);
  assert_string_equal(text, "a ??\xc3\xa9\xe2\x82\xac???z");
  char full[3] = {'x', 'y', 'z'};
  oc_text_clean(full, sizeof full);
  assert_string_equal(full, "xy");
  char cut[5] = "ab\xe2\x82";
  oc_text_clean(cut, sizeof cut);
  assert_string_equal(cut, "ab??");
}

static void hash_text(const char *text, size_t repeat, char *hex) {
  oc_sha256 hash;
  oc_sha256_init(&hash);
  for (size_t i = 0; i < repeat; ++i) oc_sha256_add(&hash, text, strlen(text));
  oc_sha256_hex(&hash, hex);
}

static void test_sha256(void **unused) {
  (void)unused;
  char hex[65];
  hash_text("", 1, hex);
  assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  hash_text("abc", 1, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  hash_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, hex);
  assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  hash_text("aaaaaaaaaa", 100000, hex);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// ---- Reports --------------------------------------------------------------------------------

static oc_contract contract = {.op = "Relu", .domain = "ai.onnx", .since = 14};
static oc_case items[2] = {
    {.id = "Relu-14/float/7/uniform", .contract = &contract, .seed = UINT64_MAX},
    {.id = "Relu-14/float/8/uniform", .contract = &contract, .seed = 5}};
static const oc_cases cases = {.items = items, .count = 2};

static void fill_report(oc_report *report) {
  static const char *const options[] = {"fault=it's"};
  const oc_report_setup setup = {.provider = "./a b.so",
                                 .contracts = "c",
                                 .contracts_given = true,
                                 .options = options,
                                 .option_count = 1,
                                 .profile = OC_PROFILE_STANDARD,
                                 .seed = 9,
                                 .timeout = 10};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(oc_report_init(report, &setup, &cases, 2, &error), OPS_OK);
  oc_result result = {.case_index = 1,
                      .status = OC_STATUS_FAIL,
                      .measured = 1,
                      .error = INFINITY,
                      .limit = 2,
                      .output = 0,
                      .element = 3};
  snprintf(result.check, sizeof result.check, "values");
  snprintf(result.message, sizeof result.message, "<&\"'\x02\xff> ]]>");
  oc_report_add(report, &result);
  result = (oc_result){.case_index = 0, .status = OC_STATUS_PASS, .output = -1, .element = -1};
  oc_report_add(report, &result);
  oc_report_close(report, 1.5);
}

// A failure with what it breaks: as texts where the clauses are known, else as ids.
static void test_details_name_clauses(void **unused) {
  (void)unused;
  static const char file[] =
      "provider: 1\ntopic: VALUES\nabout: x\nclauses:\n"
      "  - {id: VALUES-1, header: ops/kernel.h, slots: [x], text: Be right.}\n";
  oc_report report;
  ops_error error = OPS_ERROR_INIT;
  oc_clauses *clauses = NULL;
  fill_report(&report);
  assert_int_equal(oc_clauses_parse("c", file, sizeof file - 1, &clauses, &error), OPS_OK);
  for (int known = 0; known < 2; ++known) {
    oc_details details;
    report.clauses = known ? clauses : NULL;
    oc_details_init(&details, &report, &report.results[1]);
    assert_string_equal(details.items[1].label, "clause");
    assert_string_equal(details.items[1].text, known ? "VALUES-1: Be right." : "VALUES-1");
    oc_details_finish(&details);
  }
  oc_clauses_destroy(clauses);
  oc_report_finish(&report);
}

static void test_json(void **unused) {
  (void)unused;
  oc_report report;
  ops_error error = OPS_ERROR_INIT;
  char *text = NULL;
  size_t size;
  fill_report(&report);
  assert_int_equal(report.exit_code, OC_EXIT_NONCONFORMANT);
  assert_int_equal(oc_format_print(OC_FORMAT_JSON, &report, &text, &size, &error), OPS_OK);
  cJSON *root = cJSON_Parse(text);
  assert_non_null(root);
  const cJSON *summary = cJSON_GetObjectItem(root, "summary");
  assert_int_equal(cJSON_GetObjectItem(summary, "total")->valueint, 2);
  assert_int_equal(cJSON_GetObjectItem(summary, "FAIL")->valueint, 1);
  assert_int_equal(cJSON_GetObjectItem(summary, "exit_code")->valueint, 1);
  const cJSON *list = cJSON_GetObjectItem(root, "cases");
  assert_int_equal(cJSON_GetArraySize(list), 2);
  const cJSON *first = cJSON_GetArrayItem(list, 0), *second = cJSON_GetArrayItem(list, 1);
  const cJSON *clauses = cJSON_GetObjectItem(second, "clauses");
  assert_true(cJSON_GetArraySize(clauses) >= 1);
  assert_string_equal(cJSON_GetArrayItem(clauses, 0)->valuestring, "VALUES-1");
  assert_null(cJSON_GetObjectItem(first, "clauses"));
  assert_string_equal(cJSON_GetObjectItem(first, "id")->valuestring, items[0].id);
  assert_string_equal(cJSON_GetObjectItem(first, "seed")->valuestring, "18446744073709551615");
  assert_string_equal(cJSON_GetObjectItem(second, "error")->valuestring, "inf");
  assert_string_equal(cJSON_GetObjectItem(second, "repeat")->valuestring,
                      "opsconform --provider './a b.so' --contracts c "
                      "--option 'fault=it'\\''s' --tier merge --timeout 10 --seed 9 "
                      "--filter Relu-14/float/8/uniform");
  cJSON_Delete(root);
  free(text);
  oc_report_finish(&report);
}

static void test_junit(void **unused) {
  (void)unused;
  oc_report report;
  ops_error error = OPS_ERROR_INIT;
  char *text = NULL;
  size_t size;
  fill_report(&report);
  assert_int_equal(oc_format_print(OC_FORMAT_JUNIT, &report, &text, &size, &error), OPS_OK);
  assert_non_null(strstr(text, "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""));
  assert_non_null(strstr(text, "message=\"&lt;&amp;&quot;'??&gt; ]]&gt;\""));
  free(text);
  oc_report_finish(&report);
}

static void test_files(void **unused) {
  (void)unused;
  char folder[] = "/tmp/oc_report_test.XXXXXX", path[64], bad[64];
  char hex[65];
  ops_error error = OPS_ERROR_INIT;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/r.json", folder);
  snprintf(bad, sizeof bad, "%s/none/r.json", folder);
  assert_int_equal(oc_file_probe(path, &error), OPS_OK);
  assert_int_not_equal(access(path, F_OK), 0);
  assert_int_equal(oc_file_probe(bad, &error), OPS_ERROR_IO);
  assert_int_equal(oc_file_probe(folder, &error), OPS_ERROR_IO);
  assert_int_equal(oc_file_write(path, "abc", 3, &error), OPS_OK);
  assert_int_equal(oc_file_hash(path, hex, &error), OPS_OK);
  assert_memory_equal(hex, "ba7816bf", 8);
  assert_int_equal(oc_file_write(bad, "abc", 3, &error), OPS_ERROR_IO);
  unlink(path);
  assert_int_equal(rmdir(folder), 0);  // nothing else was left
}

// RFC 4180: quotes around what holds a comma or a quote, quotes doubled, lines end with CRLF. A
// message that a spreadsheet would compute is text.
static void test_csv(void **unused) {
  (void)unused;
  oc_report report;
  ops_error error = OPS_ERROR_INIT;
  char *text = NULL;
  size_t size;
  fill_report(&report);
  snprintf(report.results[1].message, sizeof report.results[1].message, "=1+1, \"x\"");
  assert_int_equal(oc_format_print(OC_FORMAT_CSV, &report, &text, &size, &error), OPS_OK);
  assert_int_equal(strncmp(text, "id,op,type,status,", 18), 0);
  const char *row = strstr(text, "\r\nRelu-14/float/8/uniform,Relu,");
  assert_non_null(row);
  assert_non_null(strstr(row, ",FAIL,values,,inf,2,0,3,"));
  assert_non_null(strstr(row, ",\"'=1+1, \"\"x\"\"\","));
  assert_string_equal(text + size - 2, "\r\n");
  free(text);
  oc_report_finish(&report);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exit_codes), cmocka_unit_test(test_clean),
      cmocka_unit_test(test_sha256),     cmocka_unit_test(test_details_name_clauses),
      cmocka_unit_test(test_json),       cmocka_unit_test(test_junit),
      cmocka_unit_test(test_csv),        cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

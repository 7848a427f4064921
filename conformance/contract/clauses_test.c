// SPDX-License-Identifier: Apache-2.0
//
// Provider clauses: the shipped ones are read and name what the SDK's headers have, and what is
// wrong in a file is refused at its place. Positions are counted by hand.
#include "contract/clauses.h"

#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/text_file.h"

// True if `word` stands in `text` with no letter, digit or _ beside it.
static bool has_word(const char *text, const char *word, size_t size) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (const char *at = text; (at = strstr(at, word)); ++at) {
    const bool begins = at == text || !strchr(letters, at[-1]);
    if (begins && (at[size] == 0 || !strchr(letters, at[size]))) return true;
  }
  return false;
}

// "struct.member": both are words of the header.
static bool header_has(const char *text, const char *slot) {
  char word[128];
  for (const char *at = slot;; ++at) {
    const size_t size = strcspn(at, ".");
    snprintf(word, sizeof(word), "%.*s", (int)size, at);
    if (!has_word(text, word, size)) return false;
    at += size;
    if (!*at) return true;
  }
}

static void shipped_clauses_name_what_the_headers_have(void **state) {
  ops_error error = OPS_ERROR_INIT;
  oc_clauses *clauses = NULL;
  size_t wrong = 0;
  (void)state;
  if (oc_clauses_load(PROVIDER_DIR, &clauses, &error) != OPS_OK) fail_msg("%s", error.message);
  for (size_t i = 0; i < clauses->count; ++i) {
    const oc_clause *clause = &clauses->items[i];
    char path[4096], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/%s", SDK_DIR, clause->header);
    if (oc_text_file_read(path, &text, &size, &error) != OPS_OK) fail_msg("%s", error.message);
    for (size_t j = 0; j < clause->slot_count; ++j) {
      if (header_has(text, clause->slots[j])) continue;
      print_error("%s:%u: %s has no %s\n", clause->at.file, clause->at.line, clause->header,
                  clause->slots[j]);
      ++wrong;
    }
    free(text);
  }
  assert_int_equal(wrong, 0);
  assert_true(clauses->count >= 50);
  oc_clauses_destroy(clauses);
}

static const char *const good[] = {
    "provider: 1",                          // 1
    "topic: MEMORY",                        // 2
    "about: \"Bytes.\"",                    // 3
    "clauses:",                             // 4
    "  - id: MEMORY-2",                     // 5
    "    header: ops/kernel.h",             // 6
    "    slots: [ops_kernel_api.execute]",  // 7
    "    text: \"Nothing else.\"",          // 8
    "  - id: MEMORY-5",                     // 9
    "    header: ops/kernel.h",             // 10
    "    slots: [a, b]",                    // 11
    "    unchecked: \"why\"",               // 12
    "    text: \"Nothing less.\"",          // 13
};

static int32_t parse_with(size_t line, const char *replacement, oc_clauses **out,
                          ops_error *error) {
  char text[2048] = "";
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); ++i) {
    strcat(text, i + 1 == line ? replacement : good[i]);
    strcat(text, "\n");
  }
  return oc_clauses_parse("c.yaml", text, strlen(text), out, error);
}

static void good_file_is_read(void **state) {
  ops_error error = OPS_ERROR_INIT;
  oc_clauses *clauses = NULL;
  (void)state;
  if (parse_with(0, NULL, &clauses, &error) != OPS_OK) fail_msg("%s", error.message);
  assert_int_equal(clauses->count, 2);
  const oc_clause *first = &clauses->items[0], *second = &clauses->items[1];
  assert_string_equal(first->id, "MEMORY-2");
  assert_string_equal(first->text, "Nothing else.");
  assert_string_equal(first->header, "ops/kernel.h");
  assert_string_equal(first->slots[0], "ops_kernel_api.execute");
  assert_null(first->unchecked);
  assert_int_equal(first->at.line, 5);
  assert_int_equal(second->slot_count, 2);
  assert_string_equal(second->unchecked, "why");
  assert_ptr_equal(oc_clauses_find(clauses, "MEMORY-5"), second);
  assert_null(oc_clauses_find(clauses, "MEMORY"));
  assert_null(oc_clauses_find(clauses, "MEMORY-55"));
  oc_clauses_destroy(clauses);
}

static const struct {
  size_t line;
  const char *replacement, *message;
} bad[] = {
    {1, "provider: 2", "c.yaml:1:11: format 2 of provider clauses"},
    {1, "", "c.yaml:2:1: clauses file lacks the key \"provider\""},
    {2, "topic: Memory", "c.yaml:2:8: expected a topic of capital letters, found \"Memory\""},
    {3, "abut: x", "c.yaml:3:1: unknown key of clauses file: \"abut\"; did you mean \"about\""},
    {5, "  - id: MEMORY2", "c.yaml:5:9: expected MEMORY-N with N above 0, found \"MEMORY2\""},
    {5, "  - id: THREADS-2", "c.yaml:5:9: expected MEMORY-N with N above 0"},
    {6, "    header: kernel.h", "c.yaml:6:13: expected a header such as ops/device.h"},
    {7, "    slots: []", "c.yaml:7:12: expected at least one slot"},
    {7, "    slots: x", "c.yaml:7:12: \"slots\": expected a list of texts"},
    {8, "    text: \"\"", "c.yaml:8:11: expected text, found nothing"},
    {8, "", "c.yaml:5:5: clause lacks the key \"text\""},
    {9, "  - id: MEMORY-2", "c.yaml:9:9: expected MEMORY-N with N above 2, found \"MEMORY-2\""},
    {13, "    text: x\n---\nprovider: 1", "c.yaml:15:1: expected one document in a file"},
};

static void bad_files_are_refused_at_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    ops_error error = OPS_ERROR_INIT;
    oc_clauses *clauses = NULL;
    const int32_t status = parse_with(bad[i].line, bad[i].replacement, &clauses, &error);
    if (status != OPS_ERROR_INVALID_MODEL || !strstr(error.message, bad[i].message)) {
      fail_msg("expected \"%s\", found status %d, \"%s\"", bad[i].message, status,
               error.message);
    }
    assert_null(clauses);
  }
}

static void folders_without_clauses_are_not_found(void **state) {
  ops_error error = OPS_ERROR_INIT;
  oc_clauses *clauses = NULL;
  (void)state;
  assert_int_equal(oc_clauses_load("/nonexistent", &clauses, &error), OPS_ERROR_NOT_FOUND);
  assert_int_equal(oc_clauses_load(SDK_DIR, &clauses, &error), OPS_ERROR_NOT_FOUND);
  assert_null(clauses);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shipped_clauses_name_what_the_headers_have),
      cmocka_unit_test(good_file_is_read),
      cmocka_unit_test(bad_files_are_refused_at_their_place),
      cmocka_unit_test(folders_without_clauses_are_not_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Checks and provider clauses belong together: what a check cites exists, and what no check
// cites says so.
#include "contract/clauses.h"

#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks/check.h"

static oc_clauses *clauses;

static int load(void **state) {
  ops_error error = OPS_ERROR_INIT;
  (void)state;
  if (oc_clauses_load(PROVIDER_DIR, &clauses, &error) == OPS_OK) return 0;
  print_error("%s\n", error.message);
  return -1;
}

static int unload(void **state) {
  (void)state;
  oc_clauses_destroy(clauses);
  return 0;
}

static void cited_ids_exist(void **state) {
  size_t count = 0, wrong = 0;
  const oc_check *checks = oc_checks(&count);
  (void)state;
  for (size_t i = 0; i < count; ++i) {
    const char *cursor = checks[i].clauses, *id;
    for (size_t size; (id = oc_clauses_next_id(&cursor, &size));) {
      if (oc_clauses_find(clauses, id)) continue;
      print_error("check '%s' cites %.*s, which contracts/provider has not\n", checks[i].name,
                  (int)size, id);
      ++wrong;
    }
  }
  assert_int_equal(wrong, 0);
}

static bool is_cited(const oc_clause *clause) {
  size_t count = 0;
  const oc_check *checks = oc_checks(&count);
  for (size_t i = 0; i < count; ++i) {
    const char *cursor = checks[i].clauses, *id;
    for (size_t size; (id = oc_clauses_next_id(&cursor, &size));) {
      if (oc_clauses_find(clauses, id) == clause) return true;
    }
  }
  return false;
}

static void every_clause_is_cited_or_says_that_it_is_not(void **state) {
  size_t wrong = 0, unchecked = 0;
  (void)state;
  for (size_t i = 0; i < clauses->count; ++i) {
    const oc_clause *clause = &clauses->items[i];
    const bool cited = is_cited(clause);
    unchecked += !cited;
    if (cited != !!clause->unchecked) continue;
    print_error("%s:%u: %s %s\n", clause->at.file, clause->at.line, clause->id,
                cited ? "is cited by a check: take out `unchecked`"
                      : "is cited by no check: cite it in check.c, or say `unchecked` and why");
    ++wrong;
  }
  print_message("%zu clauses, %zu of them without a check\n", clauses->count, unchecked);
  assert_int_equal(wrong, 0);
}

static void ids_are_cut_at_spaces(void **state) {
  const char *cursor = "  CLAIMS-1 CLAIMS-10 ", *none = NULL;
  size_t size = 0;
  (void)state;
  const char *first = oc_clauses_next_id(&cursor, &size);
  assert_int_equal(size, 8);
  assert_memory_equal(first, "CLAIMS-1", 8);
  assert_string_equal(oc_clauses_find(clauses, first)->id, "CLAIMS-1");
  assert_memory_equal(oc_clauses_next_id(&cursor, &size), "CLAIMS-10", 9);
  assert_null(oc_clauses_next_id(&cursor, &size));
  assert_null(oc_clauses_next_id(&none, &size));
  assert_null(oc_clauses_find(NULL, "CLAIMS-1"));
}

static void checks_are_found_by_name(void **state) {
  size_t count = 0;
  const oc_check *checks = oc_checks(&count);
  (void)state;
  for (size_t i = 0; i < count; ++i) {
    assert_ptr_equal(oc_checks_find(checks[i].name), &checks[i]);  // names are unique
  }
  assert_null(oc_checks_find("no such check"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cited_ids_exist),
      cmocka_unit_test(every_clause_is_cited_or_says_that_it_is_not),
      cmocka_unit_test(ids_are_cut_at_spaces),
      cmocka_unit_test(checks_are_found_by_name),
  };
  return cmocka_run_group_tests(tests, load, unload);
}

// SPDX-License-Identifier: Apache-2.0
//
// docs/checks.md says what the tables say. Run with --write the program writes the page
// instead.
#include "checks/docs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "checks/check.h"
#include "checks/provider_case.h"

static void page_is_what_the_tables_say(void **state) {
  char *want = NULL, *found = calloc(1, 1 << 20);
  size_t size = 0;
  FILE *stream = open_memstream(&want, &size), *file = fopen(CHECKS_PAGE, "r");
  (void)state;
  oc_checks_print(stream);
  fclose(stream);
  if (!file || !found) fail_msg("cannot read %s", CHECKS_PAGE);
  const size_t length = fread(found, 1, (1 << 20) - 1, file);
  fclose(file);
  if (length != size || memcmp(found, want, size) != 0) {
    fail_msg(
        "%s is not what the tables of checks say: run build/tests/checks_docs_test --write",
        CHECKS_PAGE);
  }
  free(found);
  free(want);
}

// A case of the provider is reported under a check that has a row.
static void provider_cases_name_checks(void **state) {
  size_t count;
  const oc_provider_case *cases = oc_provider_cases(&count);
  (void)state;
  for (size_t i = 0; i < count; ++i) assert_non_null(oc_checks_find(cases[i].check));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(page_is_what_the_tables_say),
      cmocka_unit_test(provider_cases_name_checks),
  };
  if (argc == 2 && strcmp(argv[1], "--write") == 0) {
    FILE *file = fopen(CHECKS_PAGE, "w");
    if (!file) return 1;
    oc_checks_print(file);
    return fclose(file) != 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}

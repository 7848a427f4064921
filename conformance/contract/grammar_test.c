// SPDX-License-Identifier: Apache-2.0
//
// grammar.md and clauses.md of contracts/schema say what the tables say, and the example of
// format.md is a contract. Run with the name of a folder, the program writes both there
// instead.
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/reader.h"

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = calloc(1, 1 << 20);
  if (!file || !text) fail_msg("cannot read %s", path);
  fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  return text;
}

// The files that the tables print.
static const struct {
  const char *name;
  void (*print)(FILE *stream);
} printed[] = {{"grammar.md", oc_grammar_print}, {"clauses.md", oc_clauses_grammar_print}};
#define PRINTED_COUNT (sizeof(printed) / sizeof(printed[0]))

static void grammars_are_documented(void **state) {
  (void)state;
  for (size_t i = 0; i < PRINTED_COUNT; ++i) {
    char *text = NULL, path[4096];
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    printed[i].print(stream);
    fclose(stream);
    snprintf(path, sizeof(path), "%s/%s", SCHEMA_DIR, printed[i].name);
    char *kept = read_file(path);
    if (strcmp(text, kept) != 0) {
      fail_msg("%s is not what the tables say; write it anew: contract_grammar_test %s", path,
               SCHEMA_DIR);
    }
    free(text);
    free(kept);
  }
}

static int write_grammars(const char *folder) {
  for (size_t i = 0; i < PRINTED_COUNT; ++i) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, printed[i].name);
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    printed[i].print(file);
    if (fclose(file) != 0) return 1;
  }
  return 0;
}

static void example_is_a_contract(void **state) {
  ops_error error = OPS_ERROR_INIT;
  oc_contracts *contracts = NULL;
  (void)state;
  char *text = read_file(SCHEMA_DIR "/format.md");
  char *begin = strstr(text, "```yaml\n");
  assert_non_null(begin);
  begin += strlen("```yaml\n");
  char *end = strstr(begin, "```");
  assert_non_null(end);
  if (oc_contracts_parse("format.md", begin, (size_t)(end - begin), &contracts, &error) !=
      OPS_OK) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(contracts->items[0].row_count, 2);
  oc_contracts_destroy(contracts);
  free(text);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grammars_are_documented),
      cmocka_unit_test(example_is_a_contract),
  };
  if (argc == 2) return write_grammars(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// contracts/schema/grammar.md says what the tables say, and the example of format.md is a
// contract. Run with a file name, the program writes grammar.md there instead.
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

static void grammar_is_documented(void **state) {
  char *printed = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&printed, &size);
  (void)state;
  oc_grammar_print(stream);
  fclose(stream);
  char *kept = read_file(SCHEMA_DIR "/grammar.md");
  if (strcmp(printed, kept) != 0) {
    fail_msg(
        "contracts/schema/grammar.md is not what the tables say; write it anew: "
        "contract_grammar_test contracts/schema/grammar.md");
  }
  free(printed);
  free(kept);
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
      cmocka_unit_test(grammar_is_documented),
      cmocka_unit_test(example_is_a_contract),
  };
  if (argc == 2) {
    FILE *file = fopen(argv[1], "w");
    if (!file) return 1;
    oc_grammar_print(file);
    return fclose(file) == 0 ? 0 : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// One table of options gives parser and help. An option that is documented for a later version
// is a row without a reader: it is refused by name, never ignored.
#ifndef OC_CLI_OPTION_TABLE_H_
#define OC_CLI_OPTION_TABLE_H_

#include <ops/ops.h>
#include <stdbool.h>
#include <stdio.h>

#define OC_OPTION_ROWS_MAX 64

// Reads the value `text` (NULL where the row takes none) of the option `name` into `target`.
typedef int32_t (*oc_option_read)(void *target, const char *name, const char *text,
                                  ops_error *error);

typedef struct oc_option_row {
  const char *name;
  const char *value;  // what stands behind it, NULL: nothing
  const char *help;
  oc_option_read read;  // NULL: not available in this version
  bool repeats;
} oc_option_row;

typedef struct oc_option_table {
  const char *program;        // for messages: "opsconform merge"
  const oc_option_row *rows;  // at most OC_OPTION_ROWS_MAX
  size_t count;
  oc_option_read word;  // receives what is not an option, in order; NULL: refused
} oc_option_table;

// Reads argv[first] and what follows into `target`. *out_given: bit i, row i was given (may be
// NULL). INVALID_ARGUMENT for anything unknown, repeated, malformed or not available.
int32_t oc_option_table_parse(const oc_option_table *table, void *target, int argc, char **argv,
                              int first, uint64_t *out_given, ops_error *error);

// The rows that are available, one paragraph each.
void oc_option_table_help(const oc_option_table *table, FILE *stream);

// ---- For readers ----------------------------------------------------------------------------

// "--jobs: expected a number, found 'x'; see opsconform --help". Returns INVALID_ARGUMENT.
int32_t oc_option_bad(const char *name, const char *text, const char *expected,
                      ops_error *error);
// "--NAME TEXT is not available in this version".
int32_t oc_option_absent(const char *name, const char *text, ops_error *error);
// Any text but the empty one; borrowed.
int32_t oc_option_text(const char **target, const char *name, const char *text,
                       ops_error *error);
// The index of `text` among `words`.
int32_t oc_option_word(const char *const *words, size_t count, const char *name,
                       const char *text, const char *expected, size_t *out_index,
                       ops_error *error);
// Decimal or 0x…; no sign, nothing behind it.
bool oc_option_parse_u64(const char *text, uint64_t *out_value);

// Prints `text` from column `indent` on, in lines of at most `width` columns.
void oc_option_put_wrapped(FILE *stream, const char *text, int indent, int width);

#endif  // OC_CLI_OPTION_TABLE_H_

// SPDX-License-Identifier: Apache-2.0
//
// Reading a command line by a table.
#include "cli/option_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"

int32_t oc_option_bad(const char *name, const char *text, const char *expected,
                      ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "--%s: expected %s, found '%s'; see opsconform --help", name, expected,
                       text);
}

int32_t oc_option_absent(const char *name, const char *text, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "--%s%s%s is not available in this version; leave it out", name,
                       text ? " " : "", text ? text : "");
}

int32_t oc_option_text(const char **target, const char *name, const char *text,
                       ops_error *error) {
  if (!text[0]) return oc_option_bad(name, text, "a value", error);
  *target = text;
  return OPS_OK;
}

bool oc_option_parse_u64(const char *text, uint64_t *out_value) {
  char *end = NULL;
  if (!isdigit((unsigned char)text[0])) return false;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 0);
  *out_value = value;
  return errno == 0 && end && *end == 0;
}

int32_t oc_option_word(const char *const *words, size_t count, const char *name,
                       const char *text, const char *expected, size_t *out_index,
                       ops_error *error) {
  for (*out_index = 0; *out_index < count; ++*out_index) {
    if (strcmp(words[*out_index], text) == 0) return OPS_OK;
  }
  return oc_option_bad(name, text, expected, error);
}

// ---- The parser -----------------------------------------------------------------------------

static const oc_option_row *find_option(const oc_option_table *table, const char *name,
                                        size_t size) {
  for (size_t i = 0; i < table->count; ++i) {
    const oc_option_row *row = &table->rows[i];
    if (strlen(row->name) == size && strncmp(row->name, name, size) == 0) return row;
  }
  return NULL;
}

static int32_t take_word(const oc_option_table *table, void *target, const char *word,
                         ops_error *error) {
  if (table->word) return table->word(target, "", word, error);
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "expected an option, found '%s'; see %s --help", word, table->program);
}

// One bit per row of the table: which options have been given.
static int32_t note_given(const oc_option_table *table, const oc_option_row *row,
                          uint64_t *given, ops_error *error) {
  const uint64_t bit = (uint64_t)1 << (row - table->rows);
  if ((*given & bit) && !row->repeats) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "--%s is given twice; give it once",
                         row->name);
  }
  *given |= bit;
  return OPS_OK;
}

static int32_t parse_one(const oc_option_table *table, void *target, int argc, char **argv,
                         int *at, uint64_t *given, ops_error *error) {
  const char *word = strcmp(argv[*at], "-h") == 0 ? "--help" : argv[*at];
  if (strncmp(word, "--", 2) != 0 || !word[2]) return take_word(table, target, word, error);
  const size_t size = strcspn(word + 2, "=");
  const oc_option_row *row = find_option(table, word + 2, size);
  if (!row) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "unknown option '%s'; see %s --help", word, table->program);
  }
  const char *text = word[2 + size] == '=' ? word + 3 + size : NULL;
  if (!row->read) return oc_option_absent(row->name, NULL, error);
  OPS_RETURN_IF_ERROR(note_given(table, row, given, error));
  if (!row->value && text) return oc_option_bad(row->name, text, "no value", error);
  if (row->value && !text) {
    if (*at + 1 >= argc) return oc_option_bad(row->name, "nothing", row->value, error);
    text = argv[++*at];
  }
  return row->read(target, row->name, text, error);
}

int32_t oc_option_table_parse(const oc_option_table *table, void *target, int argc, char **argv,
                              int first, uint64_t *out_given, ops_error *error) {
  uint64_t given = 0;
  for (int i = first; i < argc; ++i) {
    OPS_RETURN_IF_ERROR(parse_one(table, target, argc, argv, &i, &given, error));
  }
  if (out_given) *out_given = given;
  return OPS_OK;
}

// ---- Help -----------------------------------------------------------------------------------

void oc_option_put_wrapped(FILE *stream, const char *text, int indent, int width) {
  int column = indent;
  while (*text) {
    const int length = (int)strcspn(text, " ");
    if (column + length > width && column > indent) {
      fprintf(stream, "\n%*s", indent, "");
      column = indent;
    }
    fprintf(stream, "%s%.*s", column > indent ? " " : "", length, text);
    column += length + 1;
    text += length + (text[length] == ' ');
  }
  fputc('\n', stream);
}

void oc_option_table_help(const oc_option_table *table, FILE *stream) {
  for (size_t i = 0; i < table->count; ++i) {
    const oc_option_row *row = &table->rows[i];
    if (!row->read) continue;
    char head[64];
    snprintf(head, sizeof head, "--%s %s", row->name, row->value ? row->value : "");
    fprintf(stream, "  %-22s ", head);
    oc_option_put_wrapped(stream, row->help, 25, 96);
  }
}

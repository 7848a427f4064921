// SPDX-License-Identifier: Apache-2.0
//
// Reading and asking the table of requirements.
#include "cli/require.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/element.h"
#include "ops_support/error.h"

#define MAX_LINES 10000
#define MAX_LINE 1024

#define MAX_EXCEPT 8  // patterns of one line

typedef struct require_row {
  char op[128];  // "*": every operator that has no row of its own
  uint64_t types;
  char except[MAX_EXCEPT][64];  // patterns of ids
  size_t except_count;
} require_row;

struct oc_require {
  require_row *rows;
  size_t count;
  int32_t opset;  // 0: all meanings
};

typedef struct place {
  const char *path;
  unsigned line;
  ops_error *error;
} place;

static int32_t fail(const place *at, const char *what, const char *text) {
  return ops_error_set(at->error, OPS_ERROR_INVALID_MODEL, "%s:%u: %s '%s'", at->path, at->line,
                       what, text);
}

static const require_row *find_row(const oc_require *require, const char *op) {
  for (size_t i = 0; i < require->count; ++i) {
    if (strcmp(require->rows[i].op, op) == 0) return &require->rows[i];
  }
  return NULL;
}

// Every type that cases of a contract may have.
static uint64_t types_of_contract(const oc_contract *contract) {
  uint64_t types = 0;
  for (size_t i = 0; i < contract->type_var_count; ++i) types |= contract->type_vars[i].types;
  for (size_t i = 0; i < contract->input_count; ++i) {
    if (contract->inputs[i].type_var < 0) types |= OPS_TYPE_BIT(contract->inputs[i].type);
  }
  for (size_t i = 0; i < contract->output_count; ++i) {
    if (contract->outputs[i].type_var < 0) types |= OPS_TYPE_BIT(contract->outputs[i].type);
  }
  return types;
}

static uint64_t types_of(const oc_contracts *contracts, const char *op) {
  uint64_t types = 0;
  const bool any = strcmp(op, "*") == 0;
  for (size_t i = 0; i < contracts->count; ++i) {
    char name[128];
    oc_case_op_name(&contracts->items[i], name, sizeof name);
    if (any || strcmp(name, op) == 0) types |= types_of_contract(&contracts->items[i]);
  }
  return types;
}

static int32_t read_except(const place *at, const char *pattern, require_row *row) {
  if (row->except_count == MAX_EXCEPT)
    return fail(at, "too many patterns; the last is", pattern);
  char *copy = row->except[row->except_count];
  const int size = snprintf(copy, sizeof row->except[0], "%s", pattern);
  if (size <= 0 || (size_t)size >= sizeof row->except[0]) {
    return fail(at, "expected 1 to 63 characters after '!', found", pattern);
  }
  ++row->except_count;
  return OPS_OK;
}

static int32_t read_types(const place *at, uint64_t known, char **state, require_row *row) {
  const char *word;
  while ((word = strtok_r(NULL, " \t\r\n", state))) {
    if (strcmp(word, "*") == 0) {
      row->types |= known;
      continue;
    }
    if (word[0] == '!') {
      OPS_RETURN_IF_ERROR(read_except(at, word + 1, row));
      continue;
    }
    const int32_t type = oc_element_type(word, strlen(word));
    if (type == OPS_TYPE_UNDEFINED) return fail(at, "unknown element type", word);
    if (!(known & OPS_TYPE_BIT(type))) {
      return fail(at, "the operator's contract has no cases of type", word);
    }
    row->types |= OPS_TYPE_BIT(type);
  }
  return OPS_OK;
}

static int32_t read_opset(oc_require *require, const place *at, char **state) {
  const char *word = strtok_r(NULL, " \t\r\n", state);
  char *end = NULL;
  const long opset = word ? strtol(word, &end, 10) : 0;
  if (!word || *end || opset < 1 || opset > INT32_MAX) {
    return fail(at, "expected a number from 1 on after opset, found", word ? word : "nothing");
  }
  if (require->opset) return fail(at, "a second opset", word);
  require->opset = (int32_t)opset;
  return OPS_OK;
}

static int32_t read_line(oc_require *require, const oc_contracts *contracts, const place *at,
                         char *line) {
  char *state = NULL;
  line[strcspn(line, "#")] = 0;
  const char *op = strtok_r(line, " \t\r\n", &state);
  if (!op) return OPS_OK;
  if (strcmp(op, "opset") == 0) return read_opset(require, at, &state);
  const uint64_t known = types_of(contracts, op);
  if (known == 0) return fail(at, "no contract describes the operator", op);
  if (find_row(require, op)) return fail(at, "a second line for the operator", op);
  if (require->count == MAX_LINES) return fail(at, "too many operators; the last is", op);
  require_row *rows = realloc(require->rows, (require->count + 1) * sizeof *rows);
  if (!rows) return ops_error_set(at->error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  require->rows = rows;
  require_row *row = &rows[require->count];
  *row = (require_row){0};
  snprintf(row->op, sizeof row->op, "%s", op);
  OPS_RETURN_IF_ERROR(read_types(at, known, &state, row));
  if (row->types == 0) return fail(at, "expected types or '*' after the operator", row->op);
  ++require->count;
  return OPS_OK;
}

static int32_t read_lines(oc_require *require, const oc_contracts *contracts, FILE *stream,
                          place *at) {
  char line[MAX_LINE];
  while (fgets(line, sizeof line, stream)) {
    ++at->line;
    if (strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n') {
      return fail(at, "a line longer than 1023 bytes begins with", strtok(line, " \t"));
    }
    OPS_RETURN_IF_ERROR(read_line(require, contracts, at, line));
  }
  if (ferror(stream))
    return ops_error_set(at->error, OPS_ERROR_IO, "'%s': cannot be read", at->path);
  if (require->count == 0) return fail(at, "no operator is listed in", at->path);
  return OPS_OK;
}

int32_t oc_require_load(const char *path, const oc_contracts *contracts,
                        oc_require **out_require, ops_error *error) {
  FILE *stream = fopen(path, "re");
  if (!stream) {
    return ops_error_set(error, OPS_ERROR_IO, "--require '%s': %s", path, strerror(errno));
  }
  place at = {path, 0, error};
  oc_require *require = calloc(1, sizeof *require);
  int32_t status = require ? read_lines(require, contracts, stream, &at)
                           : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  fclose(stream);
  if (status == OPS_OK) {
    *out_require = require;
  } else {
    oc_require_destroy(require);
  }
  return status;
}

void oc_require_destroy(oc_require *require) {
  if (!require) return;
  free(require->rows);
  free(require);
}

// Floating-point types beside the main one must be listed, too.
static bool has_other_types(const require_row *row, const oc_case *item) {
  for (size_t i = 0; i < item->contract->type_var_count; ++i) {
    const int32_t type = item->types[i];
    if (oc_element_is_floating(type) && !(row->types & OPS_TYPE_BIT(type))) return true;
  }
  return false;
}

bool oc_require_covers(const oc_require *require, const oc_case *item) {
  char op[128];
  if (!require || item->contract->until < require->opset) return false;
  oc_case_op_name(item->contract, op, sizeof op);
  const require_row *row = find_row(require, op);
  if (!row) row = find_row(require, "*");
  if (!row || !(row->types & OPS_TYPE_BIT(oc_case_main_type(item)))) return false;
  for (size_t i = 0; i < row->except_count; ++i) {
    if (fnmatch(row->except[i], item->id, 0) == 0) return false;
  }
  return !has_other_types(row, item);
}

// ---- Profiles -------------------------------------------------------------------------------

static int is_profile(const struct dirent *entry) {
  const size_t size = strlen(entry->d_name);
  return size > 4 && strcmp(entry->d_name + size - 4, ".txt") == 0;
}

// "all, cnn": the names of the profiles in a folder.
static void list_profiles(const char *folder, char *text, size_t size) {
  struct dirent **entries = NULL;
  const int count = scandir(folder, &entries, is_profile, alphasort);
  size_t used = 0;
  snprintf(text, size, "none");
  for (int i = 0; i < count; ++i) {
    const int name = (int)strlen(entries[i]->d_name) - 4;
    if (used < size) {
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", i ? ", " : "", name,
                               entries[i]->d_name);
    }
    free(entries[i]);
  }
  free(entries);
}

int32_t oc_require_locate(const char *name, const char *profiles, char *out_path, size_t size,
                          ops_error *error) {
  char names[400];
  const bool is_path = strpbrk(name, "/.") || access(name, R_OK) == 0;
  const int used = is_path ? snprintf(out_path, size, "%s", name)
                           : snprintf(out_path, size, "%s/%s.txt", profiles, name);
  if (used < 0 || (size_t)used >= size) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "--require: the path is too long");
  }
  if (is_path || access(out_path, R_OK) == 0) return OPS_OK;
  list_profiles(profiles, names, sizeof names);
  return ops_error_set(error, OPS_ERROR_NOT_FOUND,
                       "--require '%s': no such file here, and no profile of that name; "
                       "profiles in '%s': %s",
                       name, profiles, names);
}

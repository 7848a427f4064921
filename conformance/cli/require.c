// SPDX-License-Identifier: Apache-2.0
//
// Reading and asking the table of requirements.
#include "cli/require.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "ops_support/error.h"

#define MAX_LINES 10000
#define MAX_LINE 1024

typedef struct require_row {
  char op[128];
  uint64_t types;
} require_row;

struct oc_require {
  require_row *rows;
  size_t count;
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

// The types that stand for an operator's cases: see oc_case_main_type.
static uint64_t main_types(const oc_contract *contract) {
  if (contract->type_var_count > 0) return contract->type_vars[0].types;
  const oc_param *param = contract->input_count    ? &contract->inputs[0]
                          : contract->output_count ? &contract->outputs[0]
                                                   : NULL;
  return param ? OPS_TYPE_BIT(param->type) : 0;
}

static uint64_t types_of(const oc_contracts *contracts, const char *op) {
  uint64_t types = 0;
  for (size_t i = 0; i < contracts->count; ++i) {
    char name[128];
    oc_case_op_name(&contracts->items[i], name, sizeof name);
    if (strcmp(name, op) == 0) types |= main_types(&contracts->items[i]);
  }
  return types;
}

static int32_t read_types(const place *at, uint64_t known, char **state, uint64_t *out_types) {
  const char *word;
  *out_types = 0;
  while ((word = strtok_r(NULL, " \t\r\n", state))) {
    if (strcmp(word, "*") == 0) {
      *out_types |= known;
      continue;
    }
    const int32_t type = oc_element_type(word, strlen(word));
    if (type == OPS_TYPE_UNDEFINED) return fail(at, "unknown element type", word);
    if (!(known & OPS_TYPE_BIT(type))) {
      return fail(at, "the operator's contract has no cases of type", word);
    }
    *out_types |= OPS_TYPE_BIT(type);
  }
  return OPS_OK;
}

static int32_t read_line(oc_require *require, const oc_contracts *contracts, const place *at,
                         char *line) {
  char *state = NULL;
  line[strcspn(line, "#")] = 0;
  const char *op = strtok_r(line, " \t\r\n", &state);
  if (!op) return OPS_OK;
  const uint64_t known = types_of(contracts, op);
  if (known == 0) return fail(at, "no contract describes the operator", op);
  if (find_row(require, op)) return fail(at, "a second line for the operator", op);
  if (require->count == MAX_LINES) return fail(at, "too many operators; the last is", op);
  require_row *rows = realloc(require->rows, (require->count + 1) * sizeof *rows);
  if (!rows) return ops_error_set(at->error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  require->rows = rows;
  require_row *row = &rows[require->count];
  snprintf(row->op, sizeof row->op, "%s", op);
  OPS_RETURN_IF_ERROR(read_types(at, known, &state, &row->types));
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

bool oc_require_covers(const oc_require *require, const oc_case *item) {
  char op[128];
  if (!require) return false;
  oc_case_op_name(item->contract, op, sizeof op);
  const require_row *row = find_row(require, op);
  return row && (row->types & OPS_TYPE_BIT(oc_case_main_type(item)));
}

// SPDX-License-Identifier: Apache-2.0
//
// opsconform compare BEFORE.json AFTER.json: what became better, worse, new, gone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "difference/difference.h"
#include "ops_support/error.h"
#include "report/file.h"

#define MAX_REPORTS 8
#define MAX_SHOWN 50  // changes of a kind, on the console

typedef void (*print_fn)(FILE *stream, const oc_difference *difference);

static const struct {
  const char *name;
  print_fn print;
} kFormats[] = {{"json:", oc_difference_print_json}, {"md:", oc_difference_print_markdown}};

typedef struct comparison {
  const char *paths[2];
  size_t path_count;
  struct {
    print_fn print;
    const char *path;
  } reports[MAX_REPORTS];
  size_t report_count;
  oc_reading *readings[2];
  bool help;
} comparison;

static int32_t read_path(void *target, const char *name, const char *text, ops_error *error) {
  comparison *c = target;
  if (c->path_count == 2) return oc_option_bad(name, text, "two reports, no third", error);
  c->paths[c->path_count++] = text;
  return OPS_OK;
}

static int32_t read_report(void *target, const char *name, const char *text, ops_error *error) {
  comparison *c = target;
  for (size_t i = 0; i < sizeof kFormats / sizeof *kFormats; ++i) {
    const size_t size = strlen(kFormats[i].name);
    if (strncmp(text, kFormats[i].name, size) != 0 || !text[size]) continue;
    if (c->report_count == MAX_REPORTS) break;
    c->reports[c->report_count].print = kFormats[i].print;
    c->reports[c->report_count++].path = text + size;
    return OPS_OK;
  }
  return oc_option_bad(name, text, "json:FILE or md:FILE", error);
}

static int32_t read_help(void *target, const char *name, const char *text, ops_error *error) {
  (void)name;
  (void)text;
  (void)error;
  ((comparison *)target)->help = true;
  return OPS_OK;
}

static const oc_option_row kRows[] = {
    {"report", "FORMAT:FILE",
     "write the comparison, json: or md: and the file; may be repeated", read_report, true},
    {"help", NULL, "this text", read_help, true},
};
static const oc_option_table kTable = {.program = "opsconform compare",
                                       .rows = kRows,
                                       .count = sizeof kRows / sizeof *kRows,
                                       .word = read_path};

static int32_t write_reports(const comparison *c, const oc_difference *difference,
                             ops_error *error) {
  for (size_t i = 0; i < c->report_count; ++i) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream) c->reports[i].print(stream, difference);
    if (!stream || fclose(stream) != 0) {
      free(text);
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the report");
    }
    const int32_t status = oc_file_write(c->reports[i].path, text, size, error);
    free(text);
    OPS_RETURN_IF_ERROR(status);
  }
  return OPS_OK;
}

static int32_t read_both(comparison *c, ops_error *error) {
  if (c->path_count < 2) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "compare: name two JSON reports, the older one first");
  }
  for (size_t i = 0; i < c->report_count; ++i) {
    OPS_RETURN_IF_ERROR(oc_file_probe(c->reports[i].path, error));
  }
  OPS_RETURN_IF_ERROR(oc_reading_load(c->paths[0], &c->readings[0], error));
  return oc_reading_load(c->paths[1], &c->readings[1], error);
}

static int compare(comparison *c) {
  ops_error error = OPS_ERROR_INIT;
  oc_difference difference;
  const int32_t status = read_both(c, &error);
  if (status != OPS_OK) {
    return oc_command_fail(&error,
                           status == OPS_ERROR_OUT_OF_MEMORY ? OC_EXIT_HARNESS : OC_EXIT_USAGE);
  }
  if (oc_difference_init(&difference, c->readings[0], c->readings[1], &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  oc_difference_print(stdout, &difference, MAX_SHOWN);
  int code = oc_difference_is_worse(&difference) ? OC_EXIT_NONCONFORMANT : OC_EXIT_CONFORMANT;
  if (write_reports(c, &difference, &error) != OPS_OK) {
    code = oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  oc_difference_finish(&difference);
  return code;
}

int oc_command_compare(int argc, char **argv) {
  static comparison c;
  ops_error error = OPS_ERROR_INIT;
  if (oc_option_table_parse(&kTable, &c, argc, argv, 2, NULL, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_USAGE);
  }
  if (c.help) {
    puts(
        "opsconform compare BEFORE.json AFTER.json: what changed between two reports\n\n"
        "exit codes\n  0  nothing became worse\n  1  a case became worse, fails and is new, or "
        "is gone; an error grew by more than a tenth\n     of its limit; a point became slower "
        "or less mature\n  4  a file is no report\n");
    oc_option_table_help(&kTable, stdout);
    return OC_EXIT_CONFORMANT;
  }
  const int code = compare(&c);
  oc_reading_destroy(c.readings[0]);
  oc_reading_destroy(c.readings[1]);
  return code;
}

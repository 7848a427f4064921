// SPDX-License-Identifier: Apache-2.0
//
// opsconform merge: the journals of all shards become the report that one run would have given.
// Every selected case must have exactly one result.
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "journal/journal.h"
#include "ops_support/error.h"
#include "report/console.h"

#define MAX_JOURNALS 4096

typedef struct merging {
  const char *paths[MAX_JOURNALS];
  oc_journal *journals[MAX_JOURNALS];
  size_t count;
  oc_report_files reports;
  const char *waivers_path;
  oc_waivers *waivers;
  bool help;
} merging;

static int32_t read_journal(void *target, const char *name, const char *text,
                            ops_error *error) {
  merging *m = target;
  if (m->count == MAX_JOURNALS) {
    return oc_option_bad(name, text, "at most 4096 journals", error);
  }
  m->paths[m->count++] = text;
  return OPS_OK;
}

static int32_t read_report(void *target, const char *name, const char *text, ops_error *error) {
  return oc_report_files_read(&((merging *)target)->reports, name, text, error);
}

static int32_t read_waivers(void *target, const char *name, const char *text,
                            ops_error *error) {
  return oc_option_text(&((merging *)target)->waivers_path, name, text, error);
}

static int32_t read_help(void *target, const char *name, const char *text, ops_error *error) {
  (void)name;
  (void)text;
  (void)error;
  ((merging *)target)->help = true;
  return OPS_OK;
}

static const oc_option_row kRows[] = {
    {"report", "FORMAT:FILE", "write a report; may be repeated", read_report, true},
    {"waivers", "FILE", "known failures that a release may have", read_waivers, false},
    {"help", NULL, "this text", read_help, true},
};
static const oc_option_table kTable = {.program = "opsconform merge",
                                       .rows = kRows,
                                       .count = sizeof kRows / sizeof *kRows,
                                       .word = read_journal};

static int32_t read_all(merging *m, ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_report_files_probe(&m->reports, error));
  if (m->waivers_path) {
    OPS_RETURN_IF_ERROR(oc_waivers_load(m->waivers_path, &m->waivers, error));
  }
  for (size_t i = 0; i < m->count; ++i) {
    OPS_RETURN_IF_ERROR(oc_journal_read(m->paths[i], &m->journals[i], error));
  }
  return OPS_OK;
}

static int32_t merge_all(merging *m, oc_journal **out_whole, ops_error *error) {
  OPS_RETURN_IF_ERROR(read_all(m, error));
  if (m->count == 0) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "merge: name the journals of all shards");
  }
  return oc_journal_merge((const oc_journal *const *)m->journals, m->paths, m->count, out_whole,
                          error);
}

static int print_report(merging *m, const oc_journal *whole) {
  ops_error error = OPS_ERROR_INIT;
  oc_report report;
  if (oc_journal_report(whole, &report, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  if (m->waivers) oc_report_waive(&report, m->waivers);
  oc_console console = oc_console_open(stdout);
  oc_console_greet(&console, &report);
  for (size_t i = 0; i < report.count; ++i) {
    oc_console_result(&console, &report, &report.results[i]);
  }
  oc_console_close(&console, &report);
  int code = report.exit_code;
  if (oc_report_files_write(&m->reports, &report, &error) != OPS_OK) {
    code = oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  oc_report_finish(&report);
  return code;
}

static int merge(merging *m) {
  ops_error error = OPS_ERROR_INIT;
  oc_journal *whole = NULL;
  const int32_t status = merge_all(m, &whole, &error);
  const int code = status == OPS_OK ? print_report(m, whole)
                                    : oc_command_fail(&error, status == OPS_ERROR_OUT_OF_MEMORY
                                                                  ? OC_EXIT_HARNESS
                                                                  : OC_EXIT_USAGE);
  oc_journal_destroy(whole);
  oc_waivers_destroy(m->waivers);
  for (size_t i = 0; i < m->count; ++i) oc_journal_destroy(m->journals[i]);
  return code;
}

int oc_command_merge(int argc, char **argv) {
  static merging m;
  ops_error error = OPS_ERROR_INIT;
  if (oc_option_table_parse(&kTable, &m, argc, argv, 2, NULL, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_USAGE);
  }
  if (!m.help) return merge(&m);
  puts("opsconform merge JOURNAL...: the report of a run from the journals of its shards\n");
  oc_option_table_help(&kTable, stdout);
  return OC_EXIT_CONFORMANT;
}

// SPDX-License-Identifier: Apache-2.0
//
// opsrun optimize and opsrun explain: the optimizer's work, as a model and as text.
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/errors.h"
#include "cli/inputs.h"
#include "cli/output.h"

static void list_passes(void) {
  for (uint64_t i = 0; i < opsrt_pass_count(); ++i) {
    opsrt_pass pass;
    opsrt_pass_at(i, &pass);
    printf("%d  %-24s %s\n", pass.level, pass.name, pass.doc);
  }
}

static void print_hits(const uint64_t *hits) {
  for (uint64_t i = 0; i < opsrt_pass_count(); ++i) {
    opsrt_pass pass;
    opsrt_pass_at(i, &pass);
    if (hits[i]) printf("%-24s %8" PRIu64 "\n", pass.name, hits[i]);
  }
}

static int32_t optimize(const cli_options *options, ops_error *error) {
  uint64_t *hits = calloc(opsrt_pass_count() + 1, sizeof *hits);
  if (!hits) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "counts of passes");
  opsrt_session_options settings;
  cli_session_options(options, &settings);
  const int32_t status = opsrt_model_optimize(&settings, options->output, hits, error);
  if (status == OPS_OK) print_hits(hits);
  free(hits);
  return status;
}

int cli_optimize(const cli_options *options) {
  ops_error error = OPS_ERROR_INIT;
  if (options->list_passes) {
    list_passes();
    return CLI_OK;
  }
  if (options->plain_count != 1)
    return cli_fail("optimize takes one model; see opsrun optimize --help");
  if (!options->output)
    return cli_fail("optimize needs -o OUT, the file that receives the model");
  return optimize(options, &error) == OPS_OK ? CLI_OK : cli_report(&error);
}

// The code of what could not be fused is that of the condition that failed.
#define NEAR_MISSES "near misses (OPS-E0052)"

// ---- explain --------------------------------------------------------------------------------

static void print_passes(const opsrt_session *session) {
  printf("passes\n");
  for (uint64_t i = 0; i < opsrt_pass_count(); ++i) {
    opsrt_pass pass;
    opsrt_pass_at(i, &pass);
    printf("  %-24s %8" PRIu64 "  %9.3f ms\n", pass.name, opsrt_session_pass_hits(session, i),
           (double)opsrt_session_pass_ns(session, i) * 1e-6);
  }
}

static void print_notes(const opsrt_session *session, int hit, const char *title) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < opsrt_session_pass_note_count(session); ++i) {
    const opsrt_pass_note *note = opsrt_session_pass_note(session, i);
    if (note->hit != hit) continue;
    if (count++ == 0) printf("%s\n", title);
    printf("  %s: %s\n", note->pass, note->text);
  }
}

int cli_explain(const cli_options *options) {
  opsrt_session *session = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (options->errors) {
    cli_print_catalogue();
    return CLI_OK;
  }
  if (options->plain_count != 1)
    return cli_fail("explain takes one model or one code; see opsrun explain --help");
  if (cli_is_code(options->model)) return cli_explain_code(options->model);
  if (cli_open_session(options, &session, &error) != OPS_OK) return cli_report(&error);
  printf("load\n");
  cli_print_load(session, stdout);
  print_passes(session);
  print_notes(session, 1, "rewritten");
  print_notes(session, 0, NEAR_MISSES);
  printf("placement\n");
  cli_print_placement(session);
  cli_print_capture(session);
  printf("layouts\n");
  cli_print_layouts(session);
  cli_print_memory(session);
  opsrt_session_destroy(session);
  return CLI_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// A journal begins when the first worker says whom it has opened, or with the first result: so
// its first line says who was on trial.
#include "cli/journaling.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "report/file.h"

// ---- Opening --------------------------------------------------------------------------------

static int32_t fill_header(oc_session *session, const char *version, ops_error *error) {
  const oc_options *options = &session->options;
  oc_journal_header *header = &session->journaling.header;
  oc_journal_header_init(header, version);
  header->setup = session->report.setup;
  header->shard_index = options->shard_index;
  header->shard_count = options->shard_count;
  oc_journal_header_select(header, session->cases, session->matched, session->matched_count);
  if (session->require) {
    OPS_RETURN_IF_ERROR(oc_file_hash(session->require_path, header->require_hash, error));
  }
  if (options->model) return oc_file_hash(options->model, header->contracts_hash, error);
  const char *suite = options->onnx_tests;
  return oc_folder_hash(suite ? suite : session->contracts_path, suite ? "" : ".yaml",
                        header->contracts_hash, error);
}

// The header says that the selections are the same; the plan must be as well.
static int32_t check_plan(const oc_session *session, ops_error *error) {
  const oc_journal *before = session->journaling.before;
  bool same = before->cases.count == session->selected_count;
  for (size_t i = 0; same && i < before->cases.count; ++i) {
    const oc_case *item = &session->cases->items[session->selected[i]];
    same = strcmp(item->id, before->cases.items[i].id) == 0;
  }
  if (same) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "'%s' is the journal of another run: its plan has other cases than its "
                       "header says; name a new journal",
                       session->options.resume);
}

static void take_results(oc_session *session) {
  const oc_journal *before = session->journaling.before;
  for (size_t i = 0; i < before->count; ++i) {
    oc_result result = before->results[i];
    if (!oc_journal_is_final(&result)) continue;
    if (result.case_index != OC_NO_CASE) {
      result.case_index = session->selected[result.case_index];
    }
    oc_report_add(&session->report, &result);
  }
  session->report.resumed = session->report.count;
}

int32_t oc_journaling_open(oc_session *session, const char *version, ops_error *error) {
  oc_journaling *journaling = &session->journaling;
  const char *path = session->options.resume;
  if (!path) return OPS_OK;
  OPS_RETURN_IF_ERROR(
      oc_journal_writer_open(path, &journaling->writer, &journaling->before, error));
  OPS_RETURN_IF_ERROR(fill_header(session, version, error));
  if (!journaling->before->planned) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_journal_header_match(&journaling->before->header, path,
                                              &journaling->header, OC_JOURNAL_RESUME, error));
  OPS_RETURN_IF_ERROR(check_plan(session, error));
  take_results(session);
  return OPS_OK;
}

uint32_t *oc_journaling_rest(const oc_session *session, size_t *out_count) {
  bool *done = calloc(session->cases->count + 1, sizeof *done);
  uint32_t *rest = calloc(session->selected_count + 1, sizeof *rest);
  size_t count = 0;
  if (!done || !rest) {
    free(done);
    free(rest);
    return NULL;
  }
  for (size_t i = 0; i < session->report.count; ++i) {
    const uint32_t index = session->report.results[i].case_index;
    if (index != OC_NO_CASE) done[index] = true;
  }
  for (size_t i = 0; i < session->selected_count; ++i) {
    if (!done[session->selected[i]]) rest[count++] = session->selected[i];
  }
  free(done);
  *out_count = count;
  return rest;
}

// ---- The run --------------------------------------------------------------------------------

static bool keep(oc_journaling *journaling, int32_t status) {
  if (journaling->status == OPS_OK) journaling->status = status;
  return status == OPS_OK;
}

static bool begin(oc_session *session) {
  oc_journaling *journaling = &session->journaling;
  if (journaling->status != OPS_OK) return false;
  if (journaling->begun) return true;
  journaling->begun = true;
  return keep(journaling, oc_journal_writer_begin(journaling->writer, &journaling->header,
                                                  session->cases, session->selected,
                                                  session->selected_count, &journaling->error));
}

bool oc_journaling_hello(oc_session *session) {
  oc_journaling *journaling = &session->journaling;
  oc_journal_header *header = &journaling->header;
  if (!journaling->writer) return true;
  header->hello = session->report.hello;
  memcpy(header->candidate_hash, session->report.candidate_hash, sizeof header->candidate_hash);
  memcpy(header->oracle_hash, session->report.oracle_hash, sizeof header->oracle_hash);
  const bool same = !journaling->before->planned ||
                    keep(journaling, oc_journal_header_match(
                                         &journaling->before->header, session->options.resume,
                                         header, OC_JOURNAL_RESUME, &journaling->error));
  return same && begin(session);
}

bool oc_journaling_result(oc_session *session, const oc_result *result) {
  oc_journaling *journaling = &session->journaling;
  if (!journaling->writer) return true;
  return begin(session) && keep(journaling, oc_journal_writer_add(journaling->writer, result,
                                                                  &journaling->error));
}

int32_t oc_journaling_end(oc_session *session, double seconds, ops_error *error) {
  oc_journaling *journaling = &session->journaling;
  if (!journaling->writer) return OPS_OK;
  if (!begin(session))
    return ops_error_set(error, journaling->status, "%s", journaling->error.message);
  return oc_journal_writer_end(journaling->writer, seconds, error);
}

void oc_journaling_finish(oc_journaling *journaling) {
  oc_journal_writer_close(journaling->writer);
  oc_journal_destroy(journaling->before);
}

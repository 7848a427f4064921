// SPDX-License-Identifier: Apache-2.0
//
// opsconform --provider LIB: cases, workers, verdicts; and the other modes of --mode.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/check.h"
#include "cli/command.h"
#include "cli/hang.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/journaling.h"
#include "cli/session.h"
#include "ops_support/error.h"
#include "report/file.h"
#include "runner/clock.h"
#include "runner/pool.h"

// ---- The run --------------------------------------------------------------------------------

static void on_refused(void *context, const ops_error *error) {
  oc_session *session = context;
  char text[OPS_ERROR_MESSAGE_MAX];
  session->refused = true;
  snprintf(text, sizeof text, "%s", error->message);
  oc_text_clean(text, sizeof text);
  fprintf(stderr, "opsconform: error: %s\n", text[0] ? text : "the provider gives no reason");
}

// One finding about the provider is told once, however often a run was resumed.
static bool is_known(const oc_report *report, const oc_result *result) {
  if (result->case_index != OC_NO_CASE) return false;
  for (size_t i = 0; i < report->resumed; ++i) {
    const oc_result *other = &report->results[i];
    if (other->case_index == OC_NO_CASE && oc_journal_same_finding(other, result)) return true;
  }
  return false;
}

// UNSUPPORTED inside the table of requirements is FAIL.
static void on_result(void *context, const oc_result *result) {
  oc_session *session = context;
  if (session->halted || is_known(&session->report, result)) return;
  oc_result judged = *result;
  const bool known = judged.case_index < session->cases->count;
  if (known && judged.status == OC_STATUS_UNSUPPORTED &&
      session->options.mode == OC_MODE_CORRECTNESS &&
      oc_require_covers(session->require, &session->cases->items[judged.case_index])) {
    oc_result_end(&judged, OC_STATUS_FAIL, OC_CHECK_REQUIRE,
                  "required by '%.200s' but not claimed: %.300s", session->options.require,
                  result->message);
  }
  const oc_result *kept = oc_report_add(&session->report, &judged);
  if (!oc_journaling_result(session, kept)) session->halted = true;
  if (session->options.mode != OC_MODE_CORRECTNESS) return;
  // The report and the journal keep what was found; waivers are applied at the end.
  oc_result shown = *kept;
  oc_waivers_apply(session->waivers, oc_report_id(&session->report, kept), &shown);
  oc_console_result(&session->console, &session->report, &shown);
}

static void on_hello(void *context, const oc_hello *hello) {
  oc_session *session = context;
  oc_report *report = &session->report;
  oc_report_greet(report, hello);
  oc_report_waivers_begin(report, session->waivers);
  oc_file_hash(report->hello.candidate.path, report->candidate_hash, NULL);
  oc_file_hash(report->hello.oracle.path, report->oracle_hash, NULL);
  if (!oc_journaling_hello(session)) {
    session->halted = true;
    return;
  }
  oc_console_greet(&session->console, report);
  if (session->options.resume) {
    oc_console_resume(&session->console, report, session->options.resume);
  }
  if (hello->stray[0] && session->options.mode == OC_MODE_CORRECTNESS) {
    oc_result stray = {.case_index = OC_NO_CASE,
                       .phase = OC_PHASE_OPEN,
                       .attempts = 1,
                       .output = -1,
                       .element = -1};
    oc_result_end(&stray, OC_STATUS_FAIL, OC_CHECK_OPERATOR, "%s", hello->stray);
    on_result(session, &stray);
  }
}

static void on_hang(void *context, pid_t pid, uint32_t index) {
  const oc_session *session = context;
  const bool known = index < session->cases->count;
  if (!session->options.on_hang) return;
  oc_hang_look(session->options.on_hang, pid,
               known ? session->cases->items[index].id : "provider");
}

static bool on_go_on(void *context) {
  const oc_session *session = context;
  return !session->halted && !oc_interrupt_came();
}

static int32_t run_cases(oc_session *session, ops_error *error) {
  const oc_options *options = &session->options;
  const oc_job job = {.options = options,
                      .cases = session->cases,
                      .suite = session->suite,
                      .models = session->models,
                      .nodes = session->nodes_file,
                      .provider = options->provider ? session->provider_path : NULL,
                      .oracle = session->oracle_path,
                      .provider_dir = session->provider_dir};
  const double slow = options->timeout;
  const int journal =
      session->journaling.writer ? oc_journal_writer_file(session->journaling.writer) : -1;
  const oc_pool_options pool = {
      .jobs = options->jobs,
      .timeout = options->timeout,
      .open_timeout = slow > OC_LEAST_OPEN_TIMEOUT ? slow : OC_LEAST_OPEN_TIMEOUT,
      .private_files = &journal,
      .private_file_count = journal >= 0,
      .job = oc_job_worker(&job)};
  const oc_pool_events events = {.context = session,
                                 .hello = on_hello,
                                 .refused = on_refused,
                                 .result = on_result,
                                 .go_on = on_go_on,
                                 .hang = on_hang};
  size_t count = 0;
  uint32_t *rest = oc_journaling_rest(session, &count);
  if (!rest) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a selection");
  oc_interrupt_watch();
  const int32_t status = oc_pool_run(&pool, &events, rest, count, error);
  oc_interrupt_end();
  free(rest);
  return status;
}

// What an interrupt left is not run; the journal does not hear of it.
static int32_t report_rest(oc_session *session, ops_error *error) {
  size_t count = 0;
  uint32_t *rest = oc_journaling_rest(session, &count);
  if (!rest) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a selection");
  session->interrupted = count > 0;
  for (size_t i = 0; i < count; ++i) {
    oc_result result = {.case_index = rest[i], .attempts = 1, .output = -1, .element = -1};
    oc_result_end(&result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "the run was interrupted");
    oc_report_add(&session->report, &result);
  }
  free(rest);
  return OPS_OK;
}

// Behind --save-failing.
static int32_t save_failing(oc_session *session, ops_error *error) {
  oc_stored done;
  size_t count = 0;
  if (!session->options.save_failing) return OPS_OK;
  for (size_t i = 0; i < session->report.count; ++i) {
    const oc_result *result = &session->report.results[i];
    if (result->case_index == OC_NO_CASE || !oc_status_is_failure(result->status)) continue;
    if (session->cases->items[result->case_index].provider_case) continue;  // has no data
    session->selected[count++] = result->case_index;
  }
  if (count == 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_session_store(session, session->options.save_failing,
                                       session->selected, count, &done, error));
  printf("%zu failing cases stored below %s\n", done.stored, session->options.save_failing);
  return OPS_OK;
}

// ---- Verdicts -------------------------------------------------------------------------------

// What is wrong with a journal, or with a provider that is not the journal's, is for the user
// to put right; a journal that cannot be written is the harness's own trouble.
static int journal_code(int32_t status) {
  const bool given = status == OPS_ERROR_INVALID_ARGUMENT ||
                     status == OPS_ERROR_INVALID_MODEL || status == OPS_ERROR_PRECONDITION;
  return given ? OC_EXIT_USAGE : OC_EXIT_HARNESS;
}

// Opens report, console and journal. Returns an exit code where that fails, else -1.
static int prepare(oc_session *session) {
  ops_error error = OPS_ERROR_INIT;
  const oc_report_setup setup = oc_session_setup(session);
  if (oc_report_init(&session->report, &setup, session->cases, session->selected_count,
                     &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  session->report.clauses = session->clauses;
  session->console = oc_console_open(stdout);
  const int32_t status = oc_journaling_open(session, OC_VERSION, &error);
  return status == OPS_OK ? -1 : oc_command_fail(&error, journal_code(status));
}

// The end of a run: its journal's last line, or what it did not come to.
static int32_t end(oc_session *session, double seconds, ops_error *error) {
  if (oc_interrupt_came()) OPS_RETURN_IF_ERROR(report_rest(session, error));
  if (!session->interrupted) OPS_RETURN_IF_ERROR(oc_journaling_end(session, seconds, error));
  if (session->journaling.before) seconds += session->journaling.before->seconds;
  oc_report_close(&session->report, seconds);
  if (session->waivers) oc_report_waive(&session->report, session->waivers);
  return OPS_OK;
}

static int judge(oc_session *session) {
  ops_error error = OPS_ERROR_INIT;
  const double start = oc_clock_seconds();
  const int refusal = prepare(session);
  if (refusal >= 0) return refusal;
  if (run_cases(session, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_HARNESS);
  if (session->journaling.status != OPS_OK) {
    return oc_command_fail(&session->journaling.error,
                           journal_code(session->journaling.status));
  }
  if (session->refused) return OC_EXIT_USAGE;
  if (end(session, oc_clock_seconds() - start, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  if (session->suite || session->models) {
    if (oc_nodes_read(session->nodes_file, &session->nodes, &error) != OPS_OK) {
      return oc_command_fail(&error, OC_EXIT_HARNESS);
    }
    session->report.nodes = &session->nodes;
  }
  if (session->options.mode == OC_MODE_SUPPORT) {
    oc_console_support(stdout, &session->report);
  } else {
    oc_console_close(&session->console, &session->report);
  }
  if (oc_report_files_write(&session->options.reports, &session->report, &error) != OPS_OK ||
      save_failing(session, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  return session->report.exit_code;
}

// How many cases each tier makes of the contracts, or of those of --op; for people.
static void print_tiers(const oc_session *session) {
  if (!session->contracts) return;
  fprintf(stderr, "opsconform: %zu cases listed; contracts make", session->selected_count);
  for (int tier = 0; tier < OC_TIER_COUNT; ++tier) {
    const oc_cases_options options = {
        .seed = session->options.seed, .tier = (oc_tier)tier, .op = session->options.op};
    oc_cases *cases = NULL;
    if (oc_cases_create(session->contracts, &options, &cases, NULL) != OPS_OK) break;
    fprintf(stderr, "%s %s %zu", tier ? "," : "", oc_tier_name((oc_tier)tier), cases->count);
    oc_cases_destroy(cases);
  }
  fputc('\n', stderr);
}

static int list_cases(oc_session *session) {
  print_tiers(session);
  for (size_t i = 0; i < session->selected_count; ++i) {
    puts(session->cases->items[session->selected[i]].id);
  }
  if (session->selected_count > 0) return OC_EXIT_CONFORMANT;
  fputs("opsconform: no case matches; see --mode list without --filter\n", stderr);
  return OC_EXIT_INCOMPLETE;
}

static int (*const kModes[OC_MODE_COUNT])(oc_session *session) = {
    [OC_MODE_CORRECTNESS] = judge,
    [OC_MODE_SUPPORT] = judge,
    [OC_MODE_LIST_CASES] = list_cases,
    [OC_MODE_PERF] = oc_mode_perf};

int oc_command_run(int argc, char **argv) {
  static oc_session session;
  int code;
  if (!oc_command_open(&session, argc, argv, &code)) return code;
  code = kModes[session.options.mode](&session);
  if (session.interrupted) oc_interrupt_explain(argc, argv, session.options.resume);
  oc_session_finish(&session);
  return code;
}

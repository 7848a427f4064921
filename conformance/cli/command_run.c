// SPDX-License-Identifier: Apache-2.0
//
// opsconform --provider LIB: cases, workers, verdicts; and the other modes of --mode.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/check.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/session.h"
#include "ops_support/error.h"
#include "report/file.h"
#include "runner/pool.h"

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- The run --------------------------------------------------------------------------------

static void on_refused(void *context, const ops_error *error) {
  oc_session *session = context;
  char text[OPS_ERROR_MESSAGE_MAX];
  session->refused = true;
  snprintf(text, sizeof text, "%s", error->message);
  oc_text_clean(text, sizeof text);
  fprintf(stderr, "opsconform: error: %s\n", text[0] ? text : "the provider gives no reason");
}

// UNSUPPORTED inside the table of requirements is FAIL.
static void on_result(void *context, const oc_result *result) {
  oc_session *session = context;
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
  if (session->options.mode == OC_MODE_CORRECTNESS) {
    oc_console_result(&session->console, &session->report, kept);
  }
}

static void on_hello(void *context, const oc_hello *hello) {
  oc_session *session = context;
  oc_report *report = &session->report;
  oc_report_greet(report, hello);
  oc_file_hash(report->hello.candidate.path, report->candidate_hash, NULL);
  oc_file_hash(report->hello.oracle.path, report->oracle_hash, NULL);
  oc_console_greet(&session->console, report);
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

static oc_report_setup setup_of(const oc_session *session) {
  const oc_options *options = &session->options;
  return (oc_report_setup){.provider = options->provider,
                           .contracts = session->contracts_path,
                           .onnx_tests = options->onnx_tests,
                           .contracts_given = options->contracts != NULL,
                           .oracle = options->oracle,
                           .require = options->require,
                           .filter = options->filter,
                           .op = options->op,
                           .shard = options->shard,
                           .options = options->options,
                           .option_count = options->option_count,
                           .profile = options->profile,
                           .tier = options->tier,
                           .seed = options->seed,
                           .jobs = options->jobs,
                           .timeout = options->timeout,
                           .expand_functions = options->expand_functions,
                           .level = options->level,
                           .disabled_passes = options->disabled_passes,
                           .disabled_pass_count = options->disabled_pass_count};
}

static int32_t run_cases(oc_session *session, ops_error *error) {
  const oc_options *options = &session->options;
  const oc_job job = {.options = options,
                      .cases = session->cases,
                      .suite = session->suite,
                      .nodes = session->nodes_file,
                      .oracle = session->oracle_path,
                      .provider_dir = session->provider_dir};
  const double slow = options->timeout;
  const oc_pool_options pool = {
      .jobs = options->jobs,
      .timeout = options->timeout,
      .open_timeout = slow > OC_LEAST_OPEN_TIMEOUT ? slow : OC_LEAST_OPEN_TIMEOUT,
      .job = oc_job_worker(&job)};
  const oc_pool_events events = {
      .context = session, .hello = on_hello, .refused = on_refused, .result = on_result};
  return oc_pool_run(&pool, &events, session->selected, session->selected_count, error);
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
static int judge(oc_session *session) {
  ops_error error = OPS_ERROR_INIT;
  const oc_report_setup setup = setup_of(session);
  if (oc_report_init(&session->report, &setup, session->cases, session->selected_count,
                     &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  session->report.clauses = session->clauses;
  const double start = now_seconds();
  session->console = oc_console_open(stdout);
  if (run_cases(session, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_HARNESS);
  if (session->refused) return OC_EXIT_USAGE;
  if (session->suite) {
    if (oc_nodes_read(session->nodes_file, &session->nodes, &error) != OPS_OK) {
      return oc_command_fail(&error, OC_EXIT_HARNESS);
    }
    session->report.nodes = &session->nodes;
  }
  oc_report_close(&session->report, now_seconds() - start);
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

static int list_cases(oc_session *session) {
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
    [OC_MODE_LIST_CASES] = list_cases};

int oc_command_run(int argc, char **argv) {
  static oc_session session;
  int code;
  if (!oc_command_open(&session, argc, argv, &code)) return code;
  code = kModes[session.options.mode](&session);
  oc_session_finish(&session);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
//
// opsconform: from the command line to the exit code. This process reads contracts, makes cases
// and writes reports; providers are loaded in workers only.
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checks/check.h"
#include "cli/job.h"
#include "cli/operators.h"
#include "cli/options.h"
#include "cli/require.h"
#include "onnx_tests/suite.h"
#include "ops_support/error.h"
#include "report/console.h"
#include "report/file.h"
#include "runner/pool.h"

#define LEAST_OPEN_TIMEOUT 10.0  // seconds: drivers take their time
#define ORACLE_FILE "libops_reference.so"

// One run of the program.
typedef struct session {
  oc_options options;
  char contracts_path[PATH_MAX];
  char provider_dir[PATH_MAX];
  char oracle_path[PATH_MAX];
  oc_contracts *contracts;
  oc_require *require;
  oc_onnx_suite *suite;
  int nodes_file;  // with a suite
  oc_nodes nodes;
  oc_cases *made_cases;  // from contracts
  const oc_cases *cases;
  uint32_t *selected;
  size_t selected_count;
  oc_report report;
  oc_console console;
  bool refused;
} session;

static int fail(const ops_error *error, int exit_code) {
  fprintf(stderr, "opsconform: error: %s\n", error->message);
  return exit_code;
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- Places ---------------------------------------------------------------------------------

// `relative` to the folder of this program if that exists, else `installed`.
static void find_place(const char *relative, const char *installed, char *out, size_t size) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (slash) {
      *slash = 0;
      const int used = snprintf(out, size, "%s/%s", path, relative);
      if (used > 0 && (size_t)used < size && access(out, R_OK) == 0) return;
    }
  }
  snprintf(out, size, "%s", installed);
}

static void find_places(session *run) {
  const oc_options *options = &run->options;
  find_place(OPS_CONTRACTS_DIR_FROM_BIN, OPS_CONTRACTS_DIR, run->contracts_path,
             sizeof run->contracts_path);
  find_place(OPS_PROVIDER_DIR_FROM_BIN, OPS_PROVIDER_DIR, run->provider_dir,
             sizeof run->provider_dir);
  find_place(OPS_PROVIDER_DIR_FROM_BIN "/" ORACLE_FILE, OPS_PROVIDER_DIR "/" ORACLE_FILE,
             run->oracle_path, sizeof run->oracle_path);
  if (options->contracts) {
    snprintf(run->contracts_path, sizeof run->contracts_path, "%s", options->contracts);
  }
  if (options->oracle)
    snprintf(run->oracle_path, sizeof run->oracle_path, "%s", options->oracle);
}

// ---- Cases ----------------------------------------------------------------------------------

static int32_t check_op(const session *run, ops_error *error) {
  const char *wanted = run->options.op;
  for (size_t i = 0; wanted && i < run->contracts->count; ++i) {
    char name[128];
    oc_case_op_name(&run->contracts->items[i], name, sizeof name);
    if (strcmp(name, wanted) == 0) return OPS_OK;
  }
  if (!wanted) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "--op: no contract in '%s' describes '%s'; --mode list shows all cases",
                       run->contracts_path, wanted);
}

// The cases that match the filter, of these every N-th.
static int32_t select_cases(session *run, ops_error *error) {
  const oc_options *options = &run->options;
  run->selected = calloc(run->cases->count + 1, sizeof *run->selected);
  if (!run->selected) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  size_t matched = 0;
  for (size_t i = 0; i < run->cases->count; ++i) {
    if (options->filter && fnmatch(options->filter, run->cases->items[i].id, 0) != 0) continue;
    if (matched++ % options->shard_count != options->shard_index - 1) continue;
    run->selected[run->selected_count++] = (uint32_t)i;
  }
  return OPS_OK;
}

// Cases are models.
static int32_t gather_suite(session *run, ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_onnx_suite_open(run->options.onnx_tests, &run->suite, error));
  run->cases = &run->suite->cases;
  run->nodes_file = oc_nodes_file();
  if (run->nodes_file < 0) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no file for the list of nodes");
  }
  return select_cases(run, error);
}

static int32_t gather(session *run, ops_error *error) {
  const oc_options *options = &run->options;
  for (size_t i = 0; i < options->report_count; ++i) {
    OPS_RETURN_IF_ERROR(oc_file_probe(options->reports[i].path, error));
  }
  find_places(run);
  if (options->onnx_tests) return gather_suite(run, error);
  OPS_RETURN_IF_ERROR(oc_contracts_load(run->contracts_path, &run->contracts, error));
  OPS_RETURN_IF_ERROR(oc_operators_check_contracts(run->contracts, error));
  OPS_RETURN_IF_ERROR(check_op(run, error));
  if (options->require) {
    OPS_RETURN_IF_ERROR(
        oc_require_load(options->require, run->contracts, &run->require, error));
  }
  const oc_cases_options cases = {
      .seed = options->seed, .tier = options->tier, .op = options->op};
  OPS_RETURN_IF_ERROR(oc_cases_create(run->contracts, &cases, &run->made_cases, error));
  run->cases = run->made_cases;
  return select_cases(run, error);
}

// ---- The run --------------------------------------------------------------------------------

static void on_refused(void *context, const ops_error *error) {
  session *run = context;
  char text[OPS_ERROR_MESSAGE_MAX];
  run->refused = true;
  snprintf(text, sizeof text, "%s", error->message);
  oc_text_clean(text, sizeof text);
  fprintf(stderr, "opsconform: error: %s\n", text[0] ? text : "the provider gives no reason");
}

// UNSUPPORTED inside the table of requirements is FAIL.
static void on_result(void *context, const oc_result *result) {
  session *run = context;
  oc_result judged = *result;
  const bool known = judged.case_index < run->cases->count;
  if (known && judged.status == OC_STATUS_UNSUPPORTED &&
      run->options.mode == OC_MODE_CORRECTNESS &&
      oc_require_covers(run->require, &run->cases->items[judged.case_index])) {
    oc_result_end(&judged, OC_STATUS_FAIL, OC_CHECK_REQUIRE,
                  "required by '%.200s' but not claimed: %.300s", run->options.require,
                  result->message);
  }
  const oc_result *kept = oc_report_add(&run->report, &judged);
  if (run->options.mode == OC_MODE_CORRECTNESS) {
    oc_console_result(&run->console, &run->report, kept);
  }
}

static void on_hello(void *context, const oc_hello *hello) {
  session *run = context;
  oc_report *report = &run->report;
  oc_report_greet(report, hello);
  oc_file_hash(report->hello.candidate.path, report->candidate_hash, NULL);
  oc_file_hash(report->hello.oracle.path, report->oracle_hash, NULL);
  oc_console_greet(&run->console, report);
  if (hello->stray[0] && run->options.mode == OC_MODE_CORRECTNESS) {
    oc_result stray = {.case_index = OC_NO_CASE,
                       .phase = OC_PHASE_OPEN,
                       .attempts = 1,
                       .output = -1,
                       .element = -1};
    oc_result_end(&stray, OC_STATUS_FAIL, OC_CHECK_OPERATOR, "%s", hello->stray);
    on_result(run, &stray);
  }
}

static oc_report_setup setup_of(const session *run) {
  const oc_options *options = &run->options;
  return (oc_report_setup){.provider = options->provider,
                           .contracts = run->contracts_path,
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

static int32_t run_cases(session *run, ops_error *error) {
  const oc_options *options = &run->options;
  const oc_job job = {.options = options,
                      .cases = run->cases,
                      .suite = run->suite,
                      .nodes = run->nodes_file,
                      .oracle = run->oracle_path,
                      .provider_dir = run->provider_dir};
  const double slow = options->timeout;
  const oc_pool_options pool = {
      .jobs = options->jobs,
      .timeout = options->timeout,
      .open_timeout = slow > LEAST_OPEN_TIMEOUT ? slow : LEAST_OPEN_TIMEOUT,
      .job = oc_job_worker(&job)};
  const oc_pool_events events = {
      .context = run, .hello = on_hello, .refused = on_refused, .result = on_result};
  return oc_pool_run(&pool, &events, run->selected, run->selected_count, error);
}

static int32_t write_reports(const session *run, ops_error *error) {
  for (size_t i = 0; i < run->options.report_count; ++i) {
    const oc_report_file *file = &run->options.reports[i];
    OPS_RETURN_IF_ERROR(oc_format_save(file->format, &run->report, file->path, error));
  }
  return OPS_OK;
}

// ---- Storing cases --------------------------------------------------------------------------

// What came of storing; the first trouble in words.
typedef struct tally {
  const session *run;
  size_t stored;
  size_t failed;
} tally;

static void on_oven_open(void *context, const oc_hello *hello) {
  (void)context;
  (void)hello;
}

static void on_oven_refused(void *context, const ops_error *error) {
  tally *done = context;
  ++done->failed;
  fprintf(stderr, "opsconform: error: %s\n", error->message);
}

static void on_stored(void *context, const oc_result *result) {
  tally *done = context;
  const bool known = result->case_index < done->run->cases->count;
  if (result->status == OC_STATUS_PASS) {
    ++done->stored;
    return;
  }
  ++done->failed;
  fprintf(stderr, "opsconform: error: %s is not stored: %s %s\n",
          known ? done->run->cases->items[result->case_index].id : "the oracle",
          oc_status_name(result->status), result->message);
}

static int32_t store_cases(session *run, const char *folder, const uint32_t *indices,
                           size_t count, tally *out_tally, ops_error *error) {
  const oc_options *options = &run->options;
  const oc_job job = {.options = options,
                      .cases = run->cases,
                      .suite = run->suite,
                      .nodes = run->nodes_file,
                      .bake = folder,
                      .oracle = run->oracle_path,
                      .provider_dir = run->provider_dir};
  const oc_pool_options pool = {.jobs = options->jobs,
                                .timeout = options->timeout,
                                .open_timeout = LEAST_OPEN_TIMEOUT,
                                .job = oc_job_worker(&job)};
  *out_tally = (tally){.run = run};
  const oc_pool_events events = {.context = out_tally,
                                 .hello = on_oven_open,
                                 .refused = on_oven_refused,
                                 .result = on_stored};
  return oc_pool_run(&pool, &events, indices, count, error);
}

// The command `bake`. Cases that must be refused have no expected values: they are left out.
static int bake(session *run) {
  ops_error error = OPS_ERROR_INIT;
  tally done;
  size_t count = 0;
  for (size_t i = 0; i < run->selected_count; ++i) {
    const uint32_t index = run->selected[i];
    if (!run->cases->items[index].error) run->selected[count++] = index;
  }
  if (store_cases(run, run->options.bake, run->selected, count, &done, &error) != OPS_OK) {
    return fail(&error, OC_EXIT_HARNESS);
  }
  printf("%zu cases stored below %s\n", done.stored, run->options.bake);
  if (done.failed) return OC_EXIT_NONCONFORMANT;
  return done.stored ? OC_EXIT_CONFORMANT : OC_EXIT_INCOMPLETE;
}

// Behind --save-failing.
static int32_t save_failing(session *run, ops_error *error) {
  tally done;
  size_t count = 0;
  if (!run->options.save_failing) return OPS_OK;
  for (size_t i = 0; i < run->report.count; ++i) {
    const oc_result *result = &run->report.results[i];
    if (result->case_index == OC_NO_CASE || !oc_status_is_failure(result->status)) continue;
    run->selected[count++] = result->case_index;
  }
  if (count == 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(
      store_cases(run, run->options.save_failing, run->selected, count, &done, error));
  printf("%zu failing cases stored below %s\n", done.stored, run->options.save_failing);
  return OPS_OK;
}

// ---- Verdicts -------------------------------------------------------------------------------

static int judge(session *run) {
  ops_error error = OPS_ERROR_INIT;
  const oc_report_setup setup = setup_of(run);
  if (oc_report_init(&run->report, &setup, run->cases, run->selected_count, &error) != OPS_OK) {
    return fail(&error, OC_EXIT_HARNESS);
  }
  const double start = now_seconds();
  run->console = oc_console_open(stdout);
  if (run_cases(run, &error) != OPS_OK) return fail(&error, OC_EXIT_HARNESS);
  if (run->refused) return OC_EXIT_USAGE;
  if (run->suite) {
    if (oc_nodes_read(run->nodes_file, &run->nodes, &error) != OPS_OK) {
      return fail(&error, OC_EXIT_HARNESS);
    }
    run->report.nodes = &run->nodes;
  }
  oc_report_close(&run->report, now_seconds() - start);
  if (run->options.mode == OC_MODE_SUPPORT) {
    oc_console_support(stdout, &run->report);
  } else {
    oc_console_close(&run->console, &run->report);
  }
  if (write_reports(run, &error) != OPS_OK || save_failing(run, &error) != OPS_OK) {
    return fail(&error, OC_EXIT_HARNESS);
  }
  return run->report.exit_code;
}

static int list_cases(const session *run) {
  for (size_t i = 0; i < run->selected_count; ++i) {
    puts(run->cases->items[run->selected[i]].id);
  }
  if (run->selected_count > 0) return OC_EXIT_CONFORMANT;
  fputs("opsconform: no case matches; see --mode list without --filter\n", stderr);
  return OC_EXIT_INCOMPLETE;
}

static void finish(session *run) {
  oc_report_finish(&run->report);
  free(run->selected);
  oc_nodes_finish(&run->nodes);
  if (run->suite && run->nodes_file >= 0) close(run->nodes_file);
  oc_onnx_suite_close(run->suite);
  oc_cases_destroy(run->made_cases);
  oc_require_destroy(run->require);
  oc_contracts_destroy(run->contracts);
}

// A closed standard stream would lend its number to a worker's pipe; a file that may not grow
// is an error like a full disk, not the end of the process.
static void settle_process(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
  signal(SIGXFSZ, SIG_IGN);
}

static int run_program(int argc, char **argv) {
  static session run;
  ops_error error = OPS_ERROR_INIT;
  if (oc_options_parse(&run.options, argc, argv, &error) != OPS_OK) {
    return fail(&error, OC_EXIT_USAGE);
  }
  if (run.options.help) {
    oc_options_help(stdout);
    return OC_EXIT_CONFORMANT;
  }
  if (run.options.version) {
    printf("opsconform %s, provider ABI %d.%d, contract format %d\n", OC_VERSION, OPS_ABI_MAJOR,
           OPS_ABI_MINOR, OC_CONTRACT_FORMAT);
    return OC_EXIT_CONFORMANT;
  }
  const int32_t status = gather(&run, &error);
  int code;
  if (status != OPS_OK) {
    code = fail(&error, status == OPS_ERROR_OUT_OF_MEMORY ? OC_EXIT_HARNESS : OC_EXIT_USAGE);
  } else if (run.options.mode == OC_MODE_LIST_CASES) {
    code = list_cases(&run);
  } else if (run.options.bake) {
    code = bake(&run);
  } else {
    code = judge(&run);
  }
  finish(&run);
  return code;
}

int main(int argc, char **argv) {
  settle_process();
  const int code = run_program(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "opsconform: error: standard output cannot be written: %s\n",
          strerror(errno));
  return OC_EXIT_HARNESS;
}

// SPDX-License-Identifier: Apache-2.0
//
// opsconform --mode perf: measure every point, compare, measure once more what is ambiguous.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cases/element.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/perf_job.h"
#include "ops_support/error.h"
#include "perf/gate.h"
#include "perf/maturity.h"
#include "perf/peak.h"
#include "perf/table.h"
#include "report/file.h"
#include "runner/clock.h"
#include "runner/pool.h"

#define DEFAULT_YARDSTICK "cpu"
#define TIMEOUT_RUNS 60  // a point is thousands of runs: so many times --timeout

typedef struct perf_run {
  oc_session *session;
  oc_perf_job job;
  ops_key_value options[OC_OPTIONS_MAX_LIST];
  oc_perf_facts *facts;
  oc_perf_record *records;  // per case
  oc_result *outcomes;      // per case; attempts 0: none yet
  oc_perf_terms *terms;     // per point
  uint32_t *indices;        // per point: its case
  oc_baseline baseline;
  oc_baseline_device *device;  // of this fingerprint; NULL: none
  oc_perf_results results;
  size_t done;
  bool greeted;
  bool repeating;
} perf_run;

// ---- Events ---------------------------------------------------------------------------------

static void on_refused(void *context, const ops_error *error) {
  perf_run *run = context;
  char text[OPS_ERROR_MESSAGE_MAX];
  run->session->refused = true;
  snprintf(text, sizeof text, "%s", error->message);
  oc_text_clean(text, sizeof text);
  fprintf(stderr, "opsconform: error: %s\n", text[0] ? text : "the provider gives no reason");
}

static void on_hello(void *context, const oc_hello *hello) {
  perf_run *run = context;
  oc_report *report = &run->session->report;
  if (run->greeted) return;
  run->greeted = true;
  oc_report_greet(report, hello);
  oc_file_hash(report->hello.candidate.path, report->candidate_hash, NULL);
  oc_file_hash(report->hello.oracle.path, report->oracle_hash, NULL);
  oc_console_greet(&run->session->console, report);
}

// One line per point as it is done.
static void put_progress(perf_run *run, const oc_result *result) {
  const oc_session *session = run->session;
  const oc_perf_record *record = &run->records[result->case_index];
  fprintf(stdout, "%zu of %zu  %s  %s", ++run->done, session->selected_count,
          session->cases->items[result->case_index].id, oc_status_name(result->status));
  if (result->status == OC_STATUS_PASS) {
    fprintf(stdout, "  %u blocks x %u rounds x %u runs", record->blocks, record->rounds,
            record->runs);
    if (!record->present[OC_PERF_YARDSTICK]) {
      fprintf(stdout, ", no yardstick: %.200s", record->yardstick_absent);
    }
  } else {
    fprintf(stdout, "  %.400s", result->message);
  }
  fprintf(stdout, ", %.1f s%s\n", result->seconds, run->repeating ? ", repeated" : "");
  fflush(stdout);
}

static void on_result(void *context, const oc_result *result) {
  perf_run *run = context;
  if (result->case_index >= run->session->cases->count) {
    oc_report_add(&run->session->report, result);
    return;
  }
  put_progress(run, result);
  run->outcomes[result->case_index] = *result;
}

// ---- Measuring ------------------------------------------------------------------------------

static void make_job(perf_run *run) {
  const oc_session *session = run->session;
  const oc_options *options = &session->options;
  oc_job_split_options(options, run->options);
  run->job = (oc_perf_job){
      .bench = {.points = session->points,
                .records = run->records,
                .candidate = {.name = session->provider_path,
                              .provider_dir = session->provider_dir,
                              .options = run->options,
                              .option_count = options->option_count,
                              .workers = (int32_t)options->jobs},
                .yardstick = {.name = options->against ? options->against : DEFAULT_YARDSTICK,
                              .provider_dir = session->provider_dir,
                              .workers = (int32_t)options->jobs},
                .oracle = {.name = session->oracle_path, .provider_dir = session->provider_dir},
                .profile = options->profile,
                .seed = options->seed,
                .blocks = OC_PERF_BLOCKS},
      .facts = run->facts};
}

static int32_t measure(perf_run *run, const uint32_t *indices, size_t count, ops_error *error) {
  const double timeout = run->session->options.timeout;
  const oc_pool_options pool = {
      .jobs = 1,
      .timeout = timeout * TIMEOUT_RUNS,
      .open_timeout = timeout > OC_LEAST_OPEN_TIMEOUT ? timeout : OC_LEAST_OPEN_TIMEOUT,
      .job = oc_perf_job_worker(&run->job)};
  const oc_pool_events events = {
      .context = run, .hello = on_hello, .refused = on_refused, .result = on_result};
  return oc_pool_run(&pool, &events, indices, count, error);
}

static int32_t prepare(perf_run *run, ops_error *error) {
  const size_t count = run->session->cases->count;
  const oc_report_setup setup = oc_session_setup(run->session);
  OPS_RETURN_IF_ERROR(oc_report_init(&run->session->report, &setup, run->session->cases,
                                     run->session->selected_count, error));
  OPS_RETURN_IF_ERROR(oc_perf_records_create(count, &run->records, error));
  run->facts =
      mmap(NULL, sizeof *run->facts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (run->facts == MAP_FAILED) run->facts = NULL;
  run->outcomes = calloc(count + 1, sizeof *run->outcomes);
  run->terms = calloc(count + 1, sizeof *run->terms);
  run->indices = calloc(count + 1, sizeof *run->indices);
  run->results.points = calloc(count + 1, sizeof *run->results.points);
  if (!run->facts || !run->outcomes || !run->terms || !run->indices || !run->results.points) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to measure");
  }
  make_job(run);
  return OPS_OK;
}

// ---- The baseline ---------------------------------------------------------------------------

static int32_t open_baseline(perf_run *run, ops_error *error) {
  const oc_options *options = &run->session->options;
  if (!options->baseline) return OPS_OK;
  const int32_t status = oc_baseline_read(options->baseline, &run->baseline, error);
  if (options->update_baseline) {
    if (status != OPS_OK && status != OPS_ERROR_NOT_FOUND) return status;
    return oc_file_probe(options->baseline, error);
  }
  if (status == OPS_ERROR_NOT_FOUND) {
    return ops_error_set(error, status,
                         "--baseline %s: no such file; take one with --update-baseline",
                         options->baseline);
  }
  return status;
}

// Finds the device's section, and refuses one that cannot be compared with.
static int32_t find_device(perf_run *run, ops_error *error) {
  const oc_options *options = &run->session->options;
  const oc_perf_results *results = &run->results;
  if (!options->baseline || options->update_baseline) return OPS_OK;
  run->device = oc_baseline_find(&run->baseline, results->fingerprint);
  if (!run->device) {
    return ops_error_set(error, OPS_ERROR_NOT_FOUND,
                         "--baseline %s: nothing was measured on a device with the fingerprint "
                         "'%s'; take a baseline there with --update-baseline",
                         options->baseline, results->fingerprint);
  }
  if (strcmp(run->device->yardstick_sha256, results->yardstick_hash) != 0) {
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "--baseline %s: it is in units of the yardstick %s with sha256 "
        "%.16s..., this one has %.16s...; take a new baseline, or name the old "
        "yardstick with --against",
        options->baseline, run->device->yardstick, run->device->yardstick_sha256,
        results->yardstick_hash);
  }
  if (run->device->workers != results->workers) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--baseline %s: it was taken with --jobs %u, this run has %u",
                         options->baseline, run->device->workers, results->workers);
  }
  return OPS_OK;
}

static int32_t describe_device(const perf_run *run, oc_baseline_device *device,
                               ops_error *error) {
  const oc_identity *candidate = &run->session->report.hello.candidate;
  const oc_perf_results *results = &run->results;
  char text[160];
  snprintf(text, sizeof text, "%s %s", candidate->name, candidate->version);
  OPS_RETURN_IF_ERROR(oc_baseline_set(&device->provider, text, error));
  snprintf(text, sizeof text, "%s %s", results->yardstick_name, results->yardstick_version);
  OPS_RETURN_IF_ERROR(oc_baseline_set(&device->yardstick, text, error));
  device->workers = results->workers;
  return oc_baseline_set(&device->yardstick_sha256, results->yardstick_hash, error);
}

// Points measured against another yardstick are in another unit: they do not stay beside new
// ones. Budgets are people's and stay.
static void drop_foreign_points(oc_baseline_device *device, const oc_perf_results *results) {
  const bool same = device->yardstick_sha256 &&
                    strcmp(device->yardstick_sha256, results->yardstick_hash) == 0 &&
                    device->workers == results->workers;
  if (!same) oc_baseline_clear(device);
}

static int32_t update_baseline(perf_run *run, ops_error *error) {
  const oc_perf_results *results = &run->results;
  oc_baseline_device *device;
  size_t stored = 0;
  OPS_RETURN_IF_ERROR(
      oc_baseline_open_device(&run->baseline, results->fingerprint, &device, error));
  drop_foreign_points(device, results);
  OPS_RETURN_IF_ERROR(describe_device(run, device, error));
  for (size_t i = 0; i < results->count; ++i) {
    oc_baseline_point point;
    if (!results->points[i].candidate.present) continue;
    OPS_RETURN_IF_ERROR(oc_perf_baseline_point(&run->records[run->indices[i]],
                                               &results->points[i], &point, error));
    OPS_RETURN_IF_ERROR(oc_baseline_put(device, &point, error));
    ++stored;
  }
  OPS_RETURN_IF_ERROR(oc_baseline_write(run->session->options.baseline, &run->baseline, error));
  printf("baseline  %zu points of %s stored in %s\n", stored, results->fingerprint,
         run->session->options.baseline);
  return OPS_OK;
}

// ---- Comparing ------------------------------------------------------------------------------

static void fill_facts(perf_run *run) {
  const oc_session *session = run->session;
  const oc_identity *yardstick = &run->facts->yardstick;
  oc_perf_results *results = &run->results;
  snprintf(results->yardstick_name, sizeof results->yardstick_name, "%s", yardstick->name);
  snprintf(results->yardstick_version, sizeof results->yardstick_version, "%s",
           yardstick->version);
  snprintf(results->yardstick_path, sizeof results->yardstick_path, "%s", yardstick->path);
  oc_text_clean(results->yardstick_name, sizeof results->yardstick_name);
  oc_text_clean(results->yardstick_version, sizeof results->yardstick_version);
  oc_file_hash(yardstick->path, results->yardstick_hash, NULL);
  snprintf(results->fingerprint, sizeof results->fingerprint, "%s",
           session->report.hello.candidate.fingerprint);
  results->baseline = session->options.baseline;
  results->against = session->options.against != NULL;
  results->workers = session->options.jobs;
}

// A peak that the device states; of the host, what was measured if that is more.
static double choose_peak(double stated, double measured, bool *out_measured) {
  *out_measured = measured > stated;
  return *out_measured ? measured : stated;
}

static void find_peak(perf_run *run) {
  oc_perf_peak *peak = &run->results.peak;
  const uint32_t threads = run->results.workers;
  const bool host = run->facts->device_kind == OPS_DEVICE_CPU;
  peak->flops_per_second = choose_peak(
      run->facts->peak_flops, host ? oc_peak_flops(threads) : 0, &peak->flops_measured);
  peak->bytes_per_second = choose_peak(
      run->facts->peak_bytes, host ? oc_peak_bytes(threads) : 0, &peak->bytes_measured);
}

static int32_t summarise(perf_run *run, size_t number, uint32_t attempts, ops_error *error) {
  const uint32_t index = run->indices[number];
  const oc_case *item = &run->session->cases->items[index];
  oc_perf_point *point = &run->results.points[number];
  oc_perf_terms *terms = &run->terms[number];
  *point = (oc_perf_point){.id = item->id, .attempts = attempts};
  *terms = (oc_perf_terms){.entry = run->session->points->entries[index],
                           .baseline = oc_baseline_find_point(run->device, item->id),
                           .against = run->results.against,
                           .seed = item->seed};
  oc_case_op_name(item->contract, point->op, sizeof point->op);
  point->type = oc_element_name(oc_case_main_type(item));
  oc_inputs_print(item, point->inputs, sizeof point->inputs);
  OPS_RETURN_IF_ERROR(
      oc_perf_point_work(item, terms->entry, &point->flops, &point->bytes, error));
  if (run->outcomes[index].status != OC_STATUS_PASS) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_perf_summarise(&run->records[index], terms, point, error));
  oc_peak_shares(&run->results.peak, point);
  return OPS_OK;
}

// Points that the first measurement leaves open are measured again, longer; only the second
// measurement counts then.
static int32_t repeat_ambiguous(perf_run *run, ops_error *error) {
  oc_perf_results *results = &run->results;
  uint32_t *again = calloc(results->count + 1, sizeof *again);
  size_t count = 0;
  if (!again) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to repeat");
  for (size_t i = 0; i < results->count; ++i) {
    if (results->points[i].verdict == OC_PERF_INCONCLUSIVE) again[count++] = run->indices[i];
  }
  int32_t status = OPS_OK;
  if (count > 0) {
    printf("%zu points are ambiguous: measured once more\n", count);
    run->repeating = true;
    run->done = 0;
    run->job.bench.blocks = OC_PERF_MAX_BLOCKS;
    run->job.bench.seed = run->session->options.seed + 1;
    status = measure(run, again, count, error);
  }
  for (size_t i = 0; i < results->count && status == OPS_OK; ++i) {
    if (results->points[i].verdict == OC_PERF_INCONCLUSIVE) {
      status = summarise(run, i, 2, error);
    }
  }
  if (status == OPS_OK && count > 0) {
    status = oc_perf_decide(results->points, run->terms, results->count, error);
  }
  free(again);
  return status;
}

static int32_t compare(perf_run *run, ops_error *error) {
  oc_perf_results *results = &run->results;
  oc_session *session = run->session;
  find_peak(run);
  for (size_t i = 0; i < session->selected_count; ++i) {
    const uint32_t index = session->selected[i];
    if (run->outcomes[index].status == OC_STATUS_UNSUPPORTED) continue;
    run->indices[results->count++] = index;
    OPS_RETURN_IF_ERROR(summarise(run, results->count - 1, 1, error));
  }
  OPS_RETURN_IF_ERROR(oc_perf_decide(results->points, run->terms, results->count, error));
  if (!session->options.update_baseline) OPS_RETURN_IF_ERROR(repeat_ambiguous(run, error));
  for (size_t i = 0; i < results->count; ++i) {
    const uint32_t index = run->indices[i];
    oc_perf_set_stage(run->terms[i].entry, run->outcomes[index].status == OC_STATUS_PASS,
                      run->records[index].absorbs != 0, &results->points[i]);
  }
  results->exit_code = oc_perf_exit_code(results->points, results->count);
  return oc_perf_list_operators(results->points, results->count, &results->operators,
                                &results->operator_count, error);
}

// ---- The whole ------------------------------------------------------------------------------

// Precedence 5, 4, 1, 6, 2, 3, 0: what speed adds counts only for a run that is else fine.
static void close_report(perf_run *run, double seconds) {
  oc_report *report = &run->session->report;
  for (size_t i = 0; i < run->session->selected_count; ++i) {
    oc_report_add(report, &run->outcomes[run->session->selected[i]]);
  }
  report->performance = &run->results;
  oc_report_close(report, seconds);
  if (report->exit_code == OC_EXIT_CONFORMANT) report->exit_code = run->results.exit_code;
}

static int finish(perf_run *run, double started) {
  ops_error error = OPS_ERROR_INIT;
  const oc_options *options = &run->session->options;
  close_report(run, oc_clock_seconds() - started);
  oc_perf_print(stdout, &run->results);
  if (options->update_baseline && update_baseline(run, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  oc_console_close(&run->session->console, &run->session->report);
  if (oc_report_files_write(&options->reports, &run->session->report, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  return run->session->report.exit_code;
}

static int run_all(perf_run *run) {
  ops_error error = OPS_ERROR_INIT;
  oc_session *session = run->session;
  const double started = oc_clock_seconds();
  if (open_baseline(run, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_USAGE);
  if (prepare(run, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_HARNESS);
  session->console = oc_console_open(stdout);
  // Opened once for nothing but the names: a baseline that does not fit is refused at once.
  if (measure(run, session->selected, 0, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  if (session->refused) return OC_EXIT_USAGE;
  fill_facts(run);
  if (find_device(run, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_USAGE);
  if (measure(run, session->selected, session->selected_count, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  if (compare(run, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_HARNESS);
  return finish(run, started);
}

int oc_mode_perf(oc_session *session) {
  static perf_run run;
  run.session = session;
  const int code = run_all(&run);
  oc_perf_records_destroy(run.records, session->cases->count);
  if (run.facts) munmap(run.facts, sizeof *run.facts);
  oc_baseline_finish(&run.baseline);
  session->report.performance = NULL;
  free(run.outcomes);
  free(run.terms);
  free(run.indices);
  free(run.results.points);
  free(run.results.operators);
  return code;
}

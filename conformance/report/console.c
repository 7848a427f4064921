// SPDX-License-Identifier: Apache-2.0
//
// Console output.
#include "report/console.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases/element.h"
#include "report/details.h"
#include "report/digest.h"
#include "runner/clock.h"

#define MAX_DETAILED_FAILURES 50
#define UPDATE_SECONDS 0.1
#define QUIET_SECONDS 10.0  // where it is no terminal: the longest silence, and each tenth

oc_console oc_console_open(FILE *stream) {
  const int fd = fileno(stream);
  return (oc_console){.stream = stream,
                      .live = fd >= 0 && isatty(fd),
                      .started = oc_clock_seconds(),
                      .last_update = oc_clock_seconds()};
}

static void clear_line(const oc_console *console) {
  if (console->live) fputs("\r\033[K", console->stream);
}

void oc_console_greet(oc_console *console, const oc_report *report) {
  const oc_identity *candidate = &report->hello.candidate, *oracle = &report->hello.oracle;
  const oc_report_setup *setup = &report->setup;
  fprintf(console->stream, "provider  %s %s (%s), %s\n", candidate->name, candidate->version,
          candidate->vendor, candidate->path);
  fprintf(console->stream, "device    %s%s%s%s%s\n", candidate->device,
          candidate->architecture[0] ? ", " : "", candidate->architecture,
          candidate->driver[0] ? ", driver " : "", candidate->driver);
  if (report->hello.foreign[0]) {
    fprintf(console->stream,
            "          outside ONNX, judged by contracts of their own alone: %s\n",
            report->hello.foreign);
  }
  if (candidate->device_memory) {
    fputs("          arguments in device memory: reads out of bounds are unchecked\n",
          console->stream);
  }
  fprintf(console->stream, "%s %s %s, sha256 %.16s\n",
          oc_report_on_models(setup) ? "behind it" : "oracle   ", oracle->name, oracle->version,
          report->oracle_hash);
  if (oc_report_on_models(setup)) {
    fprintf(console->stream, "run       %zu cases of %s, %u jobs\n\n", report->selected,
            setup->model ? setup->model : setup->onnx_tests, setup->jobs);
    fflush(console->stream);
    return;
  }
  fprintf(console->stream,
          "run       %zu cases, profile %s, tier %s, seed %" PRIu64 ", %u jobs\n\n",
          report->selected, oc_profile_name(setup->profile), oc_tier_name(setup->tier),
          setup->seed, setup->jobs);
  fflush(console->stream);
}

// ---- Progress -------------------------------------------------------------------------------

static void put_duration(FILE *stream, double seconds) {
  const int whole = (int)(seconds + 0.5);
  if (whole >= 60) fprintf(stream, "%d min ", whole / 60);
  fprintf(stream, "%d s", whole % 60);
}

static void put_progress(oc_console *console, const oc_report *report) {
  const double elapsed = oc_clock_seconds() - console->started;
  const double rate = elapsed > 0 ? (double)(console->done - console->resumed) / elapsed : 0;
  const size_t left = report->selected - console->done;
  fprintf(console->stream, "%zu of %zu cases, %.0f a second, ", console->done, report->selected,
          rate);
  put_duration(console->stream, rate > 0 ? (double)left / rate : 0);
  fprintf(console->stream, " left, %zu failed", console->failures);
}

static void update_progress(oc_console *console, const oc_report *report) {
  const double now = oc_clock_seconds();
  const size_t tenth = report->selected ? console->done * 10 / report->selected : 10;
  if (console->live) {
    if (now - console->last_update < UPDATE_SECONDS && console->done < report->selected) return;
    console->last_update = now;
    clear_line(console);
    put_progress(console, report);
  } else if (tenth > console->last_tenth || now - console->last_update > QUIET_SECONDS) {
    console->last_tenth = tenth;
    console->last_update = now;
    put_progress(console, report);
    fputc('\n', console->stream);
  }
  fflush(console->stream);
}

// ---- Failures -------------------------------------------------------------------------------

static void put_failure(FILE *stream, const oc_report *report, const oc_result *result) {
  oc_details details;
  oc_details_init(&details, report, result);
  fprintf(stream, "%s %s\n", oc_status_name(result->status), oc_report_id(report, result));
  for (size_t i = 0; i < details.count; ++i) {
    fprintf(stream, "  %-9s %s\n", details.items[i].label, details.items[i].text);
  }
  fputc('\n', stream);
  oc_details_finish(&details);
}

// Whether a case was not run for the reason that the one before it was not.
static bool is_same_reason(oc_console *console, const oc_result *result) {
  if (result->status != OC_STATUS_NOT_RUN) return false;
  if (strcmp(console->reason, result->message) == 0) return true;
  snprintf(console->reason, sizeof console->reason, "%s", result->message);
  return false;
}

static void put_result(oc_console *console, const oc_report *report, const oc_result *result) {
  if (result->case_index != OC_NO_CASE) ++console->done;
  const bool notable =
      oc_status_is_failure(result->status) || result->status == OC_STATUS_NOT_RUN;
  if (is_same_reason(console, result)) {
    ++console->same_reason;
  } else if (notable && console->failures++ < MAX_DETAILED_FAILURES) {
    clear_line(console);
    put_failure(console->stream, report, result);
  }
}

void oc_console_result(oc_console *console, const oc_report *report, const oc_result *result) {
  put_result(console, report, result);
  update_progress(console, report);
}

void oc_console_resume(oc_console *console, const oc_report *report, const char *path) {
  if (report->resumed == 0) return;
  for (size_t i = 0; i < report->resumed; ++i) {
    put_result(console, report, &report->results[i]);
  }
  console->resumed = console->done;
  if (report->selected) console->last_tenth = console->done * 10 / report->selected;
  fprintf(console->stream, "resumed   %zu of %zu cases have a result in '%s'\n\n",
          console->resumed, report->selected, path);
  fflush(console->stream);
}

// ---- The end --------------------------------------------------------------------------------

static void put_counts(FILE *stream, const uint64_t counts[OC_STATUS_COUNT]) {
  const char *comma = "";
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (counts[status] == 0) continue;
    fprintf(stream, "%s%" PRIu64 " %s", comma, counts[status], oc_status_name(status));
    comma = ", ";
  }
}

static uint64_t sum_counts(const uint64_t counts[OC_STATUS_COUNT]) {
  uint64_t sum = 0;
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) sum += counts[status];
  return sum;
}

static void put_operators(FILE *stream, const oc_report *report) {
  oc_digest digest;
  if (oc_digest_init(&digest, report, NULL) != OPS_OK) return;
  for (size_t i = 0; i < digest.count; ++i) {
    const oc_digest_op *op = &digest.ops[i];
    fprintf(stream, "  %-28s %6" PRIu64 "  %7.2f s  ", op->name, sum_counts(op->counts),
            op->seconds);
    put_counts(stream, op->counts);
    fputc('\n', stream);
  }
  oc_digest_finish(&digest);
}

// How many nodes each provider ran.
static void put_nodes(FILE *stream, const oc_nodes *nodes) {
  oc_node_sum sums[OC_NODES_MAX_PROVIDERS];
  const size_t providers = oc_nodes_sum(nodes->items, nodes->count, sums);
  fputs("\nnodes run by\n", stream);
  for (size_t i = 0; i < providers; ++i) {
    fprintf(stream, "  %-28s %6" PRIu64 "\n", sums[i].provider, sums[i].count);
  }
}

static void put_waivers(FILE *stream, const oc_waivers *waivers) {
  size_t counts[OC_WAIVER_STATE_COUNT] = {0};
  if (!waivers) return;
  for (size_t i = 0; i < waivers->count; ++i) ++counts[waivers->items[i].state];
  fprintf(stream, "\nwaivers   %zu of %s", waivers->count, waivers->path);
  for (int state = 0; state < OC_WAIVER_STATE_COUNT; ++state) {
    if (counts[state] == 0) continue;
    fprintf(stream, ", %zu %s", counts[state], oc_waiver_state_name((oc_waiver_state)state));
  }
  fputc('\n', stream);
}

void oc_console_close(oc_console *console, const oc_report *report) {
  FILE *stream = console->stream;
  clear_line(console);
  if (console->failures > MAX_DETAILED_FAILURES) {
    fprintf(stream, "… and %zu more failures; a report file lists them all\n\n",
            console->failures - MAX_DETAILED_FAILURES);
  }
  if (console->same_reason) {
    fprintf(stream, "… and %zu more cases were not run for the reason given above\n\n",
            console->same_reason);
  }
  if (report->selected == 0 && report->setup.filter) {
    fprintf(stream, "no case matches the filter '%s'; --mode list shows the ids\n",
            report->setup.filter);
  }
  fputs(report->nodes ? "\nsuites\n" : "\noperators\n", stream);
  put_operators(stream, report);
  if (report->nodes) put_nodes(stream, report->nodes);
  put_waivers(stream, report->waivers);
  fprintf(stream, "\n%zu cases in ", report->count);
  put_duration(stream, report->seconds);
  if (report->count) fputs(": ", stream);
  put_counts(stream, report->counts);
  fprintf(stream, "\nverdict   %s (exit code %d)\n", oc_exit_meaning(report->exit_code),
          report->exit_code);
  fflush(stream);
}

// ---- Support --------------------------------------------------------------------------------

typedef struct support_cell {
  uint64_t claimed, asked;
} support_cell;

static void put_support_row(FILE *stream, const char *op, const support_cell *cells,
                            const char *reason) {
  for (int32_t type = 0; type < OPS_TYPE_COUNT; ++type) {
    if (cells[type].asked == 0) continue;
    fprintf(stream, "  %-28s %-12s %" PRIu64 " of %" PRIu64 "\n", op, oc_element_name(type),
            cells[type].claimed, cells[type].asked);
  }
  if (reason) fprintf(stream, "  %-28s %-12s %s\n", "", "e.g.", reason);
}

static void put_support_op(FILE *stream, const oc_report *report, const oc_digest_op *op) {
  support_cell cells[OPS_TYPE_COUNT] = {{0, 0}};
  const char *reason = NULL;
  for (size_t i = op->begin; i < op->end; ++i) {
    const oc_result *result = &report->results[i];
    support_cell *cell = &cells[oc_case_main_type(oc_report_case(report, result))];
    ++cell->asked;
    if (result->status == OC_STATUS_PASS) ++cell->claimed;
    if (result->status != OC_STATUS_PASS && !reason) reason = result->message;
  }
  put_support_row(stream, op->name, cells, reason);
}

void oc_console_support(FILE *stream, const oc_report *report) {
  oc_digest digest;
  if (oc_digest_init(&digest, report, NULL) != OPS_OK) return;
  fputs("operator                       type         cases claimed\n", stream);
  for (size_t i = 0; i < digest.count; ++i) put_support_op(stream, report, &digest.ops[i]);
  oc_digest_finish(&digest);
  fprintf(stream, "\n%" PRIu64 " of %zu cases are claimed\n", report->counts[OC_STATUS_PASS],
          report->count);
}

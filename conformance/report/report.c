// SPDX-License-Identifier: Apache-2.0
//
// Collecting results, and what they come to.
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cases/array.h"
#include "cases/element.h"
#include "checks/check.h"
#include "ops_support/error.h"
#include "report/escape.h"

static void look_at_host(oc_host *host) {
  struct utsname system;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  host->cpus = cpus > 0 ? (uint32_t)cpus : 0;
  if (uname(&system) != 0) return;
  snprintf(host->system, sizeof host->system, "%.64s", system.sysname);
  snprintf(host->release, sizeof host->release, "%.64s", system.release);
  snprintf(host->machine, sizeof host->machine, "%.64s", system.machine);
}

int32_t oc_report_init(oc_report *report, const oc_report_setup *setup, const oc_cases *cases,
                       size_t selected, ops_error *error) {
  memset(report, 0, sizeof *report);
  report->setup = *setup;
  report->cases = cases;
  report->selected = selected;
  report->capacity = selected + 8;  // and a few about the provider as a whole
  report->results = calloc(report->capacity, sizeof *report->results);
  if (!report->results) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for %zu results", selected);
  }
  look_at_host(&report->host);
  const time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(report->started, sizeof report->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return OPS_OK;
}

void oc_report_finish(oc_report *report) {
  free(report->results);
  report->results = NULL;
}

// ---- Texts ----------------------------------------------------------------------------------

// Bytes of the UTF-8 sequence at `at`, or 0 if there is none that XML and JSON both allow.
static size_t sequence_length(const unsigned char *at, size_t left) {
  if (at[0] < 0x80) return at[0] >= 0x20 && at[0] != 0x7f ? 1 : 0;
  const size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || length > left) return 0;
  uint32_t code = at[0] & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (at[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool legal = code >= least[length] && code <= 0x10ffff &&
                     !(code >= 0xd800 && code <= 0xdfff) && (code & 0xfffe) != 0xfffe &&
                     code >= 0xa0;
  return legal ? length : 0;
}

void oc_text_clean(char *text, size_t size) {
  if (size == 0) return;
  text[size - 1] = 0;
  unsigned char *at = (unsigned char *)text;
  size_t left = strlen(text);
  while (left > 0) {
    size_t length = sequence_length(at, left);
    if (length == 0) {
      *at = *at == '\n' || *at == '\t' || *at == '\r' ? ' ' : '?';
      length = 1;
    }
    at += length;
    left -= length;
  }
}

static void clean_identity(oc_identity *identity) {
  oc_text_clean(identity->name, sizeof identity->name);
  oc_text_clean(identity->vendor, sizeof identity->vendor);
  oc_text_clean(identity->version, sizeof identity->version);
  oc_text_clean(identity->path, sizeof identity->path);
  oc_text_clean(identity->device, sizeof identity->device);
  oc_text_clean(identity->architecture, sizeof identity->architecture);
  oc_text_clean(identity->driver, sizeof identity->driver);
  oc_text_clean(identity->fingerprint, sizeof identity->fingerprint);
}

void oc_report_greet(oc_report *report, const oc_hello *hello) {
  report->hello = *hello;
  clean_identity(&report->hello.candidate);
  clean_identity(&report->hello.oracle);
  oc_text_clean(report->hello.foreign, sizeof report->hello.foreign);
}

static void clean_result(oc_result *result) {
  oc_text_clean(result->metric, sizeof result->metric);
  oc_text_clean(result->check, sizeof result->check);
  oc_text_clean(result->expected, sizeof result->expected);
  oc_text_clean(result->got, sizeof result->got);
  oc_text_clean(result->inputs, sizeof result->inputs);
  oc_text_clean(result->implementation, sizeof result->implementation);
  oc_text_clean(result->message, sizeof result->message);
  if (result->status < 0 || result->status >= OC_STATUS_COUNT) result->status = OC_STATUS_FAIL;
}

// One answer per case fits; findings about the provider as a whole may be more. Without memory
// the finding counts and is not listed.
static bool make_room(oc_report *report) {
  if (report->count < report->capacity) return true;
  const size_t capacity = report->capacity * 2;
  oc_result *results = realloc(report->results, capacity * sizeof *results);
  if (!results) return false;
  report->results = results;
  report->capacity = capacity;
  return true;
}

const oc_result *oc_report_add(oc_report *report, const oc_result *result) {
  if (!make_room(report)) return result;
  oc_result *kept = &report->results[report->count++];
  *kept = *result;
  // A process that died has not said what it was given.
  const oc_case *item = oc_report_case(report, kept);
  if (!kept->inputs[0] && item) oc_inputs_print(item, kept->inputs, sizeof kept->inputs);
  oc_checks_note(kept, kept->check);
  clean_result(kept);
  ++report->counts[kept->status];
  return kept;
}

// ---- Waivers --------------------------------------------------------------------------------

void oc_report_waivers_begin(oc_report *report, oc_waivers *waivers) {
  report->waivers = waivers;
  oc_waivers_begin(waivers, report->hello.candidate.name, report->hello.candidate.version,
                   report->started);
}

// Whether every case there is has run. The tier merge leaves some out.
static bool is_complete(const oc_report *report) {
  const oc_report_setup *setup = &report->setup;
  return !setup->filter && !setup->op && !setup->shard && !oc_report_on_models(setup) &&
         setup->tier != OC_TIER_MERGE && report->counts[OC_STATUS_NOT_RUN] == 0;
}

void oc_report_waive(oc_report *report, oc_waivers *waivers) {
  oc_result finding;
  oc_report_waivers_begin(report, waivers);
  for (size_t i = 0; i < report->count; ++i) {
    oc_result *result = &report->results[i];
    --report->counts[result->status];
    oc_waivers_apply(waivers, oc_report_id(report, result), result);
    ++report->counts[result->status];
  }
  oc_waivers_end(waivers, is_complete(report));
  for (size_t i = 0; i < waivers->count; ++i) {
    if (oc_waiver_finding(waivers, i, &finding)) oc_report_add(report, &finding);
  }
  oc_report_close(report, report->seconds);
}

// ---- Closing --------------------------------------------------------------------------------

static int compare_results(const void *a, const void *b) {
  const uint32_t left = ((const oc_result *)a)->case_index;
  const uint32_t right = ((const oc_result *)b)->case_index;
  return (left > right) - (left < right);
}

// Whether an operator was selected and none passed: that the cases about the provider as a
// whole pass is then worth nothing.
static bool no_operator_passed(const oc_report *report) {
  size_t operators = 0;
  for (size_t i = 0; i < report->count; ++i) {
    const oc_case *item = oc_report_case(report, &report->results[i]);
    if (!item || item->provider_case) continue;
    if (report->results[i].status == OC_STATUS_PASS) return false;
    ++operators;
  }
  return operators > 0;
}

void oc_report_close(oc_report *report, double seconds) {
  qsort(report->results, report->count, sizeof *report->results, compare_results);
  report->seconds = seconds;
  report->exit_code = oc_exit_code(report->counts, report->selected, false);
  if (report->exit_code == OC_EXIT_CONFORMANT && no_operator_passed(report)) {
    report->exit_code = OC_EXIT_INCOMPLETE;
  }
}

bool oc_status_is_failure(int32_t status) {
  static const bool failures[OC_STATUS_COUNT] = {
      [OC_STATUS_FAIL] = true,  [OC_STATUS_CRASH] = true,     [OC_STATUS_TIMEOUT] = true,
      [OC_STATUS_XPASS] = true, [OC_STATUS_UNTRUSTED] = true, [OC_STATUS_FLAKY] = true};
  return status >= 0 && status < OC_STATUS_COUNT && failures[status];
}

// Precedence 5, 4, 1, 6, 2, 3, 0; 4, 2 and 3 do not come from statuses.
int32_t oc_exit_code(const uint64_t counts[OC_STATUS_COUNT], size_t selected,
                     bool harness_failed) {
  if (harness_failed) return OC_EXIT_HARNESS;
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (counts[status] > 0 && oc_status_is_failure(status)) return OC_EXIT_NONCONFORMANT;
  }
  const bool incomplete =
      counts[OC_STATUS_NOT_RUN] > 0 || selected == 0 || counts[OC_STATUS_PASS] == 0;
  return incomplete ? OC_EXIT_INCOMPLETE : OC_EXIT_CONFORMANT;
}

const char *oc_exit_meaning(int32_t exit_code) {
  static const char *const meanings[] = {
      "conformant",
      "not conformant",
      "performance regression",
      "inconclusive",
      "usage or contract error",
      "the harness itself failed",
      "incomplete: something selected did not run, nothing was selected, or nothing passed"};
  return exit_code >= 0 && exit_code <= OC_EXIT_INCOMPLETE ? meanings[exit_code] : "unknown";
}

const oc_case *oc_report_case(const oc_report *report, const oc_result *result) {
  const bool known = result->case_index < report->cases->count;
  return known ? &report->cases->items[result->case_index] : NULL;
}

const char *oc_report_clauses(const oc_result *result) {
  const oc_check *check = oc_checks_find(result->check);
  return check ? check->clauses : NULL;
}

int32_t oc_report_type(const oc_report *report, const oc_result *result) {
  const oc_case *item = oc_report_case(report, result);
  const char *slash =
      item && !oc_report_on_models(&report->setup) ? strchr(item->id, '/') : NULL;
  return slash ? oc_element_type(slash + 1, strcspn(slash + 1, "/+")) : OPS_TYPE_UNDEFINED;
}

const char *oc_report_id(const oc_report *report, const oc_result *result) {
  const oc_case *item = oc_report_case(report, result);
  return item ? item->id : "provider";
}

// ---- The line that repeats a case -----------------------------------------------------------

static void put_option(FILE *stream, const char *name, const char *value) {
  if (!value) return;
  fprintf(stream, " --%s ", name);
  oc_put_shell(stream, value);
}

char *oc_report_repeat(const oc_report *report, const oc_result *result) {
  char *line = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&line, &size);
  if (!stream) return NULL;
  const oc_report_setup *setup = &report->setup;
  fputs("opsconform", stream);
  put_option(stream, "provider", setup->provider);
  if (setup->performance) fputs(" --mode perf", stream);
  put_option(stream, "onnx-tests", setup->onnx_tests);
  put_option(stream, "model", setup->model);
  put_option(stream, "contracts", setup->contracts_given ? setup->contracts : NULL);
  put_option(stream, "oracle", setup->oracle);
  put_option(stream, "require", setup->require);
  for (size_t i = 0; i < setup->option_count; ++i) {
    put_option(stream, "option", setup->options[i]);
  }
  if (setup->profile != OC_PROFILE_STANDARD) {
    put_option(stream, "profile", oc_profile_name(setup->profile));
  }
  if (setup->expand_functions) fputs(" --expand-functions", stream);
  if (setup->level) fprintf(stream, " --level %d", setup->level);
  for (size_t i = 0; i < setup->disabled_pass_count; ++i) {
    put_option(stream, "disable-pass", setup->disabled_passes[i]);
  }
  // Which checks a case is put to depends on the tier, too.
  if (!oc_report_on_models(setup)) put_option(stream, "tier", oc_tier_name(setup->tier));
  fprintf(stream, " --timeout %g", setup->timeout);
  if (!setup->onnx_tests) fprintf(stream, " --seed %" PRIu64, setup->seed);
  if (result->case_index != OC_NO_CASE) {
    put_option(stream, "filter", oc_report_id(report, result));
  }
  if (fclose(stream) == 0) return line;
  free(line);
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON, format 1, as report.schema.json states it. The checks that a case was put
// to are one of few sets: the sets stand once, a case names its own by number.
#include <stdlib.h>

#include "cases/element.h"
#include "checks/check.h"
#include "report/format.h"
#include "report/json_out.h"
#include "report/json_perf.h"

#define LINES 2  // depth: a case is one line

// ---- About the run --------------------------------------------------------------------------

static void put_summary(oc_json_out *json, const oc_report *report) {
  oc_json_out_open(json, "summary", '{');
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    oc_json_out_integer(json, oc_status_name(status), (int64_t)report->counts[status]);
  }
  oc_json_out_integer(json, "total", (int64_t)report->count);
  oc_json_out_number(json, "seconds", report->seconds);
  oc_json_out_integer(json, "exit_code", report->exit_code);
  oc_json_out_text(json, "verdict", oc_exit_meaning(report->exit_code));
  oc_json_out_close(json);
}

static void put_identity(oc_json_out *json, const char *name, const oc_identity *identity,
                         const char *hash) {
  char abi[32];
  snprintf(abi, sizeof abi, "%u.%u", identity->abi >> 16, identity->abi & 0xffff);
  oc_json_out_open(json, name, '{');
  oc_json_out_text_if(json, "name", identity->name);
  oc_json_out_text_if(json, "vendor", identity->vendor);
  oc_json_out_text_if(json, "version", identity->version);
  oc_json_out_text_if(json, "path", identity->path);
  oc_json_out_text_if(json, "sha256", hash);
  oc_json_out_text_if(json, "device", identity->device);
  oc_json_out_text_if(json, "architecture", identity->architecture);
  oc_json_out_text_if(json, "driver", identity->driver);
  oc_json_out_text_if(json, "fingerprint", identity->fingerprint);
  oc_json_out_integer(json, "kernels", (int64_t)identity->kernels);
  oc_json_out_text(json, "abi", abi);
  oc_json_out_text(json, "reads", identity->device_memory ? "unchecked" : "checked");
  oc_json_out_close(json);
}

static void put_host(oc_json_out *json, const oc_host *host) {
  oc_json_out_text_if(json, "system", host->system);
  oc_json_out_text_if(json, "release", host->release);
  oc_json_out_text_if(json, "machine", host->machine);
  oc_json_out_integer(json, "cpus", host->cpus);
}

static void put_environment(oc_json_out *json, const oc_report *report) {
  const oc_report_setup *setup = &report->setup;
  oc_json_out_open(json, "environment", '{');
  put_host(json, &report->host);
  oc_json_out_text(json, "started", report->started);
  oc_json_out_text_if(json, "contracts", oc_report_on_models(setup) ? NULL : setup->contracts);
  oc_json_out_text_if(json, "onnx_tests", setup->onnx_tests);
  oc_json_out_text_if(json, "model", setup->model);
  oc_json_out_text_if(json, "require", setup->require);
  oc_json_out_text_if(json, "filter", setup->filter);
  oc_json_out_text_if(json, "op", setup->op);
  oc_json_out_text_if(json, "shard", setup->shard);
  oc_json_out_text(json, "profile", oc_profile_name(setup->profile));
  oc_json_out_text(json, "tier", oc_tier_name(setup->tier));
  oc_json_out_seed(json, "seed", setup->seed);
  oc_json_out_integer(json, "jobs", setup->jobs);
  oc_json_out_number(json, "timeout", setup->timeout);
  oc_json_out_open(json, "options", '[');
  for (size_t i = 0; i < setup->option_count; ++i) {
    oc_json_out_text(json, NULL, setup->options[i]);
  }
  oc_json_out_close(json);
  oc_json_out_close(json);
}

// ---- Checks ---------------------------------------------------------------------------------

typedef struct check_sets {
  uint64_t *masks;
  size_t count;
} check_sets;

static size_t find_set(const check_sets *sets, uint64_t mask) {
  size_t i = 0;
  while (i < sets->count && sets->masks[i] != mask) ++i;
  return i;
}

// Without memory there are no sets, and the cases name none.
static check_sets gather_sets(const oc_report *report) {
  check_sets sets = {.masks = malloc((report->count + 1) * sizeof *sets.masks)};
  for (size_t i = 0; sets.masks && i < report->count; ++i) {
    const size_t at = find_set(&sets, report->results[i].checks);
    if (at == sets.count) sets.masks[sets.count++] = report->results[i].checks;
  }
  return sets;
}

static void put_checks(oc_json_out *json, const check_sets *sets) {
  size_t count;
  const oc_check *checks = oc_checks(&count);
  oc_json_out_open(json, "checks", '[');
  for (size_t i = 0; i < count; ++i) {
    oc_json_out_open(json, NULL, '{');
    oc_json_out_text(json, "name", checks[i].name);
    oc_json_out_text(json, "what", checks[i].what);
    oc_json_out_close(json);
  }
  oc_json_out_close(json);
  oc_json_out_open(json, "check_sets", '[');
  for (size_t k = 0; k < sets->count; ++k) {
    oc_json_out_open(json, NULL, '[');
    for (size_t i = 0; i < count; ++i) {
      if (sets->masks[k] >> i & 1) oc_json_out_text(json, NULL, checks[i].name);
    }
    oc_json_out_close(json);
  }
  oc_json_out_close(json);
}

// ---- Waivers --------------------------------------------------------------------------------

static void put_waiver(oc_json_out *json, const oc_waiver *waiver) {
  oc_json_out_open(json, NULL, '{');
  oc_json_out_integer(json, "line", waiver->line);
  oc_json_out_open(json, "cases", '[');
  for (size_t i = 0; i < waiver->case_count; ++i) {
    oc_json_out_text(json, NULL, waiver->cases[i]);
  }
  oc_json_out_close(json);
  oc_json_out_text(json, "provider", waiver->provider);
  oc_json_out_text(json, "versions", waiver->versions);
  oc_json_out_text(json, "check", waiver->check);
  if (waiver->measured) {
    oc_json_out_number(json, "largest_error", waiver->largest_error);
  } else {
    oc_json_out_text(json, "largest_error", "none");
  }
  oc_json_out_text(json, "reason", waiver->reason);
  oc_json_out_text(json, "expires", waiver->expires);
  oc_json_out_text(json, "state", oc_waiver_state_name(waiver->state));
  oc_json_out_integer(json, "waived", (int64_t)waiver->waived);
  oc_json_out_integer(json, "passed", (int64_t)waiver->passed);
  oc_json_out_integer(json, "worse", (int64_t)waiver->worse);
  if (waiver->waived) oc_json_out_number(json, "seen_error", waiver->seen_error);
  oc_json_out_close(json);
}

static void put_waivers(oc_json_out *json, const oc_waivers *waivers) {
  if (!waivers) return;
  oc_json_out_open(json, "waivers", '[');
  for (size_t i = 0; i < waivers->count; ++i) put_waiver(json, &waivers->items[i]);
  oc_json_out_close(json);
}

// ---- Cases ----------------------------------------------------------------------------------

static void put_measure(oc_json_out *json, const oc_result *result) {
  if (result->output >= 0) oc_json_out_integer(json, "output", result->output);
  if (result->element >= 0) oc_json_out_integer(json, "element", result->element);
  oc_json_out_text_if(json, "expected", result->expected);
  oc_json_out_text_if(json, "got", result->got);
  if (!result->measured) return;
  oc_json_out_text_if(json, "metric", result->metric);
  oc_json_out_number(json, "error", result->error);
  oc_json_out_number(json, "limit", result->limit);
}

static void put_sums(oc_json_out *json, const oc_node_run *items, size_t count) {
  oc_node_sum sums[OC_NODES_MAX_PROVIDERS];
  const size_t providers = oc_nodes_sum(items, count, sums);
  oc_json_out_open(json, "nodes_run", '{');
  for (size_t i = 0; i < providers; ++i) {
    oc_json_out_integer(json, sums[i].provider, (int64_t)sums[i].count);
  }
  oc_json_out_close(json);
}

static void put_nodes(oc_json_out *json, const oc_report *report, const oc_result *result) {
  size_t count = 0;
  if (!report->nodes) return;
  const oc_node_run *items = oc_nodes_of(report->nodes, result->case_index, &count);
  put_sums(json, items, count);
  oc_json_out_open(json, "nodes", '[');
  for (size_t i = 0; i < count; ++i) {
    oc_json_out_open(json, NULL, '{');
    oc_json_out_text_if(json, "node", items[i].node);
    oc_json_out_text_if(json, "op", items[i].op);
    oc_json_out_text_if(json, "provider", items[i].provider);
    oc_json_out_text_if(json, "reason", items[i].reason);
    oc_json_out_close(json);
  }
  oc_json_out_close(json);
}

static void put_origin(oc_json_out *json, const oc_report *report, const oc_result *result) {
  char op[128];
  const oc_case *item = oc_report_case(report, result);
  oc_json_out_text(json, "id", oc_report_id(report, result));
  if (!item) return;
  oc_case_op_name(item->contract, op, sizeof op);
  oc_json_out_text(json, "op", op);
  if (report->nodes) return;
  const int32_t type = oc_report_type(report, result);
  if (type) oc_json_out_text(json, "type", oc_element_name(type));
  oc_json_out_seed(json, "seed", item->seed);
}

static void put_clauses(oc_json_out *json, const oc_result *result) {
  const char *cursor = oc_report_clauses(result), *id;
  if (!cursor) return;
  oc_json_out_open(json, "clauses", '[');
  for (size_t size; (id = oc_clauses_next_id(&cursor, &size));) {
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)size, id);
    oc_json_out_text(json, NULL, text);
  }
  oc_json_out_close(json);
}

static void put_case(oc_json_out *json, const oc_report *report, const check_sets *sets,
                     const oc_result *result) {
  char *repeat = oc_report_repeat(report, result);
  oc_json_out_open(json, NULL, '{');
  put_origin(json, report, result);
  oc_json_out_text(json, "status", oc_status_name(result->status));
  oc_json_out_text_if(json, "check", result->check);
  put_clauses(json, result);
  if (sets->count) {
    oc_json_out_integer(json, "checks", (int64_t)find_set(sets, result->checks));
  }
  oc_json_out_text_if(json, "inputs", result->inputs);
  oc_json_out_text_if(json, "implementation", result->implementation);
  put_measure(json, result);
  put_nodes(json, report, result);
  oc_json_out_text_if(json, "message", result->message);
  if (oc_waivers_of(report->waivers, result)) {
    oc_json_out_integer(json, "waiver", result->waiver - 1);
  }
  if (result->status != OC_STATUS_PASS) {
    oc_json_out_text(json, "phase", oc_phase_name(result->phase));
  }
  oc_json_out_integer(json, "attempts", result->attempts);
  oc_json_out_number(json, "seconds", result->seconds);
  oc_json_out_text_if(json, "repeat", repeat);
  oc_json_out_close(json);
  free(repeat);
}

void oc_write_json(FILE *stream, const oc_report *report) {
  check_sets sets = gather_sets(report);
  oc_json_out json = oc_json_out_begin(stream, LINES);
  oc_json_out_open(&json, NULL, '{');
  oc_json_out_integer(&json, "format", OC_REPORT_FORMAT);
  put_summary(&json, report);
  put_identity(&json, "provider", &report->hello.candidate, report->candidate_hash);
  put_environment(&json, report);
  put_identity(&json, "oracle", &report->hello.oracle, report->oracle_hash);
  put_checks(&json, &sets);
  if (report->nodes) put_sums(&json, report->nodes->items, report->nodes->count);
  put_waivers(&json, report->waivers);
  if (report->performance) oc_json_put_performance(&json, report->performance);
  oc_json_out_open(&json, "cases", '[');
  for (size_t i = 0; i < report->count; ++i) {
    put_case(&json, report, &sets, &report->results[i]);
  }
  oc_json_out_close(&json);
  oc_json_out_close(&json);
  free(sets.masks);
}

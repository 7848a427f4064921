// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON, built with cJSON. A number that JSON cannot hold becomes a string.
#include "report/json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ops_support/error.h"

static void add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value)) {
    cJSON_AddNumberToObject(object, name, value);
  } else {
    cJSON_AddStringToObject(object, name, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

static void add_text(cJSON *object, const char *name, const char *text) {
  if (text && text[0]) cJSON_AddStringToObject(object, name, text);
}

static void add_summary(cJSON *root, const oc_report *report) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    add_number(summary, oc_status_name(status), (double)report->counts[status]);
  }
  add_number(summary, "total", (double)report->count);
  add_number(summary, "seconds", report->seconds);
  add_number(summary, "exit_code", report->exit_code);
  add_text(summary, "verdict", oc_exit_meaning(report->exit_code));
}

static void add_identity(cJSON *root, const char *name, const oc_identity *identity,
                         const char *hash) {
  cJSON *object = cJSON_AddObjectToObject(root, name);
  add_text(object, "name", identity->name);
  add_text(object, "vendor", identity->vendor);
  add_text(object, "version", identity->version);
  add_text(object, "path", identity->path);
  add_text(object, "sha256", hash);
  add_text(object, "device", identity->device);
  add_text(object, "architecture", identity->architecture);
  add_text(object, "driver", identity->driver);
  add_text(object, "fingerprint", identity->fingerprint);
  add_number(object, "kernels", (double)identity->kernels);
  char abi[32];
  snprintf(abi, sizeof abi, "%u.%u", identity->abi >> 16, identity->abi & 0xffff);
  add_text(object, "abi", abi);
  add_text(object, "reads", identity->device_memory ? "unchecked" : "checked");
}

static void add_environment(cJSON *root, const oc_report *report) {
  const oc_report_setup *setup = &report->setup;
  cJSON *object = cJSON_AddObjectToObject(root, "environment");
  struct utsname system;
  char seed[32];
  if (uname(&system) == 0) {
    add_text(object, "system", system.sysname);
    add_text(object, "release", system.release);
    add_text(object, "machine", system.machine);
  }
  add_number(object, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
  add_text(object, "started", report->started);
  add_text(object, "contracts", setup->onnx_tests ? NULL : setup->contracts);
  add_text(object, "onnx_tests", setup->onnx_tests);
  add_text(object, "require", setup->require);
  add_text(object, "filter", setup->filter);
  add_text(object, "op", setup->op);
  add_text(object, "shard", setup->shard);
  add_text(object, "profile", oc_profile_name(setup->profile));
  add_text(object, "tier", oc_tier_name(setup->tier));
  snprintf(seed, sizeof seed, "%" PRIu64, setup->seed);
  add_text(object, "seed", seed);
  add_number(object, "jobs", setup->jobs);
  add_number(object, "timeout", setup->timeout);
  cJSON *options = cJSON_AddArrayToObject(object, "options");
  for (size_t i = 0; i < setup->option_count; ++i) {
    cJSON_AddItemToArray(options, cJSON_CreateString(setup->options[i]));
  }
}

static void add_measure(cJSON *object, const oc_result *result) {
  if (result->output >= 0) add_number(object, "output", result->output);
  if (result->element >= 0) add_number(object, "element", (double)result->element);
  add_text(object, "expected", result->expected);
  add_text(object, "got", result->got);
  if (!result->measured) return;
  add_text(object, "metric", result->metric);
  add_number(object, "error", result->error);
  add_number(object, "limit", result->limit);
}

static void add_sums(cJSON *object, const oc_node_run *items, size_t count) {
  oc_node_sum sums[OC_NODES_MAX_PROVIDERS];
  const size_t providers = oc_nodes_sum(items, count, sums);
  cJSON *nodes_run = cJSON_AddObjectToObject(object, "nodes_run");
  for (size_t i = 0; i < providers; ++i) {
    add_number(nodes_run, sums[i].provider, (double)sums[i].count);
  }
}

static void add_nodes(cJSON *object, const oc_report *report, const oc_result *result) {
  size_t count = 0;
  if (!report->nodes) return;
  const oc_node_run *items = oc_nodes_of(report->nodes, result->case_index, &count);
  add_sums(object, items, count);
  cJSON *nodes = cJSON_AddArrayToObject(object, "nodes");
  for (size_t i = 0; i < count; ++i) {
    cJSON *node = cJSON_CreateObject();
    cJSON_AddItemToArray(nodes, node);
    add_text(node, "node", items[i].node);
    add_text(node, "op", items[i].op);
    add_text(node, "provider", items[i].provider);
    add_text(node, "reason", items[i].reason);
  }
}

static void add_case(cJSON *cases, const oc_report *report, const oc_result *result) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddItemToArray(cases, object);
  add_text(object, "id", oc_report_id(report, result));
  if (result->case_index < report->cases->count) {
    const oc_case *item = &report->cases->items[result->case_index];
    char op[128], seed[32];
    oc_case_op_name(item->contract, op, sizeof op);
    add_text(object, "op", op);
    snprintf(seed, sizeof seed, "%" PRIu64, item->seed);
    add_text(object, "seed", report->nodes ? NULL : seed);
  }
  add_text(object, "status", oc_status_name(result->status));
  add_text(object, "check", result->check);
  add_text(object, "inputs", result->inputs);
  add_text(object, "implementation", result->implementation);
  add_measure(object, result);
  add_nodes(object, report, result);
  add_text(object, "message", result->message);
  if (result->status != OC_STATUS_PASS) add_text(object, "phase", oc_phase_name(result->phase));
  add_number(object, "attempts", result->attempts);
  add_number(object, "seconds", result->seconds);
  char *repeat = oc_report_repeat(report, result);
  add_text(object, "repeat", repeat);
  free(repeat);
}

int32_t oc_report_json(const oc_report *report, char **out_text, ops_error *error) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddNumberToObject(root, "format", 1);
  add_summary(root, report);
  add_identity(root, "provider", &report->hello.candidate, report->candidate_hash);
  add_environment(root, report);
  add_identity(root, "oracle", &report->hello.oracle, report->oracle_hash);
  if (report->nodes) add_sums(root, report->nodes->items, report->nodes->count);
  cJSON *cases = cJSON_AddArrayToObject(root, "cases");
  for (size_t i = 0; cases && i < report->count; ++i)
    add_case(cases, report, &report->results[i]);
  char *text = cases ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  if (!text) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the report");
  *out_text = text;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Reading reports of format 1. Members that nobody asks for are not looked at.
#include "report/reading.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "report/json_in.h"
#include "report/report.h"

typedef struct place {
  const char *path, *list;
  size_t index;
  ops_error *error;
} place;

static int32_t wrong(const place *at, const char *what) {
  return ops_error_set(at->error, OPS_ERROR_INVALID_MODEL,
                       "%s: %s[%zu]: %s; a report of format 1 has it, see report.schema.json",
                       at->path, at->list, at->index, what);
}

static const char *text_of(const cJSON *object, const char *name) {
  const char *text = oc_json_in_text(object, name);
  return text ? text : "";
}

static int32_t status_of(const char *name) {
  int32_t status = 0;
  while (status < OC_STATUS_COUNT && strcmp(oc_status_name(status), name) != 0) ++status;
  return status;
}

static int32_t read_case(oc_reading_case *out, const cJSON *object, const place *at) {
  *out = (oc_reading_case){.id = text_of(object, "id"),
                           .op = text_of(object, "op"),
                           .status = status_of(text_of(object, "status")),
                           .check = text_of(object, "check"),
                           .metric = text_of(object, "metric"),
                           .message = text_of(object, "message"),
                           .repeat = text_of(object, "repeat")};
  if (!out->id[0]) return wrong(at, "expected an id");
  if (out->status == OC_STATUS_COUNT) return wrong(at, "expected a status");
  const bool error = oc_json_in_number(object, "error", &out->error);
  const bool limit = oc_json_in_number(object, "limit", &out->limit);
  if (error != limit) return wrong(at, "expected error and limit, or neither");
  out->measured = error;
  return OPS_OK;
}

static void read_estimate(oc_perf_estimate *out, const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  out->given = oc_json_in_number(item, "value", &out->value) &&
               oc_json_in_number(item, "low", &out->low) &&
               oc_json_in_number(item, "high", &out->high);
}

static int32_t read_point(oc_reading_point *out, const cJSON *object, const place *at) {
  double stage = 0;
  oc_json_in_number(object, "stage", &stage);
  *out = (oc_reading_point){.id = text_of(object, "id"), .verdict = text_of(object, "verdict")};
  if (!out->id[0]) return wrong(at, "expected an id");
  if (!(stage >= 0 && stage <= 4)) return wrong(at, "expected a stage from 0 to 4");
  out->stage = (int32_t)stage;
  read_estimate(&out->ratio, object, "ratio");
  return OPS_OK;
}

// ---- Lists ----------------------------------------------------------------------------------

static int compare_cases(const void *a, const void *b) {
  const oc_reading_case *left = a, *right = b;
  const int order = strcmp(left->id, right->id);
  return order ? order : strcmp(left->message, right->message);
}

static int compare_points(const void *a, const void *b) {
  return strcmp(((const oc_reading_point *)a)->id, ((const oc_reading_point *)b)->id);
}

static int32_t no_memory(const char *path, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory", path);
}

static int32_t read_cases(oc_reading *reading, const cJSON *list, ops_error *error) {
  const cJSON *item;
  place at = {reading->path, "cases", 0, error};
  reading->cases = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *reading->cases);
  if (!reading->cases) return no_memory(reading->path, error);
  cJSON_ArrayForEach(item, list) {
    OPS_RETURN_IF_ERROR(read_case(&reading->cases[at.index], item, &at));
    reading->count = ++at.index;
  }
  qsort(reading->cases, reading->count, sizeof *reading->cases, compare_cases);
  for (size_t i = 1; i < reading->count; ++i) {
    const char *id = reading->cases[i].id;
    if (strcmp(id, reading->cases[i - 1].id) != 0 || strcmp(id, "provider") == 0) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s: the case '%.200s' is there twice",
                         reading->path, id);
  }
  return OPS_OK;
}

static int32_t read_points(oc_reading *reading, const cJSON *list, ops_error *error) {
  const cJSON *item;
  place at = {reading->path, "performance", 0, error};
  reading->points = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *reading->points);
  if (!reading->points) return no_memory(reading->path, error);
  cJSON_ArrayForEach(item, list) {
    OPS_RETURN_IF_ERROR(read_point(&reading->points[at.index], item, &at));
    reading->point_count = ++at.index;
  }
  qsort(reading->points, reading->point_count, sizeof *reading->points, compare_points);
  return OPS_OK;
}

// ---- The document ---------------------------------------------------------------------------

static int32_t missing(const char *path, const char *what, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                       "%s: expected a JSON report of opsconform (format %d), found no %s",
                       path, OC_REPORT_FORMAT, what);
}

static int32_t read_document(oc_reading *reading, const cJSON *root, ops_error *error) {
  double format = 0, code = -1;
  const cJSON *summary = cJSON_GetObjectItemCaseSensitive(root, "summary");
  const cJSON *provider = cJSON_GetObjectItemCaseSensitive(root, "provider");
  const cJSON *environment = cJSON_GetObjectItemCaseSensitive(root, "environment");
  const cJSON *cases = cJSON_GetObjectItemCaseSensitive(root, "cases");
  if (!oc_json_in_number(root, "format", &format) || format != OC_REPORT_FORMAT) {
    return missing(reading->path, "such format", error);
  }
  if (!oc_json_in_number(summary, "exit_code", &code) || !(code >= 0 && code <= 6)) {
    return missing(reading->path, "exit code", error);
  }
  if (!cJSON_IsArray(cases)) return missing(reading->path, "cases", error);
  reading->exit_code = (int32_t)code;
  reading->provider = text_of(provider, "name");
  reading->version = text_of(provider, "version");
  reading->sha256 = text_of(provider, "sha256");
  reading->profile = text_of(environment, "profile");
  reading->tier = text_of(environment, "tier");
  reading->seed = text_of(environment, "seed");
  OPS_RETURN_IF_ERROR(read_cases(reading, cases, error));
  return read_points(reading, cJSON_GetObjectItemCaseSensitive(root, "performance"), error);
}

int32_t oc_reading_parse(const char *path, const char *text, size_t size,
                         oc_reading **out_reading, ops_error *error) {
  static const oc_json_limits limits = {OC_READING_MAX_BYTES, OC_READING_MAX_VALUES,
                                        OC_READING_MAX_DEPTH};
  cJSON *root = NULL;
  OPS_RETURN_IF_ERROR(oc_json_in_parse(path, text, size, &limits, &root, error));
  oc_reading *reading = calloc(1, sizeof *reading);
  if (!reading) {
    cJSON_Delete(root);
    return no_memory(path, error);
  }
  reading->path = path;
  reading->document = root;
  const int32_t status = read_document(reading, root, error);
  if (status == OPS_OK) {
    *out_reading = reading;
  } else {
    oc_reading_destroy(reading);
  }
  return status;
}

int32_t oc_reading_load(const char *path, oc_reading **out_reading, ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(oc_file_read(path, OC_READING_MAX_BYTES, &text, &size, error));
  const int32_t status = oc_reading_parse(path, text, size, out_reading, error);
  free(text);
  return status;
}

void oc_reading_destroy(oc_reading *reading) {
  if (!reading) return;
  cJSON_Delete(reading->document);
  free(reading->cases);
  free(reading->points);
  free(reading);
}

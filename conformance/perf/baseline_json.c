// SPDX-License-Identifier: Apache-2.0
//
// JSON of baselines. Tables of keys drive reader and writer: a key that is not in the table, is
// repeated, is missing or holds something else is an error with its path in the document.
#include "perf/baseline_json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"

#define FORMAT_NAME "opsconform-baseline"
#define LARGEST_LOG 100.0    // of a ratio: e^100 of anything is no measurement
#define LARGEST_NUMBER 1e12  // of everything else
#define MOST_TEXT 1024

// Where the reader is, for messages.
typedef struct reader {
  const char *name;
  ops_error *error;
  char path[160];
} reader;

static int32_t refuse(reader *r, const char *key, const char *expected) {
  return ops_error_set(r->error, OPS_ERROR_INVALID_ARGUMENT,
                       "%s: %s%s%s: expected %s; this is no baseline of format %d, take one "
                       "with --update-baseline",
                       r->name, r->path, r->path[0] && key[0] ? "." : "", key, expected,
                       OC_BASELINE_FORMAT);
}

static int32_t no_memory(reader *r) {
  return ops_error_set(r->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a baseline");
}

typedef enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_ARRAY, FIELD_OBJECT } field_kind;

typedef struct field {
  const char *key;
  field_kind kind;
  bool optional;
  const cJSON *found;
} field;

static bool fits(const cJSON *item, field_kind kind) {
  switch (kind) {
    case FIELD_TEXT:
      return cJSON_IsString(item) && strlen(item->valuestring) <= MOST_TEXT;
    case FIELD_NUMBER:
      return cJSON_IsNumber(item) && item->valuedouble >= 0 &&
             item->valuedouble <= LARGEST_NUMBER;
    case FIELD_ARRAY:
      return cJSON_IsArray(item);
    default:
      return cJSON_IsObject(item);
  }
}

// Finds every key of `fields` in `object` and nothing else.
static int32_t read_fields(reader *r, const cJSON *object, field *fields, size_t count) {
  static const char *const kinds[] = {"a text of at most 1024 bytes", "a number from 0 to 1e12",
                                      "a list", "an object"};
  if (!cJSON_IsObject(object)) return refuse(r, "", "an object");
  for (const cJSON *item = object->child; item; item = item->next) {
    field *match = NULL;
    for (size_t i = 0; i < count; ++i) {
      if (strcmp(fields[i].key, item->string) == 0) match = &fields[i];
    }
    if (!match) return refuse(r, item->string, "no such key");
    if (match->found) return refuse(r, match->key, "this key once");
    if (!fits(item, match->kind)) return refuse(r, match->key, kinds[match->kind]);
    match->found = item;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!fields[i].found && !fields[i].optional) return refuse(r, fields[i].key, "this key");
  }
  return OPS_OK;
}

static double number_of(const field *found) {
  return found->found ? found->found->valuedouble : 0;
}

// ---- Points ---------------------------------------------------------------------------------

static int32_t read_logs(reader *r, const field *list, size_t count, double **out_logs) {
  double *logs = calloc(count + 1, sizeof *logs);
  size_t i = 0;
  if (!logs) return no_memory(r);
  *out_logs = logs;
  for (const cJSON *item = list->found->child; item; item = item->next, ++i) {
    if (i == count || !cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= LARGEST_LOG)) break;
    logs[i] = item->valuedouble;
  }
  if (i == count && cJSON_GetArraySize(list->found) == (int)count) return OPS_OK;
  return refuse(r, list->key, "blocks x rounds logarithms from -100 to 100");
}

static int32_t read_estimate(reader *r, const field *object, oc_perf_estimate *out_estimate) {
  field fields[] = {{"value", FIELD_NUMBER, false, NULL},
                    {"low", FIELD_NUMBER, false, NULL},
                    {"high", FIELD_NUMBER, false, NULL}};
  if (!object->found) return OPS_OK;
  OPS_RETURN_IF_ERROR(read_fields(r, object->found, fields, 3));
  *out_estimate = (oc_perf_estimate){true, number_of(&fields[0]), number_of(&fields[1]),
                                     number_of(&fields[2])};
  if (out_estimate->low <= out_estimate->high && out_estimate->value > 0) return OPS_OK;
  return refuse(r, object->key, "low <= high and a value above 0");
}

static int32_t read_budget(reader *r, const field *object, oc_budget *out_budget) {
  field fields[] = {{"p95_ms", FIELD_NUMBER, true, NULL},
                    {"first_run_ms", FIELD_NUMBER, true, NULL},
                    {"jitter_ms", FIELD_NUMBER, true, NULL},
                    {"prepare_ms", FIELD_NUMBER, true, NULL}};
  if (!object->found) return OPS_OK;
  OPS_RETURN_IF_ERROR(read_fields(r, object->found, fields, 4));
  *out_budget = (oc_budget){number_of(&fields[0]), number_of(&fields[1]), number_of(&fields[2]),
                            number_of(&fields[3])};
  return OPS_OK;
}

static bool is_count(const field *found, size_t *out_count) {
  const double value = number_of(found);
  *out_count = value >= 1 && value <= OC_BASELINE_MAX_ROUNDS ? (size_t)value : 0;
  return *out_count > 0 && (double)*out_count == value;
}

static int32_t read_point(reader *r, const cJSON *object, oc_baseline_point *point) {
  enum { ID, BLOCKS, ROUNDS, RATIOS, MS, P95, FLOOR, FLOOR_P95, BUDGET, COUNT };
  field fields[COUNT] = {[ID] = {"id", FIELD_TEXT, false, NULL},
                         [BLOCKS] = {"blocks", FIELD_NUMBER, false, NULL},
                         [ROUNDS] = {"rounds", FIELD_NUMBER, false, NULL},
                         [RATIOS] = {"log_ratios", FIELD_ARRAY, true, NULL},
                         [MS] = {"log_ms", FIELD_ARRAY, false, NULL},
                         [P95] = {"p95", FIELD_OBJECT, true, NULL},
                         [FLOOR] = {"floor", FIELD_NUMBER, false, NULL},
                         [FLOOR_P95] = {"floor_p95", FIELD_NUMBER, false, NULL},
                         [BUDGET] = {"budget", FIELD_OBJECT, true, NULL}};
  OPS_RETURN_IF_ERROR(read_fields(r, object, fields, COUNT));
  if (!is_count(&fields[BLOCKS], &point->blocks) ||
      !is_count(&fields[ROUNDS], &point->rounds) ||
      point->blocks * point->rounds > OC_BASELINE_MAX_ROUNDS) {
    return refuse(r, "blocks", "blocks and rounds, whole numbers, with at most 4096 in all");
  }
  point->floor = number_of(&fields[FLOOR]);
  point->floor_p95 = number_of(&fields[FLOOR_P95]);
  point->id = strdup(fields[ID].found->valuestring);
  if (!point->id) return no_memory(r);
  const size_t count = point->blocks * point->rounds;
  OPS_RETURN_IF_ERROR(read_logs(r, &fields[MS], count, &point->log_ms));
  if (fields[RATIOS].found) {
    OPS_RETURN_IF_ERROR(read_logs(r, &fields[RATIOS], count, &point->log_ratios));
  }
  OPS_RETURN_IF_ERROR(read_estimate(r, &fields[P95], &point->p95));
  return read_budget(r, &fields[BUDGET], &point->budget);
}

static int32_t read_points(reader *r, const cJSON *list, oc_baseline_device *device) {
  const int count = cJSON_GetArraySize(list);
  const size_t length = strlen(r->path);
  if (count > OC_PERF_MAX_POINTS) return refuse(r, "points", "at most 1024 of them");
  device->points = calloc((size_t)count + 1, sizeof *device->points);
  if (!device->points) return no_memory(r);
  for (const cJSON *item = list->child; item; item = item->next) {
    oc_baseline_point *point = &device->points[device->count];
    snprintf(r->path + length, sizeof r->path - length, ".points[%zu]", device->count);
    ++device->count;
    OPS_RETURN_IF_ERROR(read_point(r, item, point));
    if (oc_baseline_find_point(device, point->id) != point) {
      return refuse(r, "id", "one that no other point has");
    }
  }
  r->path[length] = 0;
  return OPS_OK;
}

// ---- Devices --------------------------------------------------------------------------------

static int32_t read_device(reader *r, const cJSON *object, oc_baseline_device *device) {
  field fields[] = {
      {"fingerprint", FIELD_TEXT, false, NULL}, {"provider", FIELD_TEXT, false, NULL},
      {"yardstick", FIELD_TEXT, false, NULL},   {"yardstick_sha256", FIELD_TEXT, false, NULL},
      {"workers", FIELD_NUMBER, false, NULL},   {"points", FIELD_ARRAY, false, NULL}};
  char **texts[] = {&device->fingerprint, &device->provider, &device->yardstick,
                    &device->yardstick_sha256};
  OPS_RETURN_IF_ERROR(read_fields(r, object, fields, sizeof fields / sizeof *fields));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    OPS_RETURN_IF_ERROR(oc_baseline_set(texts[i], fields[i].found->valuestring, r->error));
  }
  size_t workers;
  if (!is_count(&fields[4], &workers)) return refuse(r, "workers", "a whole number from 1 on");
  device->workers = (uint32_t)workers;
  return read_points(r, fields[5].found, device);
}

static int32_t read_document(reader *r, const cJSON *root, oc_baseline *baseline) {
  field fields[] = {{"format", FIELD_TEXT, false, NULL},
                    {"version", FIELD_NUMBER, false, NULL},
                    {"devices", FIELD_ARRAY, false, NULL}};
  OPS_RETURN_IF_ERROR(read_fields(r, root, fields, 3));
  if (strcmp(fields[0].found->valuestring, FORMAT_NAME) != 0) {
    return refuse(r, "format", "\"" FORMAT_NAME "\"");
  }
  if (number_of(&fields[1]) != OC_BASELINE_FORMAT) return refuse(r, "version", "1");
  const int count = cJSON_GetArraySize(fields[2].found);
  if (count > OC_BASELINE_MAX_DEVICES) return refuse(r, "devices", "at most 256 of them");
  baseline->devices = calloc((size_t)count + 1, sizeof *baseline->devices);
  if (!baseline->devices) return no_memory(r);
  for (const cJSON *item = fields[2].found->child; item; item = item->next) {
    oc_baseline_device *device = &baseline->devices[baseline->count];
    snprintf(r->path, sizeof r->path, "devices[%zu]", baseline->count);
    // Counted in any case, so that what it holds by then is freed.
    const int32_t status = read_device(r, item, device);
    ++baseline->count;
    OPS_RETURN_IF_ERROR(status);
    if (oc_baseline_find(baseline, device->fingerprint) != device) {
      return refuse(r, "fingerprint", "one that no other device has");
    }
  }
  return OPS_OK;
}

int32_t oc_baseline_parse(const char *name, const char *text, size_t size,
                          oc_baseline *out_baseline, ops_error *error) {
  reader r = {.name = name, .error = error};
  const char *end = text;
  oc_baseline baseline = {0};
  cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
  while (root && end < text + size && strchr(" \t\r\n", *end) && *end) ++end;
  if (!root || end != text + size) {
    cJSON_Delete(root);
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%s: no JSON from byte %zu on; take a baseline with --update-baseline",
                         name, (size_t)(end - text));
  }
  const int32_t status = read_document(&r, root, &baseline);
  cJSON_Delete(root);
  if (status != OPS_OK) {
    oc_baseline_finish(&baseline);
    return status;
  }
  *out_baseline = baseline;
  return OPS_OK;
}

// ---- Writing --------------------------------------------------------------------------------

// Six digits are beyond what any clock measures, and keep the file readable.
static void add_number(cJSON *object, const char *key, double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", fmin(value, LARGEST_NUMBER));
  cJSON_AddRawToObject(object, key, text);
}

static void add_logs(cJSON *object, const char *key, const double *logs, size_t count) {
  cJSON *list = logs ? cJSON_AddArrayToObject(object, key) : NULL;
  for (size_t i = 0; list && i < count; ++i) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", fmax(fmin(logs[i], LARGEST_LOG), -LARGEST_LOG));
    cJSON_AddItemToArray(list, cJSON_CreateRaw(text));
  }
}

static void add_budget(cJSON *object, const oc_budget *budget) {
  const struct {
    const char *key;
    double value;
  } rows[] = {{"p95_ms", budget->p95_ms},
              {"first_run_ms", budget->first_run_ms},
              {"jitter_ms", budget->jitter_ms},
              {"prepare_ms", budget->prepare_ms}};
  cJSON *list = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].value <= 0) continue;
    if (!list) list = cJSON_AddObjectToObject(object, "budget");
    add_number(list, rows[i].key, rows[i].value);
  }
}

static void add_point(cJSON *list, const oc_baseline_point *point) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddItemToArray(list, object);
  cJSON_AddStringToObject(object, "id", point->id);
  cJSON_AddNumberToObject(object, "blocks", (double)point->blocks);
  cJSON_AddNumberToObject(object, "rounds", (double)point->rounds);
  add_logs(object, "log_ratios", point->log_ratios, point->blocks * point->rounds);
  add_logs(object, "log_ms", point->log_ms, point->blocks * point->rounds);
  if (point->p95.given) {
    cJSON *p95 = cJSON_AddObjectToObject(object, "p95");
    add_number(p95, "value", point->p95.value);
    add_number(p95, "low", point->p95.low);
    add_number(p95, "high", point->p95.high);
  }
  add_number(object, "floor", point->floor);
  add_number(object, "floor_p95", point->floor_p95);
  add_budget(object, &point->budget);
}

int32_t oc_baseline_print(const oc_baseline *baseline, char **out_text, ops_error *error) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "format", FORMAT_NAME);
  cJSON_AddNumberToObject(root, "version", OC_BASELINE_FORMAT);
  cJSON *devices = cJSON_AddArrayToObject(root, "devices");
  for (size_t i = 0; i < baseline->count; ++i) {
    const oc_baseline_device *device = &baseline->devices[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(devices, object);
    cJSON_AddStringToObject(object, "fingerprint", device->fingerprint);
    cJSON_AddStringToObject(object, "provider", device->provider);
    cJSON_AddStringToObject(object, "yardstick", device->yardstick);
    cJSON_AddStringToObject(object, "yardstick_sha256", device->yardstick_sha256);
    cJSON_AddNumberToObject(object, "workers", device->workers);
    cJSON *points = cJSON_AddArrayToObject(object, "points");
    for (size_t k = 0; k < device->count; ++k) add_point(points, &device->points[k]);
  }
  *out_text = cJSON_Print(root);
  cJSON_Delete(root);
  if (*out_text) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a baseline");
}

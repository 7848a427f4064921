// SPDX-License-Identifier: Apache-2.0
//
// Baselines in memory: find, replace, free, and the file as a whole.
#include "perf/baseline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "perf/baseline_json.h"
#include "report/file.h"

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a baseline");
}

// ---- Memory ---------------------------------------------------------------------------------

static void finish_point(oc_baseline_point *point) {
  free(point->id);
  free(point->log_ratios);
  free(point->log_ms);
}

void oc_baseline_clear(oc_baseline_device *device) {
  for (size_t k = 0; k < device->count; ++k) finish_point(&device->points[k]);
  free(device->points);
  device->points = NULL;
  device->count = 0;
}

void oc_baseline_finish(oc_baseline *baseline) {
  for (size_t i = 0; i < baseline->count; ++i) {
    oc_baseline_device *device = &baseline->devices[i];
    oc_baseline_clear(device);
    free(device->fingerprint);
    free(device->provider);
    free(device->yardstick);
    free(device->yardstick_sha256);
  }
  free(baseline->devices);
  *baseline = (oc_baseline){0};
}

oc_baseline_device *oc_baseline_find(const oc_baseline *baseline, const char *fingerprint) {
  for (size_t i = 0; i < baseline->count; ++i) {
    if (strcmp(baseline->devices[i].fingerprint, fingerprint) == 0)
      return &baseline->devices[i];
  }
  return NULL;
}

oc_baseline_point *oc_baseline_find_point(const oc_baseline_device *device, const char *id) {
  for (size_t i = 0; device && i < device->count; ++i) {
    if (strcmp(device->points[i].id, id) == 0) return &device->points[i];
  }
  return NULL;
}

int32_t oc_baseline_set(char **text, const char *value, ops_error *error) {
  char *copy = strdup(value);
  if (!copy) return no_memory(error);
  free(*text);
  *text = copy;
  return OPS_OK;
}

int32_t oc_baseline_open_device(oc_baseline *baseline, const char *fingerprint,
                                oc_baseline_device **out_device, ops_error *error) {
  *out_device = oc_baseline_find(baseline, fingerprint);
  if (*out_device) return OPS_OK;
  oc_baseline_device *devices =
      realloc(baseline->devices, (baseline->count + 1) * sizeof *devices);
  if (!devices) return no_memory(error);
  baseline->devices = devices;
  oc_baseline_device *device = &devices[baseline->count];
  *device = (oc_baseline_device){0};
  OPS_RETURN_IF_ERROR(oc_baseline_set(&device->fingerprint, fingerprint, error));
  ++baseline->count;
  *out_device = device;
  return OPS_OK;
}

int32_t oc_baseline_put(oc_baseline_device *device, oc_baseline_point *point,
                        ops_error *error) {
  oc_baseline_point *old = oc_baseline_find_point(device, point->id);
  if (old) {
    point->budget = old->budget;
    finish_point(old);
    *old = *point;
    return OPS_OK;
  }
  oc_baseline_point *points = realloc(device->points, (device->count + 1) * sizeof *points);
  if (!points) {
    finish_point(point);
    return no_memory(error);
  }
  device->points = points;
  device->points[device->count++] = *point;
  return OPS_OK;
}

// ---- Files ----------------------------------------------------------------------------------

static int32_t read_whole(FILE *file, const char *path, char **out_text, size_t *out_size,
                          ops_error *error) {
  size_t size = 0, capacity = 1 << 16;
  char *text = malloc(capacity);
  for (;;) {
    if (!text) return no_memory(error);
    size += fread(text + size, 1, capacity - size, file);
    if (size < capacity) break;
    if (capacity > OC_BASELINE_MAX_BYTES) {
      free(text);
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "%s: larger than %zu bytes (OC_BASELINE_MAX_BYTES): no baseline",
                           path, OC_BASELINE_MAX_BYTES);
    }
    char *grown = realloc(text, capacity *= 2);
    if (!grown) free(text);
    text = grown;
  }
  if (ferror(file)) {
    free(text);
    return ops_error_set(error, OPS_ERROR_IO, "%s: %s", path, strerror(errno));
  }
  *out_text = text;
  *out_size = size;
  return OPS_OK;
}

int32_t oc_baseline_read(const char *path, oc_baseline *out_baseline, ops_error *error) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t size = 0;
  if (!file) {
    return ops_error_set(error, errno == ENOENT ? OPS_ERROR_NOT_FOUND : OPS_ERROR_IO,
                         "--baseline %s: %s", path, strerror(errno));
  }
  int32_t status = read_whole(file, path, &text, &size, error);
  fclose(file);
  if (status == OPS_OK) status = oc_baseline_parse(path, text, size, out_baseline, error);
  free(text);
  return status;
}

int32_t oc_baseline_write(const char *path, const oc_baseline *baseline, ops_error *error) {
  char *text = NULL;
  OPS_RETURN_IF_ERROR(oc_baseline_print(baseline, &text, error));
  const int32_t status = oc_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Walks at most two levels of folders, sorts what it finds, reads tolerances.
#include "onnx_tests/suite.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops_support/error.h"

typedef struct found {
  const char *id;
  const char *folder;
  oc_contract *suite;
} found;

typedef struct walk {
  oc_arena *arena;
  oc_contract **suites;
  size_t suite_count;
  found *items;
  size_t count;
  size_t capacity;
  ops_error *error;
} walk;

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the list of cases");
}

static int32_t io_error(const char *path, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_IO, "'%s': %s", path, strerror(errno));
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool join(const char *folder, const char *name, char *out, size_t size) {
  const int used = snprintf(out, size, "%s/%s", folder, name);
  return used > 0 && (size_t)used < size;
}

static bool has_model(const char *folder) {
  char path[PATH_MAX];
  return join(folder, "model.onnx", path, sizeof path) && access(path, F_OK) == 0;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// ---- Finding --------------------------------------------------------------------------------

// The contract that stands for a suite, made when its first case is found.
static oc_contract *suite_of(walk *walk, const char *name) {
  for (size_t i = 0; i < walk->suite_count; ++i) {
    if (strcmp(walk->suites[i]->op, name) == 0) return walk->suites[i];
  }
  oc_contract *suite = oc_arena_alloc(walk->arena, 1, sizeof *suite);
  if (!suite || walk->suite_count == OC_ONNX_MAX_SUITES) return NULL;
  suite->op = oc_arena_copy_string(walk->arena, name, strlen(name));
  suite->domain = "ai.onnx";
  suite->file = suite->op;
  if (!suite->op) return NULL;
  walk->suites[walk->suite_count++] = suite;
  return suite;
}

static int32_t grow(walk *walk) {
  if (walk->count < walk->capacity) return OPS_OK;
  if (walk->count >= OC_ONNX_MAX_CASES) {
    return ops_error_set(walk->error, OPS_ERROR_INVALID_MODEL,
                         "more than %d cases; name one suite", OC_ONNX_MAX_CASES);
  }
  const size_t capacity = walk->capacity ? 2 * walk->capacity : 1024;
  found *items = realloc(walk->items, capacity * sizeof *items);
  if (!items) return no_memory(walk->error);
  walk->items = items;
  walk->capacity = capacity;
  return OPS_OK;
}

static int32_t add_case(walk *walk, const char *suite, const char *folder) {
  char id[OC_CASE_MAX_ID];
  const int used = snprintf(id, sizeof id, "onnx/%s/%s", suite, last_part(folder));
  if (used < 0 || (size_t)used >= sizeof id) {
    return ops_error_set(walk->error, OPS_ERROR_INVALID_MODEL,
                         "'%s': expected an id of less than %d bytes, found %d; shorten the "
                         "folder's name",
                         folder, OC_CASE_MAX_ID, used);
  }
  OPS_RETURN_IF_ERROR(grow(walk));
  found *item = &walk->items[walk->count];
  item->id = oc_arena_copy_string(walk->arena, id, (size_t)used);
  item->folder = oc_arena_copy_string(walk->arena, folder, strlen(folder));
  item->suite = suite_of(walk, suite);
  if (!item->id || !item->folder || !item->suite) return no_memory(walk->error);
  ++walk->count;
  return OPS_OK;
}

// Cases of `folder`, a suite; with `deeper`, also those of suites in it.
static int32_t add_folder(walk *walk, const char *folder, bool deeper) {
  DIR *stream = opendir(folder);
  if (!stream) return io_error(folder, walk->error);
  int32_t status = OPS_OK;
  const struct dirent *entry;
  while (status == OPS_OK && (entry = readdir(stream))) {
    char path[PATH_MAX];
    if (entry->d_name[0] == '.' || !join(folder, entry->d_name, path, sizeof path)) continue;
    if (!is_folder(path)) continue;
    if (has_model(path)) {
      status = add_case(walk, last_part(folder), path);
    } else if (deeper) {
      status = add_folder(walk, path, false);
    }
  }
  closedir(stream);
  return status;
}

static int32_t find_all(walk *walk, const char *given) {
  char folder[PATH_MAX], parent[PATH_MAX];
  if (!realpath(given, folder)) return io_error(given, walk->error);
  if (!has_model(folder)) {
    OPS_RETURN_IF_ERROR(add_folder(walk, folder, true));
  } else {
    snprintf(parent, sizeof parent, "%s", folder);
    *strrchr(parent, '/') = 0;
    OPS_RETURN_IF_ERROR(add_case(walk, last_part(parent), folder));
  }
  if (walk->count > 0) return OPS_OK;
  return ops_error_set(walk->error, OPS_ERROR_INVALID_MODEL,
                       "'%s': expected folders that hold model.onnx and test_data_set_0, or "
                       "folders of such; found none. ci/onnx_tests generates them",
                       folder);
}

// ---- Tolerances -----------------------------------------------------------------------------

static int32_t bad_json(const char *path, const char *what, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                       "'%s': %s; expected a JSON object whose rtol and atol are numbers of at "
                       "least 0",
                       path, what);
}

static bool take_number(const cJSON *object, const char *name, double *value) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!item) return true;
  if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0) {
    return false;
  }
  *value = item->valuedouble;
  return true;
}

static int32_t read_tolerance(oc_arena *arena, oc_onnx_case *item, ops_error *error) {
  char path[PATH_MAX];
  item->rtol = OC_ONNX_RTOL;
  item->atol = OC_ONNX_ATOL;
  if (!join(item->folder, "data.json", path, sizeof path)) return OPS_OK;
  FILE *file = fopen(path, "rb");
  if (!file) return errno == ENOENT ? OPS_OK : io_error(path, error);
  char *text = malloc(OC_ONNX_MAX_JSON_BYTES);
  const size_t size = text ? fread(text, 1, OC_ONNX_MAX_JSON_BYTES, file) : 0;
  fclose(file);
  if (!text) return no_memory(error);
  int32_t status = OPS_OK;
  if (size == OC_ONNX_MAX_JSON_BYTES) {
    status = bad_json(path, "more than 64 KiB", error);
  } else {
    cJSON *object = cJSON_ParseWithLength(text, size);
    if (!cJSON_IsObject(object) || !take_number(object, "rtol", &item->rtol) ||
        !take_number(object, "atol", &item->atol)) {
      status = bad_json(path, "no tolerances", error);
    }
    const char *reason =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "reason"));
    if (reason) item->reason = oc_arena_copy_string(arena, reason, strlen(reason));
    cJSON_Delete(object);
  }
  free(text);
  return status;
}

// ---- The list -------------------------------------------------------------------------------

static int compare_found(const void *a, const void *b) {
  return strcmp(((const found *)a)->id, ((const found *)b)->id);
}

static int32_t fill(oc_onnx_suite *suite, walk *walk) {
  qsort(walk->items, walk->count, sizeof *walk->items, compare_found);
  suite->cases.items = oc_arena_alloc(suite->arena, walk->count, sizeof *suite->cases.items);
  suite->items = oc_arena_alloc(suite->arena, walk->count, sizeof *suite->items);
  if (!suite->cases.items || !suite->items) return no_memory(walk->error);
  for (size_t i = 0; i < walk->count; ++i) {
    const found *from = &walk->items[i];
    if (i > 0 && strcmp(from[-1].id, from->id) == 0) {
      return ops_error_set(walk->error, OPS_ERROR_INVALID_MODEL,
                           "'%s' and '%s' are both the case '%s'; name one of their folders",
                           from[-1].folder, from->folder, from->id);
    }
    suite->cases.items[i] = (oc_case){.id = from->id, .contract = from->suite};
    suite->items[i].folder = from->folder;
    OPS_RETURN_IF_ERROR(read_tolerance(suite->arena, &suite->items[i], walk->error));
  }
  suite->cases.count = walk->count;
  return OPS_OK;
}

int32_t oc_onnx_suite_open(const char *folder, oc_onnx_suite **out_suite, ops_error *error) {
  *out_suite = NULL;
  oc_onnx_suite *suite = calloc(1, sizeof *suite);
  if (!suite) return no_memory(error);
  suite->arena = oc_arena_create(OC_ONNX_MAX_MEMORY);
  walk walk = {.arena = suite->arena, .error = error};
  walk.suites = calloc(OC_ONNX_MAX_SUITES, sizeof(oc_contract *));
  int32_t status = suite->arena && walk.suites ? OPS_OK : no_memory(error);
  if (status == OPS_OK) status = find_all(&walk, folder);
  if (status == OPS_OK) status = fill(suite, &walk);
  free(walk.items);
  free(walk.suites);
  if (status != OPS_OK) {
    oc_onnx_suite_close(suite);
    return status;
  }
  *out_suite = suite;
  return OPS_OK;
}

void oc_onnx_suite_close(oc_onnx_suite *suite) {
  if (!suite) return;
  oc_arena_destroy(suite->arena);
  free(suite);
}

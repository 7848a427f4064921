// SPDX-License-Identifier: Apache-2.0
//
// The cases of one model. See list.h.
#include "models/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/random.h"
#include "ops_support/error.h"

#define MAX_MEMORY (1u << 20)

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the list of cases");
}

// The file's name without folder and ending.
static const char *name_of(oc_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  return oc_arena_copy_string(arena, name,
                              dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static int32_t add_case(oc_model_list *list, const char *name, const oc_contract *about,
                        uint64_t seed, int level, ops_error *error) {
  char id[OC_CASE_MAX_ID];
  const int used = snprintf(id, sizeof id, "model/%s/level-%d", name, level);
  if (used < 0 || (size_t)used >= sizeof id) {
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "--model: expected a file name of at most %d bytes, found '%s'; rename "
        "the file",
        OC_CASE_MAX_ID - 20, name);
  }
  oc_case *item = &list->cases.items[level];
  *item =
      (oc_case){.id = oc_arena_copy_string(list->arena, id, (size_t)used), .contract = about};
  if (!item->id) return no_memory(error);
  // Every level gets the same inputs.
  item->seed = oc_random_seed(name, seed);
  return OPS_OK;
}

static int32_t fill(oc_model_list *list, uint64_t seed, ops_error *error) {
  oc_contract *about = oc_arena_alloc(list->arena, 1, sizeof *about);
  const char *name = name_of(list->arena, list->path);
  list->cases.items = oc_arena_alloc(list->arena, OC_MODEL_LEVELS, sizeof *list->cases.items);
  if (!about || !name || !list->cases.items) return no_memory(error);
  *about = (oc_contract){.op = "model", .domain = "ai.onnx", .file = list->path};
  for (int level = 0; level < OC_MODEL_LEVELS; ++level) {
    OPS_RETURN_IF_ERROR(add_case(list, name, about, seed, level, error));
  }
  list->cases.count = OC_MODEL_LEVELS;
  return OPS_OK;
}

int32_t oc_model_list_open(const char *path, uint64_t seed, oc_model_list **out_list,
                           ops_error *error) {
  *out_list = NULL;
  if (access(path, R_OK) != 0) {
    return ops_error_set(error, OPS_ERROR_IO, "--model: '%s': %s", path, strerror(errno));
  }
  oc_model_list *list = calloc(1, sizeof *list);
  if (!list) return no_memory(error);
  list->path = path;
  list->arena = oc_arena_create(MAX_MEMORY);
  const int32_t status = list->arena ? fill(list, seed, error) : no_memory(error);
  if (status == OPS_OK) {
    *out_list = list;
  } else {
    oc_model_list_close(list);
  }
  return status;
}

void oc_model_list_close(oc_model_list *list) {
  if (!list) return;
  oc_arena_destroy(list->arena);
  free(list);
}

// SPDX-License-Identifier: Apache-2.0
//
// Folders of cases: SUITE/CASE, as the official test data have them. Ids hold no '~' and no
// component that a shell or a file system would treat in a way of its own.
#include "bake/folder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ops_support/error.h"

static int32_t print(char path[PATH_MAX], ops_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int32_t print(char path[PATH_MAX], ops_error *error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  const int used = vsnprintf(path, PATH_MAX, format, list);
  va_end(list);
  if (used >= 0 && used < PATH_MAX) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_IO, "'%.200s…': the path is longer than %d bytes", path,
                       PATH_MAX - 1);
}

static int32_t make(const char *path, ops_error *error) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_IO, "folder '%s' cannot be made: %s", path,
                       strerror(errno));
}

int32_t oc_bake_folder_open(oc_bake_folder *folder, const char *parent, const char *id,
                            unsigned number, ops_error *error) {
  OPS_RETURN_IF_ERROR(make(parent, error));
  OPS_RETURN_IF_ERROR(print(folder->root, error, "%s/%s", parent, id));
  char *slash = strchr(folder->root + strlen(parent) + 1, '/');
  if (slash) {
    *slash = 0;
    OPS_RETURN_IF_ERROR(make(folder->root, error));
    *slash = '/';
    for (char *at = slash + 1; *at; ++at) *at = *at == '/' ? '~' : *at;
  }
  OPS_RETURN_IF_ERROR(make(folder->root, error));
  OPS_RETURN_IF_ERROR(print(folder->data, error, "%s/test_data_set_%u", folder->root, number));
  return make(folder->data, error);
}

int32_t oc_bake_folder_data(const oc_bake_folder *folder, const char *kind, size_t index,
                            char path[PATH_MAX], ops_error *error) {
  return print(path, error, "%s/%s_%zu.pb", folder->data, kind, index);
}

int32_t oc_bake_folder_file(const oc_bake_folder *folder, const char *name, char path[PATH_MAX],
                            ops_error *error) {
  return print(path, error, "%s/%s", folder->root, name);
}

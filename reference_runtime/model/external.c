// SPDX-License-Identifier: Apache-2.0
//
// How a path is kept inside the model's folder: the path is resolved with all its links, the
// result must lie under the resolved folder, and then the file is opened component by component
// from there without following any link. A link that is swapped in between makes the open fail.
#include "model/external.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct rt_model_external_file {
  rt_model_external_file *next;
  char *location;
  void *data;
  uint64_t size;
};

void rt_model_external_finish(rt_model_external *external) {
  for (rt_model_external_file *file = external->files; file;) {
    rt_model_external_file *next = file->next;
    if (file->data) munmap(file->data, (size_t)file->size);
    free(file->location);
    free(file);
    file = next;
  }
  external->files = NULL;
}

static int has_parent_component(const char *path) {
  for (const char *at = path; at; at = strchr(at, '/')) {
    while (*at == '/') ++at;
    if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || at[2] == '\0')) return 1;
  }
  return 0;
}

static int32_t check_location(const char *location, ops_error *error) {
  const char *fault = location[0] == '\0'              ? "is empty"
                      : location[0] == '/'             ? "is an absolute path"
                      : has_parent_component(location) ? "contains '..'"
                                                       : NULL;
  if (!fault) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_EXTERNAL_OUTSIDE,
                             "external data location '%s' %s; expected a path relative to the "
                             "model's folder and inside it",
                             location, fault);
}

// Opens `path`, relative to `folder` and free of links, one component at a time. Consumes
// `folder`; changes `path`. Returns -1 with errno set on failure.
static int open_beneath(int folder, char *path) {
  for (char *name = path; folder >= 0;) {
    char *slash = strchr(name, '/');
    if (slash) *slash = '\0';
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int next = openat(folder, name, slash ? flags | O_DIRECTORY : flags);
    const int saved = errno;
    close(folder);
    errno = saved;
    if (!slash) return next;
    folder = next;
    name = slash + 1;
  }
  return -1;
}

// Resolves base/location and opens it if it lies under base.
static int32_t open_inside(const char *base, const char *location, int *out_fd,
                           ops_error *error) {
  int32_t status = OPS_OK;
  char *path = NULL, *real_base = NULL, *real_path = NULL;
  const size_t size = strlen(base) + strlen(location) + 2;
  path = malloc(size);
  if (!path) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the path of '%s'",
                           location);
    goto cleanup;
  }
  memcpy(path, base, strlen(base));
  path[strlen(base)] = '/';
  memcpy(path + strlen(base) + 1, location, strlen(location) + 1);
  real_base = realpath(base, NULL);
  real_path = real_base ? realpath(path, NULL) : NULL;
  if (!real_path) {
    status = ops_error_set_cause(
        error, OPS_ERROR_IO, OPS_CAUSE_EXTERNAL_UNREADABLE,
        "external data file '%s' cannot be opened: %s; put it beside the model", path,
        strerror(errno));
    goto cleanup;
  }
  const size_t prefix = strcmp(real_base, "/") == 0 ? 0 : strlen(real_base);
  if (strncmp(real_path, real_base, prefix) != 0 || real_path[prefix] != '/') {
    status =
        ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_EXTERNAL_OUTSIDE,
                            "external data location '%s' is a link out of the model's folder "
                            "'%s'; copy the file into the folder",
                            location, real_base);
    goto cleanup;
  }
  *out_fd =
      open_beneath(open(real_base, O_RDONLY | O_CLOEXEC | O_DIRECTORY), real_path + prefix + 1);
  if (*out_fd < 0)
    status = ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_EXTERNAL_UNREADABLE,
                                 "external data file '%s' cannot be opened: %s", path,
                                 strerror(errno));
cleanup:
  free(real_path);
  free(real_base);
  free(path);
  return status;
}

// Maps the open file; an empty one has data NULL.
static int32_t map_file(int fd, const char *location, void **out_data, uint64_t *out_size,
                        ops_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_EXTERNAL_UNREADABLE,
                               "external data location '%s' is not a regular file", location);
  *out_size = (uint64_t)info.st_size;
  *out_data = NULL;
  if (*out_size == 0) return OPS_OK;
  void *data = mmap(NULL, (size_t)*out_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_EXTERNAL_UNREADABLE,
                               "external data file '%s' of %" PRIu64
                               " bytes cannot be mapped: %s",
                               location, *out_size, strerror(errno));
  *out_data = data;
  return OPS_OK;
}

static int32_t add_file(rt_model_external *external, const char *location,
                        rt_model_external_file **out_file, ops_error *error) {
  int fd = -1;
  OPS_RETURN_IF_ERROR(open_inside(external->base_dir, location, &fd, error));
  void *data = NULL;
  uint64_t size = 0;
  const int32_t status = map_file(fd, location, &data, &size, error);
  close(fd);
  if (status != OPS_OK) return status;
  rt_model_external_file *file = calloc(1, sizeof *file);
  char *copy = strdup(location);
  if (!file || !copy) {
    if (data) munmap(data, (size_t)size);
    free(file);
    free(copy);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to note the file '%s'",
                         location);
  }
  *file = (rt_model_external_file){external->files, copy, data, size};
  external->files = file;
  *out_file = file;
  return OPS_OK;
}

int32_t rt_model_external_map(rt_model_external *external, const char *location,
                              const uint8_t **out_data, uint64_t *out_size, ops_error *error) {
  if (!external->base_dir)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_EXTERNAL_OUTSIDE,
        "external data in '%s', but the model was loaded from memory without a "
        "folder; pass base_dir or load the model from its file",
        location);
  OPS_RETURN_IF_ERROR(check_location(location, error));
  rt_model_external_file *file = external->files;
  while (file && strcmp(file->location, location) != 0) file = file->next;
  if (!file) OPS_RETURN_IF_ERROR(add_file(external, location, &file, error));
  *out_data = file->data;
  *out_size = file->size;
  return OPS_OK;
}

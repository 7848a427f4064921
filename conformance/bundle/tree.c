// SPDX-License-Identifier: Apache-2.0
//
// Walking, writing, copying, removing.
#include "bundle/tree.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>

#include "ops_support/error.h"
#include "report/file.h"
#include "report/json_in.h"

#define MAX_DEPTH 16
#define MAX_COPY ((size_t)4 << 30)  // bytes of one file: journals

static int32_t io_error(const char *path, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_IO, "'%s': %s", path, strerror(errno));
}

static int32_t join(const char *a, const char *b, char *out, ops_error *error) {
  if ((size_t)snprintf(out, PATH_MAX, "%s/%s", a, b) < PATH_MAX) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "'%.200s/%.200s': the path is too long", a, b);
}

// ---- Listing --------------------------------------------------------------------------------

typedef struct lister {
  oc_bundle_file *files;
  size_t count, capacity;
  const char *root;
  ops_error *error;
} lister;

static int32_t list_folder(lister *l, const char *below, int depth);

static int32_t refuse_name(const lister *l, const char *path) {
  return ops_error_set(l->error, OPS_ERROR_INVALID_MODEL,
                       "'%.300s' is no file that a bundle holds", path);
}

static int32_t add_file(lister *l, const char *path, const struct stat *about) {
  if (l->count == OC_BUNDLE_MAX_FILES) return refuse_name(l, path);
  if (l->count == l->capacity) {
    const size_t capacity = l->capacity ? 2 * l->capacity : 64;
    oc_bundle_file *files = realloc(l->files, capacity * sizeof *files);
    if (!files) return ops_error_set(l->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for files");
    l->files = files;
    l->capacity = capacity;
  }
  oc_bundle_file *file = &l->files[l->count++];
  memset(file, 0, sizeof *file);
  snprintf(file->path, sizeof file->path, "%s", path);
  file->size = (uint64_t)about->st_size;
  return OPS_OK;
}

static int32_t list_entry(lister *l, const char *below, const char *name, int depth) {
  char path[OC_BUNDLE_MAX_PATH], full[PATH_MAX];
  struct stat about;
  const int size = snprintf(path, sizeof path, "%s%s%s", below, below[0] ? "/" : "", name);
  if ((size_t)size >= sizeof path || !oc_manifest_path_is_safe(path)) {
    return refuse_name(l, name);
  }
  OPS_RETURN_IF_ERROR(join(l->root, path, full, l->error));
  if (lstat(full, &about) != 0) return io_error(full, l->error);
  if (S_ISREG(about.st_mode)) return add_file(l, path, &about);
  if (S_ISDIR(about.st_mode) && depth < MAX_DEPTH) return list_folder(l, path, depth + 1);
  return refuse_name(l, path);
}

static int32_t list_folder(lister *l, const char *below, int depth) {
  char full[PATH_MAX];
  const struct dirent *entry;
  OPS_RETURN_IF_ERROR(join(l->root, below, full, l->error));
  DIR *folder = opendir(full);
  if (!folder) return io_error(full, l->error);
  int32_t status = OPS_OK;
  while (status == OPS_OK && (entry = readdir(folder))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    status = list_entry(l, below, entry->d_name, depth);
  }
  closedir(folder);
  return status;
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const oc_bundle_file *)a)->path, ((const oc_bundle_file *)b)->path);
}

int32_t oc_tree_list(const char *root, oc_bundle_file **out_files, size_t *out_count,
                     ops_error *error) {
  lister l = {.root = root, .error = error};
  const int32_t status = list_folder(&l, "", 0);
  if (status != OPS_OK) {
    free(l.files);
    return status;
  }
  if (l.count) qsort(l.files, l.count, sizeof *l.files, by_path);
  *out_files = l.files;
  *out_count = l.count;
  return OPS_OK;
}

int32_t oc_tree_measure(const char *root, oc_bundle_file *file, ops_error *error) {
  char full[PATH_MAX];
  struct stat about;
  OPS_RETURN_IF_ERROR(join(root, file->path, full, error));
  if (lstat(full, &about) != 0) return io_error(full, error);
  file->size = (uint64_t)about.st_size;
  return oc_file_hash(full, file->sha256, error);
}

// ---- Writing --------------------------------------------------------------------------------

static int32_t make_folders(char *path, ops_error *error) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    const int made = mkdir(path, 0755);
    const int reason = errno;
    *slash = '/';
    if (made != 0 && reason != EEXIST) {
      errno = reason;
      return io_error(path, error);
    }
  }
  return OPS_OK;
}

int32_t oc_tree_write(const char *root, const char *path, const void *data, size_t size,
                      ops_error *error) {
  char full[PATH_MAX];
  OPS_RETURN_IF_ERROR(join(root, path, full, error));
  OPS_RETURN_IF_ERROR(make_folders(full, error));
  return oc_file_write(full, data, size, error);
}

static int32_t copy_file(const char *from, const char *root, const char *path,
                         ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(oc_file_read(from, MAX_COPY, &text, &size, error));
  const int32_t status = oc_tree_write(root, path, text, size, error);
  free(text);
  return status;
}

int32_t oc_tree_copy(const char *from, const char *suffix, const char *root, const char *path,
                     ops_error *error) {
  struct stat about;
  oc_bundle_file *files = NULL;
  size_t count = 0;
  if (stat(from, &about) != 0) return io_error(from, error);
  if (!S_ISDIR(about.st_mode)) return copy_file(from, root, path, error);
  OPS_RETURN_IF_ERROR(oc_tree_list(from, &files, &count, error));
  int32_t status = OPS_OK;
  for (size_t i = 0; i < count && status == OPS_OK; ++i) {
    char source[PATH_MAX], target[PATH_MAX];
    const size_t size = strlen(files[i].path), tail = suffix ? strlen(suffix) : 0;
    if (size < tail || strcmp(files[i].path + size - tail, suffix ? suffix : "") != 0) continue;
    status = join(from, files[i].path, source, error);
    if (status == OPS_OK) status = join(path, files[i].path, target, error);
    if (status == OPS_OK) status = copy_file(source, root, target, error);
  }
  free(files);
  return status;
}

// ---- Removing -------------------------------------------------------------------------------

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *at) {
  (void)about;
  (void)type;
  (void)at;
  return remove(path);
}

void oc_tree_remove(const char *root) {
  nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

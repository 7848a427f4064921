// SPDX-License-Identifier: Apache-2.0
//
// The hash of a folder, for whatever consists of many files: contracts, models.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ops_support/error.h"
#include "report/file.h"
#include "report/sha256.h"

#define MAX_DEPTH 32

typedef struct walk {
  const char *suffix;
  size_t root;  // bytes of the path of the folder itself
  oc_sha256 hash;
  ops_error *error;
} walk;

static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int32_t cannot_read(const walk *w, const char *path) {
  return ops_error_set(w->error, OPS_ERROR_IO, "'%s' cannot be read: %s", path,
                       strerror(errno));
}

static int32_t add_folder(walk *w, const char *path, int depth);

static int32_t add_file(walk *w, const char *path) {
  char hex[65];
  const size_t size = strlen(path), suffix = strlen(w->suffix);
  if (size < suffix || strcmp(path + size - suffix, w->suffix) != 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_file_hash(path, hex, w->error));
  oc_sha256_add(&w->hash, path + w->root, size - w->root);
  oc_sha256_add(&w->hash, "\n", 1);
  oc_sha256_add(&w->hash, hex, 64);
  return OPS_OK;
}

static int32_t add_entry(walk *w, const char *folder, const char *name, int depth) {
  char path[PATH_MAX];
  struct stat about;
  const int size = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (size < 0 || (size_t)size >= sizeof path) errno = ENAMETOOLONG;
  if (size < 0 || (size_t)size >= sizeof path) return cannot_read(w, folder);
  if (lstat(path, &about) != 0) return cannot_read(w, path);
  if (S_ISDIR(about.st_mode)) return add_folder(w, path, depth + 1);
  if (S_ISLNK(about.st_mode) && stat(path, &about) != 0) return cannot_read(w, path);
  return S_ISREG(about.st_mode) ? add_file(w, path) : OPS_OK;
}

static int32_t add_folder(walk *w, const char *path, int depth) {
  struct dirent **entries = NULL;
  int32_t status = OPS_OK;
  if (depth > MAX_DEPTH) {
    return ops_error_set(w->error, OPS_ERROR_IO, "'%s' lies more than %d folders deep", path,
                         MAX_DEPTH);
  }
  const int count = scandir(path, &entries, is_visible, by_bytes);
  if (count < 0) return cannot_read(w, path);
  for (int i = 0; i < count; ++i) {
    if (status == OPS_OK) status = add_entry(w, path, entries[i]->d_name, depth);
    free(entries[i]);
  }
  free(entries);
  return status;
}

int32_t oc_folder_hash(const char *path, const char *suffix, char out_hex[65],
                       ops_error *error) {
  walk w = {.suffix = suffix, .root = strlen(path), .error = error};
  struct stat about;
  if (stat(path, &about) != 0) return cannot_read(&w, path);
  if (!S_ISDIR(about.st_mode)) return oc_file_hash(path, out_hex, error);
  oc_sha256_init(&w.hash);
  OPS_RETURN_IF_ERROR(add_folder(&w, path, 0));
  oc_sha256_hex(&w.hash, out_hex);
  return OPS_OK;
}

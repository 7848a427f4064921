// SPDX-License-Identifier: Apache-2.0
//
// Files: probing, writing by rename, hashing.
#include "report/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "report/sha256.h"

static int32_t io_error(const char *path, const char *what, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_IO, "'%s': %s: %s; give a path that can be written",
                       path, what, strerror(errno));
}

// Opens a fresh file beside `path`. *out_name is owned by the caller.
static int open_beside(const char *path, char **out_name) {
  if (asprintf(out_name, "%s.XXXXXX", path) < 0) {
    *out_name = NULL;
    errno = ENOMEM;
    return -1;
  }
  return mkostemp(*out_name, O_CLOEXEC);
}

int32_t oc_file_probe(const char *path, ops_error *error) {
  struct stat about;
  char *name = NULL;
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
    return ops_error_set(error, OPS_ERROR_IO,
                         "'%s' is not a file; give a path that can be "
                         "written",
                         path);
  }
  const int fd = open_beside(path, &name);
  const int reason = errno;
  if (fd >= 0) {
    close(fd);
    unlink(name);
  }
  free(name);
  errno = reason;
  return fd >= 0 ? OPS_OK : io_error(path, "cannot be created", error);
}

static bool write_all(int fd, const char *text, size_t size) {
  while (size > 0) {
    const ssize_t sent = write(fd, text, size);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text += sent;
    size -= (size_t)sent;
  }
  return fsync(fd) == 0 || errno == EINVAL;
}

int32_t oc_file_write(const char *path, const char *text, size_t size, ops_error *error) {
  char *name = NULL;
  const int fd = open_beside(path, &name);
  bool done = fd >= 0 && write_all(fd, text, size) && fchmod(fd, 0644) == 0;
  if (fd >= 0) done = close(fd) == 0 && done;
  done = done && rename(name, path) == 0;
  const int reason = errno;
  if (!done && fd >= 0) unlink(name);
  free(name);
  errno = reason;
  return done ? OPS_OK : io_error(path, "cannot be written", error);
}

int32_t oc_file_hash(const char *path, char out_hex[65], ops_error *error) {
  unsigned char buffer[65536];
  oc_sha256 hash;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be read: %s", path, strerror(errno));
  }
  oc_sha256_init(&hash);
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) {
    oc_sha256_add(&hash, buffer, (size_t)got);
  }
  close(fd);
  if (got < 0) return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be read", path);
  oc_sha256_hex(&hash, out_hex);
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Reading by mapping, writing by a temporary file in the same folder and a rename.
#include "model/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/pages.h"

static int32_t map_open_file(int fd, const char *path, uint64_t max_size, rt_model_file *out,
                             ops_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE,
                               "%s is not a regular file; pass the path of a file", path);
  out->size = (uint64_t)info.st_size;
  if (out->size > max_size)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
                               "%s has %" PRIu64 " bytes; expected at most %" PRIu64
                               "; keep large tensors as external data",
                               path, out->size, max_size);
  if (out->size == 0) return OPS_OK;
  void *data = mmap(NULL, (size_t)out->size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE,
                               "%s cannot be mapped: %s", path, strerror(errno));
  out->data = data;
  return OPS_OK;
}

int32_t rt_model_file_map(const char *path, uint64_t max_size, rt_model_file *out_file,
                          ops_error *error) {
  *out_file = (rt_model_file){NULL, 0};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE,
                               "%s cannot be opened: %s; check the path", path,
                               strerror(errno));
  const int32_t status = map_open_file(fd, path, max_size, out_file, error);
  close(fd);
  return status;
}

void rt_model_file_unmap(rt_model_file *file) {
  if (file->data) munmap((void *)file->data, (size_t)file->size);
  *file = (rt_model_file){NULL, 0};
}

void rt_model_pages_forget(const void *data, uint64_t size) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = ((uintptr_t)data + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)data + size) / page * page;
  if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
}

char *rt_model_file_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return strdup(".");
  return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int write_all(int fd, const rt_model_file *part) {
  const char *data = part->data;
  for (uint64_t left = part->size; left > 0;) {
    const ssize_t written = write(fd, data, left < (1u << 30) ? (size_t)left : 1u << 30);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return 0;
    data += written;
    left -= (uint64_t)written;
  }
  return 1;
}

int32_t rt_model_file_write(const char *path, const rt_model_file *parts, int32_t count,
                            ops_error *error) {
  const size_t size = strlen(path) + sizeof ".XXXXXX";
  char *temporary = malloc(size);
  if (!temporary)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to write %s", path);
  snprintf(temporary, size, "%s.XXXXXX", path);
  const int fd = mkstemp(temporary);
  int good = fd >= 0 && fchmod(fd, 0644) == 0;
  for (int32_t i = 0; i < count && good; ++i) good = write_all(fd, &parts[i]);
  int reason = errno;
  if (fd >= 0 && close(fd) != 0 && good) {
    good = 0;
    reason = errno;
  }
  if (good && rename(temporary, path) != 0) {
    good = 0;
    reason = errno;
  }
  if (!good && fd >= 0) unlink(temporary);
  free(temporary);
  if (good) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                             "%s cannot be written: %s", path, strerror(reason));
}

// SPDX-License-Identifier: Apache-2.0
//
// Reading files whole, up to the limit that all files of contracts have.
#include "contract/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract/contract.h"

static int32_t io_error(ops_error *error, const char *path, const char *what) {
  return ops_error_set(error, OPS_ERROR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static int32_t read_whole(const char *path, int fd, char *bytes, size_t *out_size,
                          ops_error *error) {
  size_t size = 0;
  for (;;) {
    const ssize_t got = read(fd, bytes + size, OC_CONTRACT_MAX_FILE_BYTES + 1 - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(error, path, "read it");
    size += (size_t)got;
    if (size > OC_CONTRACT_MAX_FILE_BYTES) {
      return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                           "%s:1:1: larger than %u bytes, the limit of a contract file", path,
                           OC_CONTRACT_MAX_FILE_BYTES);
    }
    if (got == 0) break;
  }
  bytes[size] = 0;
  *out_size = size;
  return OPS_OK;
}

int32_t oc_text_file_read(const char *path, char **out_text, size_t *out_size,
                          ops_error *error) {
  char *bytes = malloc(OC_CONTRACT_MAX_FILE_BYTES + 2);
  if (!bytes) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory", path);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int32_t status =
      fd < 0 ? io_error(error, path, "open it") : read_whole(path, fd, bytes, out_size, error);
  if (fd >= 0) close(fd);
  if (status == OPS_OK) {
    *out_text = bytes;
  } else {
    free(bytes);
  }
  return status;
}

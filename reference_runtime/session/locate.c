// SPDX-License-Identifier: Apache-2.0
//
// Providers are found relative to the program, so that a moved installation, and the build
// tree, work as they are.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/session.h"

const char *rt_session_provider_dir(char *buffer, uint64_t size) {
  const ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
  if (length <= 0 || (uint64_t)length >= size - 1) return NULL;
  buffer[length] = 0;
  char *slash = strrchr(buffer, '/');
  if (!slash) return NULL;
  const uint64_t room = size - (uint64_t)(slash + 1 - buffer);
  const int written = snprintf(slash + 1, room, "%s", OPS_PROVIDER_DIR_FROM_BIN);
  struct stat info;
  if (written < 0 || (uint64_t)written >= room) return NULL;
  return stat(buffer, &info) == 0 && S_ISDIR(info.st_mode) ? buffer : NULL;
}

// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs on disk, one file each, named by the key. A file is written under a name of
// its own and then renamed, so that readers see all of it or nothing, however many processes
// write at once; its header tells a damaged one. What a process that was killed left unfinished
// is removed by a later one.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpu.h"

enum { kSumBytes = 32, kMaxBinary = 1 << 28, kStaleSeconds = 3600 };

typedef struct header {
  char magic[8];
  uint8_t key[kGpuKeyBytes];
  uint64_t size;
  uint8_t sum[kSumBytes];  // of the binary
} header;

static const char kMagic[8] = "opsprg1";
static const char kUnfinished[] = ".part";

struct gpu_files {
  const ops_instance *instance;
  char *folder;
  atomic_int complained;
};

void gpu_key(const char *const *parts, uint64_t count, uint8_t out_key[kGpuKeyBytes]) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, kGpuKeyBytes);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t size = strlen(parts[i]);
    crypto_generichash_update(&state, (const uint8_t *)&size, sizeof size);
    crypto_generichash_update(&state, (const uint8_t *)parts[i], size);
  }
  crypto_generichash_final(&state, out_key, kGpuKeyBytes);
}

static void complain(gpu_files *files, const char *what, const char *path, int reason) {
  if (atomic_exchange(&files->complained, 1)) return;
  gpu_log(files->instance, OPS_LOG_WARNING,
          "%s: cannot %s: %s; programs are compiled again in each process. Make room there, or "
          "choose another folder with the option cache",
          path, what, strerror(reason));
}

static int make_folders(char *path) {
  for (char *at = path + 1; *at; ++at) {
    if (*at != '/') continue;
    *at = '\0';
    const int made = mkdir(path, 0700);
    *at = '/';
    if (made != 0 && errno != EEXIST) return 0;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static int is_unfinished(const char *name) {
  const size_t size = strlen(name), tail = sizeof kUnfinished - 1;
  return size > tail && strcmp(name + size - tail, kUnfinished) == 0;
}

// A file is written within moments: one that is an hour old has lost its writer.
static void remove_stale(const char *folder) {
  DIR *files = opendir(folder);
  if (!files) return;
  for (const struct dirent *file = readdir(files); file; file = readdir(files)) {
    struct stat found;
    if (is_unfinished(file->d_name) &&
        fstatat(dirfd(files), file->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        time(NULL) - found.st_mtime > kStaleSeconds)
      unlinkat(dirfd(files), file->d_name, 0);
  }
  closedir(files);
}

gpu_files *gpu_files_open(const ops_instance *instance, const char *folder) {
  if (sodium_init() < 0) return NULL;
  gpu_files *files = calloc(1, sizeof *files);
  if (files) files->folder = strdup(folder);
  if (!files || !files->folder) {
    free(files);
    return NULL;
  }
  files->instance = instance;
  if (make_folders(files->folder))
    remove_stale(files->folder);
  else
    complain(files, "make the folder", folder, errno);
  return files;
}

void gpu_files_close(gpu_files *files) {
  if (!files) return;
  free(files->folder);
  free(files);
}

static char *path_of(const gpu_files *files, const uint8_t key[kGpuKeyBytes]) {
  char hex[2 * kGpuKeyBytes + 1];
  char *path;
  sodium_bin2hex(hex, sizeof hex, key, kGpuKeyBytes);
  return asprintf(&path, "%s/%s.program", files->folder, hex) < 0 ? NULL : path;
}

static int32_t header_fits(const header *head, const uint8_t key[kGpuKeyBytes]) {
  return memcmp(head->magic, kMagic, sizeof kMagic) == 0 &&
         memcmp(head->key, key, kGpuKeyBytes) == 0 && head->size > 0 &&
         head->size <= kMaxBinary;
}

static void *read_binary(FILE *file, const uint8_t key[kGpuKeyBytes], uint64_t *out_size) {
  header head;
  uint8_t sum[kSumBytes];
  if (fread(&head, sizeof head, 1, file) != 1 || !header_fits(&head, key)) return NULL;
  void *binary = malloc(head.size);
  if (!binary) return NULL;
  const int whole = fread(binary, 1, head.size, file) == head.size && fgetc(file) == EOF;
  if (whole) crypto_generichash(sum, sizeof sum, binary, head.size, NULL, 0);
  if (whole && memcmp(sum, head.sum, sizeof sum) == 0) {
    *out_size = head.size;
    return binary;
  }
  free(binary);
  return NULL;
}

int32_t gpu_files_read(gpu_files *files, const uint8_t key[kGpuKeyBytes], void **out_binary,
                       uint64_t *out_size) {
  char *path = path_of(files, key);
  FILE *file = path ? fopen(path, "re") : NULL;
  *out_binary = file ? read_binary(file, key, out_size) : NULL;
  if (file) fclose(file);
  free(path);
  return *out_binary != NULL;
}

static int write_all(int fd, const void *data, uint64_t size) {
  const char *at = data;
  while (size > 0) {
    const ssize_t done = write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return 0;
    at += done;
    size -= (uint64_t)done;
  }
  return 1;
}

static int write_file(const char *path, const header *head, const void *binary) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  const int written = write_all(fd, head, sizeof *head) && write_all(fd, binary, head->size);
  const int reason = errno;
  const int closed = close(fd) == 0;
  if (!written) errno = reason;
  return written && closed;
}

void gpu_files_write(gpu_files *files, const uint8_t key[kGpuKeyBytes], const void *binary,
                     uint64_t size) {
  char *path = path_of(files, key), *own = NULL;
  header head = {.size = size};
  memcpy(head.magic, kMagic, sizeof kMagic);
  memcpy(head.key, key, kGpuKeyBytes);
  crypto_generichash(head.sum, sizeof head.sum, binary, size, NULL, 0);
  uint64_t number;  // other processes may be on other machines: no count tells them apart
  randombytes_buf(&number, sizeof number);
  if (!path ||
      asprintf(&own, "%s.%016llx%s", path, (unsigned long long)number, kUnfinished) < 0) {
    free(path);
    return;
  }
  if (!write_file(own, &head, binary) || rename(own, path) != 0) {
    complain(files, "write a program", path, errno);
    unlink(own);
  }
  free(own);
  free(path);
}

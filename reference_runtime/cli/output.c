// SPDX-License-Identifier: Apache-2.0
//
// Files of outputs. They are written under names of their own first and renamed when the last
// one is complete; a failure removes them all, and the folder if it was made for them.
#include "cli/output.h"

#include <ctype.h>
#include <errno.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct output_file {
  char *staged;  // NULL: not written
  char *path;
} output_file;

static char *format(const char *text, const char *directory, const char *name, uint64_t number,
                    const char *suffix) {
  const size_t size = strlen(directory) + strlen(name) + strlen(suffix) + 64;
  char *path = malloc(size);
  if (path) snprintf(path, size, text, directory, name, (unsigned long long)number, suffix);
  return path;
}

// The final path: characters other than letters and digits become '_'; a name that is taken
// gets a number.
static char *final_path(const char *directory, const char *name, const char *suffix,
                        const output_file *files, uint64_t index) {
  char *plain = strdup(name);
  if (!plain) return NULL;
  for (char *at = plain; *at; ++at)
    if (!isalnum((unsigned char)*at) || (unsigned char)*at > 127) *at = '_';
  const size_t size = strlen(directory) + strlen(plain) + strlen(suffix) + 32;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s%s", directory, plain, suffix);
  for (uint64_t i = 0; path && i < index; ++i)
    if (strcmp(files[i].path, path) == 0)
      snprintf(path, size, "%s/%s_%llu%s", directory, plain, (unsigned long long)index, suffix);
  free(plain);
  return path;
}

static int32_t stage_as(const char *directory, const opsrt_value *value, const char *suffix,
                        output_file *files, uint64_t index, ops_error *error) {
  output_file *file = &files[index];
  file->path = final_path(directory, value->name, suffix, files, index);
  file->staged = format("%s/.opsrun-%s-%llu%s", directory, "staged",
                        (uint64_t)getpid() * 1000 + index, suffix);
  if (!file->path || !file->staged)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a file name");
  return opsrt_value_write(file->staged, value, error);
}

static void forget(output_file *file) {
  free(file->path);
  free(file->staged);
  *file = (output_file){0};
}

static int32_t stage(const char *directory, const opsrt_value *value, output_file *files,
                     uint64_t index, ops_error *error) {
  const int32_t status = stage_as(directory, value, ".npy", files, index, error);
  if (status != OPS_ERROR_UNSUPPORTED) return status;
  forget(&files[index]);
  return stage_as(directory, value, ".pb", files, index, error);
}

int32_t cli_check_target(const char *path, ops_error *error) {
  struct stat about;
  if (stat(path, &about) != 0 || S_ISREG(about.st_mode)) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                             "'%s' is there already and is not a file; name another place",
                             path);
}

static int32_t write_all(const char *directory, const opsrt_result *result, output_file *files,
                         ops_error *error) {
  const uint64_t count = opsrt_result_count(result);
  for (uint64_t i = 0; i < count; ++i)
    OPS_RETURN_IF_ERROR(stage(directory, opsrt_result_output(result, i), files, i, error));
  for (uint64_t i = 0; i < count; ++i)
    OPS_RETURN_IF_ERROR(cli_check_target(files[i].path, error));
  for (uint64_t i = 0; i < count; ++i)
    if (rename(files[i].staged, files[i].path) != 0)
      return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                                 "'%s' cannot be written: %s", files[i].path, strerror(errno));
  return OPS_OK;
}

int32_t cli_write_outputs(const char *directory, const opsrt_result *result, ops_error *error) {
  const uint64_t count = opsrt_result_count(result);
  output_file *files = calloc(count + 1, sizeof *files);
  if (!files) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "file names");
  const int made = mkdir(directory, 0777) == 0;
  const int reason = made ? 0 : errno;
  struct stat about;
  int32_t status = OPS_OK;
  if (!made && reason != EEXIST)
    status = ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                                 "folder '%s' cannot be made: %s; name another", directory,
                                 strerror(reason));
  else if (stat(directory, &about) != 0 || !S_ISDIR(about.st_mode))
    status = ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                                 "'%s' is not a folder; name another", directory);
  if (status == OPS_OK) status = write_all(directory, result, files, error);
  for (uint64_t i = 0; i < count; ++i) {
    if (status != OPS_OK && files[i].staged) unlink(files[i].staged);
    forget(&files[i]);
  }
  if (status != OPS_OK && made) rmdir(directory);
  free(files);
  return status;
}

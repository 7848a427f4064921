// SPDX-License-Identifier: Apache-2.0
//
// Private. Whole files as bytes.
#ifndef RT_MODEL_FILE_H_
#define RT_MODEL_FILE_H_

#include <ops/status.h>

typedef struct rt_model_file {
  const void *data;  // NULL for an empty file
  uint64_t size;
} rt_model_file;

// Maps a regular file of at most `max_size` bytes read-only; the error names `path`.
int32_t rt_model_file_map(const char *path, uint64_t max_size, rt_model_file *out_file,
                          ops_error *error);
void rt_model_file_unmap(rt_model_file *file);

// The folder part of a path, "." if there is none; the caller frees it. NULL: no memory.
char *rt_model_file_folder(const char *path);

// Writes the parts one after the other into a file that replaces `path` only when it is
// complete.
int32_t rt_model_file_write(const char *path, const rt_model_file *parts, int32_t count,
                            ops_error *error);

#endif  // RT_MODEL_FILE_H_

// SPDX-License-Identifier: Apache-2.0
//
// A file as bytes.
#ifndef OC_CONTRACT_TEXT_FILE_H_
#define OC_CONTRACT_TEXT_FILE_H_

#include <ops/status.h>
#include <stddef.h>
#include <stdint.h>

// The whole file, terminated by a 0 that *out_size does not count; the caller frees *out_text.
// OPS_ERROR_IO; OPS_ERROR_INVALID_MODEL if it is larger than OC_CONTRACT_MAX_FILE_BYTES;
// OPS_ERROR_OUT_OF_MEMORY.
int32_t oc_text_file_read(const char *path, char **out_text, size_t *out_size,
                          ops_error *error);

#endif  // OC_CONTRACT_TEXT_FILE_H_

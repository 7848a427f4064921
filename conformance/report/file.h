// SPDX-License-Identifier: Apache-2.0
//
// Report files appear whole or not at all: they are written beside their place and renamed.
#ifndef OC_REPORT_FILE_H_
#define OC_REPORT_FILE_H_

#include <ops/status.h>
#include <stddef.h>

// Says before a run whether `path` can be written, without leaving anything there.
int32_t oc_file_probe(const char *path, ops_error *error);

int32_t oc_file_write(const char *path, const char *text, size_t size, ops_error *error);

// The SHA-256 of a file as 64 hexadecimal digits (FIPS 180-4).
int32_t oc_file_hash(const char *path, char out_hex[65], ops_error *error);

// The SHA-256 of a folder: over "PATH\n" and the hash of each file in it whose name ends in
// `suffix`, at any depth, in the order of their paths below it. Of a file: its own hash. Links
// to folders are not followed.
int32_t oc_folder_hash(const char *path, const char *suffix, char out_hex[65],
                       ops_error *error);

#endif  // OC_REPORT_FILE_H_

// SPDX-License-Identifier: Apache-2.0
//
// What the operators on strings share: reading elements, a growing buffer, Unicode.
#ifndef REFERENCE_STRINGS_H_
#define REFERENCE_STRINGS_H_

#include "kernel.h"

// Element `position`, in row-major order, of a tensor of strings.
int32_t ref_string_get(const ref_run *run, const ref_view *x, int64_t position, ops_str *out);
int32_t ref_string_set(const ref_run *run, const ref_view *y, int64_t position, ops_str text);

// Bytes that are put together, in the host's memory. Starts as {.kernel = …}.
typedef struct ref_buffer {
  const ops_kernel *kernel;
  char *data;
  uint64_t size, capacity;
} ref_buffer;

int32_t ref_buffer_add(ref_buffer *buffer, ops_str text, ops_error *error);
void ref_buffer_free(ref_buffer *buffer);

// ---- Unicode: UTF-8, by utf8proc -----------------------------------------------------------

typedef enum ref_case { REF_CASE_NONE, REF_CASE_LOWER, REF_CASE_UPPER, REF_CASE_FOLD } ref_case;

// Appends `text` with the case of every code point changed by Unicode's simple mapping; FOLD
// gives full case folding. In `turkic` text, I and i keep their dots. INVALID_ARGUMENT if the
// text is not UTF-8.
int32_t ref_change_case(ref_buffer *buffer, ops_str text, ref_case to, int turkic,
                        ops_error *error);

// Bytes of the white space character that `text` begins with; 0: none.
uint64_t ref_white_space(ops_str text);

#endif  // REFERENCE_STRINGS_H_

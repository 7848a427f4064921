// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions as ONNX defines them: those of RE2, which is C++, behind a C interface.
#ifndef REFERENCE_REGEX_H_
#define REFERENCE_REGEX_H_

#include <ops/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ref_regex ref_regex;

// NULL if the pattern is none, with the reason in `message`; with an empty message if memory is
// exhausted. Nothing is thrown and nothing is logged.
ref_regex *ref_regex_create(ops_str pattern, char *message, uint64_t message_size);
void ref_regex_destroy(ref_regex *regex);  // accepts NULL

// Whether the whole text matches.
int ref_regex_full_match(const ref_regex *regex, ops_str text);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // REFERENCE_REGEX_H_

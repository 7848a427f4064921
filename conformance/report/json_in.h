// SPDX-License-Identifier: Apache-2.0
//
// JSON from outside, into a cJSON tree whose size is bounded before it is built.
#ifndef OC_REPORT_JSON_IN_H_
#define OC_REPORT_JSON_IN_H_

#include <cjson/cJSON.h>
#include <ops/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oc_json_limits {
  size_t bytes;
  size_t values;  // of all kinds, keys not counted
  int depth;
} oc_json_limits;

// One document and nothing behind it but white space. INVALID_MODEL that begins with
// "name: "; OUT_OF_MEMORY. The tree is the caller's (cJSON_Delete).
int32_t oc_json_in_parse(const char *name, const char *text, size_t size,
                         const oc_json_limits *limits, cJSON **out_root, ops_error *error);

// A whole file of at most `most` bytes, terminated by a 0 that *out_size does not count; owned
// by the caller (free). IO, INVALID_MODEL for a larger one, OUT_OF_MEMORY.
int32_t oc_file_read(const char *path, size_t most, char **out_text, size_t *out_size,
                     ops_error *error);

// The text of a member, NULL if there is none.
const char *oc_json_in_text(const cJSON *object, const char *name);
// The number of a member: a JSON number, or "inf", "-inf", "nan". False if there is none.
bool oc_json_in_number(const cJSON *object, const char *name, double *out_value);

#endif  // OC_REPORT_JSON_IN_H_

// SPDX-License-Identifier: Apache-2.0
//
// A JSON report read back: what comparing and checking reports needs of it. The bytes may come
// from anywhere.
#ifndef OC_REPORT_READING_H_
#define OC_REPORT_READING_H_

#include <ops/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf/perf.h"

#define OC_READING_MAX_BYTES ((size_t)512 << 20)
#define OC_READING_MAX_VALUES ((size_t)24 << 20)  // of JSON, all together
#define OC_READING_MAX_DEPTH 32

// Strings belong to the reading; a text that the report leaves out is "".
typedef struct oc_reading_case {
  const char *id;
  const char *op;
  int32_t status;  // oc_status
  const char *check;
  const char *metric;
  const char *message;
  const char *repeat;
  bool measured;
  double error;
  double limit;
} oc_reading_case;

typedef struct oc_reading_point {
  const char *id;
  const char *verdict;
  oc_perf_estimate ratio;
  int32_t stage;
} oc_reading_point;

typedef struct oc_reading {
  const char *path;
  const char *provider, *version, *sha256;  // of the provider
  const char *profile, *tier, *seed;
  int32_t exit_code;
  oc_reading_case
      *cases;  // by id; of the same id, such as "provider", in the order of the file
  size_t count;
  oc_reading_point *points;  // by id
  size_t point_count;
  void *document;
} oc_reading;

// INVALID_MODEL with what is wrong and where ("report.json: cases[17]: …"), IO, OUT_OF_MEMORY.
int32_t oc_reading_load(const char *path, oc_reading **out_reading, ops_error *error);
int32_t oc_reading_parse(const char *path, const char *text, size_t size,
                         oc_reading **out_reading, ops_error *error);
void oc_reading_destroy(oc_reading *reading);  // accepts NULL

#endif  // OC_REPORT_READING_H_

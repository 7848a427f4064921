// SPDX-License-Identifier: Apache-2.0
//
// Baselines: what was measured earlier, one section per device fingerprint.
//
// A machine's speed drifts, so times of another day are not compared. A baseline keeps, round
// by round, the candidate's median in units of the yardstick's median of the same round; a
// later run is compared in the same unit (ratio of ratios). That holds only for the same
// yardstick, so its file's hash is kept too.
//
// JSON, format 1; docs/performance.md describes it. The reader is strict: unknown keys, wrong
// types, numbers out of range and repeated ids are errors with the place.
#ifndef OC_PERF_BASELINE_H_
#define OC_PERF_BASELINE_H_

#include <ops/status.h>

#include "perf/perf.h"

#define OC_BASELINE_FORMAT 1
#define OC_BASELINE_MAX_BYTES ((size_t)64 << 20)
#define OC_BASELINE_MAX_DEVICES 256
#define OC_BASELINE_MAX_ROUNDS 4096  // of one point

// Limits in milliseconds that people set for a point on this device; 0: none of its own.
typedef struct oc_budget {
  double p95_ms;
  double first_run_ms;
  double jitter_ms;
  double prepare_ms;
} oc_budget;

typedef struct oc_baseline_point {
  char *id;
  size_t blocks;
  size_t rounds;       // of a block
  double *log_ratios;  // ln(candidate : yardstick) of each round's medians; NULL: no yardstick
  double *log_ms;      // ln(milliseconds) of each round's candidate median
  oc_perf_estimate p95;  // candidate : yardstick, or ms without one; maybe not given
  double floor;          // the smallest effect that could be seen when it was taken
  double floor_p95;
  oc_budget budget;
} oc_baseline_point;

typedef struct oc_baseline_device {
  char *fingerprint;
  char *provider;  // name and version that were measured
  char *yardstick;
  char *yardstick_sha256;
  uint32_t workers;
  oc_baseline_point *points;
  size_t count;
} oc_baseline_device;

typedef struct oc_baseline {
  oc_baseline_device *devices;
  size_t count;
} oc_baseline;

// NOT_FOUND: there is no such file. INVALID_ARGUMENT: what is there is no baseline, and where.
int32_t oc_baseline_read(const char *path, oc_baseline *out_baseline, ops_error *error);
// The same from memory; `name` is used in messages.
int32_t oc_baseline_parse(const char *name, const char *text, size_t size,
                          oc_baseline *out_baseline, ops_error *error);
// Whole or not at all.
int32_t oc_baseline_write(const char *path, const oc_baseline *baseline, ops_error *error);
void oc_baseline_finish(oc_baseline *baseline);  // accepts a zeroed one

oc_baseline_device *oc_baseline_find(const oc_baseline *baseline, const char *fingerprint);
oc_baseline_point *oc_baseline_find_point(const oc_baseline_device *device, const char *id);

// The section of a device, made if there is none.
int32_t oc_baseline_open_device(oc_baseline *baseline, const char *fingerprint,
                                oc_baseline_device **out_device, ops_error *error);
// Puts `point` in place of the one of its id, whose budget stays; takes over its memory.
int32_t oc_baseline_put(oc_baseline_device *device, oc_baseline_point *point, ops_error *error);
// Removes all points.
void oc_baseline_clear(oc_baseline_device *device);
// Replaces an owned text.
int32_t oc_baseline_set(char **text, const char *value, ops_error *error);

#endif  // OC_PERF_BASELINE_H_

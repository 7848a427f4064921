// SPDX-License-Identifier: Apache-2.0
//
// The profile sink: stages and providers report spans, the sink keeps them, writes a trace and
// sums the time of each node.
//
// A launch (one execution of a kernel or copy) has a correlation number. The runtime reports
// what the host spent on it; a provider may report what the device spent, under the same
// number. The device's span then counts for the node's time. Thread-safe throughout.
#ifndef RT_PROFILE_PROFILE_H_
#define RT_PROFILE_PROFILE_H_

#include <ops/profile.h>
#include <ops/status.h>

// Spans kept; later ones are counted and dropped.
#define RT_PROFILE_MAX_SPANS ((uint64_t)1 << 22)
// The track of spans that are the host's own.
#define RT_PROFILE_HOST (-1)

typedef struct rt_profile rt_profile;

// A span of the host. Strings are borrowed until rt_profile_clear or destroy.
typedef struct rt_profile_span {
  int32_t kind;  // OPS_PROFILE_…
  uint32_t run;  // number of the run, which is its track
  const char *name;
  const char *op;       // operator; "" for others
  const char *origins;  // names of the model's nodes that a rewritten node stands for; NULL, ""
  const char *provider;  // who did it; "" for the host
  uint64_t correlation;  // of rt_profile_launch, or 0
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t bytes;
} rt_profile_span;

// Sum over all launches of one node.
typedef struct rt_profile_time {
  const char *name;
  const char *op;
  const char *origins;
  const char *provider;
  uint64_t count;
  uint64_t total_ns;
  uint64_t bytes;
} rt_profile_time;

int32_t rt_profile_create(rt_profile **out_profile, ops_error *error);
void rt_profile_destroy(rt_profile *profile);  // accepts NULL
void rt_profile_clear(rt_profile *profile);

// CLOCK_MONOTONIC, nanoseconds.
uint64_t rt_profile_now(void);
// A new correlation number, never 0.
uint64_t rt_profile_launch(rt_profile *profile);
void rt_profile_add(rt_profile *profile, const rt_profile_span *span);
// What a provider reports; everything in `record` is copied. `device` is the number of the
// device, `name` (borrowed as above) its name.
void rt_profile_add_device(rt_profile *profile, int32_t device, const char *name,
                           const ops_profile_record *record);

// Writes a Chrome trace to `path`, which appears whole (by renaming) or not at all.
int32_t rt_profile_write(rt_profile *profile, const char *path, ops_error *error);
// The longest first; *out_times is freed by the caller with free().
int32_t rt_profile_times(rt_profile *profile, rt_profile_time **out_times, uint64_t *out_count,
                         ops_error *error);

#endif  // RT_PROFILE_PROFILE_H_

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

// Kinds of the host's spans, after those of <ops/profile.h>.
#define RT_PROFILE_RUN 6      // a whole run
#define RT_PROFILE_REORDER 7  // a change of layout
#define RT_PROFILE_CONTROL 8  // control flow; the nodes in its bodies have spans of their own
// What rt_profile_span.flops says of an operator without formula.
#define RT_PROFILE_FLOPS_UNKNOWN (-1.0)

typedef struct rt_profile rt_profile;

// A span of the host. Strings are borrowed until rt_profile_clear or destroy.
typedef struct rt_profile_span {
  int32_t kind;  // OPS_PROFILE_…, RT_PROFILE_…; COMPILE with an operator: the node was prepared
  uint32_t run;  // number of the run, which is its track
  const char *name;
  const char *op;       // operator; "" for others
  const char *origins;  // names of the model's nodes that a rewritten node stands for; NULL, ""
  const char *provider;  // who did it; "" for the host
  uint64_t correlation;  // of rt_profile_launch, or 0
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t bytes;       // moved by a copy
  uint64_t bytes_read;  // by a kernel: of its operands
  uint64_t bytes_written;
  double flops;         // of a kernel, or RT_PROFILE_FLOPS_UNKNOWN
  int32_t memory_from;  // COPY: OPS_MEMORY_… of source and destination
  int32_t memory_to;
  uint64_t own_ns;  // RUN: how much of it the profile itself took
} rt_profile_span;

// Memory of one device and kind at one moment of a run.
typedef struct rt_profile_sample {
  const char *device;  // borrowed as above
  int32_t kind;        // OPS_MEMORY_…
  uint32_t run;
  uint64_t time_ns;
  uint64_t live;       // bytes of the values that are still needed, and of workspaces
  uint64_t allocated;  // bytes that the runtime holds
} rt_profile_sample;

int32_t rt_profile_create(rt_profile **out_profile, ops_error *error);
void rt_profile_destroy(rt_profile *profile);  // accepts NULL
void rt_profile_clear(rt_profile *profile);

// CLOCK_MONOTONIC, nanoseconds.
uint64_t rt_profile_now(void);
// A new correlation number, never 0.
uint64_t rt_profile_launch(rt_profile *profile);
void rt_profile_add(rt_profile *profile, const rt_profile_span *span);
void rt_profile_add_sample(rt_profile *profile, const rt_profile_sample *sample);
// What a provider reports; everything in `record` is copied. `device` is the number of the
// device, `name` (borrowed as above) its name.
void rt_profile_add_device(rt_profile *profile, int32_t device, const char *name,
                           const ops_profile_record *record);

// Writes a Chrome trace to `path`, which appears whole (by renaming) or not at all.
int32_t rt_profile_write(rt_profile *profile, const char *path, ops_error *error);

#endif  // RT_PROFILE_PROFILE_H_

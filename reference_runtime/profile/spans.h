// SPDX-License-Identifier: Apache-2.0
//
// Private to profile/: what the sink stores.
#ifndef RT_PROFILE_SPANS_H_
#define RT_PROFILE_SPANS_H_

#include <pthread.h>

#include "profile/profile.h"

typedef struct rt_profile_counter {
  char *name;
  char *unit;
  double value;
} rt_profile_counter;

// One span, of the host (device RT_PROFILE_HOST) or of a device.
typedef struct rt_profile_entry {
  rt_profile_span span;  // of a device: run is the stream
  int32_t device;
  char *own_name;  // of a device's record
  rt_profile_counter *counters;
  uint32_t counter_count;
} rt_profile_entry;

struct rt_profile {
  pthread_mutex_t mutex;
  rt_profile_entry *entries;
  uint64_t count;
  uint64_t capacity;
  rt_profile_sample *samples;
  uint64_t sample_count;
  uint64_t sample_capacity;
  uint64_t dropped;
  uint64_t next_launch;
};

// For every launch, the host's entry and the device's, by sorting: entries with the same
// correlation follow each other, the host's first. Returns pointers into profile->entries, to
// be freed; NULL if memory is exhausted. The mutex is held by the caller.
const rt_profile_entry **rt_profile_sorted(const rt_profile *profile);

// Nanoseconds of a span, 0 if its clock went back.
uint64_t rt_profile_duration(const rt_profile_span *span);
// When the first span or sample began.
uint64_t rt_profile_origin(const rt_profile *profile);
// "kernel", "copy" and so on.
const char *rt_profile_kind_name(int32_t kind);
// "host", "pinned" and so on.
const char *rt_profile_memory_name(int32_t kind);

#endif  // RT_PROFILE_SPANS_H_

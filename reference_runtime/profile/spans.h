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
  int32_t memory_from;
  int32_t memory_to;
  char *own_name;  // of a device's record
  rt_profile_counter *counters;
  uint32_t counter_count;
} rt_profile_entry;

struct rt_profile {
  pthread_mutex_t mutex;
  rt_profile_entry *entries;
  uint64_t count;
  uint64_t capacity;
  uint64_t dropped;
  uint64_t next_launch;
};

// For every launch, the host's entry and the device's, by sorting: entries with the same
// correlation follow each other, the host's first. Returns pointers into profile->entries, to
// be freed; NULL if memory is exhausted. The mutex is held by the caller.
const rt_profile_entry **rt_profile_sorted(const rt_profile *profile);

#endif  // RT_PROFILE_SPANS_H_

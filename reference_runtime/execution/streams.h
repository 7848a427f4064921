// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of one device, lent to one run at a time: a queue for kernels, a queue for
// copies (the same stream if the device has only one), and as many events as the run records.
#ifndef RT_EXECUTION_STREAMS_H_
#define RT_EXECUTION_STREAMS_H_

#include "plan/plan.h"

typedef struct rt_stream_pool rt_stream_pool;

typedef struct rt_stream_set {
  struct rt_stream_set *next;
  const rt_device *device;
  ops_stream *streams[RT_QUEUES_PER_DEVICE];
  uint32_t stream_count;  // of its own; 1: both queues are one stream
  ops_event **events;     // event_count made so far, of which events_used are of this run
  uint32_t event_count;
  uint32_t event_capacity;
  uint32_t events_used;
  int failed;  // 1: a stream is sticky-failed; the set is destroyed when it is given back
} rt_stream_set;

int32_t rt_stream_pool_create(const rt_device *device, rt_stream_pool **out_pool,
                              ops_error *error);
// Every set must be back. Accepts NULL.
void rt_stream_pool_destroy(rt_stream_pool *pool);

// Waits while all streams that the device has are lent. Runs that need several devices acquire
// in the order of device numbers.
int32_t rt_stream_acquire(rt_stream_pool *pool, rt_stream_set **out_set, ops_error *error);
// All work must have completed, or failed. Accepts NULL.
void rt_stream_release(rt_stream_pool *pool, rt_stream_set *set);

// Makes the streams of a set anew that failed, without events.
int32_t rt_stream_renew(rt_stream_set *set, ops_error *error);

// An event that nothing of this run has recorded yet; its number goes to *out_event.
int32_t rt_stream_new_event(rt_stream_set *set, uint32_t *out_event, ops_error *error);
// Blocks until both streams are idle; returns the sticky error.
int32_t rt_stream_synchronize(rt_stream_set *set, ops_error *error);

#endif  // RT_EXECUTION_STREAMS_H_

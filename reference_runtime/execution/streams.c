// SPDX-License-Identifier: Apache-2.0
//
// The pool: idle sets in a list, and a count of how many more the device allows.
#include "execution/streams.h"

#include <ops_support/error.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct rt_stream_pool {
  const rt_device *device;
  pthread_mutex_t mutex;
  pthread_cond_t returned;
  rt_stream_set *idle;
  uint64_t room;  // sets that may still be made
  uint32_t streams_per_set;
};

int32_t rt_stream_pool_create(const rt_device *device, rt_stream_pool **out_pool,
                              ops_error *error) {
  *out_pool = calloc(1, sizeof **out_pool);
  if (!*out_pool) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a pool of streams");
  rt_stream_pool *pool = *out_pool;
  const uint64_t limit = device->info.max_streams;
  pool->device = device;
  pool->streams_per_set = limit == 1 ? 1 : RT_QUEUES_PER_DEVICE;
  pool->room = limit ? limit / pool->streams_per_set : UINT64_MAX;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->returned, NULL);
  return OPS_OK;
}

static void close_streams(rt_stream_set *set) {
  const ops_stream_api *api = set->device->provider->stream;
  for (uint32_t i = 0; i < set->event_count; ++i) api->event_destroy(set->events[i]);
  for (uint32_t i = 0; i < set->stream_count; ++i) api->destroy(set->streams[i]);
  memset(set->streams, 0, sizeof set->streams);
  set->event_count = set->events_used = 0;
}

static int32_t open_streams(rt_stream_set *set, ops_error *error) {
  const rt_device *device = set->device;
  for (uint32_t i = 0; i < set->stream_count; ++i)
    if (device->provider->stream->create(device->device, &set->streams[i], error) != OPS_OK)
      return ops_error_prefix(error, "provider %s", device->name);
  if (set->stream_count == 1) set->streams[RT_QUEUE_COPY] = set->streams[RT_QUEUE_COMPUTE];
  return OPS_OK;
}

static void set_destroy(rt_stream_set *set) {
  close_streams(set);
  free(set->events);
  free(set);
}

static int32_t set_create(const rt_stream_pool *pool, rt_stream_set **out_set,
                          ops_error *error) {
  rt_stream_set *set = calloc(1, sizeof *set);
  if (!set) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "streams");
  set->device = pool->device;
  set->stream_count = pool->streams_per_set;
  const int32_t status = open_streams(set, error);
  if (status != OPS_OK) {
    set_destroy(set);
    return status;
  }
  *out_set = set;
  return OPS_OK;
}

int32_t rt_stream_renew(rt_stream_set *set, ops_error *error) {
  close_streams(set);
  OPS_RETURN_IF_ERROR(open_streams(set, error));
  set->failed = 0;
  return OPS_OK;
}

void rt_stream_pool_destroy(rt_stream_pool *pool) {
  if (!pool) return;
  for (rt_stream_set *set = pool->idle; set;) {
    rt_stream_set *next = set->next;
    set_destroy(set);
    set = next;
  }
  pthread_cond_destroy(&pool->returned);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

int32_t rt_stream_acquire(rt_stream_pool *pool, rt_stream_set **out_set, ops_error *error) {
  *out_set = NULL;
  pthread_mutex_lock(&pool->mutex);
  while (!pool->idle && pool->room == 0) pthread_cond_wait(&pool->returned, &pool->mutex);
  rt_stream_set *set = pool->idle;
  if (set)
    pool->idle = set->next;
  else
    pool->room--;
  pthread_mutex_unlock(&pool->mutex);
  if (set) {
    set->events_used = 0;
    *out_set = set;
    return OPS_OK;
  }
  const int32_t status = set_create(pool, out_set, error);
  if (status == OPS_OK) return OPS_OK;
  pthread_mutex_lock(&pool->mutex);
  pool->room++;
  pthread_cond_signal(&pool->returned);
  pthread_mutex_unlock(&pool->mutex);
  return status;
}

void rt_stream_release(rt_stream_pool *pool, rt_stream_set *set) {
  if (!set) return;
  const int failed = set->failed;
  if (failed) set_destroy(set);
  pthread_mutex_lock(&pool->mutex);
  if (failed) {
    pool->room++;
  } else {
    set->next = pool->idle;
    pool->idle = set;
  }
  pthread_cond_signal(&pool->returned);
  pthread_mutex_unlock(&pool->mutex);
}

int32_t rt_stream_new_event(rt_stream_set *set, uint32_t *out_event, ops_error *error) {
  if (set->events_used == set->event_capacity) {
    const uint32_t capacity = set->event_capacity ? set->event_capacity * 2 : 64;
    ops_event **grown = realloc(set->events, capacity * sizeof *grown);
    if (!grown) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "events");
    set->events = grown;
    set->event_capacity = capacity;
  }
  if (set->events_used == set->event_count) {
    OPS_RETURN_IF_ERROR(set->device->provider->stream->event_create(
        set->device->device, &set->events[set->event_count], error));
    set->event_count++;
  }
  *out_event = set->events_used++;
  return OPS_OK;
}

int32_t rt_stream_synchronize(rt_stream_set *set, ops_error *error) {
  const ops_stream_api *api = set->device->provider->stream;
  const int32_t status = api->synchronize(set->streams[RT_QUEUE_COMPUTE], error);
  if (set->streams[RT_QUEUE_COPY] == set->streams[RT_QUEUE_COMPUTE]) return status;
  // Both are drained, whatever the first says.
  const int32_t second =
      api->synchronize(set->streams[RT_QUEUE_COPY], status == OPS_OK ? error : NULL);
  return status != OPS_OK ? status : second;
}

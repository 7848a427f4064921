// SPDX-License-Identifier: Apache-2.0
//
// Hazards between streams, by vector clocks (Mattern, "Virtual Time and Global States of
// Distributed Systems", 1989): work k of stream s happens before an access iff the accessing
// stream has seen k of s, by a chain of recorded and awaited events or through the host.
#include <stdio.h>
#include <string.h>

#include "validation/layer.h"

static void join(val_clock *clock, const val_clock *other) {
  for (uint32_t i = 0; i < VAL_STREAMS; ++i)
    if (other->seen[i] > clock->seen[i]) clock->seen[i] = other->seen[i];
}

// The order that a stream takes part in, locked; NULL if it is not followed.
static val_order *lock_order(const val_handle *stream) {
  val_order *order = stream->parent->device.order;
  if (!order || stream->stream.index >= VAL_STREAMS || stream->stream.capturing) return NULL;
  pthread_mutex_lock(&order->lock);
  return order;
}

static val_order *order_of(val_handle *device) {
  pthread_mutex_lock(&device->layer->lock);
  val_order *order = device->device.order;
  if (!order && (order = val_map(sizeof *order))) {
    pthread_mutex_init(&order->lock, NULL);
    device->device.order = order;
  }
  pthread_mutex_unlock(&device->layer->lock);
  return order;
}

void val_order_stream(val_handle *device, val_handle *stream) {
  val_order *order = order_of(device);
  stream->stream.index = VAL_STREAMS;
  if (!order) return;
  pthread_mutex_lock(&order->lock);
  uint32_t index = 0;
  while (index < VAL_STREAMS && (order->used >> index & 1u)) ++index;
  if (index < VAL_STREAMS) order->used |= 1u << index;
  stream->stream.index = index;
  stream->stream.clock = order->host;
  pthread_mutex_unlock(&order->lock);
}

// Destroying a stream drains it: the host has then seen all of its work.
void val_order_gone(val_handle *stream) {
  val_order_seen(stream);
  val_order *order = lock_order(stream);
  if (!order) return;
  order->used &= ~(1u << stream->stream.index);
  pthread_mutex_unlock(&order->lock);
}

void val_order_work(val_handle *stream) {
  val_order *order = lock_order(stream);
  if (!order) return;
  const uint32_t index = stream->stream.index;
  join(&stream->stream.clock, &order->host);
  stream->stream.clock.seen[index] = ++order->next[index];
  pthread_mutex_unlock(&order->lock);
}

static int overlaps(const val_access *access, const void *memory, uint64_t begin,
                    uint64_t end) {
  return access->memory == memory && begin < access->end && access->begin < end;
}

// The latest access that may run at the same time, one of both writing; NULL if there is none.
static const val_access *find_hazard(const val_order *order, const val_handle *stream,
                                     const void *memory, uint64_t begin, uint64_t end,
                                     int writes) {
  const uint32_t count =
      order->access_count < VAL_ACCESSES ? order->access_count : VAL_ACCESSES;
  for (uint32_t i = 0; i < count; ++i) {
    const val_access *access = &order->accesses[(order->access_count - 1 - i) % VAL_ACCESSES];
    if (access->stream != stream->stream.index && (writes || access->writes) &&
        overlaps(access, memory, begin, end) &&
        access->number > stream->stream.clock.seen[access->stream])
      return access;
  }
  return NULL;
}

void val_order_use(val_handle *stream, const char *who, const void *memory, uint64_t offset,
                   uint64_t size, int writes) {
  val_access hazard = {0};
  if (!size || !memory) return;
  val_order *order = lock_order(stream);
  if (!order) return;
  // One stream alone has no hazards, and nothing to remember.
  if (order->used & (order->used - 1)) {
    const val_access *found = find_hazard(order, stream, memory, offset, offset + size, writes);
    if (found) hazard = *found;
    val_access *access = &order->accesses[order->access_count++ % VAL_ACCESSES];
    *access = (val_access){.memory = memory,
                           .begin = offset,
                           .end = offset + size,
                           .number = stream->stream.clock.seen[stream->stream.index],
                           .stream = stream->stream.index,
                           .writes = (uint32_t)writes};
    snprintf(access->who, sizeof access->who, "%s", who);
  }
  pthread_mutex_unlock(&order->lock);
  if (!hazard.memory) return;
  val_find(stream->layer, "HOST-6",
           "%s %s memory on stream %u that '%s' %s on another stream, with no event between; "
           "record an event behind the first and let the second's stream wait for it",
           who, writes ? "writes" : "reads", stream->number, hazard.who,
           hazard.writes ? "writes" : "reads");
}

void val_order_record(val_handle *event, val_handle *stream) {
  val_order *order = lock_order(stream);
  if (!order) return;
  event->event.clock = stream->stream.clock;
  pthread_mutex_unlock(&order->lock);
}

void val_order_wait(val_handle *stream, val_handle *event) {
  val_order *order = lock_order(stream);
  if (!order) return;
  join(&stream->stream.clock, &event->event.clock);
  pthread_mutex_unlock(&order->lock);
}

void val_order_seen(val_handle *waited) {
  val_order *order = waited->parent->device.order;
  if (!order) return;
  pthread_mutex_lock(&order->lock);
  join(&order->host,
       atomic_load(&waited->kind) == VAL_EVENT ? &waited->event.clock : &waited->stream.clock);
  pthread_mutex_unlock(&order->lock);
}

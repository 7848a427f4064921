// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. A stream is a ring of commands and one worker that takes them in order;
// nothing is allocated when a command is enqueued, and a full ring makes the caller wait. An
// event counts the times it was recorded and the times it was reached, so recording it again
// moves the point.
//
// The first failure of a stream is kept: later commands are skipped, but events among them are
// still reached, carrying the failure, so nobody waits for ever.
#include <errno.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npu.h"

struct ops_event {
  pthread_mutex_t lock;
  pthread_cond_t reached_changed;
  ops_device *device;
  uint64_t recorded;
  uint64_t reached;
  int32_t references;  // the owner and every command that mentions it
  ops_error failure;   // of the stream it was recorded in
};

typedef struct command command;

struct command {
  int32_t (*run)(ops_stream *stream, const command *self, ops_error *error);
  uint64_t correlation;
  int32_t always;  // also runs when the stream has failed
  union {
    struct {
      const ops_prepared *prepared;
      void *args[kMaxArgs];
    } launch;
    struct {
      void *target;
      const void *source;
      uint64_t size;
      int32_t from, to;
    } copy;
    struct {
      ops_event *event;
      uint64_t count;
    } event;
  };
};

struct ops_stream {
  ops_device *device;
  uint32_t id;
  pthread_t worker;
  pthread_mutex_t lock;
  pthread_cond_t changed;  // the ring, or what the worker does
  command ring[kQueueDepth];
  uint64_t begin, end;  // commands [begin, end) are pending; the first may be running
  int32_t stopping;
  int32_t cancelling;  // pending commands end CANCELLED
  ops_error failure;   // code OPS_OK: none
};

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void delay(uint64_t ns) {
  struct timespec rest = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  while (ns && nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
}

static int32_t give_failure(const ops_error *failure, ops_error *error) {
  if (failure->code == OPS_OK) return OPS_OK;
  return ops_error_set(error, failure->code, "%s", failure->message);
}

// ---- Events ----

static void event_drop(ops_event *event) {
  pthread_mutex_lock(&event->lock);
  const int32_t last = --event->references == 0;
  pthread_mutex_unlock(&event->lock);
  if (!last) return;
  npu_device_add(event->device, -1);
  pthread_cond_destroy(&event->reached_changed);
  pthread_mutex_destroy(&event->lock);
  free(event);
}

static void event_reach(ops_event *event, uint64_t count, const ops_error *failure) {
  pthread_mutex_lock(&event->lock);
  if (count > event->reached) event->reached = count;
  event->failure = *failure;
  pthread_cond_broadcast(&event->reached_changed);
  pthread_mutex_unlock(&event->lock);
}

static int32_t event_await(ops_event *event, uint64_t count, ops_error *error) {
  pthread_mutex_lock(&event->lock);
  while (event->reached < count) pthread_cond_wait(&event->reached_changed, &event->lock);
  const int32_t status = give_failure(&event->failure, error);
  pthread_mutex_unlock(&event->lock);
  return status;
}

// ---- The worker ----

static int32_t run_launch(ops_stream *stream, const command *self, ops_error *error) {
  const ops_prepared *prepared = self->launch.prepared;
  const char *fail = stream->device->instance->fail_op;
  if (fail[0] && strcmp(fail, prepared->op->name) == 0)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "kernel '%.*s' failed on the device, as option fail_op asks",
                         OPS_STR_FMT(prepared->name));
  prepared->op->run(prepared, stream->device->instance, self->launch.args);
  return OPS_OK;
}

static int32_t run_copy(ops_stream *stream, const command *self, ops_error *error) {
  (void)stream, (void)error;
  memmove(self->copy.target, self->copy.source, self->copy.size);
  return OPS_OK;
}

static int32_t run_record(ops_stream *stream, const command *self, ops_error *error) {
  (void)error;
  pthread_mutex_lock(&stream->lock);
  const ops_error failure = stream->failure;
  pthread_mutex_unlock(&stream->lock);
  event_reach(self->event.event, self->event.count, &failure);
  event_drop(self->event.event);
  return OPS_OK;
}

static int32_t run_wait(ops_stream *stream, const command *self, ops_error *error) {
  (void)stream;
  const int32_t status = event_await(self->event.event, self->event.count, error);
  event_drop(self->event.event);
  return status;
}

static void report_profile(ops_stream *stream, const command *self, uint64_t start) {
  ops_instance *instance = stream->device->instance;
  if (self->always || !instance->api->profile_enabled(instance->host)) return;
  ops_profile_record record = {.struct_size = sizeof record,
                               .stream_id = stream->id,
                               .correlation = self->correlation,
                               .start_ns = start,
                               .end_ns = now_ns()};
  if (self->run == run_launch) {
    record.kind = OPS_PROFILE_KERNEL;
    record.name = self->launch.prepared->name;
  } else {
    const ops_str up = OPS_STR("copy to device"), down = OPS_STR("copy to host");
    const ops_str inside = OPS_STR("copy on device");
    record.kind = OPS_PROFILE_COPY;
    record.name = self->copy.to != OPS_MEMORY_DEVICE     ? down
                  : self->copy.from == OPS_MEMORY_DEVICE ? inside
                                                         : up;
    record.memory_from = self->copy.from;
    record.memory_to = self->copy.to;
    record.bytes = self->copy.size;
  }
  instance->api->profile(instance->host, &record);
}

static void keep_failure(ops_stream *stream, const ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  if (stream->failure.code == OPS_OK) stream->failure = *error;
  pthread_mutex_unlock(&stream->lock);
}

// Runs one command, or skips it if the stream has failed or is being cancelled.
static void run_command(ops_stream *stream, const command *self, int32_t skip) {
  ops_error error = OPS_ERROR_INIT;
  if (skip && !self->always) return;
  if (!skip) delay(stream->device->instance->delay_ns);
  const uint64_t start = now_ns();
  if (self->run(stream, self, &error) == OPS_OK)
    report_profile(stream, self, start);
  else
    keep_failure(stream, &error);
}

static void *worker_main(void *argument) {
  ops_stream *stream = argument;
  pthread_mutex_lock(&stream->lock);
  for (;;) {
    while (stream->begin == stream->end && !stream->stopping)
      pthread_cond_wait(&stream->changed, &stream->lock);
    if (stream->begin == stream->end) break;
    const command next = stream->ring[stream->begin % kQueueDepth];
    const int32_t skip = stream->failure.code != OPS_OK || stream->cancelling;
    pthread_mutex_unlock(&stream->lock);
    run_command(stream, &next, skip);
    pthread_mutex_lock(&stream->lock);
    ++stream->begin;
    pthread_cond_broadcast(&stream->changed);
  }
  pthread_mutex_unlock(&stream->lock);
  return NULL;
}

// ---- Streams ----

static int32_t take_queue(ops_device *device, uint32_t *out_id) {
  uint32_t used = __atomic_load_n(&device->stream_in_use, __ATOMIC_RELAXED);
  for (uint32_t id = 0; id < kMaxStreams;) {
    if (used >> id & 1) {
      ++id;
    } else if (__atomic_compare_exchange_n(&device->stream_in_use, &used, used | 1u << id, 0,
                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      *out_id = id;
      return 1;
    }
  }
  return 0;
}

static void give_queue(ops_device *device, uint32_t id) {
  __atomic_fetch_and(&device->stream_in_use, ~(1u << id), __ATOMIC_RELEASE);
}

static int32_t stream_create(ops_device *device, ops_stream **out_stream, ops_error *error) {
  uint32_t id;
  if (!take_queue(device, &id))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "all %d queues of mynpu are in use",
                         kMaxStreams);
  ops_stream *stream = calloc(1, sizeof *stream);
  if (stream) {
    stream->device = device;
    stream->id = id;
    stream->failure.struct_size = sizeof stream->failure;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
  }
  if (!stream || pthread_create(&stream->worker, NULL, worker_main, stream) != 0) {
    free(stream);
    give_queue(device, id);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory or thread for a stream");
  }
  npu_device_add(device, 1);
  *out_stream = stream;
  return OPS_OK;
}

static void stream_destroy(ops_stream *stream) {
  if (!stream) return;
  pthread_mutex_lock(&stream->lock);
  stream->stopping = 1;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  pthread_join(stream->worker, NULL);
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->lock);
  give_queue(stream->device, stream->id);
  npu_device_add(stream->device, -1);
  free(stream);
}

static int32_t enqueue(ops_stream *stream, const command *item, ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  const int32_t status = item->always ? OPS_OK : give_failure(&stream->failure, error);
  if (status == OPS_OK) {
    while (stream->end - stream->begin == kQueueDepth)
      pthread_cond_wait(&stream->changed, &stream->lock);
    stream->ring[stream->end++ % kQueueDepth] = *item;
    pthread_cond_broadcast(&stream->changed);
  }
  pthread_mutex_unlock(&stream->lock);
  return status;
}

static int32_t stream_synchronize(ops_stream *stream, ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  const uint64_t end = stream->end;
  while (stream->begin < end) pthread_cond_wait(&stream->changed, &stream->lock);
  const int32_t status = give_failure(&stream->failure, error);
  pthread_mutex_unlock(&stream->lock);
  return status;
}

static int32_t stream_query(ops_stream *stream, ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  int32_t status = give_failure(&stream->failure, error);
  if (status == OPS_OK && stream->begin != stream->end) status = OPS_ERROR_NOT_READY;
  pthread_mutex_unlock(&stream->lock);
  return status;
}

static int32_t stream_cancel(ops_stream *stream, ops_error *error) {
  (void)error;
  pthread_mutex_lock(&stream->lock);
  stream->cancelling = 1;
  if (stream->begin != stream->end && stream->failure.code == OPS_OK)
    ops_error_set(&stream->failure, OPS_ERROR_CANCELLED, "the stream was cancelled");
  while (stream->begin != stream->end) pthread_cond_wait(&stream->changed, &stream->lock);
  stream->cancelling = 0;
  stream->failure.code = OPS_OK;
  pthread_mutex_unlock(&stream->lock);
  return OPS_OK;
}

int32_t npu_stream_launch(ops_stream *stream, const ops_prepared *prepared,
                          void *const args[kMaxArgs], uint64_t correlation, ops_error *error) {
  command item = {.run = run_launch, .correlation = correlation};
  item.launch.prepared = prepared;
  memcpy(item.launch.args, args, sizeof item.launch.args);
  return enqueue(stream, &item, error);
}

ops_device *npu_stream_device(const ops_stream *stream) {
  return stream->device;
}

// The address that the copy engine uses for one end of a copy.
static int32_t copy_end(ops_device *device, int32_t kind, void *memory, uint64_t offset,
                        uint64_t size, void **out_address, ops_error *error) {
  if (kind == OPS_MEMORY_DEVICE)
    return npu_address(device, memory, offset, size, out_address, error);
  *out_address = (char *)memory + offset;
  return OPS_OK;
}

static int32_t stream_copy(ops_device *device, ops_stream *stream, const ops_copy *copy,
                           ops_error *error) {
  void *source, *target;
  if (copy->source_device && copy->source_device != device)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "mynpu has no copies between devices");
  OPS_RETURN_IF_ERROR(copy_end(device, copy->source_kind, copy->source, copy->source_offset,
                               copy->size, &source, error));
  OPS_RETURN_IF_ERROR(copy_end(device, copy->target_kind, copy->target, copy->target_offset,
                               copy->size, &target, error));
  if (copy->size == 0) return OPS_OK;
  if (!stream) {
    memmove(target, source, copy->size);
    return OPS_OK;
  }
  command item = {.run = run_copy, .correlation = copy->correlation};
  item.copy.source = source;
  item.copy.target = target;
  item.copy.size = copy->size;
  item.copy.from = copy->source_kind;
  item.copy.to = copy->target_kind;
  return enqueue(stream, &item, error);
}

// ---- Events, as the host sees them ----

static int32_t event_create(ops_device *device, ops_event **out_event, ops_error *error) {
  ops_event *event = calloc(1, sizeof *event);
  if (!event) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an event");
  event->device = device;
  event->references = 1;
  event->failure.struct_size = sizeof event->failure;
  pthread_mutex_init(&event->lock, NULL);
  pthread_cond_init(&event->reached_changed, NULL);
  npu_device_add(device, 1);
  *out_event = event;
  return OPS_OK;
}

static void event_destroy(ops_event *event) {
  if (event) event_drop(event);
}

static int32_t event_record(ops_event *event, ops_stream *stream, ops_error *error) {
  command item = {.run = run_record, .always = 1};
  item.event.event = event;
  pthread_mutex_lock(&event->lock);
  ++event->references;
  item.event.count = ++event->recorded;
  pthread_mutex_unlock(&event->lock);
  return enqueue(stream, &item, error);
}

static int32_t never_recorded(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_PRECONDITION, "the event was never recorded");
}

static int32_t stream_wait(ops_stream *stream, ops_event *event, ops_error *error) {
  command item = {.run = run_wait, .always = 1};
  item.event.event = event;
  pthread_mutex_lock(&event->lock);
  item.event.count = event->recorded;
  if (item.event.count) ++event->references;
  pthread_mutex_unlock(&event->lock);
  if (!item.event.count) return never_recorded(error);
  return enqueue(stream, &item, error);
}

static int32_t event_query(ops_event *event, ops_error *error) {
  pthread_mutex_lock(&event->lock);
  const int32_t recorded = event->recorded > 0;
  int32_t status = OPS_ERROR_NOT_READY;
  if (event->reached == event->recorded) status = give_failure(&event->failure, error);
  pthread_mutex_unlock(&event->lock);
  return recorded ? status : never_recorded(error);
}

static int32_t event_synchronize(ops_event *event, ops_error *error) {
  pthread_mutex_lock(&event->lock);
  const uint64_t count = event->recorded;
  pthread_mutex_unlock(&event->lock);
  return count ? event_await(event, count, error) : never_recorded(error);
}

const ops_stream_api npu_stream_api = {
    .struct_size = sizeof(ops_stream_api),
    .create = stream_create,
    .destroy = stream_destroy,
    .synchronize = stream_synchronize,
    .query = stream_query,
    .wait = stream_wait,
    .cancel = stream_cancel,
    .copy = stream_copy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
};

// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. A stream is a ring of commands and one worker that takes them in order;
// a full ring makes the caller wait. Recording an event makes a new point and forgets the one
// before: whoever already waits for that one holds it, so moving the point changes nothing for
// them.
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

// A place in a stream, reached once.
typedef struct point {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int32_t references;  // the event and every command that mentions it
  int32_t reached;
  ops_error failure;  // of the stream, when it was reached
} point;

struct ops_event {
  ops_device *device;
  point *point;  // NULL: never recorded
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
    point *point;
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

// ---- Points ----

static point *point_create(void) {
  point *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->references = 1;
  p->failure.struct_size = sizeof p->failure;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->changed, NULL);
  return p;
}

static point *point_retain(point *p) {
  pthread_mutex_lock(&p->lock);
  ++p->references;
  pthread_mutex_unlock(&p->lock);
  return p;
}

static void point_release(point *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  const int32_t last = --p->references == 0;
  pthread_mutex_unlock(&p->lock);
  if (!last) return;
  pthread_cond_destroy(&p->changed);
  pthread_mutex_destroy(&p->lock);
  free(p);
}

static void point_reach(point *p, const ops_error *failure) {
  pthread_mutex_lock(&p->lock);
  p->reached = 1;
  p->failure = *failure;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

static int32_t point_await(point *p, ops_error *error) {
  pthread_mutex_lock(&p->lock);
  while (!p->reached) pthread_cond_wait(&p->changed, &p->lock);
  const int32_t status = give_failure(&p->failure, error);
  pthread_mutex_unlock(&p->lock);
  return status;
}

static int32_t point_query(point *p, ops_error *error) {
  pthread_mutex_lock(&p->lock);
  const int32_t status = p->reached ? give_failure(&p->failure, error) : OPS_ERROR_NOT_READY;
  pthread_mutex_unlock(&p->lock);
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
  if (self->copy.size) memmove(self->copy.target, self->copy.source, self->copy.size);
  return OPS_OK;
}

static int32_t run_record(ops_stream *stream, const command *self, ops_error *error) {
  (void)error;
  pthread_mutex_lock(&stream->lock);
  const ops_error failure = stream->failure;
  pthread_mutex_unlock(&stream->lock);
  point_reach(self->point, &failure);
  point_release(self->point);
  return OPS_OK;
}

static int32_t run_wait(ops_stream *stream, const command *self, ops_error *error) {
  (void)stream;
  const int32_t status = point_await(self->point, error);
  point_release(self->point);
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
    if (stream) pthread_cond_destroy(&stream->changed);
    if (stream) pthread_mutex_destroy(&stream->lock);
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
  // A failure from before is kept; what fails from here on is the cancelling itself.
  const int32_t failed = stream->failure.code != OPS_OK;
  if (stream->begin != stream->end && !failed)
    ops_error_set(&stream->failure, OPS_ERROR_CANCELLED, "the stream was cancelled");
  while (stream->begin != stream->end) pthread_cond_wait(&stream->changed, &stream->lock);
  stream->cancelling = 0;
  if (!failed) stream->failure.code = OPS_OK;
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
  if (kind < 0 || kind >= OPS_MEMORY_KIND_COUNT || (!memory && size > 0))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "copy: memory kind %d, handle %p; expected a kind below %d and an "
                         "address",
                         kind, memory, OPS_MEMORY_KIND_COUNT);
  *out_address = (char *)memory + offset;
  return OPS_OK;
}

static int32_t stream_copy(ops_device *device, ops_stream *stream, const ops_copy *copy,
                           ops_error *error) {
  void *source = NULL, *target = NULL;
  if (copy->source_device && copy->source_device != device)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "mynpu has no copies between devices");
  OPS_RETURN_IF_ERROR(copy_end(device, copy->source_kind, copy->source, copy->source_offset,
                               copy->size, &source, error));
  OPS_RETURN_IF_ERROR(copy_end(device, copy->target_kind, copy->target, copy->target_offset,
                               copy->size, &target, error));
  if (!stream) {
    if (copy->size) memmove(target, source, copy->size);
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
  npu_device_add(device, 1);
  *out_event = event;
  return OPS_OK;
}

static void event_destroy(ops_event *event) {
  if (!event) return;
  npu_device_add(event->device, -1);
  point_release(event->point);
  free(event);
}

static int32_t event_record(ops_event *event, ops_stream *stream, ops_error *error) {
  point *fresh = point_create();
  if (!fresh) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an event");
  const command item = {.run = run_record, .always = 1, .point = point_retain(fresh)};
  point_release(event->point);
  event->point = fresh;
  return enqueue(stream, &item, error);
}

static int32_t check_recorded(const ops_event *event, ops_error *error) {
  if (event->point) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION, "the event was never recorded");
}

static int32_t stream_wait(ops_stream *stream, ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  const command item = {.run = run_wait, .always = 1, .point = point_retain(event->point)};
  return enqueue(stream, &item, error);
}

static int32_t event_query(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  return point_query(event->point, error);
}

static int32_t event_synchronize(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  return point_await(event->point, error);
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

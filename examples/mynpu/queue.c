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
#include <ops_support/node.h>
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
      npu_arg args[kMaxArgs];
    } launch;
    struct {
      npu_arg target, source;
      int32_t from, to;
    } copy;
    point *point;
  };
};

// Commands that were recorded instead of run.
struct ops_capture {
  ops_device *device;
  command *commands;
  uint64_t count, capacity;
};

struct ops_stream {
  ops_device *device;
  ops_capture *capture;  // NULL: commands run
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
  return ops_error_copy(error, failure->code, failure);
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
  ops_instance *instance = stream->device->instance;
  if (instance->fail_op[0] && strcmp(instance->fail_op, prepared->op->name) == 0 &&
      __atomic_fetch_add(&instance->fail_seen, 1, __ATOMIC_RELAXED) >= instance->fail_from)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "kernel '%.*s' failed on the device, as option fail_op asks",
                         OPS_STR_FMT(prepared->name));
  void *args[kMaxArgs];
  for (int i = 0; i < kMaxArgs; ++i) args[i] = self->launch.args[i].address;
  prepared->op->run(prepared, stream->device->instance, args);
  return OPS_OK;
}

static int32_t run_copy(ops_stream *stream, const command *self, ops_error *error) {
  (void)stream, (void)error;
  const npu_arg *source = &self->copy.source;
  if (source->size) memmove(self->copy.target.address, source->address, source->size);
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
    record.bytes = self->copy.source.size;
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

static void capture_destroy(ops_capture *capture);

static void stream_destroy(ops_stream *stream) {
  if (!stream) return;
  pthread_mutex_lock(&stream->lock);
  stream->stopping = 1;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  pthread_join(stream->worker, NULL);
  capture_destroy(stream->capture);
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->lock);
  give_queue(stream->device, stream->id);
  npu_device_add(stream->device, -1);
  free(stream);
}

static int32_t refuse_captured(const ops_stream *stream, ops_error *error) {
  if (!stream->capture) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "a stream that is being captured takes kernels and copies only");
}

static int32_t record_command(ops_capture *capture, const command *item, ops_error *error) {
  if (capture->count == capture->capacity) {
    const uint64_t capacity = capture->capacity ? capture->capacity * 2 : 16;
    command *grown = realloc(capture->commands, capacity * sizeof *grown);
    if (!grown) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to capture");
    capture->commands = grown;
    capture->capacity = capacity;
  }
  capture->commands[capture->count++] = *item;
  return OPS_OK;
}

static int32_t enqueue(ops_stream *stream, const command *item, ops_error *error) {
  if (stream->capture) return record_command(stream->capture, item, error);
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
                          const npu_arg args[kMaxArgs], uint64_t correlation,
                          ops_error *error) {
  command item = {.run = run_launch, .correlation = correlation};
  item.launch.prepared = prepared;
  memcpy(item.launch.args, args, sizeof item.launch.args);
  return enqueue(stream, &item, error);
}

ops_device *npu_stream_device(const ops_stream *stream) {
  return stream->device;
}

// Finds the address that the copy engine uses for one end of a copy.
static int32_t copy_end(ops_device *device, int32_t kind, npu_arg *end, ops_error *error) {
  if (kind == OPS_MEMORY_DEVICE)
    return npu_address(device, end->handle, end->offset, end->size, &end->address, error);
  if (kind < 0 || kind >= OPS_MEMORY_KIND_COUNT || (!end->handle && end->size > 0))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "copy: memory kind %d, handle %p; expected a kind below %d and an "
                         "address",
                         kind, end->handle, OPS_MEMORY_KIND_COUNT);
  end->address = (char *)end->handle + end->offset;
  return OPS_OK;
}

static int32_t stream_copy(ops_device *device, ops_stream *stream, const ops_copy *copy,
                           ops_error *error) {
  if (copy->source_device && copy->source_device != device)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "mynpu has no copies between devices");
  command item = {.run = run_copy, .correlation = copy->correlation};
  item.copy.source = (npu_arg){NULL, copy->source, copy->source_offset, copy->size};
  item.copy.target = (npu_arg){NULL, copy->target, copy->target_offset, copy->size};
  item.copy.from = copy->source_kind;
  item.copy.to = copy->target_kind;
  OPS_RETURN_IF_ERROR(copy_end(device, copy->source_kind, &item.copy.source, error));
  OPS_RETURN_IF_ERROR(copy_end(device, copy->target_kind, &item.copy.target, error));
  if (stream) return enqueue(stream, &item, error);
  if (copy->size) memmove(item.copy.target.address, item.copy.source.address, copy->size);
  return OPS_OK;
}

// ---- Captures ----
//
// A capture is a list of commands; replaying enqueues them again. Arguments remember the
// handles that the host gave, so that those it rebinds are found anew, and checked as at first.

static int32_t capture_begin(ops_stream *stream, ops_error *error) {
  if (stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "the stream is being captured already");
  stream->capture = calloc(1, sizeof *stream->capture);
  if (!stream->capture)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to capture");
  stream->capture->device = stream->device;
  npu_device_add(stream->device, 1);
  return OPS_OK;
}

static int32_t capture_end(ops_stream *stream, ops_capture **out_capture, ops_error *error) {
  if (!stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "the stream is not being captured");
  *out_capture = stream->capture;
  stream->capture = NULL;
  return OPS_OK;
}

static void capture_destroy(ops_capture *capture) {
  if (!capture) return;
  npu_device_add(capture->device, -1);
  free(capture->commands);
  free(capture);
}

// 1 in *out_moved if the handle of the argument has been rebound.
static void rebind(npu_arg *arg, const ops_rebind *rebinds, uint64_t count, uint64_t stride,
                   int32_t *out_moved) {
  *out_moved = 0;
  for (uint64_t i = 0; arg->handle && i < count; ++i) {
    const ops_rebind *at = OPS_AT(ops_rebind, rebinds, stride, i);
    if (at->captured != arg->handle) continue;
    arg->handle = at->replacement;
    *out_moved = 1;
    return;
  }
}

static int32_t rebind_launch(ops_device *device, command *item, const ops_rebind *rebinds,
                             uint64_t count, uint64_t stride, ops_error *error) {
  for (int i = 0; i < kMaxArgs; ++i) {
    npu_arg *arg = &item->launch.args[i];
    int32_t moved;
    rebind(arg, rebinds, count, stride, &moved);
    if (moved)
      OPS_RETURN_IF_ERROR(
          npu_address(device, arg->handle, arg->offset, arg->size, &arg->address, error));
  }
  return OPS_OK;
}

static int32_t rebind_copy(ops_device *device, command *item, const ops_rebind *rebinds,
                           uint64_t count, uint64_t stride, ops_error *error) {
  int32_t moved;
  rebind(&item->copy.source, rebinds, count, stride, &moved);
  if (moved) OPS_RETURN_IF_ERROR(copy_end(device, item->copy.from, &item->copy.source, error));
  rebind(&item->copy.target, rebinds, count, stride, &moved);
  if (moved) OPS_RETURN_IF_ERROR(copy_end(device, item->copy.to, &item->copy.target, error));
  return OPS_OK;
}

static int32_t replay(ops_capture *capture, ops_stream *stream, const ops_rebind *rebinds,
                      uint64_t count, uint64_t stride, ops_error *error) {
  if (stream->device != capture->device || stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "a capture is replayed on a stream of its device that is not being "
                         "captured itself");
  for (uint64_t i = 0; i < capture->count; ++i) {
    command item = capture->commands[i];
    if (item.run == run_launch)
      OPS_RETURN_IF_ERROR(rebind_launch(capture->device, &item, rebinds, count, stride, error));
    else
      OPS_RETURN_IF_ERROR(rebind_copy(capture->device, &item, rebinds, count, stride, error));
    OPS_RETURN_IF_ERROR(enqueue(stream, &item, error));
  }
  return OPS_OK;
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
  OPS_RETURN_IF_ERROR(refuse_captured(stream, error));
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
  OPS_RETURN_IF_ERROR(refuse_captured(stream, error));
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
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .replay = replay,
    .capture_destroy = capture_destroy,
};

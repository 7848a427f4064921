// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. A stream is a list of commands and one worker. Recording an
// event makes a new point; who waits for the one before holds it.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue.h"

#define LATE_NS 300000  // how late a device is that gives its faults the time to show

static void rest(long ns) {
  const struct timespec pause = {0, ns};
  nanosleep(&pause, NULL);
}

static int32_t give_failure(const ops_error *failure, ops_error *error) {
  return failure->code == OPS_OK ? OPS_OK : ops_error_copy(error, failure->code, failure);
}

// ---- Events ---------------------------------------------------------------------------------

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
  __atomic_fetch_add(&p->references, 1, __ATOMIC_RELAXED);
  return p;
}

static void point_release(point *p) {
  if (!p || __atomic_sub_fetch(&p->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->changed);
  free(p);
}

static void point_reach(point *p, const ops_error *failure) {
  pthread_mutex_lock(&p->lock);
  if (!p->reached) p->failure = *failure;
  p->reached = 1;
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

static int32_t event_create(ops_device *device, ops_event **out_event, ops_error *error) {
  ops_event *event = calloc(1, sizeof *event);
  if (!event) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an event");
  event->device = device;
  faulty_device_add(device, FAULTY_EVENTS, 1);
  *out_event = event;
  return OPS_OK;
}

static void event_destroy(ops_event *event) {
  if (!event) return;
  faulty_device_add(event->device, FAULTY_EVENTS, -1);
  point_release(event->point);
  free(event);
}

static int32_t check_recorded(const ops_event *event, ops_error *error) {
  if (event->point) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION, "the event was never recorded");
}

static int32_t event_query(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  pthread_mutex_lock(&event->point->lock);
  const int32_t status =
      event->point->reached ? give_failure(&event->point->failure, error) : OPS_ERROR_NOT_READY;
  pthread_mutex_unlock(&event->point->lock);
  return status;
}

static int32_t event_synchronize(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  return point_await(event->point, error);
}

// ---- Commands -------------------------------------------------------------------------------

static int32_t run_call(ops_stream *stream, const command *self, ops_error *error) {
  if (FAULTY(stream, event_signalled_early) || FAULTY(stream, synchronize_does_not_wait) ||
      CONTROLLED(stream, slow_completion)) {
    rest(LATE_NS);
  }
  const int32_t status = self->call.prepared->kernel->op->run(&self->call, error);
  if (status != OPS_OK && FAULTY(stream, async_error_swallowed)) return OPS_OK;
  return status;
}

static int32_t run_copy(ops_stream *stream, const command *self, ops_error *error) {
  (void)error;
  if (stream && (FAULTY(stream, wait_ignored) || FAULTY(stream, copies_overtake)))
    rest(LATE_NS);
  const ops_copy *copy = &self->copy;
  const char *from = faulty_address(copy->source_kind, copy->source);
  char *to = faulty_address(copy->target_kind, copy->target);
  if (copy->size) memmove(to + copy->target_offset, from + copy->source_offset, copy->size);
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
  if (FAULTY(stream, wait_follows_event)) {
    rest(LATE_NS);
    return point_await(self->event->point, error);
  }
  const int32_t status = point_await(self->point, error);
  point_release(self->point);
  return status;
}

// ---- The worker -----------------------------------------------------------------------------

static void run_command(ops_stream *stream, const command *self, int skip) {
  ops_error error = OPS_ERROR_INIT;
  if (skip && !self->point) return;
  if (self->run(stream, self, &error) == OPS_OK) return;
  pthread_mutex_lock(&stream->lock);
  if (stream->failure.code == OPS_OK) stream->failure = error;
  pthread_mutex_unlock(&stream->lock);
}

static void *work(void *context) {
  ops_stream *stream = context;
  pthread_mutex_lock(&stream->lock);
  for (;;) {
    while (!stream->first && !stream->stopping)
      pthread_cond_wait(&stream->changed, &stream->lock);
    command *next = stream->first;
    if (!next) break;
    stream->first = next->next;
    if (!stream->first) stream->end = &stream->first;
    stream->busy = 1;
    const int skip = stream->failure.code != OPS_OK;
    pthread_mutex_unlock(&stream->lock);
    run_command(stream, next, skip);
    free(next);
    pthread_mutex_lock(&stream->lock);
    stream->busy = 0;
    pthread_cond_broadcast(&stream->changed);
  }
  pthread_mutex_unlock(&stream->lock);
  return NULL;
}

static int start(ops_stream *stream) {
  if (stream->started) return 1;
  stream->started = pthread_create(&stream->worker, NULL, work, stream) == 0;
  return stream->started;
}

// Takes the command over.
int32_t faulty_append(ops_stream *stream, command *item, ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  int32_t status = item->point ? OPS_OK : give_failure(&stream->failure, error);
  if (status == OPS_OK && !start(stream)) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no thread for a stream");
  }
  if (status == OPS_OK) {
    const int front = item->run == run_copy && FAULTY(stream, copies_overtake);
    command **at = front ? &stream->first : stream->end;
    item->next = *at;
    *at = item;
    if (!item->next) stream->end = &item->next;
    pthread_cond_broadcast(&stream->changed);
  }
  pthread_mutex_unlock(&stream->lock);
  if (status != OPS_OK) free(item);
  return status;
}

command *faulty_command_create(int32_t (*run)(ops_stream *, const command *, ops_error *),
                               ops_error *error) {
  command *item = calloc(1, sizeof *item);
  if (!item) ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a command");
  if (item) item->run = run;
  return item;
}

static int32_t put(ops_stream *stream, command *item, ops_error *error) {
  if (!stream->capture) return faulty_append(stream, item, error);
  *stream->capture->end = item;
  stream->capture->end = &item->next;
  return OPS_OK;
}

int32_t faulty_enqueue(ops_stream *stream, const faulty_call *call,
                       const ops_execute_request *request, ops_error *error) {
  command *item = faulty_command_create(run_call, error);
  if (!item) return OPS_ERROR_OUT_OF_MEMORY;
  item->call = *call;
  for (int32_t i = 0; i < call->input_count; ++i) {
    item->handles[i] = request->inputs[i].tensor.memory;
    item->kinds[i] = request->inputs[i].memory_kind;
  }
  item->handles[kFaultyInputs] = request->outputs[0].tensor.memory;
  item->kinds[kFaultyInputs] = request->outputs[0].memory_kind;
  return put(stream, item, error);
}

// ---- Streams --------------------------------------------------------------------------------

static int32_t stream_create(ops_device *device, ops_stream **out_stream, ops_error *error) {
  ops_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a stream");
  stream->device = device;
  stream->mode = device->mode;
  stream->end = &stream->first;
  stream->failure.struct_size = sizeof stream->failure;
  pthread_mutex_init(&stream->lock, NULL);
  pthread_cond_init(&stream->changed, NULL);
  if (!CONTROLLED(stream, lazy_start)) start(stream);
  faulty_device_add(device, FAULTY_STREAMS, 1);
  *out_stream = stream;
  return OPS_OK;
}

// What is pending ends with a failure; the lock is held.
static void drop_commands(ops_stream *stream) {
  ops_error cancelled = OPS_ERROR_INIT;
  ops_error_set(&cancelled, OPS_ERROR_CANCELLED, "the stream was cancelled");
  while (stream->first) {
    command *next = stream->first;
    stream->first = next->next;
    if (next->run == run_record) point_reach(next->point, &cancelled);
    point_release(next->point);
    free(next);
  }
  stream->end = &stream->first;
  if (FAULTY(stream, cancel_fails_stream)) stream->failure = cancelled;
}

static int32_t stream_cancel(ops_stream *stream, ops_error *error) {
  (void)error;
  pthread_mutex_lock(&stream->lock);
  drop_commands(stream);
  while (stream->busy) pthread_cond_wait(&stream->changed, &stream->lock);
  pthread_mutex_unlock(&stream->lock);
  return OPS_OK;
}

static void stream_destroy(ops_stream *stream) {
  if (!stream) return;
  pthread_mutex_lock(&stream->lock);
  if (stream->first && FAULTY(stream, destroy_drops_work)) drop_commands(stream);
  stream->stopping = 1;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  if (stream->started) pthread_join(stream->worker, NULL);
  faulty_capture_destroy(stream->capture);
  pthread_mutex_destroy(&stream->lock);
  pthread_cond_destroy(&stream->changed);
  faulty_device_add(stream->device, FAULTY_STREAMS, -1);
  free(stream);
}

static int32_t stream_synchronize(ops_stream *stream, ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  const int wait = !FAULTY(stream, synchronize_does_not_wait);
  while (wait && (stream->first || stream->busy))
    pthread_cond_wait(&stream->changed, &stream->lock);
  const int32_t status = give_failure(&stream->failure, error);
  pthread_mutex_unlock(&stream->lock);
  return status;
}

static int32_t stream_query(ops_stream *stream, ops_error *error) {
  pthread_mutex_lock(&stream->lock);
  int32_t status = give_failure(&stream->failure, error);
  if (status == OPS_OK && (stream->first || stream->busy || FAULTY(stream, query_stays_busy)))
    status = OPS_ERROR_NOT_READY;
  pthread_mutex_unlock(&stream->lock);
  return status;
}

int32_t faulty_refuse_captured(const ops_stream *stream, ops_error *error) {
  if (!stream->capture) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "a stream that is being captured takes kernels and copies only");
}

static int32_t stream_wait(ops_stream *stream, ops_event *event, ops_error *error) {
  if (!event->point && FAULTY(stream, unrecorded_event_passes)) return OPS_OK;
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  OPS_RETURN_IF_ERROR(faulty_refuse_captured(stream, error));
  if (FAULTY(stream, wait_ignored)) return OPS_OK;
  command *item = faulty_command_create(run_wait, error);
  if (!item) return OPS_ERROR_OUT_OF_MEMORY;
  item->point = point_retain(event->point);
  item->event = event;
  return faulty_append(stream, item, error);
}

static int32_t event_record(ops_event *event, ops_stream *stream, ops_error *error) {
  OPS_RETURN_IF_ERROR(faulty_refuse_captured(stream, error));
  command *item = faulty_command_create(run_record, error);
  point *fresh = point_create();
  if (!item || !fresh) {
    free(item);
    point_release(fresh);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an event");
  }
  item->point = point_retain(fresh);
  const int stays = event->point && FAULTY(stream, event_stays_at_first_record);
  point_release(stays ? fresh : event->point);
  if (!stays) event->point = fresh;
  const ops_error none = OPS_ERROR_INIT;
  if (FAULTY(stream, event_signalled_early)) point_reach(fresh, &none);
  return faulty_append(stream, item, error);
}

static int32_t stream_copy(ops_device *device, ops_stream *stream, const ops_copy *copy,
                           ops_error *error) {
  command now = {.copy = *copy};
  if (FAULTY(device, copy_ignores_offset)) now.copy.target_offset = now.copy.source_offset = 0;
  if (!stream && FAULTY(device, plain_copy_left_undone)) now.copy.size /= 2;
  if (!stream) return run_copy(NULL, &now, error);
  command *item = faulty_command_create(run_copy, error);
  if (!item) return OPS_ERROR_OUT_OF_MEMORY;
  item->copy = now.copy;
  return put(stream, item, error);
}

const ops_stream_api faulty_stream = {.struct_size = sizeof(ops_stream_api),
                                      .create = stream_create,
                                      .destroy = stream_destroy,
                                      .synchronize = stream_synchronize,
                                      .cancel = stream_cancel,
                                      .query = stream_query,
                                      .wait = stream_wait,
                                      .copy = stream_copy,
                                      .event_create = event_create,
                                      .event_destroy = event_destroy,
                                      .event_record = event_record,
                                      .event_query = event_query,
                                      .event_synchronize = event_synchronize,
                                      .capture_begin = faulty_capture_begin,
                                      .capture_end = faulty_capture_end,
                                      .replay = faulty_capture_replay,
                                      .capture_destroy = faulty_capture_destroy};

// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and copies. A stream is a queue of the driver; an event is a point in one,
// made anew by each record, so that who waits for an earlier point keeps it.
//
// The first failure of a stream is kept: later calls answer it and enqueue nothing, and events
// recorded afterwards carry it.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

struct ops_event {
  ops_device *device;
  gpu_point *point;   // NULL: never recorded, or recorded in a stream that had failed
  ops_error failure;  // of the stream, when it was recorded
  int32_t recorded;
  int32_t checks;  // the stream's word is copied to `fault` before the point
  uint32_t fault;
  ops_str suspect;
};

int32_t gpu_stream_failure(const ops_stream *stream, ops_error *error) {
  if (stream->failure.code == OPS_OK) return OPS_OK;
  return ops_error_copy(error, stream->failure.code, &stream->failure);
}

int32_t gpu_stream_fail(ops_stream *stream, const ops_error *error) {
  if (stream->failure.code == OPS_OK) ops_error_copy(&stream->failure, error->code, error);
  return error->code;
}

// Ends a call of the driver: its failure is the stream's from now on.
static int32_t keep(ops_stream *stream, int32_t status, const ops_error *own,
                    ops_error *error) {
  if (status == OPS_OK) return OPS_OK;
  gpu_stream_fail(stream, own);
  return ops_error_copy(error, status, own);
}

// ---- Streams ----

static int32_t stream_create(ops_device *device, ops_stream **out_stream, ops_error *error) {
  ops_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a stream");
  stream->device = device;
  stream->failure.struct_size = sizeof stream->failure;
  int32_t status = device->driver->queue_create(device->context, &stream->queue, error);
  if (status == OPS_OK) status = gpu_faults_open(stream, error);
  if (status != OPS_OK) {
    if (stream->queue) device->driver->queue_destroy(stream->queue);
    gpu_faults_close(stream);
    free(stream);
    return status;
  }
  stream->id = atomic_fetch_add(&device->stream_ids, 1);
  gpu_device_add(device, 1);
  *out_stream = stream;
  return OPS_OK;
}

static void stream_destroy(ops_stream *stream) {
  if (!stream) return;
  const gpu_driver *driver = stream->device->driver;
  driver->queue_finish(stream->queue, NULL);
  gpu_spans_report(stream);
  gpu_spans_drop(stream);
  gpu_capture_destroy(stream->capture);
  driver->point_release(stream->mark);
  driver->queue_destroy(stream->queue);
  gpu_faults_close(stream);
  gpu_device_add(stream->device, -1);
  free(stream);
}

// All work so far is done, and the word as it was then copied.
static int32_t end_work(ops_stream *stream, ops_error *error) {
  stream->idle_at = stream->work;
  const int32_t may_fault = stream->may_fault;
  stream->may_fault = 0;
  return may_fault ? gpu_fault_status(stream->fault, stream->suspect, error) : OPS_OK;
}

static int32_t stream_synchronize(ops_stream *stream, ops_error *error) {
  ops_error own = OPS_ERROR_INIT;
  OPS_RETURN_IF_ERROR(gpu_capture_refuse(stream, error));
  int32_t status = gpu_fault_fetch(stream, &stream->fault, &own);
  const int32_t finished =
      stream->device->driver->queue_finish(stream->queue, status == OPS_OK ? &own : NULL);
  if (status == OPS_OK) status = finished;
  gpu_spans_report(stream);
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  if (status == OPS_OK) status = end_work(stream, &own);
  return keep(stream, status, &own, error);
}

// Marks the end of the work so far, unless that is done already.
static int32_t mark_end(ops_stream *stream, ops_error *error) {
  const gpu_driver *driver = stream->device->driver;
  if (stream->mark && stream->marked_at == stream->work) return OPS_OK;
  driver->point_release(stream->mark);
  stream->mark = NULL;
  OPS_RETURN_IF_ERROR(gpu_fault_fetch(stream, &stream->fault, error));
  OPS_RETURN_IF_ERROR(driver->point_record(stream->queue, &stream->mark, error));
  stream->marked_at = stream->work;
  return driver->queue_flush(stream->queue, error);
}

static int32_t stream_query(ops_stream *stream, ops_error *error) {
  ops_error own = OPS_ERROR_INIT;
  OPS_RETURN_IF_ERROR(gpu_capture_refuse(stream, error));
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  if (stream->idle_at == stream->work) return OPS_OK;
  int32_t status = mark_end(stream, &own);
  if (status == OPS_OK) status = stream->device->driver->point_query(stream->mark, &own);
  if (status == OPS_OK) status = end_work(stream, &own);
  return status == OPS_ERROR_NOT_READY ? status : keep(stream, status, &own, error);
}

// ---- Copies ----

static int32_t copy_place(const ops_device *device, int32_t kind, void *handle, uint64_t offset,
                          uint64_t size, gpu_place *out_place, ops_error *error) {
  *out_place = (gpu_place){handle, offset, kind == OPS_MEMORY_DEVICE};
  if (kind == OPS_MEMORY_DEVICE) {
    const gpu_block *block;
    OPS_RETURN_IF_ERROR(gpu_block_find(device, handle, offset, size, &block, error));
    out_place->memory = block->memory;
    return OPS_OK;
  }
  if (kind < 0 || kind >= OPS_MEMORY_KIND_COUNT || (!handle && size > 0))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "copy: memory kind %d, handle %p; expected a kind below %d and an "
                         "address",
                         kind, handle, OPS_MEMORY_KIND_COUNT);
  return OPS_OK;
}

static int32_t enqueue_copy(const ops_device *device, gpu_queue *queue, const gpu_place *source,
                            const gpu_place *target, uint64_t size, ops_error *error) {
  if (source->is_device || target->is_device) {
    OPS_RETURN_IF_ERROR(device->driver->copy(queue, source, target, size, error));
    return device->driver->queue_flush(queue, error);
  }
  OPS_RETURN_IF_ERROR(device->driver->queue_finish(queue, error));
  memmove((char *)target->memory + target->offset, (char *)source->memory + source->offset,
          size);
  return OPS_OK;
}

// At once: through the device's own queue, one at a time.
static int32_t copy_now(ops_device *device, const gpu_place *source, const gpu_place *target,
                        uint64_t size, ops_error *error) {
  pthread_mutex_lock(&device->copy_lock);
  int32_t status = OPS_OK;
  if (!device->copy_queue)
    status = device->driver->queue_create(device->context, &device->copy_queue, error);
  if (status == OPS_OK)
    status = enqueue_copy(device, device->copy_queue, source, target, size, error);
  if (status == OPS_OK) status = device->driver->queue_finish(device->copy_queue, error);
  pthread_mutex_unlock(&device->copy_lock);
  return status;
}

int32_t gpu_copy_now(ops_device *device, const void *data, const gpu_block *block,
                     uint64_t size, ops_error *error) {
  const gpu_place source = {(void *)(uintptr_t)data, 0, 0}, target = {block->memory, 0, 1};
  return copy_now(device, &source, &target, size, error);
}

static int32_t stream_copy(ops_device *device, ops_stream *stream, const ops_copy *copy,
                           ops_error *error) {
  gpu_place source, target;
  ops_error own = OPS_ERROR_INIT;
  if (copy->source_device && copy->source_device != device)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "%s has no copies between devices",
                         device->driver->name);
  OPS_RETURN_IF_ERROR(copy_place(device, copy->source_kind, copy->source, copy->source_offset,
                                 copy->size, &source, error));
  OPS_RETURN_IF_ERROR(copy_place(device, copy->target_kind, copy->target, copy->target_offset,
                                 copy->size, &target, error));
  if (stream) OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  if (copy->size == 0) return OPS_OK;
  if (!stream) return copy_now(device, &source, &target, copy->size, error);
  if (stream->capture) return gpu_capture_copy(stream, copy, error);
  static const ops_str kName = OPS_STR("copy");
  gpu_span *span = gpu_span_begin(stream, OPS_PROFILE_COPY, kName, copy->correlation);
  gpu_span_copy(span, copy->source_kind, copy->target_kind, copy->size);
  ++stream->work;
  const int32_t status =
      enqueue_copy(device, stream->queue, &source, &target, copy->size, &own);
  gpu_span_end(stream, span);
  return keep(stream, status, &own, error);
}

// ---- Events ----

static int32_t event_create(ops_device *device, ops_event **out_event, ops_error *error) {
  ops_event *event = calloc(1, sizeof *event);
  if (!event) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an event");
  event->device = device;
  event->failure.struct_size = sizeof event->failure;
  gpu_device_add(device, 1);
  *out_event = event;
  return OPS_OK;
}

// No copy is on its way to the event any more.
static void end_check(ops_event *event) {
  if (event->checks && event->point) event->device->driver->point_finish(event->point, NULL);
  event->checks = 0;
}

static void event_destroy(ops_event *event) {
  if (!event) return;
  end_check(event);
  event->device->driver->point_release(event->point);
  gpu_device_add(event->device, -1);
  free(event);
}

// The stream's word, then a point behind it.
static int32_t record_point(ops_event *event, ops_stream *stream, gpu_point **out_point,
                            ops_error *error) {
  const gpu_driver *driver = event->device->driver;
  event->suspect = stream->suspect;
  OPS_RETURN_IF_ERROR(gpu_fault_fetch(stream, &event->fault, error));
  int32_t status = driver->point_record(stream->queue, out_point, error);
  if (status == OPS_OK) status = driver->queue_flush(stream->queue, error);
  if (status == OPS_OK)
    event->checks = stream->may_fault;
  else if (stream->may_fault)
    driver->queue_finish(stream->queue, NULL);
  return status;
}

static int32_t event_record(ops_event *event, ops_stream *stream, ops_error *error) {
  const gpu_driver *driver = event->device->driver;
  OPS_RETURN_IF_ERROR(gpu_capture_refuse(stream, error));
  ops_error own = OPS_ERROR_INIT;
  gpu_point *point = NULL;
  end_check(event);
  int32_t status = gpu_stream_failure(stream, &own);
  if (status == OPS_OK) {
    status = record_point(event, stream, &point, &own);
    if (status != OPS_OK) gpu_stream_fail(stream, &own);
  }
  driver->point_release(event->point);
  event->point = point;
  event->recorded = 1;
  event->failure.code = OPS_OK;
  if (status == OPS_OK) return OPS_OK;
  ops_error_copy(&event->failure, status, &own);
  return OPS_OK;  // whoever asks the event is told
}

static int32_t check_recorded(const ops_event *event, ops_error *error) {
  if (event->recorded) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION, "the event was never recorded");
}

static int32_t event_failure(const ops_event *event, ops_error *error) {
  if (event->failure.code == OPS_OK) return OPS_OK;
  return ops_error_copy(error, event->failure.code, &event->failure);
}

static int32_t stream_wait(ops_stream *stream, ops_event *event, ops_error *error) {
  ops_error own = OPS_ERROR_INIT;
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  OPS_RETURN_IF_ERROR(gpu_capture_refuse(stream, error));
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  int32_t status = event_failure(event, &own);
  if (status != OPS_OK) {
    gpu_stream_fail(stream, &own);  // what follows needs what was not done
    return OPS_OK;
  }
  ++stream->work;
  status = stream->device->driver->point_wait(stream->queue, event->point, &own);
  return keep(stream, status, &own, error);
}

static int32_t event_query(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  OPS_RETURN_IF_ERROR(event_failure(event, error));
  OPS_RETURN_IF_ERROR(event->device->driver->point_query(event->point, error));
  return event->checks ? gpu_fault_status(event->fault, event->suspect, error) : OPS_OK;
}

static int32_t event_synchronize(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_recorded(event, error));
  OPS_RETURN_IF_ERROR(event_failure(event, error));
  OPS_RETURN_IF_ERROR(event->device->driver->point_finish(event->point, error));
  return event->checks ? gpu_fault_status(event->fault, event->suspect, error) : OPS_OK;
}

const ops_stream_api gpu_stream_api = {.struct_size = sizeof(ops_stream_api),
                                       .create = stream_create,
                                       .destroy = stream_destroy,
                                       .synchronize = stream_synchronize,
                                       .query = stream_query,
                                       .wait = stream_wait,
                                       .copy = stream_copy,
                                       .event_create = event_create,
                                       .event_destroy = event_destroy,
                                       .event_record = event_record,
                                       .event_query = event_query,
                                       .event_synchronize = event_synchronize,
                                       .capture_begin = gpu_capture_begin,
                                       .capture_end = gpu_capture_end,
                                       .replay = gpu_capture_replay,
                                       .capture_destroy = gpu_capture_destroy};

// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, copies and captures.
#include <string.h>

#include "validation/layer.h"

static const ops_stream_api *inner_of(const val_handle *handle) {
  return handle->layer->inner->stream;
}

// ---- Streams --------------------------------------------------------------------------------

static int32_t stream_create(ops_device *object, ops_stream **out_stream, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "stream.create", error);
  if (!device) return call.refused;
  *out_stream = NULL;
  const int32_t status =
      val_adopt(&call, inner_of(device)->create(device->real, out_stream, call.error),
                VAL_STREAM, device, (void **)out_stream);
  if (status == OPS_OK) val_order_stream(device, (val_handle *)*out_stream);
  return status;
}

static void stream_destroy(ops_stream *object) {
  val_call call;
  if (!object) return;
  val_handle *stream = val_begin(&call, object, VAL_STREAM, "stream.destroy", NULL);
  if (!stream) return;
  inner_of(stream)->destroy(stream->real);
  val_order_gone(stream);
  val_end(&call, OPS_OK);
  val_handle_retire(stream);
}

// Calls on one stream and nothing else.
typedef int32_t (*stream_call)(ops_stream *stream, ops_error *error);

static int32_t on_stream(ops_stream *object, const char *slot, uint64_t offset, int waits,
                         ops_error *error) {
  val_call call;
  stream_call function;
  val_handle *stream = val_begin(&call, object, VAL_STREAM, slot, error);
  if (!stream) return call.refused;
  memcpy(&function, (const char *)inner_of(stream) + offset, sizeof function);
  const int32_t status = val_end(&call, function(stream->real, call.error));
  if (status != OPS_OK && status != OPS_ERROR_NOT_READY) stream->stream.failed = 1;
  if (waits && status != OPS_ERROR_NOT_READY) val_order_seen(stream);
  return status;
}

static int32_t stream_synchronize(ops_stream *stream, ops_error *error) {
  return on_stream(stream, "stream.synchronize", offsetof(ops_stream_api, synchronize), 1,
                   error);
}

static int32_t stream_query(ops_stream *stream, ops_error *error) {
  return on_stream(stream, "stream.query", offsetof(ops_stream_api, query), 1, error);
}

static int32_t stream_cancel(ops_stream *stream, ops_error *error) {
  return on_stream(stream, "stream.cancel", offsetof(ops_stream_api, cancel), 1, error);
}

static int32_t stream_wait(ops_stream *object, ops_event *event_object, ops_error *error) {
  val_call call;
  val_handle *event, *stream = val_begin(&call, object, VAL_STREAM, "stream.wait", error);
  if (!stream || !(event = val_also(&call, event_object, VAL_EVENT))) return call.refused;
  const int recorded = atomic_load(&event->event.recorded);
  if (!recorded)
    val_find(stream->layer, "HOST-5",
             "stream.wait: event %u was never recorded; record it before it is waited for",
             event->number);
  const int32_t status = val_end(
      &call, inner_of(stream)->wait(stream->real, (ops_event *)event->real, call.error));
  if (status == OPS_OK && !recorded)
    val_find(stream->layer, "STREAMS-5",
             "stream.wait: answered OPS_OK for event %u, which was never recorded; expected "
             "PRECONDITION",
             event->number);
  if (status == OPS_OK) val_order_wait(stream, event);
  return status;
}

// ---- Copies ---------------------------------------------------------------------------------

static void note_user(val_handle *device, const void *address) {
  val_handle *memory = val_memory_at(device->layer, address);
  if (memory) memcpy(memory->name, "a copy", sizeof "a copy");
}

static int32_t stream_copy(ops_device *object, ops_stream *stream_object, const ops_copy *copy,
                           ops_error *error) {
  static const char kSlot[] = "stream.copy";
  val_call call;
  val_handle *stream = NULL, *peer = NULL;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, kSlot, error);
  if (!device) return call.refused;
  if (stream_object && !(stream = val_also(&call, stream_object, VAL_STREAM)))
    return call.refused;
  if (copy->source_device && !(peer = val_also(&call, copy->source_device, VAL_DEVICE)))
    return call.refused;
  if (stream && stream->parent != device)
    val_find(device->layer, "HOST-2",
             "stream.copy: stream %u is of another device than the copy; use one of device %u",
             stream->number, device->number);
  const int inside = val_memory_range(peer ? peer : device, kSlot, "the source", copy->source,
                                      copy->source_kind, copy->source_offset, copy->size) &
                     val_memory_range(device, kSlot, "the target", copy->target,
                                      copy->target_kind, copy->target_offset, copy->size);
  if (!inside) return val_refuse(&call, OPS_ERROR_INVALID_ARGUMENT, "it leaves its memory");
  ops_copy own = *copy;
  if (peer) own.source_device = peer->real;
  if (stream) {
    val_order_work(stream);
    val_order_use(stream, kSlot, copy->source, copy->source_offset, copy->size, 0);
    val_order_use(stream, kSlot, copy->target, copy->target_offset, copy->size, 1);
  }
  note_user(device, copy->target);
  return val_end(&call, inner_of(device)->copy(device->real, stream ? stream->real : NULL, &own,
                                               call.error));
}

static int32_t can_access_peer(ops_device *object, ops_device *peer_object,
                               int32_t *out_possible, ops_error *error) {
  val_call call;
  val_handle *peer,
      *device = val_begin(&call, object, VAL_DEVICE, "stream.can_access_peer", error);
  if (!device || !(peer = val_also(&call, peer_object, VAL_DEVICE))) return call.refused;
  return val_end(&call, inner_of(device)->can_access_peer(device->real, peer->real,
                                                          out_possible, call.error));
}

// ---- Events ---------------------------------------------------------------------------------

static int32_t event_create(ops_device *object, ops_event **out_event, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "stream.event_create", error);
  if (!device) return call.refused;
  *out_event = NULL;
  return val_adopt(&call, inner_of(device)->event_create(device->real, out_event, call.error),
                   VAL_EVENT, device, (void **)out_event);
}

static void event_destroy(ops_event *object) {
  val_call call;
  if (!object) return;
  val_handle *event = val_begin(&call, object, VAL_EVENT, "stream.event_destroy", NULL);
  if (!event) return;
  inner_of(event)->event_destroy((ops_event *)event->real);
  val_end(&call, OPS_OK);
  val_handle_retire(event);
}

static int32_t event_record(ops_event *object, ops_stream *stream_object, ops_error *error) {
  val_call call;
  val_handle *stream,
      *event = val_begin(&call, object, VAL_EVENT, "stream.event_record", error);
  if (!event || !(stream = val_also(&call, stream_object, VAL_STREAM))) return call.refused;
  const int32_t status = val_end(
      &call, inner_of(event)->event_record((ops_event *)event->real, stream->real, call.error));
  if (status != OPS_OK) return status;
  val_order_record(event, stream);
  atomic_store(&event->event.recorded, 1);
  return status;
}

static int32_t event_query(ops_event *object, ops_error *error) {
  val_call call;
  val_handle *event = val_begin(&call, object, VAL_EVENT, "stream.event_query", error);
  if (!event) return call.refused;
  const int32_t status =
      val_end(&call, inner_of(event)->event_query((ops_event *)event->real, call.error));
  if (status == OPS_OK) val_order_seen(event);
  return status;
}

static int32_t event_synchronize(ops_event *object, ops_error *error) {
  val_call call;
  val_handle *event = val_begin(&call, object, VAL_EVENT, "stream.event_synchronize", error);
  if (!event) return call.refused;
  const int recorded = atomic_load(&event->event.recorded);
  if (!recorded)
    val_find(event->layer, "HOST-5",
             "stream.event_synchronize: event %u was never recorded; record it before it is "
             "waited for",
             event->number);
  const int32_t status =
      val_end(&call, inner_of(event)->event_synchronize((ops_event *)event->real, call.error));
  if (status == OPS_OK) val_order_seen(event);
  return status;
}

static int32_t event_export(ops_event *object, int32_t handle_type, ops_external *out_external,
                            ops_error *error) {
  val_call call;
  val_handle *event = val_begin(&call, object, VAL_EVENT, "stream.event_export", error);
  if (!event) return call.refused;
  return val_end(&call, inner_of(event)->event_export((ops_event *)event->real, handle_type,
                                                      out_external, call.error));
}

static int32_t event_import(ops_device *object, const ops_external *external,
                            ops_event **out_event, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "stream.event_import", error);
  if (!device) return call.refused;
  *out_event = NULL;
  const int32_t status = val_adopt(
      &call, inner_of(device)->event_import(device->real, external, out_event, call.error),
      VAL_EVENT, device, (void **)out_event);
  // Recorded, if at all, by the provider that exported it.
  if (status == OPS_OK) atomic_store(&((val_handle *)*out_event)->event.recorded, 1);
  return status;
}

// ---- Captures -------------------------------------------------------------------------------

static int32_t capture_begin(ops_stream *object, ops_error *error) {
  val_call call;
  val_handle *stream = val_begin(&call, object, VAL_STREAM, "stream.capture_begin", error);
  if (!stream) return call.refused;
  if (stream->stream.capturing)
    val_find(stream->layer, "HOST-9",
             "stream.capture_begin: stream %u is being captured already; end that first",
             stream->number);
  const int32_t status =
      val_end(&call, inner_of(stream)->capture_begin(stream->real, call.error));
  if (status == OPS_OK) stream->stream.capturing = 1;
  return status;
}

static int32_t capture_end(ops_stream *object, ops_capture **out_capture, ops_error *error) {
  val_call call;
  val_handle *stream = val_begin(&call, object, VAL_STREAM, "stream.capture_end", error);
  if (!stream) return call.refused;
  if (!stream->stream.capturing)
    val_find(stream->layer, "HOST-9",
             "stream.capture_end: stream %u is not being captured; begin first",
             stream->number);
  stream->stream.capturing = 0;
  *out_capture = NULL;
  return val_adopt(&call, inner_of(stream)->capture_end(stream->real, out_capture, call.error),
                   VAL_CAPTURE, stream->parent, (void **)out_capture);
}

static int32_t replay(ops_capture *object, ops_stream *stream_object, const ops_rebind *rebinds,
                      uint64_t rebind_count, uint64_t rebind_stride, ops_error *error) {
  val_call call;
  val_handle *stream, *capture = val_begin(&call, object, VAL_CAPTURE, "stream.replay", error);
  if (!capture || !(stream = val_also(&call, stream_object, VAL_STREAM))) return call.refused;
  val_order_work(stream);
  return val_end(&call,
                 inner_of(capture)->replay((ops_capture *)capture->real, stream->real, rebinds,
                                           rebind_count, rebind_stride, call.error));
}

static void capture_destroy(ops_capture *object) {
  val_call call;
  if (!object) return;
  val_handle *capture = val_begin(&call, object, VAL_CAPTURE, "stream.capture_destroy", NULL);
  if (!capture) return;
  inner_of(capture)->capture_destroy((ops_capture *)capture->real);
  val_end(&call, OPS_OK);
  val_handle_retire(capture);
}

void val_fill_streams(val_layer *layer) {
  const ops_stream_api *inner = layer->inner->stream;
  if (!inner) return;
#define SLOT(field, function) .field = inner->field ? function : NULL
  layer->stream = (ops_stream_api){.struct_size = sizeof layer->stream,
                                   SLOT(create, stream_create),
                                   SLOT(destroy, stream_destroy),
                                   SLOT(synchronize, stream_synchronize),
                                   SLOT(query, stream_query),
                                   SLOT(wait, stream_wait),
                                   SLOT(cancel, stream_cancel),
                                   SLOT(copy, stream_copy),
                                   SLOT(can_access_peer, can_access_peer),
                                   SLOT(event_create, event_create),
                                   SLOT(event_destroy, event_destroy),
                                   SLOT(event_record, event_record),
                                   SLOT(event_query, event_query),
                                   SLOT(event_synchronize, event_synchronize),
                                   SLOT(event_export, event_export),
                                   SLOT(event_import, event_import),
                                   SLOT(capture_begin, capture_begin),
                                   SLOT(capture_end, capture_end),
                                   SLOT(replay, replay),
                                   SLOT(capture_destroy, capture_destroy)};
#undef SLOT
  layer->provider.stream = &layer->stream;
}

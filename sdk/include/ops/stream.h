// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, copies, capture.
//
// A stream is an in-order queue; an event is a point recorded in one. A provider without
// streams leaves the whole table NULL and works synchronously. Each stream and event is used by
// one thread at a time. Events are private to a provider: between providers the host waits,
// unless both export a common handle type.
//
// The first asynchronous error of a stream is kept (the stream is sticky-failed): execute, copy
// and synchronize return it until the stream is destroyed.
#ifndef OPS_STREAM_H_
#define OPS_STREAM_H_

#include <ops/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_event ops_event;
typedef struct ops_capture ops_capture;

// One copy of bytes between memories that this device can reach. Input struct.
typedef struct ops_copy {
  uint64_t struct_size;
  void *source;  // handles, see ops_tensor
  uint64_t source_offset;
  void *target;
  uint64_t target_offset;
  uint64_t size;
  int32_t source_kind;  // OPS_MEMORY_…
  int32_t target_kind;
  ops_device *source_device;  // set for a peer copy: the other device of the same provider
  uint64_t correlation;       // for ops_profile_record
} ops_copy;

// Rebinding of memory for a replay: every use of `captured` becomes `replacement`.
typedef struct ops_rebind {
  uint64_t struct_size;
  void *captured;
  void *replacement;
} ops_rebind;

typedef struct ops_stream_api {
  uint64_t struct_size;

  // Required.
  int32_t (*create)(ops_device *device, ops_stream **out_stream, ops_error *error);
  // Required. Drains the stream; work that depends on it must have completed. Accepts NULL.
  void (*destroy)(ops_stream *stream);
  // Required. Blocks until all work enqueued so far has completed; returns the sticky error.
  int32_t (*synchronize)(ops_stream *stream, ops_error *error);
  // Optional. OPS_OK: idle; NOT_READY: work is pending; else the sticky error.
  int32_t (*query)(ops_stream *stream, ops_error *error);
  // Required. Later work on `stream` waits for the recorded event, which may be of another
  // stream of the same device. PRECONDITION if the event was never recorded.
  int32_t (*wait)(ops_stream *stream, ops_event *event, ops_error *error);
  // Optional. Pending work ends CANCELLED; the stream is usable again when it returns, unless
  // it had failed before: a failure stays until the stream is destroyed.
  int32_t (*cancel)(ops_stream *stream, ops_error *error);

  // Required. Enqueues a copy; host memory must stay valid and unchanged until it has
  // completed. stream NULL: at once, on any thread.
  int32_t (*copy)(ops_device *device, ops_stream *stream, const ops_copy *copy,
                  ops_error *error);
  // Optional. *out_possible: whether `device` copies from and to `peer` without staging.
  int32_t (*can_access_peer)(ops_device *device, ops_device *peer, int32_t *out_possible,
                             ops_error *error);

  // Required.
  int32_t (*event_create)(ops_device *device, ops_event **out_event, ops_error *error);
  // Required. A stream that waits for it must have passed it. Accepts NULL.
  void (*event_destroy)(ops_event *event);
  // Required. Records the end of the work enqueued so far. Recording again moves the point,
  // also to another stream: who waited before keeps the old point, who waits later gets the new
  // one. May answer OUT_OF_MEMORY.
  int32_t (*event_record)(ops_event *event, ops_stream *stream, ops_error *error);
  // Required. OPS_OK: passed; NOT_READY; else the sticky error of its stream. A point that was
  // reached before the failure stays passed: the host tells by it which work failed.
  int32_t (*event_query)(ops_event *event, ops_error *error);
  // Required. Blocks until passed.
  int32_t (*event_synchronize)(ops_event *event, ops_error *error);
  // Optional. A semaphore that another provider can import, and back.
  int32_t (*event_export)(ops_event *event, int32_t handle_type, ops_external *out_external,
                          ops_error *error);
  int32_t (*event_import)(ops_device *device, const ops_external *external,
                          ops_event **out_event, ops_error *error);

  // Optional, all or none. Between begin and end work is recorded, not run; kernels must be
  // CAPTURABLE. Replay runs it with memory rebound; the capture is owned by the host until
  // destroy.
  int32_t (*capture_begin)(ops_stream *stream, ops_error *error);
  int32_t (*capture_end)(ops_stream *stream, ops_capture **out_capture, ops_error *error);
  int32_t (*replay)(ops_capture *capture, ops_stream *stream, const ops_rebind *rebinds,
                    uint64_t rebind_count, uint64_t rebind_stride, ops_error *error);
  void (*capture_destroy)(ops_capture *capture);
} ops_stream_api;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_STREAM_H_

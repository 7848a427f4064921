// SPDX-License-Identifier: Apache-2.0
//
// Captures: the commands that a stream would have taken, and their replay with other memory.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdlib.h>

#include "queue.h"

int32_t faulty_capture_begin(ops_stream *stream, ops_error *error) {
  OPS_RETURN_IF_ERROR(faulty_refuse_captured(stream, error));
  stream->capture = calloc(1, sizeof *stream->capture);
  if (!stream->capture)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to capture");
  stream->capture->device = stream->device;
  stream->capture->end = &stream->capture->first;
  faulty_device_add(stream->device, FAULTY_CAPTURES, 1);
  return OPS_OK;
}

int32_t faulty_capture_end(ops_stream *stream, ops_capture **out_capture, ops_error *error) {
  if (!stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "the stream is not being captured");
  *out_capture = stream->capture;
  stream->capture = NULL;
  return OPS_OK;
}

void faulty_capture_destroy(ops_capture *capture) {
  if (!capture) return;
  while (capture->first) {
    command *next = capture->first->next;
    free(capture->first);
    capture->first = next;
  }
  faulty_device_add(capture->device, FAULTY_CAPTURES, -1);
  free(capture);
}

// The handle that stands for `handle` in this replay.
static void *rebound(void *handle, const ops_rebind *rebinds, uint64_t count, uint64_t stride) {
  for (uint64_t i = 0; handle && i < count; ++i) {
    const ops_rebind *at = OPS_AT(ops_rebind, rebinds, stride, i);
    if (at->captured == handle) return at->replacement;
  }
  return handle;
}

static void move_view(faulty_view *view, int32_t kind, void *from, void *to) {
  if (!view->data) return;
  const ptrdiff_t offset = view->data - (char *)faulty_address(kind, from);
  view->data = (char *)faulty_address(kind, to) + offset;
}

static void rebind_command(command *item, const ops_rebind *rebinds, uint64_t count,
                           uint64_t stride) {
  for (int32_t i = 0; i <= kFaultyInputs; ++i) {
    faulty_view *view = i == kFaultyInputs ? &item->call.out : &item->call.in[i];
    void *to = rebound(item->handles[i], rebinds, count, stride);
    move_view(view, item->kinds[i], item->handles[i], to);
  }
  item->copy.source = rebound(item->copy.source, rebinds, count, stride);
  item->copy.target = rebound(item->copy.target, rebinds, count, stride);
}

int32_t faulty_capture_replay(ops_capture *capture, ops_stream *stream,
                              const ops_rebind *rebinds, uint64_t count, uint64_t stride,
                              ops_error *error) {
  OPS_RETURN_IF_ERROR(faulty_refuse_captured(stream, error));
  for (const command *at = capture->first; at; at = at->next) {
    command *item = faulty_command_create(at->run, error);
    if (!item) return OPS_ERROR_OUT_OF_MEMORY;
    *item = *at;
    item->next = NULL;
    if (!FAULTY(stream, capture_keeps_addresses)) rebind_command(item, rebinds, count, stride);
    OPS_RETURN_IF_ERROR(faulty_append(stream, item, error));
  }
  return OPS_OK;
}

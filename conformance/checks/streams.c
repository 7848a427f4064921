// SPDX-License-Identifier: Apache-2.0
//
// Check `streams`: streams and events without a kernel, on an instance of their own. Work is
// copies between buffers; where the device has memory of its own they pass through it. What
// kernels do in streams is the check `order`.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/provider_case.h"
#include "ops_support/error.h"

#define BYTES ((size_t)1 << 20)
#define LINKS 12  // buffers of a chain of copies

// Buffers of BYTES each: the first and the last in host memory, the others where the device
// likes.
typedef struct dock {
  oc_trial *trial;
  oc_target target;
  const ops_stream_api *api;
  int32_t kind;
  void *links[LINKS];
  ops_error error;
} dock;

static bool expect(dock *dock, const char *call, int32_t status, int32_t expected) {
  return oc_provider_expect(dock->trial, call, status, expected, &dock->error);
}

static bool in_host(const dock *dock, int i) {
  return i == 0 || i == LINKS - 1 || dock->kind == OPS_MEMORY_HOST;
}

static int32_t link_kind(const dock *dock, int i) {
  return in_host(dock, i) ? OPS_MEMORY_HOST : dock->kind;
}

static bool make_links(dock *dock) {
  for (int i = 0; i < LINKS; ++i) {
    if (in_host(dock, i)) {
      dock->links[i] = calloc(1, BYTES);
      if (!dock->links[i]) return expect(dock, "malloc", OPS_ERROR_OUT_OF_MEMORY, OPS_OK);
      continue;
    }
    const int32_t status = dock->target.provider->memory->allocate(
        dock->target.device, dock->kind, BYTES, 1, OPS_USAGE_STAGING, &dock->links[i],
        &dock->error);
    if (!expect(dock, "allocate", status, OPS_OK)) return false;
  }
  return true;
}

static bool open_dock(oc_trial *trial, dock *dock) {
  *dock = (struct dock){.trial = trial, .error = OPS_ERROR_INIT};
  if (!trial->bench->candidate.provider->stream) return oc_provider_lacks(trial, "no streams");
  if (!oc_provider_open(trial, &dock->target)) return false;
  const oc_target *target = &dock->target;
  const bool own = target->info.memory_kinds & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE);
  dock->api = target->provider->stream;
  dock->kind = own && target->provider->memory ? OPS_MEMORY_DEVICE : OPS_MEMORY_HOST;
  return make_links(dock);
}

static bool close_dock(dock *dock, bool good) {
  if (!dock->target.library) return good;
  for (int i = 0; i < LINKS; ++i) {
    if (in_host(dock, i)) {
      free(dock->links[i]);
    } else if (dock->links[i]) {
      dock->target.provider->memory->free(dock->target.device, dock->kind, dock->links[i]);
    }
  }
  if (good) return oc_provider_close(dock->trial, &dock->target);
  oc_target_close(&dock->target, NULL);
  return false;
}

static int32_t copy(dock *dock, ops_stream *stream, int from, int to) {
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = dock->links[from],
                         .target = dock->links[to],
                         .size = BYTES,
                         .source_kind = link_kind(dock, from),
                         .target_kind = link_kind(dock, to)};
  return dock->api->copy(dock->target.device, stream, &copy, &dock->error);
}

static void fill(dock *dock, unsigned char byte) {
  memset(dock->links[0], byte, BYTES);
  memset(dock->links[LINKS - 1], 0, BYTES);
}

static bool arrived(dock *dock, unsigned char byte, const char *when) {
  const unsigned char *last = dock->links[LINKS - 1];
  for (size_t i = 0; i < BYTES; ++i) {
    if (last[i] == byte) continue;
    return oc_provider_fails(dock->trial,
                             "%s: %d copies in a row: byte %zu is 0x%02x, expected 0x%02x",
                             when, LINKS - 1, i, last[i], byte);
  }
  return true;
}

// Enqueues copies from link to link, the even ones on `a` and the odd ones on `b`, each behind
// the one before.
static bool enqueue_chain(dock *dock, ops_stream *a, ops_stream *b, ops_event *event) {
  for (int i = 0; i + 1 < LINKS; ++i) {
    ops_stream *stream = i % 2 ? b : a, *next = i % 2 ? a : b;
    if (!expect(dock, "copy", copy(dock, stream, i, i + 1), OPS_OK)) return false;
    if (!event) continue;
    int32_t status = dock->api->event_record(event, stream, &dock->error);
    if (status == OPS_OK) status = dock->api->wait(next, event, &dock->error);
    if (!expect(dock, "event_record and wait", status, OPS_OK)) return false;
  }
  return true;
}

// ---- The cases ------------------------------------------------------------------------------

static bool chain_in_one(dock *dock) {
  ops_stream *stream = dock->target.streams[0];
  fill(dock, 0x11);
  return enqueue_chain(dock, stream, stream, NULL) &&
         expect(dock, "synchronize", dock->api->synchronize(stream, &dock->error), OPS_OK) &&
         arrived(dock, 0x11, "one stream");
}

bool oc_streams_order(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && chain_in_one(&dock));
}

// One event, recorded anew for each copy: who waits already keeps the old point.
static bool chain_across(dock *dock) {
  ops_event *event = NULL;
  ops_stream *a = dock->target.streams[0], *b = dock->target.streams[1];
  fill(dock, 0x22);
  int32_t status = dock->api->event_create(dock->target.device, &event, &dock->error);
  if (!expect(dock, "event_create", status, OPS_OK)) return false;
  bool good = enqueue_chain(dock, a, b, event);
  if (good) {
    status = dock->api->event_synchronize(event, &dock->error);
    good = expect(dock, "event_synchronize", status, OPS_OK) &&
           arrived(dock, 0x22, "two streams and an event that is recorded again and again");
  }
  dock->api->synchronize(a, NULL);
  dock->api->synchronize(b, NULL);
  dock->api->event_destroy(event);
  return good;
}

bool oc_streams_events(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && chain_across(&dock));
}

// Waits for an event of the other stream and records it behind the wait.
static bool record_behind_wait(dock *dock) {
  ops_event *event = NULL;
  ops_stream *a = dock->target.streams[0], *b = dock->target.streams[1];
  fill(dock, 0x33);
  int32_t status = dock->api->event_create(dock->target.device, &event, &dock->error);
  if (status == OPS_OK) status = copy(dock, a, 0, 1);
  if (status == OPS_OK) status = dock->api->event_record(event, a, &dock->error);
  if (status == OPS_OK) status = dock->api->wait(b, event, &dock->error);
  if (status == OPS_OK) status = dock->api->event_record(event, b, &dock->error);
  if (status == OPS_OK) status = dock->api->synchronize(b, &dock->error);
  if (status == OPS_OK) status = dock->api->event_query(event, &dock->error);
  dock->api->synchronize(a, NULL);
  dock->api->event_destroy(event);
  return expect(dock, "waiting for an event and recording it again behind the wait", status,
                OPS_OK);
}

bool oc_streams_event_moves(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && record_behind_wait(&dock));
}

static bool wait_for_nothing(dock *dock) {
  ops_event *event = NULL;
  ops_stream *stream = dock->target.streams[0];
  int32_t status = dock->api->event_create(dock->target.device, &event, &dock->error);
  if (!expect(dock, "event_create", status, OPS_OK)) return false;
  status = dock->api->wait(stream, event, &dock->error);
  bool good =
      expect(dock, "wait for an event that was never recorded", status, OPS_ERROR_PRECONDITION);
  dock->api->event_destroy(event);
  if (!good) return false;
  status = dock->api->synchronize(stream, &dock->error);
  return expect(dock, "synchronize afterwards", status, OPS_OK);
}

bool oc_streams_unrecorded(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && wait_for_nothing(&dock));
}

static bool is_answer(dock *dock, const char *call, int32_t status) {
  return status == OPS_OK || status == OPS_ERROR_NOT_READY ||
         expect(dock, call, status, OPS_OK);
}

static bool query_all(dock *dock) {
  ops_event *event = NULL;
  ops_stream *stream = dock->target.streams[0];
  int32_t status = dock->api->event_create(dock->target.device, &event, &dock->error);
  if (!expect(dock, "event_create", status, OPS_OK)) return false;
  fill(dock, 0x44);
  bool good = enqueue_chain(dock, stream, stream, NULL);
  if (good) {
    status = dock->api->event_record(event, stream, &dock->error);
    good =
        expect(dock, "event_record", status, OPS_OK) &&
        is_answer(dock, "event_query", dock->api->event_query(event, &dock->error)) &&
        (!dock->api->query || is_answer(dock, "query", dock->api->query(stream, &dock->error)));
  }
  if (good) {
    status = dock->api->event_synchronize(event, &dock->error);
    good = expect(dock, "event_synchronize", status, OPS_OK) &&
           arrived(dock, 0x44, "an event that has passed") &&
           expect(dock, "event_query of an event that has passed",
                  dock->api->event_query(event, &dock->error), OPS_OK);
  }
  if (dock->api->synchronize(stream, &dock->error) == OPS_OK && good && dock->api->query) {
    good =
        expect(dock, "query of an idle stream", dock->api->query(stream, &dock->error), OPS_OK);
  }
  dock->api->event_destroy(event);
  return good;
}

bool oc_streams_query(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && query_all(&dock));
}

static bool drain(dock *dock) {
  ops_stream **streams = dock->target.streams;
  if (streams[1] == streams[0]) streams[1] = NULL;
  fill(dock, 0x55);
  if (!enqueue_chain(dock, streams[0], streams[0], NULL)) return false;
  dock->api->destroy(streams[0]);
  streams[0] = NULL;
  return arrived(dock, 0x55, "destroyed in flight");
}

bool oc_streams_drain(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && drain(&dock));
}

static bool cancel(dock *dock) {
  ops_stream *stream = dock->target.streams[0];
  fill(dock, 0x66);
  if (!dock->api->cancel) return oc_provider_lacks(dock->trial, "no cancel");
  if (!enqueue_chain(dock, stream, stream, NULL)) return false;
  int32_t status = dock->api->cancel(stream, &dock->error);
  if (!expect(dock, "cancel", status, OPS_OK)) return false;
  fill(dock, 0x77);
  if (!enqueue_chain(dock, stream, stream, NULL)) return false;
  status = dock->api->synchronize(stream, &dock->error);
  return expect(dock, "synchronize after cancel", status, OPS_OK) &&
         arrived(dock, 0x77, "after cancel");
}

bool oc_streams_cancel(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && cancel(&dock));
}

static bool copy_at_once(dock *dock) {
  fill(dock, 0x88);
  for (int i = 0; i + 1 < LINKS; ++i) {
    if (!expect(dock, "copy without a stream", copy(dock, NULL, i, i + 1), OPS_OK))
      return false;
  }
  return arrived(dock, 0x88, "without a stream");
}

bool oc_streams_at_once(oc_trial *trial) {
  dock dock;
  return close_dock(&dock, open_dock(trial, &dock) && copy_at_once(&dock));
}

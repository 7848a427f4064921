// SPDX-License-Identifier: Apache-2.0
//
// A call on its way through the layer: are its handles alive, of the right kind and not in use
// on another thread; does the answer keep the rules of statuses and error records.
#include <stdio.h>
#include <string.h>

#include "validation/layer.h"
#include "validation/layers.h"

// Streams, events and captures are used by one thread at a time.
#define EXCLUSIVE (1u << VAL_STREAM | 1u << VAL_EVENT | 1u << VAL_CAPTURE)

static _Thread_local char thread_mark;  // its address tells threads apart
static _Thread_local int32_t host_failed;
_Thread_local int32_t val_in_execute;

void val_host_failed(void) {
  host_failed = 1;
}

static val_layer *any_layer(void) {
  for (uint32_t i = 0; i < OPS_VALIDATION_MAX_LAYERS; ++i)
    if (val_layer_at(i)) return val_layer_at(i);
  return NULL;
}

// Why the pointer is no live handle of this kind; NULL if it is one.
static val_handle *judge(const void *pointer, uint32_t kind, const char *slot,
                         const val_layer *of, int32_t *out_status) {
  val_handle *handle = val_handle_of(pointer);
  val_layer *layer = handle ? handle->layer : any_layer();
  char text[112];
  *out_status = OPS_ERROR_INVALID_ARGUMENT;
  if (!layer) return NULL;
  if (!handle) {
    val_find(layer, "HOST-2",
             "%s: expected a handle of a live %s of this provider, found %s; pass what the "
             "provider gave",
             slot, val_kind_name(kind), pointer ? "a pointer that is none" : "NULL");
  } else if (of && of != layer) {
    val_find(layer, "HOST-2", "%s: %s belongs to provider '%.*s', expected one of '%.*s'", slot,
             val_handle_text(handle, text), OPS_STR_FMT(layer->inner->name),
             OPS_STR_FMT(of->inner->name));
  } else if (atomic_load(&handle->kind) != kind) {
    val_find(layer, "HOST-2", "%s: expected a handle of kind %s, found %s; pass the right one",
             slot, val_kind_name(kind), val_handle_text(handle, text));
  } else if (atomic_load(&handle->dead)) {
    val_find(layer, "HOST-1",
             "%s: %s was destroyed before; expected a live one: drop the pointer when its "
             "destructor is called",
             slot, val_handle_text(handle, text));
  } else {
    return handle;
  }
  return NULL;
}

static void enter(val_call *call, val_handle *handle) {
  char text[112];
  call->on[call->on_count++] = handle;
  if (!(EXCLUSIVE >> atomic_load(&handle->kind) & 1u)) return;
  uint64_t nobody = 0;
  if (!atomic_compare_exchange_strong(&handle->user, &nobody,
                                      (uint64_t)(uintptr_t)&thread_mark))
    val_find(handle->layer, "HOST-4",
             "%s: %s is inside a call on another thread; expected one thread at a time: guard "
             "it by a lock, or give each thread its own",
             call->slot, val_handle_text(handle, text));
}

static void leave(val_call *call) {
  for (uint32_t i = 0; i < call->on_count; ++i) {
    uint64_t me = (uint64_t)(uintptr_t)&thread_mark;
    atomic_compare_exchange_strong(&call->on[i]->user, &me, 0);
  }
}

// The provider always gets a record, so that what it writes can be judged.
static void take_error(val_call *call, ops_error *error) {
  if (error && error->struct_size >= sizeof *error) {
    call->error = error;
  } else {
    call->own.struct_size = sizeof call->own;
    call->own.code = OPS_OK;
    call->own.cause = 0;
    call->own.reserved = 0;
    call->own.vendor_code = 0;
    call->own.message_size = 0;
    call->own.message[0] = '\0';
    call->error = &call->own;
  }
  call->code = call->error->code;
  call->message_size = call->error->message_size;
  host_failed = 0;
}

val_handle *val_begin(val_call *call, const void *pointer, uint32_t kind, const char *slot,
                      ops_error *error) {
  call->slot = slot;
  call->on_count = 0;
  call->allowed = 0;
  call->refused = OPS_OK;
  val_handle *handle = judge(pointer, kind, slot, NULL, &call->refused);
  if (!handle) {
    ops_error_set(error, call->refused,
                  "%s: the validation layer does not pass on a call on a handle that is not "
                  "alive",
                  slot);
    return NULL;
  }
  call->layer = handle->layer;
  take_error(call, error);
  enter(call, handle);
  return handle;
}

val_handle *val_also(val_call *call, const void *pointer, uint32_t kind) {
  val_handle *handle = judge(pointer, kind, call->slot, call->layer, &call->refused);
  if (handle) {
    enter(call, handle);
    return handle;
  }
  val_refuse(call, call->refused, "a handle that is not alive");
  return NULL;
}

int32_t val_refuse(val_call *call, int32_t status, const char *text) {
  leave(call);
  call->refused = ops_error_set(call->error, status,
                                "%s: the validation layer does not pass this call on: %s",
                                call->slot, text);
  return call->refused;
}

static int is_answer(const val_call *call, int32_t status) {
  return status == OPS_ERROR_NOT_READY && strstr(call->slot, "query");
}

// What is wrong with the status and the record: the first fault that applies.
static void judge_answer(const val_call *call, int32_t status) {
  const ops_error *error = call->error;
  char text[112] = "";
  if (call->on_count) val_handle_text(call->on[0], text);
  if (status < OPS_OK || status > OPS_ERROR_TIMEOUT)
    val_find(call->layer, "ERRORS-1",
             "%s of %s: expected a status of OPS_STATUS_LIST (0 … %d), found %d; return one of "
             "the list",
             call->slot, text, OPS_ERROR_TIMEOUT, status);
  else if (status == OPS_OK &&
           (error->code != call->code || error->message_size != call->message_size))
    val_find(call->layer, "ERRORS-6",
             "%s of %s: succeeded and wrote the error record (code %d, %u bytes of message); "
             "expected it untouched: fill it only on failure",
             call->slot, text, error->code, error->message_size);
  else if (status == OPS_OK || is_answer(call, status))
    return;
  else if (error->code != status)
    val_find(call->layer, "ERRORS-1",
             "%s of %s: returned %s, but the error record has code %d (%s); fill the record "
             "with the status that is returned",
             call->slot, text, ops_status_name(status), error->code,
             ops_status_name(error->code));
  else if (error->message_size == 0 || error->message[0] == '\0')
    val_find(call->layer, "ERRORS-1",
             "%s of %s: returned %s without a message; expected one that names the thing, what "
             "was expected and what was found",
             call->slot, text, ops_status_name(status));
  else if (call->allowed && !host_failed && !(call->allowed >> status & 1u))
    val_find(call->layer, call->clause,
             "%s of %s: failed with %s after the node was claimed ('%.200s'); a claim binds: "
             "refuse such a node in claim, or mend the call",
             call->slot, text, ops_status_name(status), error->message);
}

int32_t val_end(val_call *call, int32_t status) {
  leave(call);
  judge_answer(call, status);
  return status;
}

int32_t val_adopt(val_call *call, int32_t status, uint32_t kind, val_handle *parent,
                  void **object) {
  if (status != OPS_OK) {
    *object = NULL;
    return val_end(call, status);
  }
  val_end(call, status);
  if (!*object) {
    val_find(call->layer, "LIFECYCLE-1",
             "%s: answered OPS_OK without an object; expected a handle: return a status if "
             "there is none",
             call->slot);
    return ops_error_set(call->error, OPS_ERROR_INTERNAL, "%s: made no object", call->slot);
  }
  val_handle *handle = val_handle_create(call->layer, kind, parent, *object);
  *object = handle;
  if (handle) return OPS_OK;
  return ops_error_set(call->error, OPS_ERROR_OUT_OF_MEMORY,
                       "%s: the validation layer has no room for a further handle (%u)",
                       call->slot, VAL_HANDLES);
}

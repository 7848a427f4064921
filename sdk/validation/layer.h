// SPDX-License-Identifier: Apache-2.0
//
// What the files of the layer share: the layer, its handles, and how a call passes through it.
//
// The host never sees a provider's handle (memory excepted, whose handles are addresses): it
// gets records of the layer's own, and so what a pointer is and whether it lives can be told
// from the pointer alone. All memory of a layer is mapped, none comes from malloc: a host that
// counts what a provider leaves behind counts the provider.
#ifndef OPS_VALIDATION_LAYER_H_
#define OPS_VALIDATION_LAYER_H_

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <pthread.h>
#include <stdatomic.h>

#include "validation/validation.h"

#define VAL_HANDLES 65536u    // that a layer holds at once
#define VAL_QUARANTINE 2048u  // dead ones kept before the first is used again
#define VAL_BUCKETS 4096u     // of the table of memory
#define VAL_TEXTS 1024u       // texts remembered, so that each is reported once
#define VAL_GUARD 64u         // guarded bytes behind an allocation
#define VAL_GUARD_BYTE 0xfdu
#define VAL_STREAMS 16u     // of a device, whose order is followed
#define VAL_ACCESSES 512u   // uses of memory that a device remembers
#define VAL_GROUP_APIS 32u  // tables that compiled groups may bring
#define VAL_REWRITES 32u

// Kinds of handles; those of which a caller never holds one stand last.
#define VAL_KIND_LIST(X)      \
  X(VAL_INSTANCE, "instance") \
  X(VAL_DEVICE, "device")     \
  X(VAL_STREAM, "stream")     \
  X(VAL_EVENT, "event")       \
  X(VAL_KERNEL, "kernel")     \
  X(VAL_PREPARED, "prepared") \
  X(VAL_CAPTURE, "capture")   \
  X(VAL_MEMORY, "allocation") \
  X(VAL_HOST, "host")

enum {
  VAL_FREE,
#define VAL_KIND(constant, name) constant,
  VAL_KIND_LIST(VAL_KIND)
#undef VAL_KIND
      VAL_KIND_COUNT
};

typedef ops_validation val_layer;
typedef struct val_handle val_handle;

// How far the work of each stream of a device is known to have come.
typedef struct val_clock {
  uint64_t seen[VAL_STREAMS];
} val_clock;

typedef struct val_access {
  const void *memory;
  uint64_t begin;
  uint64_t end;
  uint64_t number;  // of the work in its stream
  uint32_t stream;
  uint32_t writes;
  char who[48];
} val_access;

// What a device knows of the order of its streams. Mapped when a second stream is made.
typedef struct val_order {
  pthread_mutex_t lock;
  uint32_t used;  // set of the streams that have a number
  uint64_t next[VAL_STREAMS];
  val_clock host;         // what the host has waited for
  uint32_t access_count;  // ever; the latest VAL_ACCESSES are kept
  val_access accesses[VAL_ACCESSES];
} val_order;

struct val_handle {
  _Atomic uint32_t kind;  // VAL_…
  _Atomic uint32_t dead;
  uint32_t number;  // of the handles of the layer, for texts
  uint32_t next;    // in the list of free ones, or in its bucket of memory; 0: none
  val_layer *layer;
  val_handle *parent;
  void *real;  // the provider's (of VAL_HOST: the host's)
  _Atomic int64_t children;
  _Atomic uint64_t user;  // the thread that is inside a call; 0: none
  char name[64];          // of a kernel or prepared object: its node
  union {
    struct {
      val_handle *host;
    } instance;
    struct {
      val_order *order;
      uint64_t min_alignment;
      _Atomic uint64_t fingerprint;  // hash of what device_info said first
    } device;
    struct {
      uint32_t index;  // in the order of its device; VAL_STREAMS: not followed
      int32_t capturing;
      int32_t failed;
      val_clock clock;
    } stream;
    struct {
      _Atomic int32_t recorded;
      val_clock clock;
    } event;
    struct {
      const ops_kernel_api *api;
      const ops_kernel_def *def;  // NULL: a group
      uint64_t inputs;
      uint64_t outputs;
    } kernel;
    struct {
      const ops_kernel_api *api;
      _Atomic int32_t running;
      int32_t reentrant;
      uint64_t inputs;
      uint64_t outputs;
      uint64_t workspace_size;
      uint64_t workspace_alignment;
      int32_t workspace_kind;
    } prepared;
    struct {
      char *address;
      uint64_t size;
      uint64_t guard;  // bytes of guard behind it
      int32_t memory_kind;
    } memory;
    struct {
      const ops_host_api *api;  // the host's
      ops_host_api table;       // what the provider gets
      _Atomic int64_t packed;
    } host;
  };
};

// A definition as the host sees it. The first field is what its pointer points to.
typedef struct val_def {
  ops_kernel_def def;
  const ops_kernel_def *real;
} val_def;

typedef struct val_api {
  ops_kernel_api api;
  const ops_kernel_api *real;
} val_api;

// Shadows of outputs that are not in use, kept for the next call.
typedef struct val_buffer {
  char *memory;
  uint64_t size;
} val_buffer;
#define VAL_BUFFERS 8u

struct ops_validation {
  const ops_provider *inner;
  ops_validation_sink sink;
  uint32_t place;  // among the layers of the process
  ops_provider provider;
  ops_instance_api instance;
  ops_memory_api memory;
  ops_stream_api stream;
  ops_group_api group;
  val_def *defs;
  val_api *apis;  // one for each table of the provider, then those of groups
  uint64_t api_count;
  uint64_t api_capacity;
  ops_rewrite *rewrites;
  uint64_t arena_size;
  pthread_mutex_t lock;   // of all below, and of the records' lists
  val_handle *handles;    // the first is never used
  uint32_t handle_count;  // ever used
  uint32_t free_first;
  uint32_t free_last;
  uint32_t free_count;
  uint32_t buckets[VAL_BUCKETS];
  uint64_t texts[VAL_TEXTS];
  uint32_t text_count;
  val_buffer buffers[VAL_BUFFERS];
  _Atomic uint64_t findings;
};

// ---- Memory of the layer ----
void *val_map(uint64_t size);  // zeroed; NULL on exhaustion
void val_unmap(void *memory, uint64_t size);

// ---- Findings ----
// Reports once. Clauses that begin with "HOST" are about the caller, "" is a note.
void val_find(val_layer *layer, const char *clause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- Handles ----
const char *val_kind_name(uint32_t kind);
// NULL if there is no room. `parent` gets one child more.
val_handle *val_handle_create(val_layer *layer, uint32_t kind, val_handle *parent, void *real);
void val_handle_retire(val_handle *handle);
// The record behind a pointer that a caller gave, dead or alive; NULL if it is none.
val_handle *val_handle_of(const void *pointer);
// "kernel 7 'conv1'"
const char *val_handle_text(const val_handle *handle, char text[112]);
// Writes "2 streams, 1 kernel" of the live children; returns how many they are.
uint64_t val_handle_children(const val_handle *parent, char *text, uint64_t size);
// Retires all that is alive below `parent`.
void val_handle_retire_children(val_handle *parent);

// ---- Calls ----
// A call on its way through the layer: what must hold when it comes back.
typedef struct val_call {
  val_layer *layer;
  const char *slot;
  val_handle *on[2];
  uint32_t on_count;
  uint32_t allowed;    // set of statuses with which it may fail; 0: any
  const char *clause;  // broken by others
  int32_t refused;     // what to return if the call must not be passed on
  ops_error *error;    // to hand to the provider
  int32_t code;        // of *error before the call
  uint32_t message_size;
  ops_error own;
} val_call;

#define VAL_STATUS(status) ((uint32_t)1 << (status))
// With which a call may fail after a claim; CLAIMS-2.
#define VAL_AFTER_CLAIM                                                      \
  (VAL_STATUS(OPS_ERROR_OUT_OF_MEMORY) | VAL_STATUS(OPS_ERROR_DEVICE_LOST) | \
   VAL_STATUS(OPS_ERROR_CANCELLED) | VAL_STATUS(OPS_ERROR_INVALID_ARGUMENT))

// Begins a call on a handle of `kind`. NULL: refused with call->refused; nothing to end.
val_handle *val_begin(val_call *call, const void *handle, uint32_t kind, const char *slot,
                      ops_error *error);
// A further handle of the call. NULL: refused, and the call has ended.
val_handle *val_also(val_call *call, const void *handle, uint32_t kind);
// Judges the status with which the provider answered; returns it.
int32_t val_end(val_call *call, int32_t status);
// Ends a call that was not passed on.
int32_t val_refuse(val_call *call, int32_t status, const char *text);
// The result of a call that makes an object: wraps *object in place. OPS_OK with NULL is the
// provider's fault.
int32_t val_adopt(val_call *call, int32_t status, uint32_t kind, val_handle *parent,
                  void **object);
// Notes that a failure of the call in progress on this thread comes from the host.
void val_host_failed(void);

// ---- The tables ----
int32_t val_check_tables(val_layer *layer, ops_error *error);
void val_fill_instance(val_layer *layer);
void val_fill_memory(val_layer *layer);
void val_fill_streams(val_layer *layer);
void val_fill_groups(val_layer *layer);
int32_t val_fill_kernels(val_layer *layer, ops_error *error);
int32_t val_fill_rewrites(val_layer *layer, ops_error *error);

int32_t val_instance_create(val_layer *layer, const ops_host_api *api, ops_host *host,
                            const ops_key_value *options, uint64_t option_count,
                            ops_instance **out_instance, ops_error *error);
int32_t val_claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                  ops_claim *out_claim, ops_error *error);
// The definition that the host means; NULL (and a finding) if it is none of the layer's.
const val_def *val_def_of(val_call *call, const ops_kernel_def *def);
ops_str val_node_name(const ops_node *node);  // its name, or else its operator
// The layer's table for a table of the provider's; NULL if there are too many.
const ops_kernel_api *val_api_of(val_layer *layer, const ops_kernel_api *real);
// Wraps a new kernel.
int32_t val_adopt_kernel(val_call *call, int32_t status, val_handle *device, ops_str name,
                         const ops_kernel_api *api, const ops_kernel_def *def, uint64_t inputs,
                         uint64_t outputs, ops_kernel **kernel);

// ---- The host's table as the provider gets it ----
val_handle *val_host_create(val_layer *layer, const ops_host_api *api, ops_host *host);
// The instance is gone: reports what it kept.
void val_host_close(val_handle *host, const char *provider);
extern _Thread_local int32_t val_in_execute;

// ---- Memory ----
val_handle *val_memory_add(val_handle *parent, void *address, uint64_t size, uint64_t guard,
                           int32_t memory_kind);
// The live allocation at this address, of host or provider; NULL if there is none.
val_handle *val_memory_at(val_layer *layer, const void *address);
void val_memory_remove(val_handle *memory);  // and retires it
void val_guard_set(void *begin, uint64_t size);
// How many bytes in front of the first that changed; `size` if none did.
uint64_t val_guard_intact(const void *begin, uint64_t size);
// The memory of a device, or the host's, behind `memory`: reports an overrun once.
void val_memory_check(val_handle *device, val_handle *memory, const char *who);
// Checks that [offset, offset + size) lies within the allocation at `address`, if one is known.
// 0 (and a finding) if it does not.
int val_memory_range(val_handle *device, const char *slot, const char *what,
                     const void *address, int32_t memory_kind, uint64_t offset, uint64_t size);

// ---- Order of streams ----
void val_order_stream(val_handle *device, val_handle *stream);  // a new stream
void val_order_gone(val_handle *stream);
// Work on `stream` uses memory; `begin` of several uses at once by val_order_work.
void val_order_work(val_handle *stream);
void val_order_use(val_handle *stream, const char *who, const void *memory, uint64_t offset,
                   uint64_t size, int writes);
void val_order_record(val_handle *event, val_handle *stream);
void val_order_wait(val_handle *stream, val_handle *event);
void val_order_seen(val_handle *waited);  // by the host: of a stream or an event

#endif  // OPS_VALIDATION_LAYER_H_

// SPDX-License-Identifier: Apache-2.0
//
// The host's services as the provider gets them: is the instance alive, is what is freed what
// was allocated, was its end overrun, is anything kept when the instance is destroyed.
#include <string.h>

#include "validation/layer.h"

// The host behind the pointer that the provider gave; NULL if its instance is gone.
static val_handle *host_of(ops_host *object, const char *slot) {
  val_handle *host = val_handle_of(object);
  if (!host || atomic_load(&host->kind) != VAL_HOST) return NULL;
  if (!atomic_load(&host->dead)) return host;
  val_find(host->layer, "LIFECYCLE-4",
           "host.%s: called after instance.destroy had returned; expected no call: join every "
           "thread in destroy",
           slot);
  return NULL;
}

static void host_log(ops_host *object, int32_t severity, ops_str message) {
  val_handle *host = host_of(object, "log");
  if (host) host->host.api->log(host->real, severity, message);
}

static void *host_allocate(ops_host *object, uint64_t size, uint64_t alignment) {
  val_handle *host = host_of(object, "allocate");
  if (!host) return NULL;
  if (val_in_execute)
    val_find(host->layer, "MEMORY-11",
             "host.allocate: execute asks the host for %llu bytes; expected none: state a "
             "workspace in prepare",
             (unsigned long long)size);
  const uint64_t guard = size <= UINT64_MAX - VAL_GUARD ? VAL_GUARD : 0;
  char *memory = host->host.api->allocate(host->real, size + guard, alignment);
  if (!memory) {
    val_host_failed();
    return NULL;
  }
  val_guard_set(memory + size, guard);
  val_memory_add(host, memory, size, guard, OPS_MEMORY_HOST);
  return memory;
}

static void host_free(ops_host *object, void *address) {
  val_handle *host = host_of(object, "free");
  if (!host || !address) return;
  val_handle *memory = val_memory_at(host->layer, address);
  if (!memory || memory->parent != host) {
    val_find(host->layer, "MEMORY-14",
             "host.free: expected a block that host.allocate gave to this instance, found %s; "
             "free each block once, with the host that it came from",
             memory ? "memory of another" : "an address that is freed already or never was");
    return;
  }
  val_memory_check(NULL, memory, "the provider's own code");
  val_memory_remove(memory);
  host->host.api->free(host->real, address);
}

static void host_parallel_for(ops_host *object, int64_t count, int64_t grain,
                              ops_parallel_body body, void *context) {
  val_handle *host = host_of(object, "parallel_for");
  if (host) host->host.api->parallel_for(host->real, count, grain, body, context);
}

static int32_t host_worker_count(ops_host *object) {
  val_handle *host = host_of(object, "worker_count");
  return host ? host->host.api->worker_count(host->real) : 1;
}

static int32_t host_profile_enabled(ops_host *object) {
  val_handle *host = host_of(object, "profile_enabled");
  return host ? host->host.api->profile_enabled(host->real) : 0;
}

static void host_profile(ops_host *object, const ops_profile_record *record) {
  val_handle *host = host_of(object, "profile");
  if (!host) return;
  if (record->end_ns < record->start_ns)
    val_find(host->layer, "HONESTY-2",
             "host.profile: record '%.*s' ends %llu ns before it begins; expected times of "
             "CLOCK_MONOTONIC in order",
             OPS_STR_FMT(record->name),
             (unsigned long long)(record->start_ns - record->end_ns));
  else if (!host->host.api->profile_enabled(host->real))
    val_find(host->layer, "HONESTY-2",
             "host.profile: record '%.*s' while no profile is taken; expected none: ask "
             "profile_enabled first",
             OPS_STR_FMT(record->name));
  host->host.api->profile(host->real, record);
}

static int32_t host_set_output_shape(ops_host *object, ops_call *call, uint64_t index,
                                     int32_t rank, const int64_t *dims, ops_arg *out_arg,
                                     ops_error *error) {
  val_handle *host = host_of(object, "set_output_shape");
  if (!host) return ops_error_set(error, OPS_ERROR_PRECONDITION, "the instance is gone");
  const int32_t status =
      host->host.api->set_output_shape(host->real, call, index, rank, dims, out_arg, error);
  if (status != OPS_OK) val_host_failed();
  return status;
}

static int32_t host_packed_acquire(ops_host *object, const ops_constant *source,
                                   ops_str packing, int32_t memory_kind, uint64_t size,
                                   uint64_t alignment, ops_packed **out_packed,
                                   void **out_memory, int32_t *out_fill, ops_error *error) {
  val_handle *host = host_of(object, "packed_acquire");
  if (!host) return ops_error_set(error, OPS_ERROR_PRECONDITION, "the instance is gone");
  const int32_t status =
      host->host.api->packed_acquire(host->real, source, packing, memory_kind, size, alignment,
                                     out_packed, out_memory, out_fill, error);
  if (status == OPS_OK)
    atomic_fetch_add(&host->host.packed, 1);
  else
    val_host_failed();
  return status;
}

static void host_packed_commit(ops_host *object, ops_packed *packed) {
  val_handle *host = host_of(object, "packed_commit");
  if (host) host->host.api->packed_commit(host->real, packed);
}

static void host_packed_release(ops_host *object, ops_packed *packed) {
  val_handle *host = host_of(object, "packed_release");
  if (!host) return;
  if (packed && atomic_fetch_sub(&host->host.packed, 1) <= 0) {
    atomic_fetch_add(&host->host.packed, 1);
    val_find(host->layer, "MEMORY-14",
             "host.packed_release: expected a packed constant that packed_acquire gave, found "
             "more releases than acquisitions; release each once");
    return;
  }
  host->host.api->packed_release(host->real, packed);
}

static const void *host_get_extension(ops_host *object, ops_str name, uint32_t version) {
  val_handle *host = host_of(object, "get_extension");
  if (host && host->host.api->get_extension(host->real, name, version))
    val_find(host->layer, "",
             "the host's extension '%.*s' is hidden from the provider, since the layer cannot "
             "look into it; run without validation to use it",
             OPS_STR_FMT(name));
  return NULL;
}

static int32_t host_is_cancelled(ops_host *object, const ops_call *call) {
  val_handle *host = host_of(object, "is_cancelled");
  return host ? host->host.api->is_cancelled(host->real, call) : 1;
}

val_handle *val_host_create(val_layer *layer, const ops_host_api *api, ops_host *host) {
  val_handle *handle = val_handle_create(layer, VAL_HOST, NULL, host);
  if (!handle) return NULL;
  handle->host.api = api;
  handle->host.table = (ops_host_api){.struct_size = sizeof handle->host.table,
                                      .version = api->version,
                                      .log = host_log,
                                      .allocate = host_allocate,
                                      .free = host_free,
                                      .parallel_for = host_parallel_for,
                                      .worker_count = host_worker_count,
                                      .profile_enabled = host_profile_enabled,
                                      .profile = host_profile,
                                      .set_output_shape = host_set_output_shape,
                                      .values = api->values,
                                      .packed_acquire = host_packed_acquire,
                                      .packed_commit = host_packed_commit,
                                      .packed_release = host_packed_release,
                                      .get_extension = host_get_extension,
                                      .is_cancelled = host_is_cancelled};
  return handle;
}

void val_host_close(val_handle *host, const char *when) {
  char blocks[160];
  const uint64_t kept = val_handle_children(host, blocks, sizeof blocks);
  const long long packed = atomic_load(&host->host.packed);
  if (kept || packed > 0)
    val_find(host->layer, "LIFECYCLE-2",
             "%s: the provider keeps %llu block(s) of host memory and %lld packed constant(s); "
             "expected none: give back what the instance took",
             when, (unsigned long long)kept, packed > 0 ? packed : 0);
  val_handle_retire_children(host);
  val_handle_retire(host);
}

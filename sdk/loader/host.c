// SPDX-License-Identifier: Apache-2.0
//
// The host table: each slot finds the ops_host behind its handle and forwards to a sink, the
// pool or the store of packed constants. No lock is held while a callback runs.
#include "loader/host.h"

#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>

#include "loader/packed.h"
#include "loader/parallel.h"
#include "loader/value.h"

struct ops_host {
  ops_host_options options;
  ops_pool *pool;
  ops_packed_store *packed;
};

static void log_to_stderr(void *context, int32_t severity, ops_str message) {
  static const char *const names[] = {"debug", "info", "warning", "error"};
  (void)context;
  fprintf(stderr, "%s: %.*s\n", names[severity], OPS_STR_FMT(message));
}

static void host_log(ops_host *host, int32_t severity, ops_str message) {
  if (severity < OPS_LOG_DEBUG) severity = OPS_LOG_DEBUG;
  if (severity > OPS_LOG_ERROR) severity = OPS_LOG_ERROR;
  if (severity < host->options.log_threshold) return;
  host->options.log(host->options.context, severity, message);
}

static void *allocate_aligned(void *context, uint64_t size, uint64_t alignment) {
  void *memory = NULL;
  (void)context;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : NULL;
}

static void free_aligned(void *context, void *memory) {
  (void)context;
  free(memory);
}

static void *host_allocate(ops_host *host, uint64_t size, uint64_t alignment) {
  return host->options.allocate(host->options.context, size, alignment);
}

static void host_free(ops_host *host, void *memory) {
  if (memory) host->options.free(host->options.context, memory);
}

static void host_parallel_for(ops_host *host, int64_t count, int64_t grain,
                              ops_parallel_body body, void *context) {
  ops_pool_run(host->pool, count, grain, body, context);
}

static int32_t host_worker_count(ops_host *host) {
  return ops_pool_workers(host->pool);
}

static int32_t host_profile_enabled(ops_host *host) {
  return host->options.profile != NULL;
}

static void host_profile(ops_host *host, const ops_profile_record *record) {
  if (host->options.profile) host->options.profile(host->options.context, record);
}

static int32_t host_set_output_shape(ops_host *host, ops_call *call, uint64_t index,
                                     int32_t rank, const int64_t *dims, ops_arg *out_arg,
                                     ops_error *error) {
  if (!host->options.set_output_shape)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "this host does not take output shapes during execute");
  return host->options.set_output_shape(host->options.context, call, index, rank, dims, out_arg,
                                        error);
}

static int32_t host_packed_acquire(ops_host *host, const ops_constant *source, ops_str packing,
                                   int32_t memory_kind, uint64_t size, uint64_t alignment,
                                   ops_packed **out_packed, void **out_memory,
                                   int32_t *out_fill, ops_error *error) {
  if (memory_kind != OPS_MEMORY_HOST)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "packed constants are kept in host memory only, found memory kind %d",
                         memory_kind);
  return ops_packed_store_acquire(host->packed, host->options.owner, source, packing, size,
                                  alignment, out_packed, out_memory, out_fill, error);
}

static void host_packed_commit(ops_host *host, ops_packed *packed) {
  ops_packed_store_commit(host->packed, packed);
}

static void host_packed_release(ops_host *host, ops_packed *packed) {
  ops_packed_store_drop(host->packed, packed);
}

static const void *host_get_extension(ops_host *host, ops_str name, uint32_t version) {
  (void)host, (void)name, (void)version;
  return NULL;
}

static int32_t host_is_cancelled(ops_host *host, const ops_call *call) {
  return host->options.is_cancelled ? host->options.is_cancelled(host->options.context, call)
                                    : 0;
}

static const ops_host_api kApi = {
    .struct_size = sizeof(ops_host_api),
    .version = OPS_ABI_VERSION,
    .log = host_log,
    .allocate = host_allocate,
    .free = host_free,
    .parallel_for = host_parallel_for,
    .worker_count = host_worker_count,
    .profile_enabled = host_profile_enabled,
    .profile = host_profile,
    .set_output_shape = host_set_output_shape,
    .values = &ops_value_accessors,
    .packed_acquire = host_packed_acquire,
    .packed_commit = host_packed_commit,
    .packed_release = host_packed_release,
    .get_extension = host_get_extension,
    .is_cancelled = host_is_cancelled,
};

const ops_host_api *ops_host_api_table(void) {
  return &kApi;
}

static void apply_defaults(ops_host_options *options) {
  if (!options->log) options->log = log_to_stderr;
  if (!options->allocate) {
    options->allocate = allocate_aligned;
    options->free = free_aligned;
  }
}

int32_t ops_host_create(const ops_host_options *options, ops_host **out_host,
                        ops_error *error) {
  if (options && !options->allocate != !options->free)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "host options: allocate and free go together, only one is set");
  ops_host *host = calloc(1, sizeof *host);
  if (host) {
    if (options) host->options = *options;
    apply_defaults(&host->options);
    host->pool = ops_pool_create(host->options.workers);
    host->packed = host->options.packed ? ops_packed_store_retain(host->options.packed)
                                        : ops_packed_store_create();
  }
  if (!host || !host->pool || !host->packed) {
    ops_host_destroy(host);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the host's services");
  }
  *out_host = host;
  return OPS_OK;
}

void ops_host_destroy(ops_host *host) {
  if (!host) return;
  ops_pool_destroy(host->pool);
  ops_packed_store_release(host->packed);
  free(host);
}

// SPDX-License-Identifier: Apache-2.0
//
// Opening and closing a provider, with a count of what it allocates from the host.
#include "runner/target.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "runner/environment.h"
#include "runner/launch.h"

#define LARGEST_ALIGNMENT ((uint64_t)1 << 21)
#define FRESH_BYTE 0xa5  // fresh host memory is never zero by luck

static void *count_allocate(void *context, uint64_t size, uint64_t alignment) {
  oc_target *target = context;
  void *memory = NULL;
  const uint64_t number = atomic_fetch_add(&target->allocations_made, 1) + 1;
  if (number == atomic_load(&target->allocation_to_fail)) return NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (posix_memalign(&memory, alignment, size ? size : 1) != 0) return NULL;
  memset(memory, FRESH_BYTE, size);
  atomic_fetch_add(&target->host_allocations, 1);
  return memory;
}

static void count_free(void *context, void *memory) {
  oc_target *target = context;
  if (memory) atomic_fetch_sub(&target->host_allocations, 1);
  free(memory);
}

static int32_t open_streams(oc_target *target, ops_error *error) {
  const ops_stream_api *api = target->provider->stream;
  for (int i = 0; api && i < OC_TARGET_STREAMS; ++i) {
    if (target->streams[i]) continue;
    if (target->info.max_streams && (uint64_t)i >= target->info.max_streams) {
      target->streams[i] = target->streams[0];
    } else {
      OPS_RETURN_IF_ERROR(api->create(target->device, &target->streams[i], error));
    }
  }
  return OPS_OK;
}

int32_t oc_target_renew_streams(oc_target *target, ops_error *error) {
  const ops_stream_api *api = target->provider->stream;
  for (int i = 0; i < OC_TARGET_STREAMS; ++i) {
    ops_stream *stream = target->streams[i];
    if (!stream || api->synchronize(stream, NULL) == OPS_OK) continue;
    for (int k = 0; k < OC_TARGET_STREAMS; ++k) {
      if (target->streams[k] == stream) target->streams[k] = NULL;
    }
    api->destroy(stream);
  }
  return open_streams(target, error);
}

// What the device says of itself is relied on by everything that follows.
static int32_t check_info(const oc_target *target, ops_error *error) {
  const ops_device_info *info = &target->info;
  const uint64_t alignment = info->min_alignment;
  const ops_str texts[] = {info->name, info->architecture, info->driver_version,
                           info->fingerprint};
  if ((alignment & (alignment - 1)) || alignment > LARGEST_ALIGNMENT) {
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "device_info: expected a min_alignment of 0 or a power of two up to "
                         "%llu, found %llu",
                         (unsigned long long)LARGEST_ALIGNMENT, (unsigned long long)alignment);
  }
  if (!(info->memory_kinds & OPS_MEMORY_BIT(OPS_MEMORY_HOST))) {
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "device_info: expected memory_kinds to include HOST, found 0x%x",
                         info->memory_kinds);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    if (texts[i].data || texts[i].size == 0) continue;
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "device_info: string %zu of name, architecture, driver_version and "
                         "fingerprint is NULL with a size of %llu bytes",
                         i, (unsigned long long)texts[i].size);
  }
  return OPS_OK;
}

static int32_t open_device(oc_target *target, const oc_target_options *options,
                           ops_error *error) {
  const ops_instance_api *api = target->provider->instance;
  OPS_RETURN_IF_ERROR(api->create(ops_host_api_table(), target->host, options->options,
                                  options->option_count, &target->instance, error));
  uint64_t count = 0;
  OPS_RETURN_IF_ERROR(api->device_count(target->instance, &count, error));
  if (count == 0) {
    return ops_error_set(error, OPS_ERROR_NOT_FOUND,
                         "provider '%.*s' has no device on this machine; expected at least one",
                         OPS_STR_FMT(target->provider->name));
  }
  OPS_RETURN_IF_ERROR(api->device_open(target->instance, 0, &target->device, error));
  target->info.struct_size = sizeof target->info;
  OPS_RETURN_IF_ERROR(api->device_info(target->device, &target->info, error));
  OPS_RETURN_IF_ERROR(check_info(target, error));
  return open_streams(target, error);
}

// Loading runs constructors and the query, which start no threads.
static int32_t load(oc_target *target, const oc_target_options *options, ops_error *error) {
  const uint64_t threads = oc_environment_threads();
  const ops_library_options library_options = {.offered_features = OC_TARGET_FEATURES,
                                               .provider_dir = options->provider_dir};
  OPS_RETURN_IF_ERROR(
      ops_library_open(options->name, &library_options, &target->library, error));
  const bool started = threads > 0 && oc_environment_threads() > threads;
  if (started) target->altered = "the number of threads: loading the library started one";
  return OPS_OK;
}

int32_t oc_target_open(oc_target *target, const oc_target_options *options, ops_error *error) {
  oc_environment before;
  memset(target, 0, sizeof *target);
  target->allocation_to_fail = options->allocation_to_fail;
  oc_environment_take(&before);
  OPS_RETURN_IF_ERROR(load(target, options, error));
  target->provider = ops_library_provider(target->library);
  const ops_host_options host_options = {.context = target,
                                         .workers = options->workers ? options->workers : 2,
                                         .log_threshold = OPS_LOG_WARNING,
                                         .allocate = count_allocate,
                                         .free = count_free,
                                         .set_output_shape = oc_launch_set_output_shape};
  int32_t status = ops_host_create(&host_options, &target->host, error);
  if (status == OPS_OK) status = open_device(target, options, error);
  const char *changed = oc_environment_restore(&before);
  if (changed) target->altered = changed;
  if (status != OPS_OK) oc_target_close(target, NULL);
  return status;
}

static int32_t keep_first(int32_t first, int32_t second) {
  return first != OPS_OK ? first : second;
}

int32_t oc_target_close(oc_target *target, ops_error *error) {
  int32_t status = OPS_OK;
  if (!target->library) return OPS_OK;
  const ops_instance_api *api = target->provider->instance;
  const bool shared = target->streams[0] == target->streams[1];
  for (int i = 0; i < OC_TARGET_STREAMS; ++i) {
    if (target->streams[i] && !(i > 0 && shared)) {
      target->provider->stream->destroy(target->streams[i]);
    }
  }
  if (target->device) status = api->device_close(target->device, error);
  if (target->instance) {
    status = keep_first(status, api->destroy(target->instance, status ? NULL : error));
  }
  ops_host_destroy(target->host);
  const long long left = atomic_load(&target->host_allocations);
  if (status == OPS_OK && left != 0) {
    status =
        ops_error_set(error, OPS_ERROR_INTERNAL,
                      "provider '%.*s': expected every block of the host table to be freed "
                      "when the instance is destroyed, found %lld left",
                      OPS_STR_FMT(target->provider->name), left);
  }
  if (status == OPS_OK && target->altered) {
    status = ops_error_set(error, OPS_ERROR_INTERNAL,
                           "opening the provider changed what belongs to the host and did not "
                           "put it back: %s",
                           target->altered);
  }
  ops_library_release(target->library);
  memset(target, 0, sizeof *target);
  return status;
}

int32_t oc_target_is_host(const oc_target *target, int32_t memory_kind) {
  return memory_kind == OPS_MEMORY_HOST || !target->provider->memory;
}

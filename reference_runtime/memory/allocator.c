// SPDX-License-Identifier: Apache-2.0
//
// The counted allocator: one table of two sources (the C library, a provider) and one set of
// counters behind a mutex. The mutex is not held while a source is called.
#include "memory/allocator.h"

#include <ops_support/error.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct rt_allocator {
  const char *name;
  const ops_memory_api *api;  // NULL: the C library
  ops_device *device;
  int32_t kind;
  uint64_t min_alignment;
  pthread_mutex_t mutex;
  rt_memory_stats stats;
};

const char *rt_memory_kind_name(int32_t memory_kind) {
  static const char *const names[OPS_MEMORY_KIND_COUNT] = {"host", "pinned", "device",
                                                           "shared"};
  if (memory_kind < 0 || memory_kind >= OPS_MEMORY_KIND_COUNT) return "unknown";
  return names[memory_kind];
}

static int32_t create(const rt_allocator *settings, rt_allocator **out_allocator,
                      ops_error *error) {
  *out_allocator = NULL;
  rt_allocator *allocator = malloc(sizeof *allocator);
  if (!allocator) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an allocator");
  *allocator = *settings;
  pthread_mutex_init(&allocator->mutex, NULL);
  *out_allocator = allocator;
  return OPS_OK;
}

int32_t rt_allocator_create_host(rt_allocator **out_allocator, ops_error *error) {
  return create(
      &(rt_allocator){
          .name = "host", .kind = OPS_MEMORY_HOST, .min_alignment = RT_MEMORY_HOST_ALIGNMENT},
      out_allocator, error);
}

int32_t rt_allocator_create_device(const char *name, const ops_memory_api *api,
                                   ops_device *device, int32_t memory_kind,
                                   uint64_t min_alignment, rt_allocator **out_allocator,
                                   ops_error *error) {
  return create(&(rt_allocator){.name = name,
                                .api = api,
                                .device = device,
                                .kind = memory_kind,
                                .min_alignment = min_alignment ? min_alignment : 1},
                out_allocator, error);
}

void rt_allocator_destroy(rt_allocator *allocator) {
  if (!allocator) return;
  pthread_mutex_destroy(&allocator->mutex);
  free(allocator);
}

static int32_t take(rt_allocator *allocator, uint64_t size, uint64_t alignment, int32_t usage,
                    void **out_memory, ops_error *error) {
  *out_memory = NULL;
  if (allocator->api)
    return allocator->api->allocate(allocator->device, allocator->kind, size, alignment, usage,
                                    out_memory, error);
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (posix_memalign(out_memory, alignment, size) == 0) return OPS_OK;
  *out_memory = NULL;
  return OPS_ERROR_OUT_OF_MEMORY;
}

// The numbers that an out-of-memory report needs, from the provider where it keeps them.
static int32_t report_exhausted(rt_allocator *allocator, uint64_t size, ops_error *error) {
  ops_memory_stats stats = {.struct_size = sizeof stats};
  const ops_memory_api *api = allocator->api;
  const int known = api && api->stats &&
                    api->stats(allocator->device, allocator->kind, &stats, NULL) == OPS_OK &&
                    stats.bytes_total;
  char detail[160] = "";
  if (known) {
    const uint64_t used = stats.bytes_in_use;
    const uint64_t left = stats.bytes_total > used ? stats.bytes_total - used : 0;
    snprintf(detail, sizeof detail, ", %llu of %llu bytes free, largest free block %llu",
             (unsigned long long)left, (unsigned long long)stats.bytes_total,
             (unsigned long long)(stats.bytes_largest_free ? stats.bytes_largest_free : left));
  }
  return ops_error_set(
      error, OPS_ERROR_OUT_OF_MEMORY,
      "%s memory of %s is exhausted: %llu bytes requested, %llu in use by this "
      "session%s; use smaller inputs, or a provider with more memory",
      rt_memory_kind_name(allocator->kind), allocator->name, (unsigned long long)size,
      (unsigned long long)rt_allocator_stats(allocator).bytes_in_use, detail);
}

int32_t rt_allocator_allocate(rt_allocator *allocator, uint64_t size, uint64_t alignment,
                              int32_t usage, void **out_memory, ops_error *error) {
  if (alignment < allocator->min_alignment) alignment = allocator->min_alignment;
  const int32_t status = take(allocator, size, alignment, usage, out_memory, error);
  if (status == OPS_ERROR_OUT_OF_MEMORY) return report_exhausted(allocator, size, error);
  if (status != OPS_OK) return status;
  if (!*out_memory)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "provider %s: allocate answered OK without memory", allocator->name);
  pthread_mutex_lock(&allocator->mutex);
  rt_memory_stats *stats = &allocator->stats;
  stats->bytes_in_use += size;
  stats->allocations++;
  if (stats->bytes_in_use > stats->bytes_peak) stats->bytes_peak = stats->bytes_in_use;
  pthread_mutex_unlock(&allocator->mutex);
  return OPS_OK;
}

void rt_allocator_free(rt_allocator *allocator, void *memory, uint64_t size) {
  if (!memory) return;
  pthread_mutex_lock(&allocator->mutex);
  allocator->stats.bytes_in_use -= size;
  pthread_mutex_unlock(&allocator->mutex);
  if (allocator->api)
    allocator->api->free(allocator->device, allocator->kind, memory);
  else
    free(memory);
}

rt_memory_stats rt_allocator_stats(rt_allocator *allocator) {
  pthread_mutex_lock(&allocator->mutex);
  const rt_memory_stats stats = allocator->stats;
  pthread_mutex_unlock(&allocator->mutex);
  return stats;
}

const char *rt_allocator_name(const rt_allocator *allocator) {
  return allocator->name;
}

int32_t rt_allocator_kind(const rt_allocator *allocator) {
  return allocator->kind;
}

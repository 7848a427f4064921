// SPDX-License-Identifier: Apache-2.0
//
// The counted allocator: one table of two sources (the C library, a provider) and one set of
// counters behind a mutex. Bytes are counted before they are taken, so that the maximum holds
// whatever other threads do; the mutex is not held while a source is called.
#include "memory/allocator.h"

#include <ops_support/error.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct rt_allocator {
  const char *name;
  const ops_memory_api *api;  // NULL: the C library
  ops_device *device;
  int32_t kind;
  uint64_t min_alignment;
  pthread_mutex_t mutex;
  rt_memory_stats stats;
};

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

void rt_allocator_set_maximum(rt_allocator *allocator, uint64_t bytes) {
  pthread_mutex_lock(&allocator->mutex);
  allocator->stats.bytes_maximum = bytes;
  pthread_mutex_unlock(&allocator->mutex);
}

// ---- Shortage -------------------------------------------------------------------------------

static void ask_provider(const rt_allocator *allocator, rt_shortage *shortage) {
  ops_memory_stats stats = {.struct_size = sizeof stats};
  const ops_memory_api *api = allocator->api;
  if (!api->stats || api->stats(allocator->device, allocator->kind, &stats, NULL) != OPS_OK)
    return;
  const uint64_t used = stats.bytes_in_use;
  shortage->device_total = stats.bytes_total;
  shortage->device_free = stats.bytes_total > used ? stats.bytes_total - used : 0;
  shortage->device_block = stats.bytes_largest_free;
}

static void ask_system(rt_shortage *shortage) {
  const long page = sysconf(_SC_PAGESIZE), total = sysconf(_SC_PHYS_PAGES),
             available = sysconf(_SC_AVPHYS_PAGES);
  if (page <= 0 || total <= 0 || available < 0) return;
  shortage->device_total = (uint64_t)total * (uint64_t)page;
  shortage->device_free = (uint64_t)available * (uint64_t)page;
}

void rt_allocator_shortage(rt_allocator *allocator, uint64_t size, rt_shortage *out_shortage) {
  const rt_memory_stats stats = rt_allocator_stats(allocator);
  *out_shortage = (rt_shortage){.name = allocator->name,
                                .kind = allocator->kind,
                                .requested = size,
                                .in_use = stats.bytes_in_use,
                                .maximum = stats.bytes_maximum};
  if (allocator->api)
    ask_provider(allocator, out_shortage);
  else
    ask_system(out_shortage);
}

static int32_t report(rt_allocator *allocator, uint64_t size, ops_error *error) {
  rt_shortage shortage;
  rt_allocator_shortage(allocator, size, &shortage);
  return rt_shortage_report(&shortage, error);
}

// ---- Counting -------------------------------------------------------------------------------

static int32_t admit(rt_allocator *allocator, uint64_t size, ops_error *error) {
  rt_memory_stats *stats = &allocator->stats;
  pthread_mutex_lock(&allocator->mutex);
  const uint64_t limit = stats->bytes_maximum ? stats->bytes_maximum : UINT64_MAX;
  const int fits = stats->bytes_in_use <= limit && size <= limit - stats->bytes_in_use;
  if (fits) stats->bytes_in_use += size;
  pthread_mutex_unlock(&allocator->mutex);
  return fits ? OPS_OK : report(allocator, size, error);
}

// What was admitted is there.
static void confirm(rt_allocator *allocator, uint64_t allocations) {
  rt_memory_stats *stats = &allocator->stats;
  pthread_mutex_lock(&allocator->mutex);
  stats->allocations += allocations;
  if (stats->bytes_in_use > stats->bytes_peak) stats->bytes_peak = stats->bytes_in_use;
  pthread_mutex_unlock(&allocator->mutex);
}

int32_t rt_allocator_charge(rt_allocator *allocator, uint64_t size, ops_error *error) {
  OPS_RETURN_IF_ERROR(admit(allocator, size, error));
  confirm(allocator, 0);
  return OPS_OK;
}

void rt_allocator_discharge(rt_allocator *allocator, uint64_t size) {
  pthread_mutex_lock(&allocator->mutex);
  allocator->stats.bytes_in_use -= size;
  pthread_mutex_unlock(&allocator->mutex);
}

// ---- Allocating -----------------------------------------------------------------------------

#define HUGE_PAGE ((uint64_t)2 << 20)

// Weights are read again and again: in huge pages that costs fewer looks at page tables. Only
// pages that are full of them, so that nothing more becomes resident.
static void prefer_huge_pages(void *memory, uint64_t size) {
  const uint64_t begin = ((uint64_t)(uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  const uint64_t end = ((uint64_t)(uintptr_t)memory + size) / HUGE_PAGE * HUGE_PAGE;
#if defined(MADV_HUGEPAGE)
  if (begin < end) madvise((void *)(uintptr_t)begin, end - begin, MADV_HUGEPAGE);
#endif
}

static int32_t take(rt_allocator *allocator, uint64_t size, uint64_t alignment, int32_t usage,
                    void **out_memory, ops_error *error) {
  *out_memory = NULL;
  if (allocator->api)
    return allocator->api->allocate(allocator->device, allocator->kind, size, alignment, usage,
                                    out_memory, error);
  const int is_large = usage == OPS_USAGE_WEIGHT && size >= HUGE_PAGE;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (is_large && alignment < HUGE_PAGE) alignment = HUGE_PAGE;
  if (posix_memalign(out_memory, alignment, size) != 0) {
    *out_memory = NULL;
    return OPS_ERROR_OUT_OF_MEMORY;
  }
  if (is_large) prefer_huge_pages(*out_memory, size);
  return OPS_OK;
}

int32_t rt_allocator_allocate(rt_allocator *allocator, uint64_t size, uint64_t alignment,
                              int32_t usage, void **out_memory, ops_error *error) {
  *out_memory = NULL;
  if (alignment < allocator->min_alignment) alignment = allocator->min_alignment;
  OPS_RETURN_IF_ERROR(admit(allocator, size, error));
  int32_t status = take(allocator, size, alignment, usage, out_memory, error);
  if (status == OPS_OK && !*out_memory)
    status = ops_error_set(error, OPS_ERROR_INTERNAL,
                           "provider %s: allocate answered OK without memory", allocator->name);
  if (status == OPS_OK) {
    confirm(allocator, 1);
    return OPS_OK;
  }
  rt_allocator_discharge(allocator, size);
  return status == OPS_ERROR_OUT_OF_MEMORY ? report(allocator, size, error) : status;
}

void rt_allocator_free(rt_allocator *allocator, void *memory, uint64_t size) {
  if (!memory) return;
  if (allocator->api)
    allocator->api->free(allocator->device, allocator->kind, memory);
  else
    free(memory);
  rt_allocator_discharge(allocator, size);
}

// ---- Numbers --------------------------------------------------------------------------------

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

uint64_t rt_allocator_min_alignment(const rt_allocator *allocator) {
  return allocator->min_alignment;
}

int rt_allocator_is_host(const rt_allocator *allocator) {
  return allocator->api == NULL;
}

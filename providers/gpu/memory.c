// SPDX-License-Identifier: Apache-2.0
//
// Device memory, pinned host memory, and what is in use of them. A handle of device memory is
// the address of a record that the host never reads; a record that was freed is recognised as
// long as its memory has not been used again.
#include <ops_support/error.h>
#include <stdlib.h>

#include "gpu.h"

#define BLOCK_MAGIC UINT64_C(0x6b636f6c62757067)

static void count(ops_device *device, int32_t kind, int64_t allocations, uint64_t bytes) {
  pthread_mutex_lock(&device->lock);
  ops_memory_stats *stats = &device->stats[kind];
  stats->allocations += (uint64_t)allocations;
  stats->bytes_in_use += allocations > 0 ? bytes : -bytes;
  if (stats->bytes_in_use > stats->bytes_peak) stats->bytes_peak = stats->bytes_in_use;
  pthread_mutex_unlock(&device->lock);
}

static int32_t serves(const ops_device *device, int32_t kind) {
  return kind == OPS_MEMORY_DEVICE ||
         (kind == OPS_MEMORY_PINNED && device->driver->allocate_pinned);
}

static int32_t check(const ops_device *device, int32_t kind, uint64_t size, uint64_t alignment,
                     ops_error *error) {
  if (!serves(device, kind))
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "memory kind %d: %s allocates device memory (%d)%s", kind,
                         device->driver->name, OPS_MEMORY_DEVICE,
                         device->driver->allocate_pinned ? " and pinned memory (1)" : "");
  if (size == 0 || (alignment & (alignment - 1)))
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "size %llu, alignment %llu: expected a size above 0 and a power of two",
        (unsigned long long)size, (unsigned long long)alignment);
  if (alignment > device->properties.min_alignment && !device->properties.is_opaque)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "alignment %llu: %s aligns to %llu bytes",
                         (unsigned long long)alignment, device->driver->name,
                         (unsigned long long)device->properties.min_alignment);
  if (size > device->properties.max_allocation)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                         "%llu bytes of device memory: one allocation has at most %llu",
                         (unsigned long long)size,
                         (unsigned long long)device->properties.max_allocation);
  return OPS_OK;
}

static int32_t allocate_block(ops_device *device, int32_t kind, uint64_t size,
                              gpu_block **out_block, ops_error *error) {
  gpu_block *block = calloc(1, sizeof *block);
  if (!block) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a block");
  *block = (gpu_block){.magic = BLOCK_MAGIC, .device = device, .size = size};
  const gpu_driver *driver = device->driver;
  const int32_t status =
      kind == OPS_MEMORY_DEVICE
          ? driver->allocate(device->context, size, &block->memory, error)
          : driver->allocate_pinned(device->context, size, &block->memory, error);
  if (status != OPS_OK) {
    free(block);
    return status;
  }
  *out_block = block;
  return OPS_OK;
}

// Of pinned memory the host holds the address itself, so its records are in a list.
static void keep_pinned(ops_device *device, gpu_block *block) {
  pthread_mutex_lock(&device->lock);
  block->next = device->pinned;
  device->pinned = block;
  pthread_mutex_unlock(&device->lock);
}

static gpu_block *take_pinned(ops_device *device, const void *address) {
  pthread_mutex_lock(&device->lock);
  gpu_block **link = &device->pinned;
  while (*link && (*link)->memory != address) link = &(*link)->next;
  gpu_block *found = *link;
  if (found) *link = found->next;
  pthread_mutex_unlock(&device->lock);
  return found;
}

static int32_t allocate(ops_device *device, int32_t kind, uint64_t size, uint64_t alignment,
                        int32_t usage, void **out_memory, ops_error *error) {
  (void)usage;
  gpu_block *block;
  OPS_RETURN_IF_ERROR(check(device, kind, size, alignment, error));
  OPS_RETURN_IF_ERROR(allocate_block(device, kind, size, &block, error));
  if (kind == OPS_MEMORY_PINNED) keep_pinned(device, block);
  *out_memory = kind == OPS_MEMORY_PINNED ? block->memory : block;
  count(device, kind, 1, size);
  return OPS_OK;
}

static void release(ops_device *device, int32_t kind, void *memory) {
  gpu_block *block = kind == OPS_MEMORY_PINNED ? take_pinned(device, memory) : memory;
  if (!block || block->magic != BLOCK_MAGIC || block->device != device) return;
  block->magic = 0;
  count(device, kind, -1, block->size);
  if (kind == OPS_MEMORY_PINNED)
    device->driver->release_pinned(device->context, block->memory);
  else
    device->driver->release(device->context, block->memory);
  free(block);
}

// ---- In the order of a stream ----

static int32_t check_queued(const ops_stream *stream, int32_t kind, ops_error *error) {
  OPS_RETURN_IF_ERROR(gpu_capture_refuse(stream, error));
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  if (kind == OPS_MEMORY_DEVICE) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "memory kind %d in the order of a stream: %s has device memory alone",
                       kind, stream->device->driver->name);
}

static int32_t allocate_async(ops_stream *stream, int32_t kind, uint64_t size,
                              uint64_t alignment, void **out_memory, ops_error *error) {
  ops_device *device = stream->device;
  OPS_RETURN_IF_ERROR(check_queued(stream, kind, error));
  OPS_RETURN_IF_ERROR(check(device, kind, size, alignment, error));
  gpu_block *block = calloc(1, sizeof *block);
  if (!block) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a block");
  *block = (gpu_block){.magic = BLOCK_MAGIC, .device = device, .size = size};
  const int32_t status =
      device->driver->allocate_queued(stream->queue, size, &block->memory, error);
  if (status != OPS_OK) {
    free(block);
    return status;
  }
  *out_memory = block;
  count(device, kind, 1, size);
  return OPS_OK;
}

static int32_t free_async(ops_stream *stream, int32_t kind, void *memory, ops_error *error) {
  ops_device *device = stream->device;
  gpu_block *block = memory;
  if (!block) return OPS_OK;
  OPS_RETURN_IF_ERROR(check_queued(stream, kind, error));
  if (block->magic != BLOCK_MAGIC || block->device != device)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "handle %p is no device memory of this device", memory);
  OPS_RETURN_IF_ERROR(device->driver->release_queued(stream->queue, block->memory, error));
  block->magic = 0;
  count(device, kind, -1, block->size);
  free(block);
  return OPS_OK;
}

static int32_t stats(ops_device *device, int32_t kind, ops_memory_stats *out_stats,
                     ops_error *error) {
  if (!serves(device, kind))
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "memory kind %d is not kept by %s", kind,
                         device->driver->name);
  pthread_mutex_lock(&device->lock);
  const ops_memory_stats now = device->stats[kind];
  pthread_mutex_unlock(&device->lock);
  out_stats->bytes_in_use = now.bytes_in_use;
  out_stats->bytes_peak = now.bytes_peak;
  out_stats->allocations = now.allocations;
  out_stats->bytes_total = device->properties.memory_bytes;
  out_stats->bytes_largest_free = 0;
  return OPS_OK;
}

int32_t gpu_block_find(const ops_device *device, void *handle, uint64_t offset, uint64_t size,
                       const gpu_block **out_block, ops_error *error) {
  const gpu_block *block = handle;
  if (!block || block->magic != BLOCK_MAGIC || block->device != device)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "handle %p is no device memory of this device", handle);
  if (offset > block->size || size > block->size - offset)
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT, "%llu bytes at offset %llu: the allocation has %llu",
        (unsigned long long)size, (unsigned long long)offset, (unsigned long long)block->size);
  *out_block = block;
  return OPS_OK;
}

const ops_memory_api gpu_memory_api = {.struct_size = sizeof(ops_memory_api),
                                       .allocate = allocate,
                                       .free = release,
                                       .stats = stats};

const ops_memory_api gpu_queued_memory_api = {.struct_size = sizeof(ops_memory_api),
                                              .allocate = allocate,
                                              .free = release,
                                              .stats = stats,
                                              .allocate_async = allocate_async,
                                              .free_async = free_async};

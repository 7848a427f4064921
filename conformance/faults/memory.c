// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device: ordinary memory behind handles that no processor can follow, since
// their highest bit is set.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "faulty.h"

#define HANDLE_BIT ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))
#define LEAST_ALIGNMENT 64

// Lies in front of the memory that it describes.
typedef struct faulty_block {
  struct faulty_block *next;
  void *whole;  // what free wants
  uint64_t size, alignment;
} faulty_block;

void *faulty_address(int32_t memory_kind, void *handle) {
  if (memory_kind != OPS_MEMORY_DEVICE) return handle;
  return (void *)((uintptr_t)handle & ~HANDLE_BIT);
}

// ---- Control caching_allocator: blocks that are given back serve again ----------------------

static faulty_block *record_of(void *memory) {
  return (faulty_block *)memory - 1;
}

static void *take_cached(ops_device *device, uint64_t size, uint64_t alignment) {
  pthread_mutex_lock(&device->lock);
  faulty_block **link = &device->cache;
  while (*link && ((*link)->size < size || (*link)->alignment != alignment)) {
    link = &(*link)->next;
  }
  faulty_block *found = *link;
  if (found) *link = found->next;
  pthread_mutex_unlock(&device->lock);
  return found ? found + 1 : NULL;
}

void faulty_memory_empty_cache(ops_device *device);
void faulty_memory_empty_cache(ops_device *device) {
  while (device->cache) {
    faulty_block *next = device->cache->next;
    free(device->cache->whole);
    device->cache = next;
  }
}

// ---- Allocation -----------------------------------------------------------------------------

static void *take_fresh(uint64_t size, uint64_t alignment) {
  const uint64_t bytes = (alignment + size + alignment - 1) / alignment * alignment;
  char *whole = bytes < size ? NULL : aligned_alloc(alignment, bytes);
  if (!whole) return NULL;
  faulty_block *record = record_of(whole + alignment);
  *record = (faulty_block){.whole = whole, .size = size, .alignment = alignment};
  return record + 1;
}

static int32_t memory_allocate(ops_device *device, int32_t kind, uint64_t size,
                               uint64_t alignment, int32_t usage, void **out_memory,
                               ops_error *error) {
  (void)usage;
  if (size == 0 && FAULTY(device, nothing_is_allocated)) size = 1;
  if ((kind != OPS_MEMORY_DEVICE && kind != OPS_MEMORY_HOST) || size == 0 ||
      (alignment & (alignment - 1))) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "allocate: kind %d, %llu bytes aligned to %llu; expected host or "
                         "device memory, a size above 0 and a power of two",
                         kind, (unsigned long long)size, (unsigned long long)alignment);
  }
  if (alignment < LEAST_ALIGNMENT) alignment = LEAST_ALIGNMENT;
  void *memory =
      CONTROLLED(device, caching_allocator) ? take_cached(device, size, alignment) : NULL;
  if (!memory) memory = take_fresh(size, alignment);
  if (!memory) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no device memory for %llu bytes",
                         (unsigned long long)size);
  }
  uintptr_t handle = (uintptr_t)memory | (kind == OPS_MEMORY_DEVICE ? HANDLE_BIT : 0);
  if (FAULTY(device, device_memory_misaligned)) handle += 4;
  faulty_device_add(device, FAULTY_ALLOCATIONS, 1);
  *out_memory = (void *)handle;
  return OPS_OK;
}

static void memory_free(ops_device *device, int32_t kind, void *handle) {
  if (!handle) return;
  if (device->mode->fault == FAULT_device_memory_misaligned) handle = (char *)handle - 4;
  if (FAULTY(device, device_memory_kept)) return;
  char *memory = faulty_address(kind, handle);
  faulty_block *record = record_of(memory);
  faulty_device_add(device, FAULTY_ALLOCATIONS, -1);
  if (CONTROLLED(device, caching_allocator)) {
    pthread_mutex_lock(&device->lock);
    record->next = device->cache;
    device->cache = record;
    pthread_mutex_unlock(&device->lock);
    return;
  }
  free(record->whole);
}

// ---- The private layout: a matrix, transposed -----------------------------------------------

static int32_t layout_size(ops_device *device, uint32_t layout, int32_t type, int32_t rank,
                           const int64_t *dims, uint64_t *out_bytes, ops_error *error) {
  (void)device;
  if (layout != kFaultyLayout || rank != 2 ||
      !ops_type_bytes(type, dims[0] * dims[1], out_bytes)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "layout %u of rank %d: expected layout %d of a matrix", layout, rank,
                         kFaultyLayout);
  }
  return OPS_OK;
}

static int32_t reorder(ops_device *device, ops_stream *stream, const ops_arg *source,
                       const ops_arg *target, ops_error *error) {
  if (stream) OPS_RETURN_IF_ERROR(faulty_stream.synchronize(stream, error));
  const ops_tensor *x = &source->tensor, *y = &target->tensor;
  const int64_t size = faulty_bytes(x->type);
  const int64_t rows = x->layout ? x->dims[1] : x->dims[0];
  const int64_t columns = x->layout ? x->dims[0] : x->dims[1];
  const char *from = (char *)faulty_address(source->memory_kind, x->memory) + x->byte_offset;
  char *to = (char *)faulty_address(target->memory_kind, y->memory) + y->byte_offset;
  const int unchanged = FAULTY(device, reorder_copies);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = unchanged ? r * columns + c : c * rows + r;
      memcpy(to + at * size, from + (r * columns + c) * size, (size_t)size);
    }
  }
  return OPS_OK;
}

const ops_memory_api faulty_memory = {.struct_size = sizeof(ops_memory_api),
                                      .allocate = memory_allocate,
                                      .free = memory_free,
                                      .layout_size = layout_size,
                                      .reorder = reorder};

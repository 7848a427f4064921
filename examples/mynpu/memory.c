// SPDX-License-Identifier: Apache-2.0
//
// Device memory: one anonymous file mapped twice. The first mapping has no access rights and
// gives the handles; the second is the device's own view. A host that touches a handle faults
// at once, as it would on real hardware. Allocation is first fit over a list of blocks sorted
// by offset.
#include <errno.h>
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "npu.h"

typedef struct block {
  struct block *next;
  uint64_t offset;
  uint64_t size;
} block;

struct npu_heap {
  pthread_mutex_t lock;
  char *handles;  // PROT_NONE
  char *view;     // the device's own
  uint64_t size;
  block *blocks;  // in use, by rising offset
  uint64_t live;
  uint64_t in_use;
  uint64_t peak;
};

static void *map_view(int fd, uint64_t size, int protection) {
  void *view = mmap(NULL, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return view == MAP_FAILED ? NULL : view;
}

npu_heap *npu_heap_create(uint64_t size, ops_error *error) {
  npu_heap *heap = calloc(1, sizeof *heap);
  const int fd = memfd_create("mynpu", MFD_CLOEXEC);
  if (heap && fd >= 0 && size > 0 && ftruncate(fd, (off_t)size) == 0) {
    heap->size = size;
    heap->handles = map_view(fd, size, PROT_NONE);
    heap->view = map_view(fd, size, PROT_READ | PROT_WRITE);
  }
  const int reason = errno;
  if (fd >= 0) close(fd);
  if (heap) pthread_mutex_init(&heap->lock, NULL);
  if (heap && heap->handles && heap->view) return heap;
  npu_heap_destroy(heap);
  ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "device memory of %llu bytes: %s",
                (unsigned long long)size, strerror(reason));
  return NULL;
}

void npu_heap_destroy(npu_heap *heap) {
  if (!heap) return;
  if (heap->handles) munmap(heap->handles, heap->size);
  if (heap->view) munmap(heap->view, heap->size);
  while (heap->blocks) {
    block *next = heap->blocks->next;
    free(heap->blocks);
    heap->blocks = next;
  }
  pthread_mutex_destroy(&heap->lock);
  free(heap);
}

uint64_t npu_heap_live(npu_heap *heap) {
  pthread_mutex_lock(&heap->lock);
  const uint64_t live = heap->live;
  pthread_mutex_unlock(&heap->lock);
  return live;
}

// The link behind which `size` bytes fit, with their offset; NULL if nowhere. The lock is held.
static block **find_gap(npu_heap *heap, uint64_t size, uint64_t alignment,
                        uint64_t *out_offset) {
  uint64_t end = 0;
  for (block **link = &heap->blocks;; link = &(*link)->next) {
    const uint64_t limit = *link ? (*link)->offset : heap->size;
    uint64_t begin;
    if (ops_checked_align(end, alignment, &begin) && begin <= limit && limit - begin >= size) {
      *out_offset = begin;
      return link;
    }
    if (!*link) return NULL;
    end = (*link)->offset + (*link)->size;
  }
}

static int32_t take_gap(npu_heap *heap, uint64_t size, uint64_t alignment, block *fresh) {
  block **link = find_gap(heap, size, alignment, &fresh->offset);
  if (!link) return 0;
  fresh->size = size;
  fresh->next = *link;
  *link = fresh;
  ++heap->live;
  heap->in_use += size;
  if (heap->in_use > heap->peak) heap->peak = heap->in_use;
  return 1;
}

static int32_t check_kind(int32_t kind, ops_error *error) {
  if (kind == OPS_MEMORY_DEVICE) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "memory kind %d: mynpu allocates device memory (%d) only", kind,
                       OPS_MEMORY_DEVICE);
}

static int32_t memory_allocate(ops_device *device, int32_t kind, uint64_t size,
                               uint64_t alignment, int32_t usage, void **out_memory,
                               ops_error *error) {
  (void)usage;
  npu_heap *heap = device->heap;
  OPS_RETURN_IF_ERROR(check_kind(kind, error));
  if (size == 0 || (alignment & (alignment - 1)))
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "size %llu, alignment %llu: expected a size above 0 and a power of two",
        (unsigned long long)size, (unsigned long long)alignment);
  if (alignment < kMinAlignment) alignment = kMinAlignment;
  block *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a block");
  pthread_mutex_lock(&heap->lock);
  const int32_t found = take_gap(heap, size, alignment, fresh);
  const uint64_t in_use = heap->in_use;
  pthread_mutex_unlock(&heap->lock);
  if (!found) {
    free(fresh);
    return ops_error_set(
        error, OPS_ERROR_OUT_OF_MEMORY,
        "%llu bytes of device memory: %llu of %llu are in use; raise the option "
        "memory_bytes",
        (unsigned long long)size, (unsigned long long)in_use, (unsigned long long)heap->size);
  }
  *out_memory = heap->handles + fresh->offset;
  return OPS_OK;
}

static void memory_free(ops_device *device, int32_t kind, void *memory) {
  npu_heap *heap = device->heap;
  (void)kind;
  if (!memory) return;
  const uint64_t offset = (uint64_t)((uintptr_t)memory - (uintptr_t)heap->handles);
  pthread_mutex_lock(&heap->lock);
  block **link = &heap->blocks;
  while (*link && (*link)->offset != offset) link = &(*link)->next;
  block *found = *link;
  if (found) {
    *link = found->next;
    --heap->live;
    heap->in_use -= found->size;
  }
  pthread_mutex_unlock(&heap->lock);
  free(found);
}

static int32_t memory_stats(ops_device *device, int32_t kind, ops_memory_stats *stats,
                            ops_error *error) {
  npu_heap *heap = device->heap;
  OPS_RETURN_IF_ERROR(check_kind(kind, error));
  pthread_mutex_lock(&heap->lock);
  stats->bytes_in_use = heap->in_use;
  stats->bytes_peak = heap->peak;
  stats->allocations = heap->live;
  stats->bytes_total = heap->size;
  uint64_t end = 0, largest = 0;
  for (const block *b = heap->blocks; b; b = b->next) {
    if (b->offset - end > largest) largest = b->offset - end;
    end = b->offset + b->size;
  }
  stats->bytes_largest_free = heap->size - end > largest ? heap->size - end : largest;
  pthread_mutex_unlock(&heap->lock);
  return OPS_OK;
}

int32_t npu_address(ops_device *device, void *handle, uint64_t offset, uint64_t size,
                    void **out_address, ops_error *error) {
  npu_heap *heap = device->heap;
  const uint64_t base = (uint64_t)((uintptr_t)handle - (uintptr_t)heap->handles);
  int32_t inside = 0;
  pthread_mutex_lock(&heap->lock);
  for (const block *b = heap->blocks; b && b->offset <= base && !inside; b = b->next)
    inside = base - b->offset < b->size && offset <= b->size - (base - b->offset) &&
             size <= b->size - (base - b->offset) - offset;
  pthread_mutex_unlock(&heap->lock);
  if (!inside && size > 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%llu bytes at %p + %llu do not lie in one allocation of this device",
                         (unsigned long long)size, handle, (unsigned long long)offset);
  *out_address = inside ? heap->view + base + offset : NULL;
  return OPS_OK;
}

const ops_memory_api npu_memory_api = {
    .struct_size = sizeof(ops_memory_api),
    .allocate = memory_allocate,
    .free = memory_free,
    .stats = memory_stats,
    .layout_size = npu_layout_size,
    .reorder = npu_reorder,
};

// SPDX-License-Identifier: Apache-2.0
//
// Memory of one device and one kind, counted.
#ifndef RT_MEMORY_ALLOCATOR_H_
#define RT_MEMORY_ALLOCATOR_H_

#include <ops/device.h>
#include <ops/status.h>

// Every host allocation is aligned at least so.
#define RT_MEMORY_HOST_ALIGNMENT 64u

typedef struct rt_allocator rt_allocator;

typedef struct rt_memory_stats {
  uint64_t bytes_in_use;
  uint64_t bytes_peak;
  uint64_t allocations;  // made so far
} rt_memory_stats;

// Ordinary host memory. All functions on an allocator are thread-safe.
int32_t rt_allocator_create_host(rt_allocator **out_allocator, ops_error *error);
// Memory of a device through its provider's table. `name` (borrowed) is for messages.
int32_t rt_allocator_create_device(const char *name, const ops_memory_api *api,
                                   ops_device *device, int32_t memory_kind,
                                   uint64_t min_alignment, rt_allocator **out_allocator,
                                   ops_error *error);
void rt_allocator_destroy(rt_allocator *allocator);  // accepts NULL; nothing may be in use

// `size` > 0; `alignment` a power of two or 0. OUT_OF_MEMORY states what was asked for, what is
// in use, what is free and the largest free block, as far as the provider knows.
int32_t rt_allocator_allocate(rt_allocator *allocator, uint64_t size, uint64_t alignment,
                              int32_t usage, void **out_memory, ops_error *error);
// `size` as it was asked for. Accepts NULL memory.
void rt_allocator_free(rt_allocator *allocator, void *memory, uint64_t size);

rt_memory_stats rt_allocator_stats(rt_allocator *allocator);
const char *rt_allocator_name(const rt_allocator *allocator);
int32_t rt_allocator_kind(const rt_allocator *allocator);
// "host", "pinned", "device", "shared". Static.
const char *rt_memory_kind_name(int32_t memory_kind);

#endif  // RT_MEMORY_ALLOCATOR_H_

// SPDX-License-Identifier: Apache-2.0
//
// Memory of one device and one kind, counted, and held below a maximum if there is one.
#ifndef RT_MEMORY_ALLOCATOR_H_
#define RT_MEMORY_ALLOCATOR_H_

#include <ops/device.h>
#include <ops/status.h>

#include "memory/shortage.h"

// Every host allocation is aligned at least so.
#define RT_MEMORY_HOST_ALIGNMENT 64u

typedef struct rt_allocator rt_allocator;

typedef struct rt_memory_stats {
  uint64_t bytes_in_use;  // allocated and charged
  uint64_t bytes_peak;
  uint64_t bytes_maximum;  // 0: none
  uint64_t allocations;    // made so far
} rt_memory_stats;

// Ordinary host memory. All functions on an allocator are thread-safe.
int32_t rt_allocator_create_host(rt_allocator **out_allocator, ops_error *error);
// Memory of a device through its provider's table. `name` (borrowed) is for messages.
int32_t rt_allocator_create_device(const char *name, const ops_memory_api *api,
                                   ops_device *device, int32_t memory_kind,
                                   uint64_t min_alignment, rt_allocator **out_allocator,
                                   ops_error *error);
void rt_allocator_destroy(rt_allocator *allocator);  // accepts NULL; nothing may be in use

// From now on, no more than `bytes` may be in use; 0: as much as there is. To be set before
// the first allocation.
void rt_allocator_set_maximum(rt_allocator *allocator, uint64_t bytes);

// `size` > 0; `alignment` a power of two or 0. OUT_OF_MEMORY is explained as shortage.h says.
int32_t rt_allocator_allocate(rt_allocator *allocator, uint64_t size, uint64_t alignment,
                              int32_t usage, void **out_memory, ops_error *error);
// `size` as it was asked for. Accepts NULL memory.
void rt_allocator_free(rt_allocator *allocator, void *memory, uint64_t size);

// Counts `size` bytes that somebody else allocates, such as the outputs of a run;
// OUT_OF_MEMORY if the maximum does not allow them.
int32_t rt_allocator_charge(rt_allocator *allocator, uint64_t size, ops_error *error);
void rt_allocator_discharge(rt_allocator *allocator, uint64_t size);

rt_memory_stats rt_allocator_stats(rt_allocator *allocator);
// What there is to say about a request for `size` bytes that failed.
void rt_allocator_shortage(rt_allocator *allocator, uint64_t size, rt_shortage *out_shortage);
const char *rt_allocator_name(const rt_allocator *allocator);
int32_t rt_allocator_kind(const rt_allocator *allocator);
uint64_t rt_allocator_min_alignment(const rt_allocator *allocator);
// 1 if its memory is the C library's, so that a handle is an address.
int rt_allocator_is_host(const rt_allocator *allocator);

#endif  // RT_MEMORY_ALLOCATOR_H_

// SPDX-License-Identifier: Apache-2.0
//
// The memories of a session: one allocator and one arena for each place.
#ifndef RT_EXECUTION_PLACES_H_
#define RT_EXECUTION_PLACES_H_

#include "memory/arena.h"
#include "plan/plan.h"

typedef struct rt_places {
  rt_device *const *devices;  // by number
  uint32_t device_count;
  rt_allocator *allocators[RT_PLACE_COUNT];  // NULL: the device has no such memory
  rt_arena *arenas[RT_PLACE_COUNT];
} rt_places;

// How much memory a session may hold, and how it gets it.
typedef struct rt_memory_options {
  rt_arena_options arena;
  uint64_t maximum;          // bytes in each place; 0: as much as there is
  int32_t shrink_after_run;  // 1: what no run uses goes back to the system when a run ends
} rt_memory_options;

int32_t rt_places_init(rt_places *places, rt_device *const *devices, uint32_t device_count,
                       const rt_memory_options *options, ops_error *error);
// Nothing may be in use. Also after a failed init.
void rt_places_finish(rt_places *places);

// The allocator of a place, or its arena; INTERNAL if the device has no such memory.
int32_t rt_places_allocator(rt_places *places, uint32_t place, rt_allocator **out_allocator,
                            ops_error *error);
int32_t rt_places_arena(rt_places *places, uint32_t place, rt_arena **out_arena,
                        ops_error *error);
// Gives memory that nobody uses back to the system.
void rt_places_shrink(rt_places *places);

// Copies `size` bytes at once, whatever the two places are. Blocks.
int32_t rt_places_copy(rt_places *places, uint32_t from_place, const void *from,
                       uint64_t from_offset, uint32_t to_place, void *to, uint64_t to_offset,
                       uint64_t size, ops_error *error);

#endif  // RT_EXECUTION_PLACES_H_

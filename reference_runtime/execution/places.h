// SPDX-License-Identifier: Apache-2.0
//
// The memories of a session: one allocator and one pool of arenas for each place.
#ifndef RT_EXECUTION_PLACES_H_
#define RT_EXECUTION_PLACES_H_

#include "memory/arena.h"
#include "plan/plan.h"

typedef struct rt_places {
  rt_device *const *devices;  // by number
  uint32_t device_count;
  rt_allocator *allocators[RT_PLACE_COUNT];  // NULL: the device has no such memory
  rt_arena_pool *pools[RT_PLACE_COUNT];
} rt_places;

int32_t rt_places_init(rt_places *places, rt_device *const *devices, uint32_t device_count,
                       ops_error *error);
// Nothing may be in use. Also after a failed init.
void rt_places_finish(rt_places *places);

// The allocator or pool of a place; INTERNAL if the device has no such memory.
int32_t rt_places_allocator(rt_places *places, uint32_t place, rt_allocator **out_allocator,
                            ops_error *error);

// Copies `size` bytes at once, whatever the two places are. Blocks.
int32_t rt_places_copy(rt_places *places, uint32_t from_place, const void *from,
                       uint64_t from_offset, uint32_t to_place, void *to, uint64_t to_offset,
                       uint64_t size, ops_error *error);

#endif  // RT_EXECUTION_PLACES_H_

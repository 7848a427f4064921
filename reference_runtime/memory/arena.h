// SPDX-License-Identifier: Apache-2.0
//
// Arenas: memory that a session holds and hands out in pieces, so that a repeated run asks the
// system for nothing. An arena is a list of regions, each one allocation of its allocator. A
// request takes the smallest free piece that fits; pieces that are given back melt into their
// free neighbours. Where nothing fits, regions that are wholly free are given back and one new
// region is made: what an arena holds is bounded by what was in use at once, and not by how
// sizes alternate.
//
// Handles of devices are no addresses: a piece is a handle and an offset.
#ifndef RT_MEMORY_ARENA_H_
#define RT_MEMORY_ARENA_H_

#include "memory/allocator.h"

// How large a new region is. SAME_AS_REQUESTED: as the request, the least memory.
// NEXT_POWER_OF_TWO: a power of two that holds the request, and as much again as the arena
// holds: the fewest extensions where needs grow. Where that is not to be had, as the request.
#define RT_ARENA_SAME_AS_REQUESTED 0
#define RT_ARENA_NEXT_POWER_OF_TWO 1

// Sizes of pieces are rounded up to it; what a region holds begins at multiples of it.
#define RT_ARENA_GRAIN 64u

typedef struct rt_arena rt_arena;

typedef struct rt_arena_options {
  int32_t extend;    // RT_ARENA_…
  uint64_t initial;  // bytes of the first region of an empty arena, at least
} rt_arena_options;

typedef struct rt_arena_block {
  void *memory;     // NULL: empty
  uint64_t offset;  // bytes
  uint64_t size;    // as asked for
  void *piece;      // the arena's own
} rt_arena_block;

typedef struct rt_arena_stats {
  uint64_t bytes_in_use;
  uint64_t bytes_peak;  // of bytes in use
  uint64_t bytes_reserved;
  uint64_t bytes_reserved_peak;
  uint64_t largest_free;  // bytes of the largest free piece
  uint64_t blocks;        // handed out so far
  uint64_t extensions;    // regions made so far
  uint64_t releases;      // regions given back so far
} rt_arena_stats;

// An arena on `allocator`, which must outlive it. Thread-safe.
int32_t rt_arena_create(rt_allocator *allocator, const rt_arena_options *options,
                        rt_arena **out_arena, ops_error *error);
void rt_arena_destroy(rt_arena *arena);  // accepts NULL; nothing may be in use

// `size` > 0; `alignment` a power of two or 0. OUT_OF_MEMORY is explained as shortage.h says.
int32_t rt_arena_allocate(rt_arena *arena, uint64_t size, uint64_t alignment,
                          rt_arena_block *out_block, ops_error *error);
// No work may be using it. Accepts an empty block.
void rt_arena_free(rt_arena *arena, rt_arena_block block);
// Gives every region back that is wholly free.
void rt_arena_shrink(rt_arena *arena);
rt_arena_stats rt_arena_count(rt_arena *arena);

// The address of a block in memory that the host can reach.
static inline void *rt_arena_address(const rt_arena_block *block) {
  return (char *)block->memory + block->offset;
}

#endif  // RT_MEMORY_ARENA_H_

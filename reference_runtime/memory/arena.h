// SPDX-License-Identifier: Apache-2.0
//
// Arenas: one block of memory that a run takes whole, lays its activations out in, and gives
// back. Blocks that are given back wait for the next run.
#ifndef RT_MEMORY_ARENA_H_
#define RT_MEMORY_ARENA_H_

#include "memory/allocator.h"

// Blocks that wait at most; the smallest goes first.
#define RT_ARENA_MAX_IDLE 8u

typedef struct rt_arena_pool rt_arena_pool;

typedef struct rt_arena {
  void *memory;  // NULL: empty
  uint64_t size;
} rt_arena;

// A pool on `allocator`, which must outlive it. Thread-safe.
int32_t rt_arena_pool_create(rt_allocator *allocator, rt_arena_pool **out_pool,
                             ops_error *error);
void rt_arena_pool_destroy(rt_arena_pool *pool);  // accepts NULL; frees what waits

// A block of at least `size` > 0 bytes: the smallest that waits and fits, else a new one. When
// memory is exhausted, waiting blocks are freed and the allocation is tried once more.
int32_t rt_arena_acquire(rt_arena_pool *pool, uint64_t size, uint64_t alignment,
                         rt_arena *out_arena, ops_error *error);
// No work may be using it. Accepts an empty arena.
void rt_arena_release(rt_arena_pool *pool, rt_arena arena);
// Frees every block that waits.
void rt_arena_pool_shrink(rt_arena_pool *pool);

#endif  // RT_MEMORY_ARENA_H_

// SPDX-License-Identifier: Apache-2.0
//
// The memory of one decoded model: allocations that share one life and one budget.
//
// Small allocations are cut from chunks and cannot be freed one by one; large ones can, which
// lets the protobuf decoder give its scratch space back. Everything is aligned to 16 bytes.
#ifndef RT_MODEL_ARENA_H_
#define RT_MODEL_ARENA_H_

#include <stddef.h>
#include <stdint.h>

typedef struct rt_model_arena_block rt_model_arena_block;

typedef struct rt_model_arena {
  rt_model_arena_block *blocks;  // newest first, doubly linked
  char *cursor;                  // free space of the current chunk
  uint64_t room;                 // bytes left there
  uint64_t used;                 // bytes taken from the system
  uint64_t limit;                // the most that `used` may become
  uint64_t refused;              // size of the first request that was refused, 0: none
} rt_model_arena;

void rt_model_arena_init(rt_model_arena *arena, uint64_t limit);
void rt_model_arena_finish(rt_model_arena *arena);

// `count` elements of `size` bytes, zeroed. NULL if the budget or the system's memory is
// exhausted or the product overflows; `refused` then tells how much was asked for. A request
// for nothing returns a valid pointer.
void *rt_model_arena_calloc(rt_model_arena *arena, uint64_t count, uint64_t size);

// The same without zeroing.
void *rt_model_arena_alloc(rt_model_arena *arena, uint64_t size);

// Returns a large allocation to the system; a small one stays until the end. NULL is accepted.
void rt_model_arena_free(rt_model_arena *arena, void *pointer);

#endif  // RT_MODEL_ARENA_H_

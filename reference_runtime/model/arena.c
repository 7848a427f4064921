// SPDX-License-Identifier: Apache-2.0
//
// Chunks of 64 KiB for small allocations, one block each for large ones. An allocation of
// either kind is preceded by a 16-byte tag that says which block it is, so that free can tell.
#include "model/arena.h"

#include <ops_support/checked.h>
#include <stdlib.h>
#include <string.h>

enum { kAlignment = 16, kChunkSize = 64 << 10, kLargeSize = 4 << 10 };

struct rt_model_arena_block {
  rt_model_arena_block *next;
  rt_model_arena_block *previous;
  uint64_t size;  // with this header
  uint64_t padding;
};

// In front of every allocation; `block` is NULL for one that lies in a chunk.
typedef struct tag {
  rt_model_arena_block *block;
  uint64_t padding;
} tag;

_Static_assert(sizeof(struct rt_model_arena_block) % kAlignment == 0, "payload is aligned");
_Static_assert(sizeof(tag) % kAlignment == 0, "payload is aligned");

void rt_model_arena_init(rt_model_arena *arena, uint64_t limit) {
  memset(arena, 0, sizeof *arena);
  arena->limit = limit;
}

void rt_model_arena_finish(rt_model_arena *arena) {
  for (rt_model_arena_block *block = arena->blocks; block;) {
    rt_model_arena_block *next = block->next;
    free(block);
    block = next;
  }
  memset(arena, 0, sizeof *arena);
}

static void *refuse(rt_model_arena *arena, uint64_t size) {
  if (!arena->refused) arena->refused = size ? size : 1;
  return NULL;
}

// A block with room for `size` bytes, linked in. NULL if the budget does not allow it.
static rt_model_arena_block *block_create(rt_model_arena *arena, uint64_t size) {
  uint64_t total, used;
  if (!ops_checked_add(size, sizeof(rt_model_arena_block), &total) ||
      !ops_checked_add(arena->used, total, &used) || used > arena->limit || total > SIZE_MAX)
    return NULL;
  rt_model_arena_block *block = malloc((size_t)total);
  if (!block) return NULL;
  block->size = total;
  block->previous = NULL;
  block->next = arena->blocks;
  if (arena->blocks) arena->blocks->previous = block;
  arena->blocks = block;
  arena->used = used;
  return block;
}

static void *alloc_large(rt_model_arena *arena, uint64_t size) {
  rt_model_arena_block *block = block_create(arena, size + sizeof(tag));
  if (!block) return refuse(arena, size);
  tag *head = (tag *)(block + 1);
  head->block = block;
  return head + 1;
}

void *rt_model_arena_alloc(rt_model_arena *arena, uint64_t size) {
  uint64_t padded;
  if (!ops_checked_align(size, kAlignment, &padded) || padded > UINT64_MAX - sizeof(tag))
    return refuse(arena, size);
  if (padded >= kLargeSize) return alloc_large(arena, padded);
  const uint64_t need = padded + sizeof(tag);
  if (need > arena->room) {
    rt_model_arena_block *chunk = block_create(arena, kChunkSize);
    if (!chunk) return refuse(arena, size);
    arena->cursor = (char *)(chunk + 1);
    arena->room = kChunkSize;
  }
  tag *head = (tag *)arena->cursor;
  head->block = NULL;
  arena->cursor += need;
  arena->room -= need;
  return head + 1;
}

void *rt_model_arena_calloc(rt_model_arena *arena, uint64_t count, uint64_t size) {
  uint64_t total;
  if (!ops_checked_mul(count, size, &total)) return refuse(arena, UINT64_MAX);
  void *pointer = rt_model_arena_alloc(arena, total);
  if (pointer) memset(pointer, 0, (size_t)total);
  return pointer;
}

void rt_model_arena_free(rt_model_arena *arena, void *pointer) {
  if (!pointer) return;
  rt_model_arena_block *block = ((tag *)pointer - 1)->block;
  if (!block) return;
  if (block->previous)
    block->previous->next = block->next;
  else
    arena->blocks = block->next;
  if (block->next) block->next->previous = block->previous;
  arena->used -= block->size;
  free(block);
}

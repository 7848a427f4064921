// SPDX-License-Identifier: Apache-2.0
//
// Blocks in a list; each allocation takes the next aligned bytes of the newest block, or starts
// a block of its own when it does not fit.
#include "contract/arena.h"

#include <ops_support/checked.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)

typedef struct oc_arena_block {
  struct oc_arena_block *next;
  size_t size;
  size_t used;
  alignas(max_align_t) unsigned char bytes[];
} oc_arena_block;

struct oc_arena {
  oc_arena_block *newest;
  size_t limit;
  size_t total;
};

oc_arena *oc_arena_create(size_t limit) {
  oc_arena *arena = calloc(1, sizeof(*arena));
  if (arena) arena->limit = limit;
  return arena;
}

void oc_arena_destroy(oc_arena *arena) {
  if (!arena) return;
  while (arena->newest) {
    oc_arena_block *next = arena->newest->next;
    free(arena->newest);
    arena->newest = next;
  }
  free(arena);
}

static oc_arena_block *add_block(oc_arena *arena, size_t need) {
  const size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
  if (size > arena->limit - arena->total) return NULL;
  oc_arena_block *block = calloc(1, sizeof(*block) + size);
  if (!block) return NULL;
  block->size = size;
  block->next = arena->newest;
  arena->newest = block;
  arena->total += size;
  return block;
}

void *oc_arena_alloc(oc_arena *arena, size_t count, size_t size) {
  uint64_t bytes;
  if (!ops_checked_mul(count, size, &bytes) ||
      !ops_checked_align(bytes ? bytes : 1, alignof(max_align_t), &bytes)) {
    return NULL;
  }
  if (bytes > arena->limit) return NULL;
  oc_arena_block *block = arena->newest;
  if (!block || bytes > block->size - block->used) block = add_block(arena, bytes);
  if (!block) return NULL;
  void *result = block->bytes + block->used;
  block->used += bytes;
  return result;
}

char *oc_arena_copy_string(oc_arena *arena, const char *text, size_t size) {
  char *copy = size < SIZE_MAX ? oc_arena_alloc(arena, size + 1, 1) : NULL;
  if (copy && size) memcpy(copy, text, size);
  return copy;
}

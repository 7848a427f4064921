// SPDX-License-Identifier: Apache-2.0
//
// Arena and name tables of graphs. The arena is a list of chunks that double in size up to
// 1 MiB; larger requests get a chunk of their own. The tables use FNV-1a and linear probing; a
// removed entry keeps its key with a NULL item until the table is rebuilt.
#include "graph/store.h"

#include <ops_support/checked.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN ((uint64_t)4096)
#define CHUNK_MAX ((uint64_t)1 << 20)
#define ALIGNMENT ((uint64_t)16)

struct rt_store_chunk {
  rt_store_chunk *next;
  uint64_t used, size;
  _Alignas(16) unsigned char bytes[];
};

static rt_store_chunk *add_chunk(rt_store_arena *arena, uint64_t bytes) {
  uint64_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_MIN;
  if (size > CHUNK_MAX) size = CHUNK_MAX;
  if (size < bytes) size = bytes;
  uint64_t total;
  if (!ops_checked_add(size, sizeof(rt_store_chunk), &total)) return NULL;
  rt_store_chunk *chunk = calloc(1, total);
  if (!chunk) return NULL;
  chunk->size = size;
  chunk->next = arena->chunks;
  arena->chunks = chunk;
  return chunk;
}

void *rt_store_alloc(rt_store_arena *arena, uint64_t count, uint64_t size) {
  uint64_t bytes;
  if (!ops_checked_mul(count, size, &bytes)) return NULL;
  if (bytes == 0) bytes = 1;
  if (!ops_checked_align(bytes, ALIGNMENT, &bytes)) return NULL;
  rt_store_chunk *chunk = arena->chunks;
  if (!chunk || chunk->size - chunk->used < bytes) chunk = add_chunk(arena, bytes);
  if (!chunk) return NULL;
  void *result = chunk->bytes + chunk->used;
  chunk->used += bytes;
  return result;
}

void *rt_store_copy(rt_store_arena *arena, const void *data, uint64_t count, uint64_t size) {
  void *copy = rt_store_alloc(arena, count, size);
  if (copy && count > 0 && size > 0) memcpy(copy, data, count * size);
  return copy;
}

char *rt_store_string(rt_store_arena *arena, const char *text, uint64_t size) {
  uint64_t total;
  if (!ops_checked_add(size, 1, &total)) return NULL;
  char *copy = rt_store_alloc(arena, total, 1);
  if (copy && size > 0) memcpy(copy, text, size);
  return copy;
}

void rt_store_finish(rt_store_arena *arena) {
  while (arena->chunks) {
    rt_store_chunk *next = arena->chunks->next;
    free(arena->chunks);
    arena->chunks = next;
  }
}

void *rt_store_grow(rt_store_arena *arena, void *array, uint32_t count, uint32_t *capacity,
                    uint64_t size) {
  if (count < *capacity) return array;
  if (*capacity > UINT32_MAX / 2) return NULL;
  const uint32_t wanted = *capacity ? *capacity * 2 : 4;
  void *moved = rt_store_alloc(arena, wanted, size);
  if (!moved) return NULL;
  if (count > 0) memcpy(moved, array, count * size);
  *capacity = wanted;
  return moved;
}

// --- Names -----------------------------------------------------------------------------------

static uint64_t hash_name(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name; ++name) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return hash ^ (hash >> 32);
}

// The entry of that key, or the first free one.
static rt_names_entry *find_entry(const rt_names *names, const char *name) {
  uint64_t i = hash_name(name) & (names->capacity - 1);
  while (names->entries[i].name && strcmp(names->entries[i].name, name) != 0) {
    i = (i + 1) & (names->capacity - 1);
  }
  return &names->entries[i];
}

static int rebuild(rt_names *names) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < names->capacity; ++i) live += names->entries[i].item != NULL;
  if (live > UINT32_MAX / 8) return 0;
  rt_names larger = {NULL, 0, 16};
  while (larger.capacity < live * 4) larger.capacity *= 2;
  larger.entries = calloc(larger.capacity, sizeof(rt_names_entry));
  if (!larger.entries) return 0;
  for (uint32_t i = 0; i < names->capacity; ++i) {
    const rt_names_entry *entry = &names->entries[i];
    if (entry->item) *find_entry(&larger, entry->name) = *entry, larger.count++;
  }
  free(names->entries);
  *names = larger;
  return 1;
}

void *rt_names_find(const rt_names *names, const char *name) {
  return names->capacity ? find_entry(names, name)->item : NULL;
}

int rt_names_put(rt_names *names, const char *name, void *item) {
  if ((uint64_t)names->count * 2 >= names->capacity && !rebuild(names)) return 0;
  rt_names_entry *entry = find_entry(names, name);
  if (!entry->name) names->count++;
  *entry = (rt_names_entry){name, item};
  return 1;
}

void rt_names_remove(rt_names *names, const char *name) {
  if (names->capacity) {
    rt_names_entry *entry = find_entry(names, name);
    entry->item = NULL;
  }
}

void rt_names_finish(rt_names *names) {
  free(names->entries);
  *names = (rt_names){NULL, 0, 0};
}

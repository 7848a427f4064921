// SPDX-License-Identifier: Apache-2.0
//
// Chunks that double up to a limit; a large request gets a chunk of its own.
#include "partition/bump.h"

#include <ops_support/checked.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK ((uint64_t)4096)
#define LAST_CHUNK ((uint64_t)1 << 18)

typedef struct rt_bump_chunk {
  struct rt_bump_chunk *next;
  uint64_t used;
  uint64_t capacity;
  alignas(max_align_t) unsigned char bytes[];
} rt_bump_chunk;

static rt_bump_chunk *add_chunk(rt_bump *bump, uint64_t needed) {
  uint64_t capacity = bump->chunks ? bump->chunks->capacity * 2 : FIRST_CHUNK;
  if (capacity > LAST_CHUNK) capacity = LAST_CHUNK;
  if (capacity < needed) capacity = needed;
  uint64_t bytes;
  if (!ops_checked_add(capacity, sizeof(rt_bump_chunk), &bytes)) return NULL;
  rt_bump_chunk *chunk = calloc(1, bytes);
  if (!chunk) return NULL;
  chunk->capacity = capacity;
  chunk->next = bump->chunks;
  bump->chunks = chunk;
  return chunk;
}

void *rt_bump_new(rt_bump *bump, uint64_t count, uint64_t size) {
  uint64_t bytes;
  if (!ops_checked_mul(count, size, &bytes) ||
      !ops_checked_align(bytes ? bytes : 1, alignof(max_align_t), &bytes)) {
    bump->failed = 1;
    return NULL;
  }
  rt_bump_chunk *chunk = bump->chunks;
  if (!chunk || chunk->capacity - chunk->used < bytes) chunk = add_chunk(bump, bytes);
  if (!chunk) {
    bump->failed = 1;
    return NULL;
  }
  void *memory = chunk->bytes + chunk->used;
  chunk->used += bytes;
  return memory;
}

void *rt_bump_copy(rt_bump *bump, const void *data, uint64_t count, uint64_t size) {
  void *copy = rt_bump_new(bump, count, size);
  if (copy && count && size) memcpy(copy, data, count * size);
  return copy;
}

char *rt_bump_text(rt_bump *bump, ops_str text) {
  char *copy = rt_bump_new(bump, text.size + 1, 1);
  if (copy && text.size) memcpy(copy, text.data, text.size);
  return copy;
}

char *rt_bump_format(rt_bump *bump, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0) return NULL;
  char *text = rt_bump_new(bump, (uint64_t)length + 1, 1);
  if (!text) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)length + 1, format, args);
  va_end(args);
  return text;
}

void rt_bump_finish(rt_bump *bump) {
  for (rt_bump_chunk *chunk = bump->chunks; chunk;) {
    rt_bump_chunk *next = chunk->next;
    free(chunk);
    chunk = next;
  }
  *bump = (rt_bump){0};
}

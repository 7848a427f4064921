// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <string.h>

#define HEADER 64

void *ref_memory_take(ref_memory *memory, uint64_t count, uint64_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) ||
      __builtin_add_overflow(bytes, HEADER, &bytes))
    return NULL;
  char *block = memory->api->allocate(memory->host, bytes, HEADER);
  if (block == NULL) return NULL;
  memset(block, 0, bytes);
  memcpy(block, &memory->last, sizeof memory->last);
  memory->last = block;
  return block + HEADER;
}

void ref_memory_free_all(ref_memory *memory) {
  while (memory->last != NULL) {
    void *before;
    memcpy(&before, memory->last, sizeof before);
    memory->api->free(memory->host, memory->last);
    memory->last = before;
  }
}

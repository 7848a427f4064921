// SPDX-License-Identifier: Apache-2.0
//
// A growing region from which a set of contracts is allocated and which is freed as a whole.
#ifndef OC_CONTRACT_ARENA_H_
#define OC_CONTRACT_ARENA_H_

#include <stddef.h>

typedef struct oc_arena oc_arena;

// An arena that refuses to grow beyond `limit` bytes. NULL when memory is exhausted.
oc_arena *oc_arena_create(size_t limit);
void oc_arena_destroy(oc_arena *arena);

// `count` items of `size` bytes, zeroed, aligned for any type; never NULL for count 0. NULL
// when memory or the limit is exhausted, or count * size overflows.
void *oc_arena_alloc(oc_arena *arena, size_t count, size_t size);

// A terminated copy of `size` bytes. NULL as above.
char *oc_arena_copy_string(oc_arena *arena, const char *text, size_t size);

#endif  // OC_CONTRACT_ARENA_H_

// SPDX-License-Identifier: Apache-2.0
//
// Regions are cut into pieces that cover them without a gap, in a list by offset; the free ones
// are also in a list of their own, which a request looks through for the best fit: the
// smallest, then the oldest region, then the lowest offset. Two free neighbours never stay two.
// Nodes of pieces are kept for reuse, so that in the long run nothing is allocated for them
// either.
//
// The mutex is not held while the allocator is called.
#include "memory/arena.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <pthread.h>
#include <stdlib.h>

#include "memory/poison.h"

typedef struct region region;

typedef struct piece {
  struct piece *previous, *next;            // in the region, by offset
  struct piece *free_previous, *free_next;  // if free; of spare nodes only free_next
  region *region;
  uint64_t offset, size;
  int used;
} piece;

struct region {
  region *next;
  void *memory;
  uint64_t size, alignment;
  uint64_t number;  // rising with age
  piece *first;
};

struct rt_arena {
  rt_allocator *allocator;
  rt_arena_options options;
  pthread_mutex_t mutex;
  region *regions;
  piece *free;   // free pieces, in no order
  piece *spare;  // nodes without a piece
  uint32_t spare_count;
  rt_arena_stats stats;
};

int32_t rt_arena_create(rt_allocator *allocator, const rt_arena_options *options,
                        rt_arena **out_arena, ops_error *error) {
  *out_arena = NULL;
  rt_arena *arena = calloc(1, sizeof *arena);
  if (!arena) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an arena");
  arena->allocator = allocator;
  arena->options = *options;
  pthread_mutex_init(&arena->mutex, NULL);
  *out_arena = arena;
  return OPS_OK;
}

// ---- Pieces ---------------------------------------------------------------------------------

// What one request may need: the whole of a new region, a piece before it and one behind.
#define NODES_OF_A_REQUEST 3u

static int reserve_nodes(rt_arena *arena) {
  for (; arena->spare_count < NODES_OF_A_REQUEST; arena->spare_count++) {
    piece *fresh = malloc(sizeof *fresh);
    if (!fresh) return 0;
    fresh->free_next = arena->spare;
    arena->spare = fresh;
  }
  return 1;
}

static piece *take_node(rt_arena *arena) {
  piece *node = arena->spare;
  arena->spare = node->free_next;
  arena->spare_count--;
  return node;
}

static void return_node(rt_arena *arena, piece *node) {
  node->free_next = arena->spare;
  arena->spare = node;
  arena->spare_count++;
}

static void list_free(rt_arena *arena, piece *p) {
  p->used = 0;
  p->free_previous = NULL;
  p->free_next = arena->free;
  if (arena->free) arena->free->free_previous = p;
  arena->free = p;
}

static void unlist_free(rt_arena *arena, piece *p) {
  if (p->free_previous)
    p->free_previous->free_next = p->free_next;
  else
    arena->free = p->free_next;
  if (p->free_next) p->free_next->free_previous = p->free_previous;
}

// Cuts `p` at `size` bytes from its begin; the rest becomes a free piece.
static void cut(rt_arena *arena, piece *p, uint64_t size) {
  piece *rest = take_node(arena);
  *rest = (piece){.previous = p,
                  .next = p->next,
                  .region = p->region,
                  .offset = p->offset + size,
                  .size = p->size - size};
  if (rest->next) rest->next->previous = rest;
  p->next = rest;
  p->size = size;
  list_free(arena, rest);
}

// Makes one piece of `p` and its free successor.
static void melt(rt_arena *arena, piece *p) {
  piece *gone = p->next;
  unlist_free(arena, gone);
  p->size += gone->size;
  p->next = gone->next;
  if (p->next) p->next->previous = p;
  return_node(arena, gone);
}

// Bytes at the beginning of a free piece that alignment wastes.
static uint64_t lead_of(const piece *p, uint64_t alignment) {
  const uint64_t over = p->offset & (alignment - 1);
  return over ? alignment - over : 0;
}

static int is_better(const piece *p, const piece *best) {
  if (p->size != best->size) return p->size < best->size;
  if (p->region != best->region) return p->region->number < best->region->number;
  return p->offset < best->offset;
}

static piece *best_fit(const rt_arena *arena, uint64_t size, uint64_t alignment) {
  piece *best = NULL;
  for (piece *p = arena->free; p; p = p->free_next) {
    const uint64_t lead = lead_of(p, alignment);
    if (p->region->alignment < alignment || lead > p->size || p->size - lead < size) continue;
    if (!best || is_better(p, best)) best = p;
  }
  return best;
}

// Hands `size` bytes of a free piece out.
static void hand_out(rt_arena *arena, piece *p, uint64_t size, uint64_t alignment,
                     rt_arena_block *out_block) {
  const uint64_t lead = lead_of(p, alignment);
  if (lead) {
    cut(arena, p, lead);
    p = p->next;
  }
  if (p->size > size) cut(arena, p, size);
  unlist_free(arena, p);
  p->used = 1;
  rt_arena_stats *stats = &arena->stats;
  stats->blocks++;
  stats->bytes_in_use += size;
  if (stats->bytes_in_use > stats->bytes_peak) stats->bytes_peak = stats->bytes_in_use;
  out_block->memory = p->region->memory;
  out_block->offset = p->offset;
  out_block->piece = p;
}

// ---- Regions --------------------------------------------------------------------------------

static int is_idle(const region *r) {
  return !r->first->used && !r->first->next;
}

// Takes the regions that are wholly free off the arena, into a list.
static region *detach_idle(rt_arena *arena) {
  region *detached = NULL;
  for (region **at = &arena->regions; *at;) {
    region *r = *at;
    if (!is_idle(r)) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    r->next = detached;
    detached = r;
    unlist_free(arena, r->first);
    return_node(arena, r->first);
    arena->stats.bytes_reserved -= r->size;
    arena->stats.releases++;
  }
  return detached;
}

static void free_regions(rt_arena *arena, region *list) {
  while (list) {
    region *next = list->next;
    if (rt_allocator_is_host(arena->allocator)) RT_UNPOISON(list->memory, list->size);
    rt_allocator_free(arena->allocator, list->memory, list->size);
    free(list);
    list = next;
  }
}

// Adds a region, with one free piece; a node must be spare.
static piece *attach(rt_arena *arena, region *r) {
  piece *whole = take_node(arena);
  *whole = (piece){.region = r, .size = r->size};
  list_free(arena, whole);
  r->first = whole;
  r->next = arena->regions;
  r->number = arena->stats.extensions++;
  arena->regions = r;
  rt_arena_stats *stats = &arena->stats;
  stats->bytes_reserved += r->size;
  if (stats->bytes_reserved > stats->bytes_reserved_peak)
    stats->bytes_reserved_peak = stats->bytes_reserved;
  return whole;
}

static uint64_t power_of_two(uint64_t least) {
  uint64_t power = RT_ARENA_GRAIN;
  while (power < least && power <= UINT64_MAX / 2) power *= 2;
  return power < least ? least : power;
}

static uint64_t region_size(const rt_arena *arena, uint64_t size) {
  const uint64_t held = arena->stats.bytes_reserved, initial = arena->options.initial;
  if (arena->options.extend == RT_ARENA_NEXT_POWER_OF_TWO)
    size = power_of_two(size > held ? size : held);
  return held == 0 && initial > size ? initial : size;
}

// What the arena knows goes into the explanation.
static int32_t report(rt_arena *arena, uint64_t size, ops_error *error) {
  rt_shortage shortage;
  const rt_arena_stats stats = rt_arena_count(arena);
  rt_allocator_shortage(arena->allocator, size, &shortage);
  shortage.arena_free = stats.bytes_reserved - stats.bytes_in_use;
  shortage.arena_block = stats.largest_free;
  return rt_shortage_report(&shortage, error);
}

// A region of `wanted` bytes, or of `least` if that is too much.
static int32_t make_region(rt_arena *arena, uint64_t wanted, uint64_t least, uint64_t alignment,
                           region **out_region, ops_error *error) {
  region *r = calloc(1, sizeof *r);
  if (!r) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a region of an arena");
  r->size = wanted;
  r->alignment = alignment;
  int32_t status = rt_allocator_allocate(arena->allocator, wanted, alignment,
                                         OPS_USAGE_ACTIVATION, &r->memory, error);
  if (status == OPS_ERROR_OUT_OF_MEMORY && least < wanted) {
    r->size = least;
    status = rt_allocator_allocate(arena->allocator, least, alignment, OPS_USAGE_ACTIVATION,
                                   &r->memory, error);
  }
  if (status != OPS_OK) {
    free(r);
    return status == OPS_ERROR_OUT_OF_MEMORY ? report(arena, least, error) : status;
  }
  if (rt_allocator_is_host(arena->allocator)) RT_POISON(r->memory, r->size);
  *out_region = r;
  return OPS_OK;
}

// ---- Allocating -----------------------------------------------------------------------------

static int32_t extend(rt_arena *arena, uint64_t size, uint64_t alignment,
                      rt_arena_block *out_block, ops_error *error) {
  region *fresh = NULL;
  pthread_mutex_lock(&arena->mutex);
  region *idle = detach_idle(arena);
  const uint64_t wanted = region_size(arena, size);
  pthread_mutex_unlock(&arena->mutex);
  free_regions(arena, idle);
  OPS_RETURN_IF_ERROR(make_region(arena, wanted, size, alignment, &fresh, error));
  pthread_mutex_lock(&arena->mutex);
  const int enough = reserve_nodes(arena);
  if (enough) hand_out(arena, attach(arena, fresh), size, alignment, out_block);
  pthread_mutex_unlock(&arena->mutex);
  if (enough) return OPS_OK;
  free_regions(arena, fresh);
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a piece of an arena");
}

int32_t rt_arena_allocate(rt_arena *arena, uint64_t size, uint64_t alignment,
                          rt_arena_block *out_block, ops_error *error) {
  uint64_t rounded;
  *out_block = (rt_arena_block){0};
  if (alignment < RT_ARENA_GRAIN) alignment = RT_ARENA_GRAIN;
  if (alignment < rt_allocator_min_alignment(arena->allocator))
    alignment = rt_allocator_min_alignment(arena->allocator);
  if (!ops_checked_align(size, RT_ARENA_GRAIN, &rounded)) return report(arena, size, error);
  pthread_mutex_lock(&arena->mutex);
  piece *found = reserve_nodes(arena) ? best_fit(arena, rounded, alignment) : NULL;
  if (found) hand_out(arena, found, rounded, alignment, out_block);
  pthread_mutex_unlock(&arena->mutex);
  if (!found) OPS_RETURN_IF_ERROR(extend(arena, rounded, alignment, out_block, error));
  out_block->size = size;
  if (rt_allocator_is_host(arena->allocator)) RT_UNPOISON(rt_arena_address(out_block), size);
  return OPS_OK;
}

void rt_arena_free(rt_arena *arena, rt_arena_block block) {
  if (!block.memory) return;
  piece *p = block.piece;
  if (rt_allocator_is_host(arena->allocator)) RT_POISON(rt_arena_address(&block), p->size);
  pthread_mutex_lock(&arena->mutex);
  arena->stats.bytes_in_use -= p->size;
  list_free(arena, p);
  if (p->next && !p->next->used) melt(arena, p);
  if (p->previous && !p->previous->used) melt(arena, p->previous);
  pthread_mutex_unlock(&arena->mutex);
}

void rt_arena_shrink(rt_arena *arena) {
  pthread_mutex_lock(&arena->mutex);
  region *idle = detach_idle(arena);
  pthread_mutex_unlock(&arena->mutex);
  free_regions(arena, idle);
}

void rt_arena_destroy(rt_arena *arena) {
  if (!arena) return;
  rt_arena_shrink(arena);
  while (arena->spare) free(take_node(arena));
  pthread_mutex_destroy(&arena->mutex);
  free(arena);
}

rt_arena_stats rt_arena_count(rt_arena *arena) {
  pthread_mutex_lock(&arena->mutex);
  rt_arena_stats stats = arena->stats;
  for (const piece *p = arena->free; p; p = p->free_next)
    if (p->size > stats.largest_free) stats.largest_free = p->size;
  pthread_mutex_unlock(&arena->mutex);
  return stats;
}

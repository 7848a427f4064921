// SPDX-License-Identifier: Apache-2.0
//
// A list of mappings, each with its live blocks in the order of addresses: a block goes into
// the first gap that is wide enough. A block of half a region and more has a mapping of its
// own, as long as it needs, of which the whole huge pages are marked as such: nobody pays for a
// huge page that is used in part, but for one at the end of a region. Sanitizers must see each
// block: their builds take all from malloc.
#include "ops_support/regions.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ops_support/checked.h"

#define PAGE ((uint64_t)4096)
#define HUGE_PAGE ((uint64_t)2 << 20)
#define REGION ((uint64_t)8 << 20)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEAST_BLOCK UINT64_MAX
#else
#define LEAST_BLOCK ((uint64_t)64 << 10)
#endif

typedef struct block {
  struct block *next;
  uint64_t begin, end;  // in the region
} block;

typedef struct region {
  struct region *next;
  char *memory;
  uint64_t size;
  block *blocks;  // that are alive, by address
} region;

struct ops_regions {
  pthread_mutex_t mutex;
  region *first;
  uint64_t blocks;  // that are alive, those of malloc included
  int released;
};

ops_regions *ops_regions_create(void) {
  ops_regions *regions = calloc(1, sizeof *regions);
  if (regions) pthread_mutex_init(&regions->mutex, NULL);
  return regions;
}

// ---- Regions --------------------------------------------------------------------------------

// Address space that begins at a multiple of a huge page.
static char *map(uint64_t size) {
  uint64_t total;
  if (!ops_checked_add(size, HUGE_PAGE, &total)) return NULL;
  char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  const uint64_t skip = -(uintptr_t)memory % HUGE_PAGE;
  if (skip) munmap(memory, skip);
  munmap(memory + skip + size, HUGE_PAGE - skip);
  memory += skip;
  if (size >= HUGE_PAGE) madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
  return memory;
}

static region *add(ops_regions *regions, uint64_t size) {
  region *fresh = calloc(1, sizeof *fresh);
  if (fresh) fresh->memory = map(size);
  if (!fresh || !fresh->memory) {
    free(fresh);
    return NULL;
  }
  fresh->size = size;
  fresh->next = regions->first;
  regions->first = fresh;
  return fresh;
}

static void drop(ops_regions *regions, region *old) {
  region **link = &regions->first;
  while (*link != old) link = &(*link)->next;
  *link = old->next;
  munmap(old->memory, old->size);
  free(old);
}

// ---- Blocks ---------------------------------------------------------------------------------

// Puts `fresh` into the first gap of the region that holds it; NULL if none does.
static void *place(region *at, uint64_t size, uint64_t alignment, block *fresh) {
  uint64_t free_from = 0;
  for (block **link = &at->blocks;; link = &(*link)->next) {
    const uint64_t limit = *link ? (*link)->begin : at->size;
    uint64_t begin, end;
    if (ops_checked_align(free_from, alignment, &begin) && ops_checked_add(begin, size, &end) &&
        end <= limit) {
      *fresh = (block){*link, begin, end};
      *link = fresh;
      return at->memory + begin;
    }
    if (!*link) return NULL;
    free_from = (*link)->end;
  }
}

static void *place_anywhere(ops_regions *regions, uint64_t size, uint64_t alignment,
                            block *fresh) {
  const int own = size >= REGION / 2;
  void *memory = NULL;
  for (region *at = regions->first; at && !own && !memory; at = at->next)
    memory = place(at, size, alignment, fresh);
  if (memory) return memory;
  region *added = add(regions, own ? size : REGION);
  return added ? place(added, size, alignment, fresh) : NULL;
}

static void *allocate_large(ops_regions *regions, uint64_t size, uint64_t alignment) {
  if (alignment == 0) alignment = 1;
  if (!ops_checked_align(size, PAGE, &size)) return NULL;
  block *fresh = malloc(sizeof *fresh);
  void *memory = fresh ? place_anywhere(regions, size, alignment, fresh) : NULL;
  if (!memory) free(fresh);
  return memory;
}

static void *allocate_small(uint64_t size, uint64_t alignment) {
  void *memory = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : NULL;
}

void *ops_regions_allocate(ops_regions *regions, uint64_t size, uint64_t alignment) {
  pthread_mutex_lock(&regions->mutex);
  void *memory = size < LEAST_BLOCK ? allocate_small(size, alignment)
                                    : allocate_large(regions, size, alignment);
  if (memory) ++regions->blocks;
  pthread_mutex_unlock(&regions->mutex);
  return memory;
}

// Takes the block off its region, which goes with its last one. Returns 0 if it lies in none.
static int take_back(ops_regions *regions, const char *memory) {
  region *at = regions->first;
  while (at && (memory < at->memory || memory >= at->memory + at->size)) at = at->next;
  if (!at) return 0;
  block **link = &at->blocks;
  while (at->memory + (*link)->begin != memory) link = &(*link)->next;
  block *old = *link;
  *link = old->next;
  free(old);
  if (!at->blocks) drop(regions, at);
  return 1;
}

// Unlocks; with the last block of released regions they go.
static void unlock(ops_regions *regions) {
  const int last = regions->released && regions->blocks == 0;
  pthread_mutex_unlock(&regions->mutex);
  if (!last) return;
  pthread_mutex_destroy(&regions->mutex);
  free(regions);
}

void ops_regions_free(ops_regions *regions, void *memory) {
  if (!memory) return;
  pthread_mutex_lock(&regions->mutex);
  if (!take_back(regions, memory)) free(memory);
  --regions->blocks;
  unlock(regions);
}

void ops_regions_release(ops_regions *regions) {
  if (!regions) return;
  pthread_mutex_lock(&regions->mutex);
  regions->released = 1;
  unlock(regions);
}

// SPDX-License-Identifier: Apache-2.0
//
// Greedy: blocks are placed one by one, each into the smallest gap that fits between the placed
// blocks alive at the same time. By size, the largest first (Pisarchyk and Lee, "Efficient
// Memory Management for Deep Neural Net Inference", 2020); if that misses the lower bound, also
// by the size of the step in which a block lives, and by area; from each, some orders in which
// the block that ended highest comes first (hill climbing, as Vela does for Ethos-U). The best
// is taken. An order that served other sizes of the same blocks is tried before all of them:
// blocks are put on top of those that lie below them, as in one-dimensional packing by a given
// sequence. That is O(count^2) in time; more blocks than MAX_BLOCKS_BY_RANK are placed in the
// order in which they come to life, among those that are alive then.
#include "plan/offsets.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

// A block in the order of placement: keys descend, first one decides.
typedef struct ranked {
  rt_block *block;
  uint64_t keys[2];
} ranked;

static int by_rank(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  for (int i = 0; i < 2; ++i)
    if (a->keys[i] != b->keys[i]) return a->keys[i] > b->keys[i] ? -1 : 1;
  if (a->block->first != b->block->first) return a->block->first < b->block->first ? -1 : 1;
  return (a->block > b->block) - (a->block < b->block);
}

static int share_a_step(const rt_block *a, const rt_block *b) {
  return a->first <= b->last && b->first <= a->last;
}

// The best offset for `block` among `placed`, which is sorted by offset. 0 on overflow.
static int best_offset(const rt_block *block, rt_block *const *placed, uint32_t placed_count,
                       int reuse, uint64_t *out_offset) {
  uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
  for (uint32_t i = 0; i < placed_count; ++i) {
    const rt_block *other = placed[i];
    if (reuse && !share_a_step(block, other)) continue;
    uint64_t start;
    if (!ops_checked_align(end, block->alignment, &start)) return 0;
    if (start < other->offset && other->offset - start >= block->size &&
        other->offset - end < best_gap) {
      best = start;
      best_gap = other->offset - end;
    }
    const uint64_t other_end = other->offset + other->size;
    if (other_end > end) end = other_end;
  }
  if (best == UINT64_MAX && !ops_checked_align(end, block->alignment, &best)) return 0;
  *out_offset = best;
  return 1;
}

static void insert_by_offset(rt_block **placed, uint32_t count, rt_block *block) {
  uint32_t at = count;
  for (; at > 0 && placed[at - 1]->offset > block->offset; --at) placed[at] = placed[at - 1];
  placed[at] = block;
}

static int place_all(const ranked *order, rt_block **placed, uint32_t count, int reuse,
                     uint64_t *out_size) {
  uint64_t size = 0, end;
  for (uint32_t i = 0; i < count; ++i) {
    rt_block *block = order[i].block;
    if (!best_offset(block, placed, i, reuse, &block->offset)) return 0;
    if (!ops_checked_add(block->offset, block->size, &end) || end > INT64_MAX) return 0;
    insert_by_offset(placed, i, block);
    if (end > size) size = end;
  }
  *out_size = size;
  return 1;
}

// The same for blocks in the order of their first steps: what is dead by then is in nobody's
// way.
static int place_in_time(const ranked *order, rt_block **alive, uint32_t count,
                         uint64_t *out_size) {
  uint64_t size = 0, end;
  uint32_t alive_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rt_block *block = order[i].block;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < alive_count; ++k)
      if (alive[k]->last >= block->first) alive[kept++] = alive[k];
    if (!best_offset(block, alive, kept, 1, &block->offset)) return 0;
    if (!ops_checked_add(block->offset, block->size, &end) || end > INT64_MAX) return 0;
    insert_by_offset(alive, kept, block);
    alive_count = kept + 1;
    if (end > size) size = end;
  }
  *out_size = size;
  return 1;
}

// Bytes alive in each step from 0 on; *out_steps is one more than the last. NULL: no memory.
static uint64_t *alive_bytes(const ranked *order, uint32_t count, uint64_t *out_steps) {
  uint64_t steps = 0;
  for (uint32_t i = 0; i < count; ++i)
    if ((uint64_t)order[i].block->last + 1 > steps) steps = (uint64_t)order[i].block->last + 1;
  uint64_t *alive = calloc(steps + 2, sizeof *alive);
  if (!alive) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    alive[order[i].block->first] += order[i].block->size;  // differences first, wrapping
    alive[order[i].block->last + 1] -= order[i].block->size;
  }
  for (uint64_t i = 1; i <= steps; ++i) alive[i] += alive[i - 1];
  *out_steps = steps;
  return alive;
}

// Puts each block right above all earlier ones that it may not overlap. If their order is that
// of offsets of an earlier plan, no block lies higher than there for the same sizes: by
// induction, what it lies on does not.
static int place_on_top(const ranked *order, uint32_t count, uint64_t *out_size) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rt_block *block = order[i].block;
    uint64_t top = 0, end;
    for (uint32_t k = 0; k < i; ++k) {
      const rt_block *below = order[k].block;
      if (share_a_step(block, below) && below->offset + below->size > top)
        top = below->offset + below->size;
    }
    if (!ops_checked_align(top, block->alignment, &block->offset)) return 0;
    if (!ops_checked_add(block->offset, block->size, &end) || end > INT64_MAX) return 0;
    if (end > size) size = end;
  }
  *out_size = size;
  return 1;
}

#define RANK_BY_SIZE 0
#define RANK_BY_BREADTH 1  // of the fullest step in which the block lives
#define RANK_BY_AREA 2     // size times lifetime
#define RANK_COUNT 3
#define RANK_BY_TIME 3  // the earliest first
#define MAX_BLOCKS_TO_COMPARE 4096u
#define MAX_BLOCKS_BY_RANK 16384u

static void rank(ranked *order, uint32_t count, int by, const uint64_t *alive) {
  for (uint32_t i = 0; i < count; ++i) {
    const rt_block *block = order[i].block;
    uint64_t widest = 0;
    for (uint64_t step = block->first; by == RANK_BY_BREADTH && step <= block->last; ++step)
      if (alive[step] > widest) widest = alive[step];
    const uint64_t area = block->size * ((uint64_t)block->last - block->first + 1);
    order[i].keys[0] = by == RANK_BY_SIZE   ? block->size
                       : by == RANK_BY_AREA ? area
                       : by == RANK_BY_TIME ? UINT64_MAX - block->first
                                            : widest;
    order[i].keys[1] = block->size;
  }
  qsort(order, count, sizeof *order, by_rank);
}

// A search for an order of placement, and the best that it has found.
typedef struct search {
  ranked *order;
  rt_block **placed;
  rt_block **by_index;
  uint64_t *best_offsets;
  uint32_t count;
  int reuse;
  rt_offsets_stats *stats;
} search;

// Places in the present order. 0 if sizes overflow.
static int try_order(search *s) {
  uint64_t size = 0;
  if (!place_all(s->order, s->placed, s->count, s->reuse, &size)) return 0;
  if (size >= s->stats->planned) return 1;
  s->stats->planned = size;
  for (uint32_t i = 0; i < s->count; ++i) s->best_offsets[i] = s->by_index[i]->offset;
  return 1;
}

// Moves the block that ends highest to the front of the order: it will lie low.
static void promote_highest(search *s) {
  uint32_t top = 0;
  for (uint32_t i = 1; i < s->count; ++i) {
    const rt_block *block = s->order[i].block, *highest = s->order[top].block;
    if (block->offset + block->size > highest->offset + highest->size) top = i;
  }
  const ranked highest = s->order[top];
  memmove(s->order + 1, s->order, top * sizeof *s->order);
  s->order[0] = highest;
}

// Comparisons of blocks that all the climbing of one search may cost.
#define MAX_CLIMBING (1u << 22)
#define MAX_CLIMBS 64u

// Changes the order where it hurts, some times, whether or not each change helps by itself.
static int climb(search *s) {
  const uint64_t each = (uint64_t)s->count * s->count + 1;
  const uint64_t affordable = MAX_CLIMBING / (RANK_COUNT * each);
  const uint64_t climbs = affordable < MAX_CLIMBS ? affordable : MAX_CLIMBS;
  for (uint64_t i = 0; i < climbs && s->stats->planned > s->stats->lower_bound; ++i) {
    promote_highest(s);
    if (!try_order(s)) return 0;
  }
  return 1;
}

// Places by each ranking, and from there on by changes to it, until the lower bound is reached;
// the best stays.
static int place_best(search *s, const uint64_t *alive) {
  if (s->reuse && s->count > MAX_BLOCKS_BY_RANK) {
    rank(s->order, s->count, RANK_BY_TIME, alive);
    return place_in_time(s->order, s->placed, s->count, &s->stats->planned);
  }
  const int rankings = s->reuse && s->count <= MAX_BLOCKS_TO_COMPARE ? RANK_COUNT : 1;
  for (uint32_t i = 0; i < s->count; ++i) s->by_index[i] = s->order[i].block;
  s->stats->planned = UINT64_MAX;
  for (int by = 0; by < rankings && s->stats->planned > s->stats->lower_bound; ++by) {
    rank(s->order, s->count, by, alive);
    if (!try_order(s) || (s->reuse && !climb(s))) return 0;
  }
  for (uint32_t i = 0; i < s->count; ++i) s->by_index[i]->offset = s->best_offsets[i];
  return 1;
}

// Alignment costs a little that does not grow with the sizes.
#define HINT_TOLERANCE 1.02

// 1 if the order of the hint serves: the blocks are placed.
static int place_like(ranked *order, const rt_block *blocks, uint32_t count,
                      const rt_offsets_hint *hint, rt_offsets_stats *stats) {
  if (!hint || hint->stats.lower_bound == 0) return 0;
  for (uint32_t i = 0; i < count; ++i) {
    order[i].keys[0] = UINT64_MAX - hint->offsets[order[i].block - blocks];
    order[i].keys[1] = 0;
  }
  qsort(order, count, sizeof *order, by_rank);
  if (!place_on_top(order, count, &stats->planned)) return 0;
  const double before = (double)hint->stats.planned / (double)hint->stats.lower_bound;
  return (double)stats->planned <= HINT_TOLERANCE * before * (double)stats->lower_bound;
}

// Everything that planning needs besides the blocks.
typedef struct scratch {
  ranked *order;
  rt_block **placed;  // count, then count in the order of the caller
  uint64_t *best_offsets;
  uint64_t *alive;
} scratch;

static void scratch_finish(scratch *s) {
  free(s->order);
  free(s->placed);
  free(s->best_offsets);
  free(s->alive);
}

static int32_t too_large(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                       "the activations need more bytes than an address has; use smaller "
                       "inputs");
}

int32_t rt_offsets_plan(rt_block *blocks, uint32_t count, int reuse,
                        const rt_offsets_hint *hint, int *out_kept, rt_offsets_stats *out_stats,
                        ops_error *error) {
  *out_stats = (rt_offsets_stats){0};
  *out_kept = 0;
  scratch s = {.order = malloc(((size_t)count + 1) * sizeof *s.order),
               .placed = malloc((2 * (size_t)count + 1) * sizeof *s.placed),
               .best_offsets = malloc(((size_t)count + 1) * sizeof *s.best_offsets)};
  int32_t status = OPS_OK;
  uint64_t steps = 0;
  uint32_t used = 0;
  if (!s.order || !s.placed || !s.best_offsets) goto exhausted;
  for (uint32_t i = 0; i < count && status == OPS_OK; ++i) {
    blocks[i].offset = 0;
    if (blocks[i].size == 0) continue;
    s.order[used++].block = &blocks[i];
    if (!ops_checked_add(out_stats->naive, blocks[i].size, &out_stats->naive))
      status = too_large(error);
  }
  if (status != OPS_OK || used == 0) goto cleanup;
  s.alive = alive_bytes(s.order, used, &steps);
  if (!s.alive) goto exhausted;
  for (uint64_t i = 0; i < steps; ++i)
    if (s.alive[i] > out_stats->lower_bound) out_stats->lower_bound = s.alive[i];
  *out_kept =
      reuse && used <= MAX_BLOCKS_BY_RANK && place_like(s.order, blocks, used, hint, out_stats);
  if (*out_kept) goto cleanup;
  search search = {.order = s.order,
                   .placed = s.placed,
                   .by_index = s.placed + used,
                   .best_offsets = s.best_offsets,
                   .count = used,
                   .reuse = reuse,
                   .stats = out_stats};
  if (!place_best(&search, s.alive)) status = too_large(error);

cleanup:
  scratch_finish(&s);
  return status;

exhausted:
  scratch_finish(&s);
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "planning %u blocks", count);
}

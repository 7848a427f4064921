// SPDX-License-Identifier: Apache-2.0
//
// Greedy by size: blocks are placed from the largest to the smallest, each into the smallest
// gap that fits between the placed blocks alive at the same time (Pisarchyk and Lee, "Efficient
// Memory Management for Deep Neural Net Inference", 2020). O(count^2) in time.
#include "plan/offsets.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdlib.h>

static int by_size(const void *left, const void *right) {
  const rt_block *a = *(rt_block *const *)left, *b = *(rt_block *const *)right;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return (a > b) - (a < b);
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

static int place_all(rt_block **order, rt_block **placed, uint32_t count, int reuse,
                     uint64_t *out_size) {
  uint64_t size = 0, end;
  for (uint32_t i = 0; i < count; ++i) {
    rt_block *block = order[i];
    if (!best_offset(block, placed, i, reuse, &block->offset)) return 0;
    if (!ops_checked_add(block->offset, block->size, &end) || end > INT64_MAX) return 0;
    insert_by_offset(placed, i, block);
    if (end > size) size = end;
  }
  *out_size = size;
  return 1;
}

// A block's birth or death, for the sweep that finds the lower bound.
typedef struct change {
  uint64_t step;
  uint64_t size;
  int birth;
} change;

static int by_step(const void *left, const void *right) {
  const change *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return a->birth - b->birth;  // deaths of the step before, then births
}

static uint64_t largest_sum(rt_block *const *blocks, uint32_t count, change *changes) {
  for (uint32_t i = 0; i < count; ++i) {
    changes[2 * i] = (change){blocks[i]->first, blocks[i]->size, 1};
    changes[2 * i + 1] = (change){(uint64_t)blocks[i]->last + 1, blocks[i]->size, 0};
  }
  qsort(changes, 2 * (size_t)count, sizeof *changes, by_step);
  uint64_t alive = 0, largest = 0;
  for (uint64_t i = 0; i < 2 * (uint64_t)count; ++i) {
    alive = changes[i].birth ? alive + changes[i].size : alive - changes[i].size;
    if (alive > largest) largest = alive;
  }
  return largest;
}

int32_t rt_offsets_plan(rt_block *blocks, uint32_t count, int reuse,
                        rt_offsets_stats *out_stats, ops_error *error) {
  *out_stats = (rt_offsets_stats){0};
  rt_block **order = malloc((2 * (size_t)count + 1) * sizeof *order);
  change *changes = malloc((2 * (size_t)count + 1) * sizeof *changes);
  int32_t status = OPS_OK;
  int fits = 1;
  uint32_t used = 0;
  if (!order || !changes) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "planning %u blocks", count);
    goto cleanup;
  }
  for (uint32_t i = 0; i < count; ++i) {
    blocks[i].offset = 0;
    if (blocks[i].size == 0) continue;
    order[used++] = &blocks[i];
    fits = fits && ops_checked_add(out_stats->naive, blocks[i].size, &out_stats->naive);
  }
  qsort(order, used, sizeof *order, by_size);
  fits = fits && place_all(order, order + used, used, reuse, &out_stats->planned);
  if (!fits) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                           "the activations need more bytes than an address has; use smaller "
                           "inputs");
    goto cleanup;
  }
  out_stats->lower_bound = largest_sum(order, used, changes);

cleanup:
  free(order);
  free(changes);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Where blocks with known lifetimes lie inside one arena.
#ifndef RT_PLAN_OFFSETS_H_
#define RT_PLAN_OFFSETS_H_

#include <ops/status.h>

// A block is alive from step `first` to step `last`, both inclusive.
typedef struct rt_block {
  uint64_t size;       // bytes; 0: takes no room
  uint64_t alignment;  // a power of two
  uint32_t first;
  uint32_t last;
  uint64_t offset;  // out
} rt_block;

typedef struct rt_offsets_stats {
  uint64_t planned;      // size of the arena
  uint64_t naive;        // without reuse
  uint64_t lower_bound;  // the largest sum of sizes alive in one step
} rt_offsets_stats;

// Where blocks with the same numbers lay when they had other sizes.
typedef struct rt_offsets_hint {
  const uint64_t *offsets;
  rt_offsets_stats stats;
} rt_offsets_hint;

// Fills the offsets: no two blocks that are alive in a common step overlap. Without `reuse` no
// two overlap at all. Fails with OUT_OF_MEMORY, also if the sizes overflow.
//
// With a `hint` (may be NULL) the blocks are first put on one another in the order in which
// they lay there. If that comes as near to the lower bound as it did with the old sizes, it
// stays, and nothing is searched: *out_kept is 1. Sizes that all grow by one factor, such as a
// batch size, always keep their order.
int32_t rt_offsets_plan(rt_block *blocks, uint32_t count, int reuse,
                        const rt_offsets_hint *hint, int *out_kept, rt_offsets_stats *out_stats,
                        ops_error *error);

#endif  // RT_PLAN_OFFSETS_H_

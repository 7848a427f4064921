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

// Fills the offsets: no two blocks that are alive in a common step overlap. Without `reuse` no
// two overlap at all. Fails with OUT_OF_MEMORY, also if the sizes overflow.
int32_t rt_offsets_plan(rt_block *blocks, uint32_t count, int reuse,
                        rt_offsets_stats *out_stats, ops_error *error);

#endif  // RT_PLAN_OFFSETS_H_

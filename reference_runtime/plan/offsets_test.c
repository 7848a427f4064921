// SPDX-License-Identifier: Apache-2.0
//
// The offset planner against its definition: over random lifetimes, no two blocks that are
// alive together overlap (checked pair by pair), every offset is aligned, and the totals are
// what a sum over every step gives. Hand-made cases have hand-made optima.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>

#include "plan/offsets.h"

#define STEPS 60u
#define MAX_BLOCKS 120u

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % limit;
}

static uint32_t random_blocks(rt_block *blocks) {
  const uint32_t count = (uint32_t)random_below(MAX_BLOCKS + 1);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t first = (uint32_t)random_below(STEPS);
    blocks[i] = (rt_block){.size = random_below(4) == 0 ? random_below(8) : random_below(5000),
                           .alignment = (uint64_t)1 << random_below(9),
                           .first = first,
                           .last = first + (uint32_t)random_below(STEPS - first),
                           .offset = UINT64_MAX};
  }
  return count;
}

static int overlap(const rt_block *a, const rt_block *b) {
  return a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static void check_blocks(const rt_block *blocks, uint32_t count, int reuse,
                         const rt_offsets_stats *stats) {
  uint64_t naive = 0, end = 0, bound = 0;
  for (uint32_t i = 0; i < count; ++i) {
    naive += blocks[i].size;
    assert_int_equal(blocks[i].offset % blocks[i].alignment, 0);
    if (blocks[i].size && blocks[i].offset + blocks[i].size > end)
      end = blocks[i].offset + blocks[i].size;
    for (uint32_t k = 0; k < i; ++k) {
      const int together =
          blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last;
      if (!blocks[i].size || !blocks[k].size || (reuse && !together)) continue;
      assert_false(overlap(&blocks[i], &blocks[k]));
    }
  }
  for (uint32_t step = 0; step < STEPS; ++step) {
    uint64_t alive = 0;
    for (uint32_t i = 0; i < count; ++i)
      if (blocks[i].first <= step && step <= blocks[i].last) alive += blocks[i].size;
    if (alive > bound) bound = alive;
  }
  assert_int_equal(stats->naive, naive);
  assert_int_equal(stats->planned, end);
  assert_int_equal(stats->lower_bound, bound);
  assert_true(stats->planned >= stats->lower_bound);
}

static void live_blocks_never_overlap(void **state) {
  (void)state;
  rt_block blocks[MAX_BLOCKS];
  for (int trial = 0; trial < 600; ++trial) {
    const uint32_t count = random_blocks(blocks);
    const int reuse = trial % 8 != 0;
    rt_offsets_stats stats;
    int kept;
    assert_int_equal(rt_offsets_plan(blocks, count, reuse, NULL, &kept, &stats, NULL), OPS_OK);
    check_blocks(blocks, count, reuse, &stats);
  }
}

// The sizes of a batch of n: with the order found for one, nothing is searched, nothing
// overlaps, and the arena is at most n times as large.
static void a_batch_keeps_the_order_of_another(void **state) {
  (void)state;
  rt_block blocks[MAX_BLOCKS];
  uint64_t sizes[MAX_BLOCKS], offsets[MAX_BLOCKS];
  uint32_t planned = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const uint32_t count = random_blocks(blocks);
    rt_offsets_stats stats;
    int kept;
    for (uint32_t i = 0; i < count; ++i) {
      blocks[i].size *= blocks[i].alignment = 64;
      sizes[i] = blocks[i].size;
    }
    assert_int_equal(rt_offsets_plan(blocks, count, 1, NULL, &kept, &stats, NULL), OPS_OK);
    assert_int_equal(kept, 0);
    const rt_offsets_hint hint = {offsets, stats};
    for (uint32_t i = 0; i < count; ++i) offsets[i] = blocks[i].offset;
    for (uint64_t n = 1; n <= 33; n += 16) {
      for (uint32_t i = 0; i < count; ++i) blocks[i].size = n * sizes[i];
      assert_int_equal(rt_offsets_plan(blocks, count, 1, &hint, &kept, &stats, NULL), OPS_OK);
      assert_int_equal(kept, stats.lower_bound > 0);
      assert_true(stats.planned <= n * hint.stats.planned);
      check_blocks(blocks, count, 1, &stats);
      planned += kept > 0;
    }
  }
  assert_true(planned > 500);
}

// Other lifetimes and sizes than the hint's: whatever is kept is sound, and near the bound.
static void a_wrong_hint_does_no_harm(void **state) {
  (void)state;
  rt_block blocks[MAX_BLOCKS];
  uint64_t offsets[MAX_BLOCKS];
  uint32_t searched = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const uint32_t count = random_blocks(blocks);
    rt_offsets_stats stats;
    int kept;
    for (uint32_t i = 0; i < count; ++i) offsets[i] = random_below(10000);
    const rt_offsets_hint hint = {offsets, {.planned = 1050, .lower_bound = 1000}};
    assert_int_equal(rt_offsets_plan(blocks, count, 1, &hint, &kept, &stats, NULL), OPS_OK);
    check_blocks(blocks, count, 1, &stats);
    if (kept) assert_true((double)stats.planned <= 1.05 * 1.02 * (double)stats.lower_bound);
    searched += !kept;
  }
  assert_true(searched > 100);
}

static void a_chain_needs_two_blocks(void **state) {
  (void)state;
  rt_block blocks[10];
  for (uint32_t i = 0; i < 10; ++i)
    blocks[i] = (rt_block){.size = 1024, .alignment = 64, .first = i, .last = i + 1};
  rt_offsets_stats stats;
  int kept;
  assert_int_equal(rt_offsets_plan(blocks, 10, 1, NULL, &kept, &stats, NULL), OPS_OK);
  assert_int_equal(stats.planned, 2048);
  assert_int_equal(stats.lower_bound, 2048);
  assert_int_equal(stats.naive, 10240);
}

// A model of very many nodes: planned in a second, and as tightly as a short one.
static void many_blocks_are_placed_in_time(void **state) {
  (void)state;
  enum { kCount = 100000, kLongest = 20 };
  rt_block *blocks = calloc(kCount, sizeof *blocks);
  assert_non_null(blocks);
  for (uint32_t i = 0; i < kCount; ++i)
    blocks[i] = (rt_block){.size = 1024, .alignment = 64, .first = i, .last = i + 1};
  rt_offsets_stats stats;
  int kept;
  assert_int_equal(rt_offsets_plan(blocks, kCount, 1, NULL, &kept, &stats, NULL), OPS_OK);
  assert_int_equal(stats.planned, 2048);
  for (uint32_t i = 0; i < kCount; ++i)
    blocks[i] = (rt_block){.size = random_below(5000),
                           .alignment = (uint64_t)1 << random_below(9),
                           .first = i,
                           .last = i + (uint32_t)random_below(kLongest)};
  assert_int_equal(rt_offsets_plan(blocks, kCount, 1, NULL, &kept, &stats, NULL), OPS_OK);
  for (uint32_t i = 0; i < kCount; ++i) {
    assert_int_equal(blocks[i].offset % blocks[i].alignment, 0);
    assert_true(blocks[i].offset + blocks[i].size <= stats.planned);
    for (uint32_t k = i > kLongest ? i - kLongest : 0; k < i; ++k)
      if (blocks[k].last >= i && blocks[k].size && blocks[i].size)
        assert_false(overlap(&blocks[i], &blocks[k]));
  }
  assert_true(stats.planned < 2 * stats.lower_bound);
  free(blocks);
}

static void the_tightest_gap_is_taken(void **state) {
  (void)state;
  // Over steps 0..9: 400 at 0 dies at 4, 300 dies at 4, 200 lives on. The newcomer of 250 bytes
  // in steps 5..9 fits into the hole of 300 as well as into that of 400: no growth.
  rt_block blocks[] = {
      {400, 1, 0, 4, 0}, {300, 1, 0, 4, 0}, {200, 1, 0, 9, 0}, {250, 1, 5, 9, 0}};
  rt_offsets_stats stats;
  int kept;
  assert_int_equal(rt_offsets_plan(blocks, 4, 1, NULL, &kept, &stats, NULL), OPS_OK);
  assert_int_equal(stats.planned, 900);
}

static void overflow_is_an_error(void **state) {
  (void)state;
  rt_block blocks[] = {{UINT64_MAX / 2, 64, 0, 1, 0},
                       {UINT64_MAX / 2, 64, 0, 1, 0},
                       {UINT64_MAX / 2, 64, 0, 1, 0}};
  rt_offsets_stats stats;
  int kept;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_offsets_plan(blocks, 3, 1, NULL, &kept, &stats, &error),
                   OPS_ERROR_OUT_OF_MEMORY);
  assert_int_equal(error.code, OPS_ERROR_OUT_OF_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(live_blocks_never_overlap),
      cmocka_unit_test(a_batch_keeps_the_order_of_another),
      cmocka_unit_test(a_wrong_hint_does_no_harm),
      cmocka_unit_test(a_chain_needs_two_blocks),
      cmocka_unit_test(many_blocks_are_placed_in_time),
      cmocka_unit_test(the_tightest_gap_is_taken),
      cmocka_unit_test(overflow_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

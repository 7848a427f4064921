// SPDX-License-Identifier: Apache-2.0
//
// Arenas. Random requests are held against a map of the device's allocations, grain by grain:
// what overlaps, what is free and how large the largest free piece is are counted there. The
// sizes of regions follow by hand from the strategies' definitions.
#include "memory/memory_test_util.h"

#include "memory/arena.h"
#include "memory/poison.h"

#define EXTEND_EXACTLY \
  { .extend = RT_ARENA_SAME_AS_REQUESTED }
#define EXTEND_DOUBLING \
  { .extend = RT_ARENA_NEXT_POWER_OF_TWO }

static rt_arena *open_arena(rt_allocator *allocator, rt_arena_options options) {
  rt_arena *arena = NULL;
  assert_int_equal(rt_arena_create(allocator, &options, &arena, NULL), OPS_OK);
  return arena;
}

static rt_arena_block take(rt_arena *arena, uint64_t size) {
  rt_arena_block block;
  ops_error error = OPS_ERROR_INIT;
  if (rt_arena_allocate(arena, size, 64, &block, &error) != OPS_OK)
    fail_msg("%s", error.message);
  assert_int_equal(block.size, size);
  return block;
}

// ---- Random requests ------------------------------------------------------------------------

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % limit;
}

#define MAX_BLOCKS 40
#define MAX_GRAINS 4096

// Marks what the blocks take of one allocation of the device; returns the grains taken.
static uint64_t mark(const fake_device *fake, uint32_t region, const rt_arena_block *blocks,
                     uint32_t count, uint8_t *map) {
  uint64_t taken = 0;
  memset(map, 0, MAX_GRAINS);
  for (uint32_t i = 0; i < count; ++i) {
    if (blocks[i].memory != fake->allocations[region].memory) continue;
    const uint64_t end = blocks[i].offset + blocks[i].size;
    assert_true(end <= fake->allocations[region].size);
    for (uint64_t g = blocks[i].offset / RT_ARENA_GRAIN; g * RT_ARENA_GRAIN < end; ++g) {
      assert_int_equal(map[g], 0);  // nobody else's
      map[g] = 1;
      taken++;
    }
  }
  return taken;
}

static void check_against_map(const fake_device *fake, const rt_arena_block *blocks,
                              uint32_t count, const rt_arena_stats *stats) {
  static uint8_t map[MAX_GRAINS];
  uint64_t taken = 0, reserved = 0, largest = 0;
  for (uint32_t r = 0; r < fake->live; ++r) {
    const uint64_t grains = fake->allocations[r].size / RT_ARENA_GRAIN;
    assert_true(grains <= MAX_GRAINS);
    taken += mark(fake, r, blocks, count, map);
    reserved += fake->allocations[r].size;
    for (uint64_t g = 0, run = 0; g < grains; ++g) {
      run = map[g] ? 0 : run + 1;
      if (run > largest) largest = run;
    }
  }
  assert_int_equal(stats->bytes_in_use, taken * RT_ARENA_GRAIN);
  assert_int_equal(stats->bytes_reserved, reserved);
  assert_int_equal(stats->largest_free, largest * RT_ARENA_GRAIN);
  assert_int_equal(stats->extensions - stats->releases, fake->live);
}

static void random_requests(rt_arena_options options) {
  fake_device fake = {.limit = UINT64_MAX};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, options);
  rt_arena_block blocks[MAX_BLOCKS];
  uint32_t count = 0;
  for (int step = 0; step < 4000; ++step) {
    if (count < MAX_BLOCKS && random_below(2) == 0) {
      const uint64_t alignment = (uint64_t)1 << random_below(11);
      rt_arena_block *block = &blocks[count++];
      assert_int_equal(rt_arena_allocate(arena, 1 + random_below(3000), alignment, block, NULL),
                       OPS_OK);
      assert_int_equal(((uintptr_t)block->memory + block->offset) % alignment, 0);
      assert_int_equal(block->offset % FAKE_ALIGNMENT, 0);
    } else if (count) {
      const uint32_t gone = (uint32_t)random_below(count);
      rt_arena_free(arena, blocks[gone]);
      blocks[gone] = blocks[--count];
    }
    if (random_below(100) == 0) rt_arena_shrink(arena);
    const rt_arena_stats stats = rt_arena_count(arena);
    check_against_map(&fake, blocks, count, &stats);
    assert_int_equal(rt_allocator_stats(allocator).bytes_in_use, fake.used);
  }
  while (count) rt_arena_free(arena, blocks[--count]);
  rt_arena_shrink(arena);
  assert_int_equal(rt_arena_count(arena).bytes_reserved, 0);
  rt_arena_destroy(arena);
  assert_int_equal(fake.live, 0);
  rt_allocator_destroy(allocator);
}

static void pieces_never_overlap(void **state) {
  (void)state;
  random_requests((rt_arena_options)EXTEND_EXACTLY);
  random_requests((rt_arena_options)EXTEND_DOUBLING);
}

// ---- Strategies -----------------------------------------------------------------------------

// The size of the region that each of four growing requests makes, all of them held.
static void check_regions(rt_arena_options options, const uint64_t sizes[4]) {
  static const uint64_t requests[4] = {1000, 64, 5000, 9000};
  fake_device fake = {.limit = UINT64_MAX};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, options);
  rt_arena_block blocks[4];
  uint64_t reserved = 0;
  for (int i = 0; i < 4; ++i) {
    blocks[i] = take(arena, requests[i]);
    reserved += sizes[i];
    assert_int_equal(rt_arena_count(arena).bytes_reserved, reserved);
  }
  for (int i = 0; i < 4; ++i) rt_arena_free(arena, blocks[i]);
  rt_arena_destroy(arena);
  rt_allocator_destroy(allocator);
}

static void regions_grow_as_their_strategy_says(void **state) {
  (void)state;
  // 1000 and 5000 and 9000 are 1024, 5056 and 9024 in grains of 64.
  check_regions((rt_arena_options)EXTEND_EXACTLY, (const uint64_t[4]){1024, 64, 5056, 9024});
  // 1024; as much again, for 64; over 5056 and the 2048 held: 8192; over 9024 and 10240: 16384.
  check_regions((rt_arena_options)EXTEND_DOUBLING,
                (const uint64_t[4]){1024, 1024, 8192, 16384});
  // 3072 hold the first two, which begin at multiples of 256.
  check_regions((rt_arena_options){.initial = 3072}, (const uint64_t[4]){3072, 0, 5056, 9024});
  check_regions((rt_arena_options){.initial = 500}, (const uint64_t[4]){1024, 64, 5056, 9024});
}

static void the_smallest_piece_that_fits_is_taken(void **state) {
  (void)state;
  fake_device fake = {.limit = UINT64_MAX};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, (rt_arena_options)EXTEND_EXACTLY);
  const rt_arena_block large = take(arena, 4096), small = take(arena, 1024);
  rt_arena_free(arena, large);
  rt_arena_free(arena, small);
  const rt_arena_block again = take(arena, 1000), other = take(arena, 4000);
  assert_ptr_equal(again.memory, small.memory);
  assert_ptr_equal(other.memory, large.memory);
  assert_int_equal(rt_arena_count(arena).extensions, 2);
  rt_arena_free(arena, again);
  rt_arena_free(arena, other);
  rt_arena_destroy(arena);
  rt_allocator_destroy(allocator);
}

// What is held stays at the largest request, however sizes alternate.
static void alternating_sizes_do_not_add_up(void **state) {
  (void)state;
  fake_device fake = {.limit = UINT64_MAX};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, (rt_arena_options)EXTEND_EXACTLY);
  rt_arena_free(arena, take(arena, 32 * 1024));
  for (int i = 0; i < 1000; ++i)
    rt_arena_free(arena, take(arena, 1024 * (1 + random_below(32))));
  const rt_arena_stats stats = rt_arena_count(arena);
  assert_int_equal(stats.bytes_reserved_peak, 32 * 1024);
  assert_int_equal(stats.bytes_peak, 32 * 1024);
  assert_int_equal(stats.extensions, 1);
  assert_int_equal(stats.blocks, 1001);
  rt_arena_destroy(arena);
  rt_allocator_destroy(allocator);
}

// ---- Little memory --------------------------------------------------------------------------

static void free_regions_make_room(void **state) {
  (void)state;
  fake_device fake = {.limit = 10000};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, (rt_arena_options)EXTEND_EXACTLY);
  rt_arena_block a = take(arena, 960), b = take(arena, 3968);
  rt_arena_free(arena, a);
  rt_arena_free(arena, b);
  a = take(arena, 6016);  // both regions had to go
  assert_int_equal(fake.live, 1);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_arena_allocate(arena, 5000, 64, &b, &error), OPS_ERROR_OUT_OF_MEMORY);
  assert_null(b.memory);
  assert_non_null(strstr(error.message, "5056 bytes requested, 6016 in use"));
  rt_arena_free(arena, a);
  rt_arena_destroy(arena);
  assert_int_equal(fake.live, 0);
  rt_allocator_destroy(allocator);
}

static void a_power_of_two_that_is_too_much_becomes_the_request(void **state) {
  (void)state;
  fake_device fake = {.limit = 1500};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, (rt_arena_options)EXTEND_DOUBLING);
  const rt_arena_block a = take(arena, 1088);
  assert_int_equal(fake.used, 1088);
  rt_arena_free(arena, a);
  rt_arena_destroy(arena);
  rt_allocator_destroy(allocator);
}

// Three pieces of 1024, of which the outer two are free: 2048 bytes, and no 2048 in a row.
static void fragmentation_is_explained(void **state) {
  (void)state;
  fake_device fake = {.limit = 3072};
  rt_allocator *allocator = fake_open(&fake);
  rt_arena *arena = open_arena(allocator, (rt_arena_options){.initial = 3072});
  rt_arena_block blocks[3], more;
  for (int i = 0; i < 3; ++i) blocks[i] = take(arena, 1024);
  rt_arena_free(arena, blocks[0]);
  rt_arena_free(arena, blocks[2]);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_arena_allocate(arena, 2048, 64, &more, &error), OPS_ERROR_OUT_OF_MEMORY);
  static const char *const texts[] = {
      "2048 bytes requested",   "3072 in use",
      "2048 free in its arena", "largest free block 1024, fragmentation 50 %",
      "0 of 3072 bytes free",   "lies in pieces"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
    if (!strstr(error.message, texts[i])) fail_msg("'%s' lacks '%s'", error.message, texts[i]);
  rt_arena_free(arena, blocks[1]);  // and its neighbours melt into one again
  more = take(arena, 3072);
  rt_arena_free(arena, more);
  rt_arena_destroy(arena);
  rt_allocator_destroy(allocator);
}

static void sizes_that_overflow_are_refused(void **state) {
  (void)state;
  rt_allocator *host = NULL;
  assert_int_equal(rt_allocator_create_host(&host, NULL), OPS_OK);
  rt_arena *arena = open_arena(host, (rt_arena_options)EXTEND_DOUBLING);
  rt_arena_block block;
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 100, UINT64_MAX / 2, INT64_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
    assert_int_equal(rt_arena_allocate(arena, sizes[i], 64, &block, NULL),
                     OPS_ERROR_OUT_OF_MEMORY);
  assert_int_equal(rt_allocator_stats(host).bytes_in_use, 0);
  rt_arena_destroy(arena);
  rt_allocator_destroy(host);
}

// ---- Poison ---------------------------------------------------------------------------------

// Under AddressSanitizer only what is handed out may be touched, to the byte.
static void what_is_not_handed_out_is_poisoned(void **state) {
  (void)state;
  rt_allocator *host = NULL;
  assert_int_equal(rt_allocator_create_host(&host, NULL), OPS_OK);
  rt_arena *arena = open_arena(host, (rt_arena_options){.initial = 4096});
  const rt_arena_block block = take(arena, 100);
  char *bytes = rt_arena_address(&block);
  memset(bytes, 1, 100);
#if RT_POISON_WORKS
  assert_null(__asan_region_is_poisoned(bytes, 100));
  assert_ptr_equal(__asan_region_is_poisoned(bytes, 4096), bytes + 100);
#endif
  rt_arena_free(arena, block);
#if RT_POISON_WORKS
  assert_ptr_equal(__asan_region_is_poisoned(bytes, 100), bytes);
#endif
  rt_arena_destroy(arena);
  rt_allocator_destroy(host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_never_overlap),
      cmocka_unit_test(regions_grow_as_their_strategy_says),
      cmocka_unit_test(the_smallest_piece_that_fits_is_taken),
      cmocka_unit_test(alternating_sizes_do_not_add_up),
      cmocka_unit_test(free_regions_make_room),
      cmocka_unit_test(a_power_of_two_that_is_too_much_becomes_the_request),
      cmocka_unit_test(fragmentation_is_explained),
      cmocka_unit_test(sizes_that_overflow_are_refused),
      cmocka_unit_test(what_is_not_handed_out_is_poisoned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

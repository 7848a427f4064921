// SPDX-License-Identifier: Apache-2.0
//
// Blocks of every size keep what is written to them, overlap none and lie as asked, in any
// order of giving back; regions live as long as their last block.
#include "ops_support/regions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

enum { kBlocks = 48 };

static uint64_t size_of(int i) {
  static const uint64_t sizes[] = {0, 1, 65535, 65536, 100000, 1 << 20, 4194304, 9000001};
  return sizes[i % 8];
}

static uint64_t alignment_of(int i) {
  static const uint64_t alignments[] = {0, 1, 64, 4096, 2 << 20};
  return alignments[i % 5];
}

static void check(const unsigned char *block, int i) {
  for (uint64_t k = 0; k < size_of(i); k += 4093) assert_int_equal(block[k], i);
  if (size_of(i)) assert_int_equal(block[size_of(i) - 1], i);
}

static void *make(ops_regions *regions, int i) {
  void *block = ops_regions_allocate(regions, size_of(i), alignment_of(i));
  assert_non_null(block);
  if (alignment_of(i)) assert_int_equal((uintptr_t)block % alignment_of(i), 0);
  memset(block, i, size_of(i));
  return block;
}

// Half of the blocks go and come again before the rest, in strides that visit each once.
static void blocks_keep_their_contents(void **state) {
  (void)state;
  void *blocks[kBlocks];
  ops_regions *regions = ops_regions_create();
  assert_non_null(regions);
  for (int i = 0; i < kBlocks; ++i) blocks[i] = make(regions, i);
  for (int round = 0; round < 3; ++round) {
    for (int i = round % 2; i < kBlocks; i += 2) ops_regions_free(regions, blocks[i]);
    for (int i = round % 2; i < kBlocks; i += 2) blocks[i] = make(regions, i);
    for (int i = 0; i < kBlocks; ++i) check(blocks[i], i);
  }
  for (int i = 0; i < kBlocks; ++i) ops_regions_free(regions, blocks[i * 7 % kBlocks]);
  ops_regions_free(regions, NULL);
  ops_regions_release(regions);
  ops_regions_release(NULL);
}

static void blocks_outlive_the_release(void **state) {
  (void)state;
  static const int order[][3] = {{1, 4, 7}, {7, 4, 1}, {4, 7, 1}};
  for (int turn = 0; turn < 3; ++turn) {
    void *blocks[8];
    ops_regions *regions = ops_regions_create();
    for (int k = 0; k < 3; ++k) blocks[order[turn][k]] = make(regions, order[turn][k]);
    ops_regions_release(regions);
    for (int k = 0; k < 3; ++k) {
      check(blocks[order[turn][k]], order[turn][k]);
      ops_regions_free(regions, blocks[order[turn][k]]);
    }
  }
}

static void what_no_machine_has_is_refused(void **state) {
  (void)state;
  ops_regions *regions = ops_regions_create();
  assert_null(ops_regions_allocate(regions, UINT64_MAX - 100, 64));
  assert_null(ops_regions_allocate(regions, (uint64_t)1 << 62, 64));
  ops_regions_release(regions);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_keep_their_contents),
      cmocka_unit_test(blocks_outlive_the_release),
      cmocka_unit_test(what_no_machine_has_is_refused),
  };
  return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}

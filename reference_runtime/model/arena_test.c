// SPDX-License-Identifier: Apache-2.0
//
// The arena's promises: alignment, the budget, large blocks that really go back, and no
// overflow. Also the map of names, which is as small.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "model/arena.h"
#include "model/names.h"

static void aligns_and_separates(void **state) {
  (void)state;
  rt_model_arena arena;
  unsigned char *pointers[200];
  rt_model_arena_init(&arena, 64 << 20);
  for (int i = 0; i < 200; ++i) {
    const size_t size = (size_t)i * i;  // up to 39601: small ones and large ones
    pointers[i] = rt_model_arena_alloc(&arena, size);
    assert_non_null(pointers[i]);
    assert_int_equal((uintptr_t)pointers[i] % 16, 0);
    memset(pointers[i], i, size);
  }
  for (int i = 0; i < 200; ++i)
    for (size_t k = 0; k < (size_t)i * i; ++k) assert_int_equal(pointers[i][k], i);
  rt_model_arena_finish(&arena);
}

static void keeps_the_budget(void **state) {
  (void)state;
  rt_model_arena arena;
  rt_model_arena_init(&arena, 1 << 20);
  assert_null(rt_model_arena_alloc(&arena, 1 << 20));  // no room for the header
  assert_int_equal(arena.refused, 1 << 20);
  assert_int_equal(arena.used, 0);
  int count = 0;
  while (rt_model_arena_alloc(&arena, 1000)) ++count;
  assert_in_range(count, 900, 1040);
  assert_true(arena.used <= 1 << 20);
  assert_int_equal(arena.refused, 1 << 20);  // the first refusal stays
  rt_model_arena_finish(&arena);
}

static void gives_large_blocks_back(void **state) {
  (void)state;
  rt_model_arena arena;
  rt_model_arena_init(&arena, 1 << 20);
  void *kept = rt_model_arena_alloc(&arena, 100000);
  const uint64_t used = arena.used;
  for (int i = 0; i < 100; ++i) {
    void *scratch = rt_model_arena_alloc(&arena, 500000);
    void *other = rt_model_arena_alloc(&arena, 10000);
    assert_non_null(scratch);
    rt_model_arena_free(&arena, scratch);
    rt_model_arena_free(&arena, other);
    assert_int_equal(arena.used, used);
  }
  rt_model_arena_free(&arena, kept);
  assert_int_equal(arena.used, 0);
  rt_model_arena_free(&arena, rt_model_arena_alloc(&arena, 10));
  rt_model_arena_free(&arena, NULL);
  rt_model_arena_finish(&arena);
}

static void refuses_overflow(void **state) {
  (void)state;
  rt_model_arena arena;
  rt_model_arena_init(&arena, UINT64_MAX);
  assert_null(rt_model_arena_alloc(&arena, UINT64_MAX));
  assert_null(rt_model_arena_alloc(&arena, UINT64_MAX - 31));
  assert_null(rt_model_arena_calloc(&arena, UINT64_C(1) << 33, UINT64_C(1) << 33));
  const uint64_t *zeros = rt_model_arena_calloc(&arena, 100, 8);
  for (int i = 0; i < 100; ++i) assert_int_equal(zeros[i], 0);
  rt_model_arena_finish(&arena);
}

static void maps_names(void **state) {
  (void)state;
  static char texts[5000][8];
  rt_name_map map = {0};
  assert_null(rt_name_map_find(&map, rt_name_of((ops_str){NULL, 0})));
  for (int i = 0; i < 5000; ++i) {
    const int size = snprintf(texts[i], sizeof texts[i], "n%d", i);
    const rt_name name = rt_name_of((ops_str){texts[i], (uint64_t)size});
    assert_null(rt_name_map_find(&map, name));
    assert_true(rt_name_map_add(&map, name, i));
  }
  for (int i = 0; i < 5000; ++i) {
    const rt_name name = rt_name_of((ops_str){texts[i], strlen(texts[i])});
    assert_int_equal(*rt_name_map_find(&map, name), i);
  }
  rt_name_map_finish(&map);
}

// The border between parts counts.
static void tells_parts_apart(void **state) {
  (void)state;
  rt_name_map map = {0};
  const rt_name left = {{OPS_STR("ab"), OPS_STR("c"), {NULL, 0}}};
  const rt_name right = {{OPS_STR("a"), OPS_STR("bc"), {NULL, 0}}};
  assert_true(rt_name_map_add(&map, left, 1));
  assert_null(rt_name_map_find(&map, right));
  assert_true(rt_name_map_add(&map, right, 2));
  assert_int_equal(*rt_name_map_find(&map, left), 1);
  assert_int_equal(*rt_name_map_find(&map, right), 2);
  rt_name_map_finish(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(aligns_and_separates),
      cmocka_unit_test(keeps_the_budget),
      cmocka_unit_test(gives_large_blocks_back),
      cmocka_unit_test(refuses_overflow),
      cmocka_unit_test(maps_names),
      cmocka_unit_test(tells_parts_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

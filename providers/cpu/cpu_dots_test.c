// SPDX-License-Identifier: Apache-2.0
//
// Tiles of sums of products of bytes: every variant that this machine can run, against sums in
// int64, at the extremes of both types too, where pairs of products do not fit into int16.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants those above first.
#include <cmocka.h>

#include "vec.h"

#define TILE(isa)                                                                             \
  void cpu_vec_dots_##isa(const uint8_t *const *a, int32_t rows, int64_t taps, int64_t steps, \
                          const int8_t *b, uint8_t flip, const int32_t *start, int32_t *sums)
TILE(base);
#if defined(CPU_HAVE_X86_VARIANTS)
TILE(avx2);
TILE(avx512);
TILE(vnni);
#endif

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// `extreme`: only the least and the largest numbers.
static void fill(uint32_t *state, int extreme, uint8_t *bytes, int64_t count, int is_signed) {
  for (int64_t i = 0; i < count; ++i) {
    bytes[i] = (uint8_t)next(state);
    if (extreme) bytes[i] = (uint8_t)(next(state) % 4 ? (is_signed ? 128 : 255) : 127);
  }
}

// a[t][r] lie apart from each other; the definition is that of cpu_dots_tile.
static void check(cpu_dots_tile tile, const char *name, uint32_t seed, int32_t rows,
                  int64_t taps, int64_t steps, uint8_t flip, int extreme) {
  const int64_t depth = steps * CPU_DOTS_STEP, columns = CPU_DOTS_COLUMNS;
  uint8_t *a = malloc((size_t)(taps * rows * depth));
  int8_t *b = malloc((size_t)(taps * depth * columns));
  const uint8_t **pointers = malloc((size_t)(taps * CPU_DOTS_ROWS) * sizeof *pointers);
  int32_t start[CPU_DOTS_COLUMNS], sums[CPU_DOTS_ROWS * CPU_DOTS_COLUMNS];
  assert_true(a && b && pointers);
  fill(&seed, extreme, a, taps * rows * depth, 0);
  fill(&seed, extreme, (uint8_t *)b, taps * depth * columns, 1);
  for (int64_t c = 0; c < columns; ++c) start[c] = (int32_t)(next(&seed) << 8);
  for (int64_t t = 0; t < taps; ++t)
    for (int32_t r = 0; r < rows; ++r)
      pointers[t * CPU_DOTS_ROWS + r] = a + (r * taps + t) * depth;
  tile(pointers, rows, taps, steps, b, flip, start, sums);
  for (int32_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t expected = start[c];
      for (int64_t k = 0; k < taps * depth; ++k)
        expected += (int64_t)(a[r * taps * depth + k] ^ flip) *
                    b[(k / CPU_DOTS_STEP * columns + c) * CPU_DOTS_STEP + k % CPU_DOTS_STEP];
      if (sums[r * columns + c] != (int32_t)expected)
        fail_msg("%s: %d rows, %lld taps, %lld steps: row %d, column %lld is %d, expected %lld",
                 name, rows, (long long)taps, (long long)steps, r, (long long)c,
                 sums[r * columns + c], (long long)expected);
    }
  free(a);
  free(b);
  free(pointers);
}

static void check_all(cpu_dots_tile tile, const char *name) {
  for (int32_t rows = 1; rows <= CPU_DOTS_ROWS; ++rows)
    for (int variant = 0; variant < 4; ++variant) {
      const uint8_t flip = variant & 1 ? 0x80 : 0;
      check(tile, name, 1, rows, 1, 17, flip, variant >> 1);
      check(tile, name, 2, rows, 9, 3, flip, variant >> 1);
      check(tile, name, 3, rows, 2, 1, flip, variant >> 1);
    }
}

static void variants_give_the_sums(void **state) {
  (void)state;
  check_all(cpu_vec_dots_base, "base");
#if defined(CPU_HAVE_X86_VARIANTS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) check_all(cpu_vec_dots_avx2, "avx2");
  if (__builtin_cpu_supports("avx512bw")) check_all(cpu_vec_dots_avx512, "avx512");
  if (__builtin_cpu_supports("avx512vnni")) check_all(cpu_vec_dots_vnni, "vnni");
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(variants_give_the_sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

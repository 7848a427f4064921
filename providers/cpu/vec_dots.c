// SPDX-License-Identifier: Apache-2.0
//
// Tiles of sums of products of bytes, see dots.h. With VNNI four products and their sum are one
// instruction. Without it, pairs of products are summed in int16, where 2 * 255 * 128 does not
// fit: bytes of a are split into their low seven bits, whose sums do, and their highest one.
#include <string.h>

#include "vec_isa.h"

#if defined(__AVX512VNNI__) || defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>

#if defined(__AVX512BW__)
typedef __m512i vector;
#define AT_ONCE 4  // vectors of columns that are summed together
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512((p), (v))
#define SPREAD(x) _mm512_set1_epi32(x)
#else
typedef __m256i vector;
#define AT_ONCE 2
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), (v))
#define SPREAD(x) _mm256_set1_epi32(x)
#endif

#define INLINE static inline __attribute__((always_inline))
#define LANES ((int)(sizeof(vector) / sizeof(int32_t)))
#define SPAN ((int)sizeof(vector) * AT_ONCE)  // bytes of b in one step

#if defined(__AVX512VNNI__)

typedef vector four;

INLINE four spread(int32_t bytes) {
  return SPREAD(bytes);
}

INLINE vector add_products(vector sum, four a, vector b) {
  return _mm512_dpbusd_epi32(sum, a, b);
}

#else

typedef struct four {
  vector low, high;
} four;

INLINE four spread(int32_t bytes) {
  return (four){SPREAD(bytes & 0x7f7f7f7f),
                SPREAD((int32_t)((uint32_t)bytes >> 7) & 0x01010101)};
}

#if defined(__AVX512BW__)
#define PAIRS(a, b) _mm512_maddubs_epi16((a), (b))
#define TIMES(pairs, x) _mm512_madd_epi16((pairs), _mm512_set1_epi16(x))
#define ADD(a, b) _mm512_add_epi32((a), (b))
#else
#define PAIRS(a, b) _mm256_maddubs_epi16((a), (b))
#define TIMES(pairs, x) _mm256_madd_epi16((pairs), _mm256_set1_epi16(x))
#define ADD(a, b) _mm256_add_epi32((a), (b))
#endif

INLINE vector add_products(vector sum, four a, vector b) {
  return ADD(sum, ADD(TIMES(PAIRS(a.low, b), 1), TIMES(PAIRS(a.high, b), 128)));
}

#endif

// AT_ONCE vectors of columns. `rows` and `flip` are constants wherever this is inlined.
INLINE void sum_columns(const uint8_t *const *a, int rows, int64_t taps, int64_t steps,
                        const int8_t *b, uint32_t flip, const int32_t *start, int32_t *sums) {
  vector sum[CPU_DOTS_ROWS][AT_ONCE];
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < AT_ONCE; ++j) sum[r][j] = LOAD(start + j * LANES);
  for (int64_t t = 0; t < taps; ++t) {
    const uint8_t *row[CPU_DOTS_ROWS];
    for (int r = 0; r < rows; ++r) row[r] = a[t * CPU_DOTS_ROWS + r];
    for (int64_t k = 0; k < steps; ++k, b += CPU_DOTS_COLUMNS * CPU_DOTS_STEP) {
      vector columns[AT_ONCE];
      for (int j = 0; j < AT_ONCE; ++j) columns[j] = LOAD(b + j * (int)sizeof(vector));
      for (int r = 0; r < rows; ++r) {
        uint32_t bytes;
        memcpy(&bytes, row[r] + k * CPU_DOTS_STEP, sizeof bytes);
        const four x = spread((int32_t)(bytes ^ flip));
        for (int j = 0; j < AT_ONCE; ++j) sum[r][j] = add_products(sum[r][j], x, columns[j]);
      }
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < AT_ONCE; ++j) STORE(sums + r * CPU_DOTS_COLUMNS + j * LANES, sum[r][j]);
}

INLINE void sum_panel(const uint8_t *const *a, int rows, int64_t taps, int64_t steps,
                      const int8_t *b, uint8_t flip, const int32_t *start, int32_t *sums) {
  for (int c = 0; c < CPU_DOTS_COLUMNS; c += LANES * AT_ONCE)
    if (flip)
      sum_columns(a, rows, taps, steps, b + c * CPU_DOTS_STEP, 0x80808080u, start + c,
                  sums + c);
    else
      sum_columns(a, rows, taps, steps, b + c * CPU_DOTS_STEP, 0, start + c, sums + c);
}

// One function for each number of rows.
#define HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6)

#define SUM(rows)                                                                              \
  static void sum_##rows(const uint8_t *const *a, int64_t taps, int64_t steps,                 \
                         const int8_t *b, uint8_t flip, const int32_t *start, int32_t *sums) { \
    sum_panel(a, rows, taps, steps, b, flip, start, sums);                                     \
  }
HEIGHTS(SUM)

void CPU_ISA_NAME(cpu_vec_dots)(const uint8_t *const *a, int32_t rows, int64_t taps,
                                int64_t steps, const int8_t *b, uint8_t flip,
                                const int32_t *start, int32_t *sums) {
#define NAME(rows) sum_##rows,
  static void (*const by_rows[])(const uint8_t *const *, int64_t, int64_t, const int8_t *,
                                 uint8_t, const int32_t *, int32_t *) = {HEIGHTS(NAME)};
  _Static_assert(sizeof by_rows / sizeof *by_rows == CPU_DOTS_ROWS, "one function per height");
  by_rows[rows - 1](a, taps, steps, b, flip, start, sums);
}

#else

void CPU_ISA_NAME(cpu_vec_dots)(const uint8_t *const *a, int32_t rows, int64_t taps,
                                int64_t steps, const int8_t *b, uint8_t flip,
                                const int32_t *start, int32_t *sums) {
  for (int32_t r = 0; r < rows; ++r, sums += CPU_DOTS_COLUMNS) {
    const int8_t *panel = b;
    memcpy(sums, start, CPU_DOTS_COLUMNS * sizeof *sums);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t k = 0; k < steps * CPU_DOTS_STEP; k += CPU_DOTS_STEP) {
        const uint8_t *x = a[t * CPU_DOTS_ROWS + r] + k;
        const int32_t x0 = x[0] ^ flip, x1 = x[1] ^ flip, x2 = x[2] ^ flip, x3 = x[3] ^ flip;
        for (int c = 0; c < CPU_DOTS_COLUMNS; ++c, panel += CPU_DOTS_STEP)
          sums[c] = (int32_t)((uint32_t)sums[c] + (uint32_t)(x0 * panel[0] + x1 * panel[1] +
                                                             x2 * panel[2] + x3 * panel[3]));
      }
  }
}

#endif

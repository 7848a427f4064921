// SPDX-License-Identifier: Apache-2.0
//
// Products of rows with a matrix packed in panels (panels.h), and the sums that gates of
// recurrent operators need.
//
// A tile of rows and panels keeps its sums in registers; each sum runs over k in order,
// whatever the tile, so that a row's bits depend neither on the rows beside it nor on threads.
// Products and sums contract here where the machine can (this file is compiled so): bits differ
// between instruction sets.
#include <string.h>

#include "vec_isa.h"

#if defined(__AVX512F__)
#define LANES 16
#define VECTORS 4  // of a panel
#elif defined(__AVX__)
#define LANES 8
#define VECTORS 2
#elif defined(__aarch64__)
#define LANES 4
#define VECTORS 4
#else
#define LANES 4
#define VECTORS 2
#endif
#define WIDTH (LANES * VECTORS)
#define ROWS 6     // of the largest tile: 6 * VECTORS sums fill the registers
#define ABREAST 8  // sums that a tile of one row needs to hide the latency of one
#define DEPTH 512  // products after which a tile of many rows moves on: panels stay in cache
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

const int64_t CPU_ISA_NAME(cpu_vec_panel_width) = WIDTH;

typedef float lanes __attribute__((vector_size(4 * LANES)));

// Products [begin, end) of `row_count` rows and `panel_count` panels, both known when compiled.
static inline __attribute__((always_inline)) void tile(const cpu_vec_product *p, int64_t row,
                                                       int64_t panel, const int row_count,
                                                       const int panel_count, int64_t begin,
                                                       int64_t end) {
  lanes sums[ROWS][ABREAST];
  const float *x[ROWS];
  const float *from = p->panels + panel * WIDTH * p->k;
  const int64_t next = WIDTH * p->k;
  UNROLL for (int r = 0; r < row_count; ++r) x[r] = p->rows[row + r];
  UNROLL for (int r = 0; r < row_count; ++r)
      UNROLL for (int v = 0; v < panel_count * VECTORS; ++v) {
    const float *start = begin > 0 ? p->y + (row + r) * p->y_row : p->bias;
    if (start)
      memcpy(&sums[r][v], start + panel * WIDTH + v * LANES, sizeof(lanes));
    else
      sums[r][v] = (lanes){0};
  }
  for (int64_t i = begin; i < end; ++i) {
    UNROLL for (int v = 0; v < panel_count * VECTORS; ++v) {
      lanes weight;
      memcpy(&weight, from + (v / VECTORS) * next + i * WIDTH + (v % VECTORS) * LANES,
             sizeof weight);
      UNROLL for (int r = 0; r < row_count; ++r) sums[r][v] += weight * x[r][i];
    }
  }
  UNROLL for (int r = 0; r < row_count; ++r)
      UNROLL for (int v = 0; v < panel_count * VECTORS; ++v) memcpy(
          p->y + (row + r) * p->y_row + panel * WIDTH + v * LANES, &sums[r][v], sizeof(lanes));
}

typedef void (*tile_fn)(const cpu_vec_product *p, int64_t row, int64_t panel, int64_t begin,
                        int64_t end);

#define TILE(rows, panels)                                                                 \
  static void tile_##rows##_##panels(const cpu_vec_product *p, int64_t row, int64_t panel, \
                                     int64_t begin, int64_t end) {                         \
    tile(p, row, panel, rows, panels, begin, end);                                         \
  }
TILE(1, 1)
TILE(2, 1)
TILE(3, 1)
TILE(4, 1)
TILE(5, 1)
TILE(6, 1)
#define WIDE (ABREAST / VECTORS)
#if VECTORS == 4
TILE(1, 2)
TILE(2, 2)
static const tile_fn kWide[] = {NULL, tile_1_2, tile_2_2};
#define WIDE_ROWS 2
#else
TILE(1, 4)
static const tile_fn kWide[] = {NULL, tile_1_4};
#define WIDE_ROWS 1
#endif
static const tile_fn kNarrow[] = {NULL,     tile_1_1, tile_2_1, tile_3_1,
                                  tile_4_1, tile_5_1, tile_6_1};

// Few rows: every weight is used once or twice, so panels are read from end to end, abreast.
static void few_rows(const cpu_vec_product *p, int64_t begin, int64_t end) {
  const int64_t groups = (end - begin + WIDE - 1) / WIDE;
  for (int64_t g = 0; g < groups; ++g) {
    int64_t panel = begin + (p->backwards ? groups - 1 - g : g) * WIDE;
    if (panel + WIDE <= end)
      kWide[p->count](p, 0, panel, 0, p->k);
    else
      for (; panel < end; ++panel) kNarrow[p->count](p, 0, panel, 0, p->k);
  }
}

void CPU_ISA_NAME(cpu_vec_panel_product)(const cpu_vec_product *p, int64_t begin, int64_t end) {
  if (p->count <= WIDE_ROWS) {
    if (p->count > 0) few_rows(p, begin, end);
    return;
  }
  int64_t k = 0;
  do {
    const int64_t k_end = p->k - k < DEPTH ? p->k : k + DEPTH;
    for (int64_t panel = begin; panel < end; ++panel)
      for (int64_t row = 0; row < p->count; row += ROWS)
        kNarrow[p->count - row < ROWS ? p->count - row : ROWS](p, row, panel, k, k_end);
    k = k_end;
  } while (k < p->k);
}

// ---- Gates ----------------------------------------------------------------------------------

void CPU_ISA_NAME(cpu_vec_add_product)(float *y, const float *a, const float *b,
                                       int64_t count) {
  CPU_SIMD_FOR y[i] += a[i] * b[i];
}

void CPU_ISA_NAME(cpu_vec_two_products)(float *y, const float *a, const float *b,
                                        const float *c, const float *d, int64_t count) {
  CPU_SIMD_FOR y[i] = a[i] * b[i] + c[i] * d[i];
}

void CPU_ISA_NAME(cpu_vec_mix)(float *y, const float *z, const float *a, const float *b,
                               int64_t count) {
  CPU_SIMD_FOR y[i] = (1.0f - z[i]) * a[i] + z[i] * b[i];
}

// SPDX-License-Identifier: Apache-2.0
//
// Products of float matrices: a block of rows times a packed panel of columns, and a row vector
// times a matrix. See multiply.c for the loops around them.
//
// A block keeps BLOCK_ROWS x (3 vectors) of sums in registers; with each step of the depth it
// loads one row of the panel and BLOCK_ROWS numbers of A. Sums run in float, in the order of
// the depth, products and sums contracted. While it computes it fetches what will be packed
// next, a row of B at a time, so that packing finds it in the cache.
#include "vec_isa.h"
#include "vec_math.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

// X(rows): the heights of blocks, for 32 or 16 registers.
#if defined(__AVX512F__)
#define BLOCK_ROWS 8
#define HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#else
#define BLOCK_ROWS 4
#define HEIGHTS(X) X(1) X(2) X(3) X(4)
#endif
#define LANES (CPU_ISA_VECTOR / (int)sizeof(float))
#define WIDTH CPU_ISA_PANEL
#define VECTORS (WIDTH / LANES)
#define LINE 64

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

typedef float lanes __attribute__((vector_size(CPU_ISA_VECTOR)));
typedef int32_t masks __attribute__((vector_size(CPU_ISA_VECTOR)));

CPU_INLINE lanes load(const float *from) {
  lanes v;
  memcpy(&v, from, sizeof v);
  return v;
}

CPU_INLINE void store(float *to, lanes v) {
  memcpy(to, &v, sizeof v);
}

CPU_INLINE lanes splat(float x) {
  return x - (lanes){0};
}

// a where the mask is set, else b.
CPU_INLINE lanes choose(masks mask, lanes a, lanes b) {
  return (lanes)(((masks)a & mask) | ((masks)b & ~mask));
}

// ---- Blocks ---------------------------------------------------------------------------------

// What the block does to its sums. NaN stays NaN.
CPU_INLINE lanes finish(const cpu_vec_block *block, lanes sum) {
  const cpu_vec_finish *f = block->finish;
  const lanes low = splat(f->low), high = splat(f->high);
  if (f->sloped) sum = choose(sum < splat(0), sum * splat(f->slope), sum);
  sum = choose(sum < low, low, sum);
  return choose(sum > high, high, sum);
}

// The first `count` lanes of a vector, at most all but one; the others are 0.
CPU_INLINE lanes load_few(const float *from, int64_t count) {
#if defined(__AVX512F__)
  return (lanes)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#else
  lanes v = {0};
  memcpy(&v, from, (size_t)count * sizeof *from);
  return v;
#endif
}

CPU_INLINE void store_few(float *to, lanes v, int64_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)v);
#else
  memcpy(to, &v, (size_t)count * sizeof *to);
#endif
}

CPU_INLINE void finish_row(const cpu_vec_block *block, int64_t row, const lanes *sum,
                           const int vectors) {
  float *y = block->y + row * block->y_row;
  const float *residual = block->residual ? block->residual + row * block->y_row : y;
  UNROLL for (int v = 0; v < vectors; ++v) {
    const int64_t at = v * LANES, left = block->columns - at;
    const float *bias = block->bias ? block->bias + at : y;
    lanes result = sum[v];
    if (left >= LANES) {
      if (block->adds) result += load(y + at);
      if (block->bias) result += load(bias);
      if (block->residual) result += load(residual + at);
      store(y + at, block->finish ? finish(block, result) : result);
    } else {
      if (block->adds) result += load_few(y + at, left);
      if (block->bias) result += load_few(bias, left);
      if (block->residual) result += load_few(residual + at, left);
      store_few(y + at, block->finish ? finish(block, result) : result, left);
    }
  }
}

// Rows [row, row + rows) of the block; `rows`, `vectors` and `packs` are constants of each
// caller.
CPU_INLINE void multiply_rows(const cpu_vec_block *block, int64_t row, const int rows,
                              const int vectors, const int packs, int64_t step,
                              const char *ahead) {
  lanes sum[BLOCK_ROWS][VECTORS];
  const float *a = block->a + row * block->a_row, *b = packs ? block->unpacked : block->packed;
  float *packed = block->packed;
  UNROLL for (int r = 0; r < rows; ++r) UNROLL for (int v = 0; v < vectors; ++v) sum[r][v] =
      (lanes){0};
  for (int64_t begin = 0; begin < block->depth; begin += step) {
    const int64_t end = begin + step < block->depth ? begin + step : block->depth;
    if (ahead) {
      UNROLL for (int line = 0; line < WIDTH * (int)sizeof(float); line += LINE)
          __builtin_prefetch(ahead + line, 0, 2);
      ahead += block->b_row * (int64_t)sizeof(float);
    }
    for (int64_t k = begin; k < end; ++k, b += packs ? block->b_row : vectors * LANES) {
      lanes factor[VECTORS];
      UNROLL for (int v = 0; v < vectors; ++v) factor[v] = load(b + v * LANES);
      if (packs) {
        UNROLL for (int v = 0; v < vectors; ++v) store(packed + v * LANES, factor[v]);
        packed += WIDTH;
      }
      UNROLL for (int r = 0; r < rows; ++r) {
        const lanes x = splat(a[r * block->a_row + k]);
        UNROLL for (int v = 0; v < vectors; ++v) sum[r][v] += x * factor[v];
      }
    }
  }
  UNROLL for (int r = 0; r < rows; ++r) finish_row(block, row + r, sum[r], vectors);
}

#define DEFINE(name, rows, vectors, packs)                                         \
  static void name##_##rows(const cpu_vec_block *block, int64_t row, int64_t step, \
                            const char *ahead) {                                   \
    multiply_rows(block, row, rows, vectors, packs, step, ahead);                  \
  }
#define X(rows)              \
  DEFINE(pack, rows, 3, 1)   \
  DEFINE(narrow, rows, 1, 0) \
  DEFINE(middle, rows, 2, 0) \
  DEFINE(whole, rows, 3, 0)
HEIGHTS(X)
#undef X

typedef void (*rows_fn)(const cpu_vec_block *, int64_t, int64_t, const char *);
#define PACK(rows) pack_##rows,
#define NARROW(rows) narrow_##rows,
#define MIDDLE(rows) middle_##rows,
#define WHOLE(rows) whole_##rows,
// By the vectors that the columns fill; 0: the block is packed on the way.
static const rows_fn by_rows[VECTORS + 1][BLOCK_ROWS + 1] = {{NULL, HEIGHTS(PACK)},
                                                             {NULL, HEIGHTS(NARROW)},
                                                             {NULL, HEIGHTS(MIDDLE)},
                                                             {NULL, HEIGHTS(WHOLE)}};

void CPU_ISA_NAME(cpu_vec_multiply_block)(const cpu_vec_block *block) {
  const int64_t blocks = (block->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
  // Each block of rows fetches its share of what lies ahead.
  const int64_t share = (block->depth + blocks - 1) / blocks;
  const int64_t vectors = (block->columns + LANES - 1) / LANES;
  const char *ahead = (const char *)block->ahead;
  for (int64_t row = 0; row < block->rows; row += BLOCK_ROWS) {
    const int64_t rows = block->rows - row < BLOCK_ROWS ? block->rows - row : BLOCK_ROWS;
    by_rows[row == 0 && block->unpacked ? 0 : vectors][rows](block, row, blocks, ahead);
    if (ahead) ahead += share * block->b_row * (int64_t)sizeof(float);
  }
}

void CPU_ISA_NAME(cpu_vec_pack)(const float *b, int64_t b_row, float *packed, int64_t depth,
                                int64_t columns) {
  const int64_t width = (columns + LANES - 1) / LANES * LANES;
  if (columns == WIDTH) {
    for (int64_t k = 0; k < depth; ++k, b += b_row, packed += WIDTH)
      memcpy(packed, b, WIDTH * sizeof *b);
    return;
  }
  for (int64_t k = 0; k < depth; ++k, b += b_row, packed += width) {
    memcpy(packed, b, (size_t)columns * sizeof *b);
    memset(packed + columns, 0, (size_t)(width - columns) * sizeof *b);
  }
}

// ---- A row vector times a matrix ------------------------------------------------------------

#define TOGETHER 8  // rows of B: as many streams as memory likes

// y[columns] += x[rows] * b[rows, columns], all rows of B at once.
CPU_INLINE void add_rows(const float *x, const float *b, int64_t b_row, float *y,
                         const int rows, int64_t columns) {
  lanes factor[TOGETHER];
  int64_t c = 0;
  UNROLL for (int r = 0; r < rows; ++r) factor[r] = splat(x[r]);
  for (; c + LANES <= columns; c += LANES) {
    lanes sum = load(y + c);
    UNROLL for (int r = 0; r < rows; ++r) sum += factor[r] * load(b + r * b_row + c);
    store(y + c, sum);
  }
  for (; c < columns; ++c)
    for (int r = 0; r < rows; ++r) y[c] += x[r] * b[r * b_row + c];
}

void CPU_ISA_NAME(cpu_vec_row_times)(const float *x, const float *b, int64_t b_row, float *y,
                                     int64_t depth, int64_t columns) {
  int64_t k = 0;
  memset(y, 0, (size_t)columns * sizeof *y);
  for (; k + TOGETHER <= depth; k += TOGETHER)
    add_rows(x + k, b + k * b_row, b_row, y, TOGETHER, columns);
  for (; k < depth; ++k) add_rows(x + k, b + k * b_row, b_row, y, 1, columns);
}

// `rows` dot products at once.
CPU_INLINE void dot_rows(const float *x, const float *b, int64_t b_row, float *y,
                         const int rows, int64_t depth) {
  lanes sum[TOGETHER];
  float rest[TOGETHER] = {0};
  int64_t k = 0;
  UNROLL for (int r = 0; r < rows; ++r) sum[r] = (lanes){0};
  for (; k + LANES <= depth; k += LANES) {
    const lanes factor = load(x + k);
    UNROLL for (int r = 0; r < rows; ++r) sum[r] += factor * load(b + r * b_row + k);
  }
  for (; k < depth; ++k)
    for (int r = 0; r < rows; ++r) rest[r] += x[k] * b[r * b_row + k];
  for (int r = 0; r < rows; ++r) {
    for (int width = LANES / 2; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) sum[r][i] += sum[r][i + width];
    y[r] = sum[r][0] + rest[r];
  }
}

void CPU_ISA_NAME(cpu_vec_row_times_transposed)(const float *x, const float *b, int64_t b_row,
                                                float *y, int64_t depth, int64_t columns) {
  int64_t c = 0;
  for (; c + TOGETHER <= columns; c += TOGETHER)
    dot_rows(x, b + c * b_row, b_row, y + c, TOGETHER, depth);
  for (; c < columns; ++c) dot_rows(x, b + c * b_row, b_row, y + c, 1, depth);
}

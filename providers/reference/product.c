// SPDX-License-Identifier: Apache-2.0
//
// Y is cut into tiles of TILE_M rows and TILE_N columns, one work item each. Rows of B are
// decoded once per tile and multiplied into all rows of the tile, so that the cost of reading
// narrow types vanishes beside the arithmetic.
#include "product.h"

#include <string.h>

#define TILE_M 16
#define TILE_N 256
#define TILE_K 32

typedef struct tile {
  ref_noise noise;
  int64_t m0, n0, mn, nn;
  int64_t a, b, y;  // offsets of this product of the batch
} tile;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void load_row(const ref_matrix *matrix, int64_t base, int64_t row, int64_t column,
                     int64_t n, double *out) {
  ref_load(matrix->view, base + row * matrix->row + column * matrix->column, matrix->column, n,
           out);
}

static void load_row_int(const ref_matrix *matrix, int64_t base, int64_t row, int64_t column,
                         int64_t n, int64_t *out) {
  ref_load_int(matrix->view, base + row * matrix->row + column * matrix->column, matrix->column,
               n, out);
}

static void add_rounded(double factor, const double *b, int64_t n, ref_noise *noise,
                        double *sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] = ref_noisy(noise, sums[j] + factor * b[j]);
}

static void accumulate(const ref_product *p, tile *t, double sums[TILE_M][TILE_N]) {
  double a[TILE_M][TILE_K], b[TILE_N];
  for (int64_t k0 = 0; k0 < p->k; k0 += TILE_K) {
    int64_t kn = least(TILE_K, p->k - k0);
    for (int64_t i = 0; i < t->mn; ++i) load_row(&p->a, t->a, t->m0 + i, k0, kn, a[i]);
    for (int64_t k = 0; k < kn; ++k) {
      load_row(&p->b, t->b, k0 + k, t->n0, t->nn, b);
      for (int64_t i = 0; i < t->mn; ++i)
        if (t->noise.low)
          add_rounded(a[i][k], b, t->nn, &t->noise, sums[i]);
        else
          for (int64_t j = 0; j < t->nn; ++j) sums[i][j] += a[i][k] * b[j];
    }
  }
}

static void accumulate_int(const ref_product *p, const tile *t, uint64_t sums[TILE_M][TILE_N]) {
  int64_t a[TILE_M][TILE_K], b[TILE_N];
  for (int64_t k0 = 0; k0 < p->k; k0 += TILE_K) {
    int64_t kn = least(TILE_K, p->k - k0);
    for (int64_t i = 0; i < t->mn; ++i) load_row_int(&p->a, t->a, t->m0 + i, k0, kn, a[i]);
    for (int64_t k = 0; k < kn; ++k) {
      load_row_int(&p->b, t->b, k0 + k, t->n0, t->nn, b);
      for (int64_t i = 0; i < t->mn; ++i)
        for (int64_t j = 0; j < t->nn; ++j) sums[i][j] += (uint64_t)a[i][k] * (uint64_t)b[j];
    }
  }
}

static void scale(const ref_product *p, const tile *t, int64_t i, double *sums) {
  if (p->alpha != 1)
    for (int64_t j = 0; j < t->nn; ++j) sums[j] *= p->alpha;
  if (p->c.view == NULL) return;
  double c[TILE_N];
  load_row(&p->c, 0, t->m0 + i, t->n0, t->nn, c);
  for (int64_t j = 0; j < t->nn; ++j) sums[j] += p->beta * c[j];
}

static int64_t place(const ref_product *p, const tile *t, int64_t i) {
  return t->y + (t->m0 + i) * p->y.row + t->n0 * p->y.column;
}

static void run_tile(const ref_product *p, tile *t) {
  double sums[TILE_M][TILE_N];
  memset(sums, 0, sizeof sums);
  accumulate(p, t, sums);
  for (int64_t i = 0; i < t->mn; ++i) {
    scale(p, t, i, sums[i]);
    if (p->activation.function != NULL)
      for (int64_t j = 0; j < t->nn; ++j)
        sums[i][j] = ref_activation_apply(&p->activation, sums[i][j]);
    ref_store(p->y.view, place(p, t, i), p->y.column, t->nn, sums[i]);
  }
}

// An integer as its type will keep it, after the activation: exactly where that changes
// nothing, else truncated.
static int64_t activate_int(const ref_product *p, int64_t value) {
  const ref_element *y = p->y.view->element;
  const int rest = 64 - y->bits;
  if (p->activation.function == NULL) return value;
  const uint64_t high = (uint64_t)value << rest;
  const double real =
      y->kind == REF_SIGNED ? (double)((int64_t)high >> rest) : (double)(high >> rest);
  const double result = ref_activation_apply(&p->activation, real);
  return result == real ? value : ref_truncate(result);
}

// Integers: exact if alpha and beta are whole numbers, as the product itself always is.
static void run_tile_int(const ref_product *p, const tile *t) {
  uint64_t sums[TILE_M][TILE_N];
  memset(sums, 0, sizeof sums);
  accumulate_int(p, t, sums);
  int64_t alpha = ref_truncate(p->alpha), beta = ref_truncate(p->beta);
  int whole = (double)alpha == p->alpha && (double)beta == p->beta;
  for (int64_t i = 0; i < t->mn; ++i) {
    int64_t c[TILE_N] = {0}, out[TILE_N];
    if (p->c.view != NULL) load_row_int(&p->c, 0, t->m0 + i, t->n0, t->nn, c);
    for (int64_t j = 0; j < t->nn; ++j) {
      uint64_t exact = (uint64_t)alpha * sums[i][j] + (uint64_t)beta * (uint64_t)c[j];
      double scaled = p->alpha * (double)(int64_t)sums[i][j] + p->beta * (double)c[j];
      out[j] = activate_int(p, whole ? (int64_t)exact : ref_truncate(scaled));
    }
    ref_store_int(p->y.view, place(p, t, i), p->y.column, t->nn, out);
  }
}

typedef struct product_job {
  const ref_product *product;
  const ref_noise *noise;
} product_job;

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const product_job *job = context;
  const ref_product *p = job->product;
  int64_t across = (p->n + TILE_N - 1) / TILE_N, down = (p->m + TILE_M - 1) / TILE_M;
  for (int64_t item = begin; item < end; ++item) {
    tile t = {.n0 = item % across * TILE_N, .m0 = item / across % down * TILE_M};
    t.noise = ref_noise_of(job->noise, (uint64_t)item);
    t.mn = least(TILE_M, p->m - t.m0);
    t.nn = least(TILE_N, p->n - t.n0);
    p->locate(p, item / across / down, &t.a, &t.b, &t.y);
    if (ref_is_integer(p->y.view))
      run_tile_int(p, &t);
    else
      run_tile(p, &t);
  }
}

void ref_product_run(const ref_run *run, const ref_product *product) {
  if (product->y.view->count == 0) return;
  int64_t across = (product->n + TILE_N - 1) / TILE_N;
  int64_t down = (product->m + TILE_M - 1) / TILE_M;
  product_job job = {product, ref_noise_in(run)};
  ref_parallel(run, across * down * product->batch, 1, body, &job);
}

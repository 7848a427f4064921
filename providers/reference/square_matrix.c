// SPDX-License-Identifier: Apache-2.0
//
// Det and Inverse of square matrices: elimination with row pivots, in double. A matrix that is
// not invertible has an inverse of NaN.
#include <math.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "operators.h"

// Where copies of the matrices and, for Inverse, the results are in the workspace.
typedef struct matrix_state {
  uint64_t x_at, y_at;
} matrix_state;

static int32_t need_square(const ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK));
  if (x->dims[x->rank - 1] == x->dims[x->rank - 2]) return OPS_OK;
  return ref_refuse(p, "input X: expected square matrices, found %lld by %lld",
                    (long long)x->dims[x->rank - 2], (long long)x->dims[x->rank - 1]);
}

static void swap_rows(double *m, int64_t n, int64_t i, int64_t j) {
  for (int64_t k = 0; k < n; ++k) {
    double held = m[i * n + k];
    m[i * n + k] = m[j * n + k];
    m[j * n + k] = held;
  }
}

// The row from `k` on with the largest element in column k.
static int64_t find_pivot(const double *m, int64_t n, int64_t k) {
  int64_t pivot = k;
  for (int64_t i = k + 1; i < n; ++i)
    if (fabs(m[i * n + k]) > fabs(m[pivot * n + k])) pivot = i;
  return pivot;
}

// ---- Det -----------------------------------------------------------------------------------

static int32_t prepare_det(ref_prepare *p) {
  matrix_state *s = p->state;
  RETURN_IF_ERROR(need_square(p));
  s->x_at = ref_reserve_input(p, 0);
  return ref_set_shape(p, 0, p->inputs[0].rank - 2, p->inputs[0].dims);
}

// The matrix is overwritten.
static double determinant(double *m, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t pivot = find_pivot(m, n, k);
    if (pivot != k) {
      swap_rows(m, n, pivot, k);
      product = -product;
    }
    product *= m[k * n + k];
    if (m[k * n + k] == 0) return 0;
    for (int64_t i = k + 1; i < n; ++i) {
      double factor = m[i * n + k] / m[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

static int32_t execute_det(ref_run *run) {
  const matrix_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  double *matrices = ref_reals(run, s->x_at);
  int64_t n = x->dims[x->rank - 1];
  ref_read_reals(x, matrices);
  for (int64_t i = 0; i < y->count; ++i) {
    double value = determinant(matrices + i * n * n, n);
    ref_store(y, ref_offset_of(y, i), 1, 1, &value);
  }
  return OPS_OK;
}

// ---- Inverse -------------------------------------------------------------------------------

static int32_t prepare_inverse(ref_prepare *p) {
  matrix_state *s = p->state;
  RETURN_IF_ERROR(need_square(p));
  s->x_at = ref_reserve_input(p, 0);
  s->y_at = ref_reserve_input(p, 0);
  return ref_same_shape(p, 0, 0);
}

static void divide_row(double *m, int64_t n, int64_t row, double divisor) {
  for (int64_t k = 0; k < n; ++k) m[row * n + k] /= divisor;
}

static void subtract_row(double *m, int64_t n, int64_t row, int64_t other, double factor) {
  for (int64_t k = 0; k < n; ++k) m[row * n + k] -= factor * m[other * n + k];
}

// Gauss and Jordan: turns `m` into the identity, and the identity into `out`.
static void invert(double *m, int64_t n, double *out) {
  for (int64_t i = 0; i < n * n; ++i) out[i] = i % (n + 1) == 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t pivot = find_pivot(m, n, k);
    const double head = m[pivot * n + k];
    if (head == 0 || isnan(head)) {
      for (int64_t i = 0; i < n * n; ++i) out[i] = NAN;
      return;
    }
    swap_rows(m, n, pivot, k);
    swap_rows(out, n, pivot, k);
    divide_row(m, n, k, head);
    divide_row(out, n, k, head);
    for (int64_t i = 0; i < n; ++i) {
      const double factor = m[i * n + k];
      if (i == k) continue;
      subtract_row(m, n, i, k, factor);
      subtract_row(out, n, i, k, factor);
    }
  }
}

static int32_t execute_inverse(ref_run *run) {
  const matrix_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  const int64_t n = x->dims[x->rank - 1];
  double *in = ref_reals(run, s->x_at), *out = ref_reals(run, s->y_at);
  if (x->count == 0) return OPS_OK;
  ref_read_reals(x, in);
  for (int64_t i = 0; i < x->count; i += n * n) invert(in + i, n, out + i);
  ref_write_reals(y, out);
  return OPS_OK;
}

const ref_op ref_det = {sizeof(matrix_state), prepare_det, execute_det, NULL, NULL};
const ref_op ref_inverse = {sizeof(matrix_state), prepare_inverse, execute_inverse, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Det of square matrices: elimination with row pivots, in double.
#include <math.h>

#include "dense.h"
#include "operators.h"

static int32_t prepare(ref_prepare *p) {
  uint64_t *at = p->state;
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK));
  if (x->dims[x->rank - 1] != x->dims[x->rank - 2])
    return ref_refuse(p, "input X: expected square matrices, found %lld by %lld",
                      (long long)x->dims[x->rank - 2], (long long)x->dims[x->rank - 1]);
  *at = ref_reserve_input(p, 0);
  return ref_set_shape(p, 0, x->rank - 2, x->dims);
}

static void swap_rows(double *m, int64_t n, int64_t i, int64_t j) {
  for (int64_t k = 0; k < n; ++k) {
    double held = m[i * n + k];
    m[i * n + k] = m[j * n + k];
    m[j * n + k] = held;
  }
}

// The matrix is overwritten.
static double determinant(double *m, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (fabs(m[i * n + k]) > fabs(m[pivot * n + k])) pivot = i;
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

static int32_t execute(ref_run *run) {
  const uint64_t *at = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  double *matrices = ref_reals(run, *at);
  int64_t n = x->dims[x->rank - 1];
  ref_read_reals(x, matrices);
  for (int64_t i = 0; i < y->count; ++i) {
    double value = determinant(matrices + i * n * n, n);
    ref_store(y, ref_offset_of(y, i), 1, 1, &value);
  }
  return OPS_OK;
}

const ref_op ref_det = {sizeof(uint64_t), prepare, execute, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Matrix product behind MatMul and Gemm: Y = f(alpha * A B + beta * C), each a view with its
// own row and column strides. Every result is summed in order of k, in one thread.
#ifndef REFERENCE_PRODUCT_H_
#define REFERENCE_PRODUCT_H_

#include "activation.h"

typedef struct ref_matrix {
  const ref_view *view;  // NULL: there is none (C)
  int64_t row;           // strides
  int64_t column;
} ref_matrix;

typedef struct ref_product {
  ref_matrix a, b, c, y;
  int64_t m, n, k;
  double alpha, beta;
  ref_activation activation;  // f
  // A batch: product i starts at these offsets of the operands.
  int64_t batch;
  void (*locate)(const struct ref_product *product, int64_t i, int64_t *a, int64_t *b,
                 int64_t *y);
  const void *context;
} ref_product;

void ref_product_run(const ref_run *run, const ref_product *product);

#endif  // REFERENCE_PRODUCT_H_

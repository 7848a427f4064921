// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices, and everything that is computed as one: Y = alpha A B + beta C, for a
// batch. Where the elements of a factor lie is a formula (row and column distances) or a table
// (the distance of every term of the sum), so that a convolution is a product whose right
// factor is a sliding window: its columns are the places of a grid over the image, its rows the
// taps of the kernel, and every tap is a fixed distance from the place.
#ifndef GPU_PRODUCT_H_
#define GPU_PRODUCT_H_

#include "gpu.h"

enum { kGpuMaxBatch = 6, kGpuNowhere = -1 };

// Where a tensor of a product comes from.
typedef struct gpu_operand {
  gpu_slot_kind kind;  // input, output, workspace or constant
  int64_t index;       // or offset in the workspace; kGpuNowhere: absent
  int32_t type;
} gpu_operand;

// Parameters of a quantised factor: an input with one number, one for each line of the factor
// (row of A, column of B), or more of them along the batch.
typedef struct gpu_parameter {
  int64_t input;                // kGpuNowhere: absent
  int64_t line;                 // distance from line to line, 0 for one number
  int64_t lines[kGpuMaxBatch];  // along the batch
} gpu_parameter;

typedef struct gpu_quantised {
  gpu_parameter a_zero, b_zero, a_scale, b_scale;
  int64_t y_scale, y_zero;  // one number each; y_scale absent: the result is the sum
  int32_t b_zero_type;      // of an absent one, any type
} gpu_quantised;

// All distances are in elements.
typedef struct gpu_multiplication {
  gpu_operand a, b, c, y;
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column, y_row;
  int64_t a_table, b_table;  // constants of k int64, for a_column and b_row; kGpuNowhere: none
  int64_t readable;          // columns of B that may be read, at least n
  // The grid of columns, innermost axis first: `grid` places of a row and rows of a plane, of
  // which the first `out` are results, and the distances of these in Y.
  int64_t grid[2], out[2], y_step[3];
  int64_t y_first;  // where the first result lies in Y
  int32_t batch_rank;
  int64_t batch[kGpuMaxBatch];  // and distances along it
  int64_t a_batch[kGpuMaxBatch], b_batch[kGpuMaxBatch], c_batch[kGpuMaxBatch];
  int64_t y_batch[kGpuMaxBatch];
  float alpha, beta;
  const gpu_quantised *quantised;  // NULL: factors are used as they are
} gpu_multiplication;

// Sets everything for one product of dense row-major matrices, without C: a caller then changes
// what differs.
void gpu_multiplication_init(gpu_multiplication *product, int64_t m, int64_t n, int64_t k);
// Adds the launch; nothing for an empty result.
void gpu_multiply(gpu_plan *plan, const gpu_multiplication *product);
// Adds the library's step instead, with another launch for alpha, beta and C; 0 if the library
// does not do this one.
int32_t gpu_multiply_by_library(gpu_plan *plan, const gpu_multiplication *product);
// Y = alpha Y + beta C: what a library's step leaves to do.
void gpu_multiply_finish(gpu_plan *plan, const gpu_multiplication *product);

// An input as an operand; absent where the node leaves it out.
gpu_operand gpu_operand_of_input(const gpu_plan *plan, int64_t input);
// Adds an operand's parameter pair; absent ones are null.
void gpu_arg_operand(gpu_step *step, const gpu_operand *operand);
void gpu_arg_optional(gpu_step *step, int64_t input);

extern const gpu_op gpu_matmul, gpu_gemm, gpu_matmul_integer, gpu_qlinear_matmul;
extern const gpu_source gpu_product_source;

#endif  // GPU_PRODUCT_H_

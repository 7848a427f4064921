// SPDX-License-Identifier: Apache-2.0
//
// Softmax and LogSoftmax of float. Up to opset 12 the input is a matrix split at the axis; from
// 13 on one axis is normalised. A row is contiguous if the axis is the last; else a block of
// neighbouring columns is worked on at once.
#include <math.h>
#include <string.h>

#include "ops_table.h"
#include "vec.h"

#define BLOCK 64

typedef struct softmax_kernel {
  ops_kernel base;
  int64_t axis;
  int32_t logarithm;
} softmax_kernel;

typedef struct softmax_prepared {
  ops_prepared base;
  int64_t outer, length, inner;
  int64_t blocks;  // of columns, for inner > 1
} softmax_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  softmax_kernel *own = (softmax_kernel *)kernel;
  (void)error;
  own->axis = ops_node_int(node, "axis", kernel->opset < 13 ? 1 : -1);
  own->logarithm = ops_str_equal(kernel->def->op, "LogSoftmax");
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  softmax_prepared *own = (softmax_prepared *)prepared;
  int64_t axis = ((softmax_kernel *)kernel)->axis;
  const int matrix = kernel->opset < 13;
  cpu_shape x;
  cpu_input_shape(request, 0, &x);
  // The old form may split behind the last axis, and a scalar is its own only row.
  const int32_t last = matrix || x.rank == 0 ? x.rank : x.rank - 1;
  if (axis < (x.rank == 0 ? -1 : -x.rank) || axis > last)
    return cpu_invalid(kernel, error, "axis %lld is outside rank %d", (long long)axis, x.rank);
  if (axis < 0) axis += x.rank;
  own->outer = cpu_product(x.dims, 0, (int32_t)axis);
  own->length = cpu_product(x.dims, (int32_t)axis, matrix ? x.rank : (int32_t)axis + 1);
  own->inner = matrix ? 1 : cpu_product(x.dims, (int32_t)axis + 1, x.rank);
  if (x.rank == 0) own->outer = own->length = own->inner = 1;
  own->blocks = (own->inner + BLOCK - 1) / BLOCK;
  return cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &x, error);
}

typedef struct run {
  const softmax_prepared *own;
  const cpu_vec *vec;
  int32_t logarithm;
  const float *x;
  float *y;
} run;

static void run_row(const run *run, int64_t row) {
  const int64_t n = run->own->length;
  const float *x = run->x + row * n;
  float *y = run->y + row * n;
  const double max = run->vec->row[CPU_REDUCE_max](x, n);
  const double sum = run->vec->exp_sum(x, y, n, (float)max);
  if (run->logarithm)
    run->vec->affine(x, y, n, max, 1.0, -log(sum));
  else
    run->vec->affine(y, y, n, 0.0, 1.0 / sum, 0.0);
}

// Columns [0, count) of a [length x inner] matrix.
static void run_columns(const run *run, const float *x, float *y, int64_t count) {
  const int64_t length = run->own->length, inner = run->own->inner;
  double max[BLOCK], sum[BLOCK];
  for (int64_t i = 0; i < count; ++i) {
    max[i] = -(double)INFINITY;
    sum[i] = 0;
  }
  for (int64_t k = 0; k < length; ++k)
    run->vec->columns[CPU_REDUCE_max](max, x + k * inner, 1, count);
  for (int64_t k = 0; k < length; ++k) {
    run->vec->exp_difference(x + k * inner, max, y + k * inner, count);
    run->vec->columns[CPU_REDUCE_sum](sum, y + k * inner, 1, count);
  }
  for (int64_t i = 0; i < count; ++i) sum[i] = run->logarithm ? log(sum[i]) : 1.0 / sum[i];
  for (int64_t k = 0; k < length; ++k)
    for (int64_t i = 0; i < count; ++i)
      y[k * inner + i] = (float)(run->logarithm ? (double)x[k * inner + i] - max[i] - sum[i]
                                                : (double)y[k * inner + i] * sum[i]);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const softmax_prepared *own = run->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    if (own->inner == 1) {
      run_row(run, i);
      continue;
    }
    const int64_t column = i % own->blocks * BLOCK, left = own->inner - column;
    const int64_t offset = i / own->blocks * own->length * own->inner + column;
    run_columns(run, run->x + offset, run->y + offset, left < BLOCK ? left : BLOCK);
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const softmax_prepared *own = (const softmax_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {own, device->vec, ((const softmax_kernel *)prepared->kernel)->logarithm,
             cpu_in_data(request, 0), cpu_out_data(request, 0)};
  (void)error;
  if (own->length > 0 && own->inner > 0)
    cpu_parallel(device, own->outer * own->blocks,
                 cpu_grain(4 * own->length * (own->inner < BLOCK ? own->inner : BLOCK)),
                 run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_softmax_op = {.kernel_size = sizeof(softmax_kernel),
                               .prepared_size = sizeof(softmax_prepared),
                               .create = create,
                               .prepare = prepare,
                               .execute = execute};

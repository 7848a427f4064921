// SPDX-License-Identifier: Apache-2.0
//
// MatMul, Gemm, MatMulInteger and QLinearMatMul as products of product.h. A vector is a row on
// the left and a column on the right, as numpy has it; leading dimensions broadcast.
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "product.h"

static int64_t count_of(const ops_type_info *type) {
  int64_t count = 1;
  for (int32_t i = 0; i < type->rank; ++i) count *= type->dims[i];
  return count;
}

// ---- Stacks of matrices ----

// A factor as a stack of matrices: rows, columns, and `rank` leading dimensions.
typedef struct stack {
  int64_t rows, columns;
  int32_t rank;
  const int64_t *dims;
} stack;

static stack stack_of(const ops_type_info *type, int32_t is_left) {
  const int64_t *dims = type->dims;
  if (type->rank == 1)
    return is_left ? (stack){1, dims[0], 0, dims} : (stack){dims[0], 1, 0, dims};
  return (stack){dims[type->rank - 2], dims[type->rank - 1], type->rank - 2, dims};
}

// Shapes of both factors and of the result; 0 after a refusal.
static int32_t read_stacks(gpu_plan *plan, int64_t a, int64_t b, int32_t result_type,
                           stack *left, stack *right, int64_t *batch, int32_t *out_rank) {
  const ops_type_info *types[] = {gpu_input_type(plan, a), gpu_input_type(plan, b)};
  int64_t dims[OPS_MAX_RANK];
  for (int i = 0; i < 2; ++i)
    if (types[i]->rank < 1 || types[i]->rank > kGpuMaxDims) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "factor %d has rank %d, expected 1 to %d",
                    i + 1, types[i]->rank, kGpuMaxDims);
      return 0;
    }
  *left = stack_of(types[0], 1);
  *right = stack_of(types[1], 0);
  if (left->columns != right->rows) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the right factor has %lld rows, expected %lld, the columns of the left one",
                  (long long)right->rows, (long long)left->columns);
    return 0;
  }
  int32_t rank = ops_broadcast_dims(left->rank, left->dims, right->rank, right->dims, batch);
  if (rank < 0) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "leading dimensions of the factors do not broadcast");
    return 0;
  }
  *out_rank = rank;
  memcpy(dims, batch, (size_t)rank * sizeof *dims);
  if (types[0]->rank > 1) dims[rank++] = left->rows;
  if (types[1]->rank > 1) dims[rank++] = right->columns;
  gpu_plan_output(plan, 0, result_type, rank, dims);
  return plan->status == OPS_OK;
}

// Distances of the matrices of a stack, each of `size` elements, along the batch.
static void stack_strides(const stack *s, int64_t size, int32_t rank, const int64_t *batch,
                          int64_t *out) {
  int64_t own[OPS_MAX_RANK];
  for (int32_t d = s->rank - 1; d >= 0; --d) {
    own[d] = size;
    size *= s->dims[d];
  }
  ops_broadcast_strides(s->rank, s->dims, own, rank, batch, out);
}

// Joins neighbouring dimensions of the batch along which every tensor goes on evenly.
static void merge_batch(gpu_multiplication *p, gpu_quantised *q) {
  int64_t *const lists[] = {p->a_batch,
                            p->b_batch,
                            p->y_batch,
                            q ? q->a_zero.lines : NULL,
                            q ? q->b_zero.lines : NULL,
                            q ? q->a_scale.lines : NULL,
                            q ? q->b_scale.lines : NULL};
  int32_t kept = 0;
  for (int32_t d = 0; d < p->batch_rank; ++d) {
    int32_t joins = kept > 0;
    for (size_t i = 0; joins && i < sizeof lists / sizeof *lists; ++i)
      joins = !lists[i] || lists[i][kept - 1] == lists[i][d] * p->batch[d];
    if (p->batch[d] == 1) continue;
    const int32_t to = joins ? kept - 1 : kept;
    p->batch[to] = joins ? p->batch[to] * p->batch[d] : p->batch[d];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
      if (lists[i]) lists[i][to] = lists[i][d];
    if (!joins) ++kept;
  }
  p->batch_rank = kept;
}

// One matrix B for all: their A are the rows of a single one.
static void join_rows(gpu_multiplication *p, const gpu_quantised *q) {
  if (p->batch_rank != 1 || p->b_batch[0] != 0 || p->a_batch[0] != p->m * p->k ||
      (q && (q->a_zero.line != 0 || q->a_zero.lines[0] != 0 || q->a_scale.line != 0 ||
             q->a_scale.lines[0] != 0)))
    return;
  p->m *= p->batch[0];
  p->batch_rank = 0;
}

static void multiply_stacks(gpu_plan *plan, const stack *left, const stack *right, int32_t rank,
                            const int64_t *batch, int64_t a, int64_t b, int32_t type,
                            gpu_quantised *q, gpu_multiplication *p) {
  gpu_multiplication_init(p, left->rows, right->columns, left->columns);
  p->a = gpu_operand_of_input(plan, a);
  p->b = gpu_operand_of_input(plan, b);
  p->y = (gpu_operand){kGpuSlotOutput, 0, type};
  p->quantised = q;
  p->batch_rank = rank;
  memcpy(p->batch, batch, (size_t)rank * sizeof *batch);
  stack_strides(left, p->m * p->k, rank, batch, p->a_batch);
  stack_strides(right, p->k * p->n, rank, batch, p->b_batch);
  stack_strides(&(stack){0, 0, rank, batch}, p->m * p->n, rank, batch, p->y_batch);
  merge_batch(p, q);
  join_rows(p, q);
  if (!gpu_multiply_by_library(plan, p)) gpu_multiply(plan, p);
}

static void matmul_plan(const ops_kernel *kernel, gpu_plan *plan) {
  (void)kernel;
  stack left, right;
  int64_t batch[OPS_MAX_RANK];
  int32_t rank;
  gpu_multiplication p;
  const int32_t type = gpu_input_type(plan, 0)->type;
  if (read_stacks(plan, 0, 1, type, &left, &right, batch, &rank))
    multiply_stacks(plan, &left, &right, rank, batch, 0, 1, type, NULL, &p);
}

const gpu_op gpu_matmul = {.plan = matmul_plan};

// ---- Gemm ----

typedef struct gemm_attributes {
  int32_t transposed[2];
  int32_t is_broadcast;  // C may have another shape than Y
  float alpha, beta;
} gemm_attributes;

static int32_t is_whole(float value) {
  return value == floorf(value) && fabsf(value) < 0x1p31f;
}

static void gemm_claim(const ops_device *device, const ops_kernel_def *def,
                       const ops_node *node, ops_claim *claim) {
  (void)device;
  (void)def;
  const ops_operand *a = ops_node_input(node, 0);
  const int32_t type = a ? a->type->type : OPS_TYPE_UNDEFINED;
  const int32_t is_real = type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE ||
                          type == OPS_TYPE_FLOAT16 || type == OPS_TYPE_BFLOAT16;
  if (!is_real && !(is_whole(ops_node_float(node, "alpha", 1)) &&
                    is_whole(ops_node_float(node, "beta", 1))))
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE,
                     "alpha and beta must be whole numbers for integers");
}

static int32_t gemm_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                          ops_error *error) {
  (void)def;
  (void)error;
  gemm_attributes *own = attributes;
  *own = (gemm_attributes){
      .transposed = {ops_node_int(node, "transA", 0) != 0,
                     ops_node_int(node, "transB", 0) != 0},
      .is_broadcast = node->opset >= 7 || ops_node_int(node, "broadcast", 0) != 0,
      .alpha = ops_node_float(node, "alpha", 1),
      .beta = ops_node_float(node, "beta", 1)};
  return OPS_OK;
}

// C broadcasts to Y.
static int32_t read_addend(gpu_plan *plan, const gemm_attributes *own, gpu_multiplication *p) {
  const ops_type_info *c = gpu_input_type(plan, 2);
  const int64_t y[] = {p->m, p->n};
  int64_t strides[2], contiguous[OPS_MAX_RANK];
  if (!c) return 1;
  int32_t fits = c->rank <= 2;
  for (int32_t i = 0; fits && i < c->rank; ++i)
    fits = c->dims[i] == y[2 - c->rank + i] || (own->is_broadcast && c->dims[i] == 1);
  if (!own->is_broadcast) fits = fits && c->rank == 2;
  if (!fits) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input C does not broadcast to the shape [%lld, %lld] of the product",
                  (long long)y[0], (long long)y[1]);
    return 0;
  }
  ops_strides_contiguous(c->rank, c->dims, contiguous);
  ops_broadcast_strides(c->rank, c->dims, contiguous, 2, y, strides);
  p->c = gpu_operand_of_input(plan, 2);
  p->c_row = strides[0];
  p->c_column = strides[1];
  return 1;
}

static void gemm_plan(const ops_kernel *kernel, gpu_plan *plan) {
  const gemm_attributes *own = kernel->attributes;
  const ops_type_info *a = gpu_input_type(plan, 0), *b = gpu_input_type(plan, 1);
  if (a->rank != 2 || b->rank != 2) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "inputs A and B have ranks %d and %d, expected 2", a->rank, b->rank);
    return;
  }
  const int64_t m = a->dims[own->transposed[0]], k = a->dims[!own->transposed[0]];
  const int64_t n = b->dims[!own->transposed[1]];
  if (b->dims[own->transposed[1]] != k) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input B has %lld rows after transB, expected %lld",
                  (long long)b->dims[own->transposed[1]], (long long)k);
    return;
  }
  gpu_multiplication p;
  gpu_multiplication_init(&p, m, n, k);
  p.a = gpu_operand_of_input(plan, 0);
  p.b = gpu_operand_of_input(plan, 1);
  p.y = (gpu_operand){kGpuSlotOutput, 0, a->type};
  p.alpha = own->alpha;
  p.beta = own->beta;
  if (own->transposed[0]) p.a_row = 1, p.a_column = m;
  if (own->transposed[1]) p.b_row = 1, p.b_column = k;
  if (!read_addend(plan, own, &p)) return;
  gpu_plan_output(plan, 0, a->type, 2, (const int64_t[]){m, n});
  if (plan->status == OPS_OK && !gpu_multiply_by_library(plan, &p)) gpu_multiply(plan, &p);
}

const gpu_op gpu_gemm = {.claim = gemm_claim,
                         .attribute_bytes = sizeof(gemm_attributes),
                         .parse = gemm_parse,
                         .plan = gemm_plan};

// ---- Quantised ----

// Where the inputs of an operator are.
typedef struct form {
  int64_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero;
} form;

static const form kInteger = {0, kGpuNowhere, 2, 1, kGpuNowhere, 3, kGpuNowhere, kGpuNowhere};
static const form kQuantised = {0, 1, 2, 3, 4, 5, 6, 7};

// One number, one for each line (row of A, column of B), or a tensor of the factor's rank with
// 1 in the other dimension; the distances of parameters.
static gpu_parameter read_parameter(gpu_plan *plan, int64_t input, int64_t factor, int32_t rank,
                                    const int64_t *batch) {
  const ops_type_info *type = gpu_input_type(plan, input),
                      *whole = gpu_input_type(plan, factor);
  const int32_t is_left = factor == 0;
  int64_t strides[OPS_MAX_RANK];
  gpu_parameter out = {.input = type ? input : kGpuNowhere};
  if (plan->status != OPS_OK || !type || count_of(type) == 1) return out;
  const stack s = stack_of(whole, is_left);
  const int64_t wanted = is_left ? s.rows : s.columns;
  const int32_t across = type->rank - (is_left ? 1 : 2), along = type->rank - 1 - is_left;
  int32_t fits = type->rank == 1 && type->dims[0] == wanted;
  if (type->rank == whole->rank && type->rank > 1) {
    fits = type->dims[across] == 1;
    for (int32_t i = 0; i < type->rank; ++i)
      fits = fits && (type->dims[i] == 1 || type->dims[i] == whole->dims[i]);
  }
  if (!fits) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input %lld: expected one number or %lld, one for each %s", (long long)input,
                  (long long)wanted, is_left ? "row" : "column");
    return out;
  }
  ops_strides_contiguous(type->rank, type->dims, strides);
  out.line = type->rank == 1 ? 1 : type->dims[along] == 1 ? 0 : strides[along];
  if (type->rank > 2)
    ops_broadcast_strides(type->rank - 2, type->dims, strides, rank, batch, out.lines);
  return out;
}

static int32_t need_one(gpu_plan *plan, int64_t input) {
  const ops_type_info *type = gpu_input_type(plan, input);
  if (type && count_of(type) != 1)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input %lld: expected one number, found %lld", (long long)input,
                  (long long)count_of(type));
  return plan->status == OPS_OK;
}

static void plan_quantised(gpu_plan *plan, const form *f, int32_t type) {
  stack left, right;
  int64_t batch[OPS_MAX_RANK];
  int32_t rank;
  gpu_multiplication p;
  if (!read_stacks(plan, f->a, f->b, type, &left, &right, batch, &rank)) return;
  gpu_quantised q = {.a_zero = read_parameter(plan, f->a_zero, f->a, rank, batch),
                     .b_zero = read_parameter(plan, f->b_zero, f->b, rank, batch),
                     .a_scale = read_parameter(plan, f->a_scale, f->a, rank, batch),
                     .b_scale = read_parameter(plan, f->b_scale, f->b, rank, batch),
                     .y_scale = f->y_scale,
                     .y_zero = f->y_zero,
                     .b_zero_type = gpu_input_type(plan, f->b)->type};
  if (need_one(plan, f->y_scale) && need_one(plan, f->y_zero))
    multiply_stacks(plan, &left, &right, rank, batch, f->a, f->b, type, &q, &p);
}

static void matmul_integer_plan(const ops_kernel *kernel, gpu_plan *plan) {
  (void)kernel;
  plan_quantised(plan, &kInteger, OPS_TYPE_INT32);
}

static void qlinear_matmul_plan(const ops_kernel *kernel, gpu_plan *plan) {
  (void)kernel;
  plan_quantised(plan, &kQuantised, gpu_input_type(plan, kQuantised.y_zero)->type);
}

const gpu_op gpu_matmul_integer = {.plan = matmul_integer_plan};
const gpu_op gpu_qlinear_matmul = {.plan = qlinear_matmul_plan};

// SPDX-License-Identifier: Apache-2.0
//
// MatMul of float. If B has one matrix, the batches of A are rows of one product; otherwise the
// products of the batches are work that threads share.
#include <string.h>

#include "chain.h"
#include "multiply.h"
#include "ops_table.h"

typedef struct matmul_kernel {
  ops_kernel base;
  cpu_chain chain;
} matmul_kernel;

typedef struct matmul_prepared {
  ops_prepared base;
  cpu_multiply multiply;
} matmul_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  // With a vector on the right the rows of Y are not those of the product.
  cpu_chain_claim(node, cpu_node_rank(node, 1) >= 2, out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  cpu_chain_read(node, &((matmul_kernel *)kernel)->chain);
  return OPS_OK;
}

// Both operands as matrices with batch dimensions, and the output without the dimensions that
// were only added.
typedef struct operands {
  cpu_shape a, b, y;
  cpu_shape batch;
  int64_t m, n, k;
} operands;

static int32_t read_shapes(const ops_kernel *kernel, const ops_prepare_request *request,
                           operands *out, ops_error *error) {
  cpu_input_shape(request, 0, &out->a);
  cpu_input_shape(request, 1, &out->b);
  cpu_shape *a = &out->a, *b = &out->b;
  const int32_t a_vector = a->rank == 1, b_vector = b->rank == 1;
  if (a->rank < 1 || b->rank < 1)
    return cpu_invalid(kernel, error, "operands must have a rank of at least 1, found %d, %d",
                       a->rank, b->rank);
  if (a_vector) *a = (cpu_shape){2, {1, a->dims[0]}};
  if (b_vector) *b = (cpu_shape){2, {b->dims[0], 1}};
  out->m = a->dims[a->rank - 2];
  out->k = a->dims[a->rank - 1];
  out->n = b->dims[b->rank - 1];
  out->batch.rank =
      ops_broadcast_dims(a->rank - 2, a->dims, b->rank - 2, b->dims, out->batch.dims);
  if (b->dims[b->rank - 2] != out->k || out->batch.rank < 0)
    return cpu_invalid(kernel, error, "shapes do not fit: K is %lld and %lld%s",
                       (long long)out->k, (long long)b->dims[b->rank - 2],
                       out->batch.rank < 0 ? "; batch dimensions do not broadcast" : "");
  out->y = out->batch;
  if (!a_vector) out->y.dims[out->y.rank++] = out->m;
  if (!b_vector) out->y.dims[out->y.rank++] = out->n;
  return OPS_OK;
}

static void set_batch_strides(const cpu_shape *operand, const cpu_shape *batch,
                              int64_t *out_strides) {
  int64_t contiguous[OPS_MAX_RANK];
  ops_strides_contiguous(operand->rank, operand->dims, contiguous);
  ops_broadcast_strides(operand->rank - 2, operand->dims, contiguous, batch->rank, batch->dims,
                        out_strides);
}

static void plan_batches(const operands *o, cpu_multiply *out) {
  *out = (cpu_multiply){.m = o->m, .n = o->n, .k = o->k};
  if (cpu_product(o->b.dims, 0, o->b.rank - 2) == 1) {
    out->m *= cpu_product(o->a.dims, 0, o->a.rank - 2);
    return;
  }
  out->batch_rank = o->batch.rank;
  memcpy(out->batch_dims, o->batch.dims, (size_t)o->batch.rank * sizeof *out->batch_dims);
  set_batch_strides(&o->a, &o->batch, out->a_strides);
  set_batch_strides(&o->b, &o->batch, out->b_strides);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  matmul_prepared *own = (matmul_prepared *)prepared;
  operands o;
  OPS_RETURN_IF_ERROR(read_shapes(kernel, request, &o, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &o.y, error));
  OPS_RETURN_IF_ERROR(
      cpu_chain_check(kernel, &((matmul_kernel *)kernel)->chain, request, &o.y, error));
  plan_batches(&o, &own->multiply);
  return cpu_multiply_prepare(kernel->device, &own->multiply, reply, error);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const matmul_prepared *own = (const matmul_prepared *)prepared;
  const cpu_chain *chain = &((const matmul_kernel *)prepared->kernel)->chain;
  cpu_multiply_args args;
  (void)error;
  cpu_chain_args(chain, request, &args);
  cpu_multiply_run(prepared->kernel->device, &own->multiply, &args);
  return OPS_OK;
}

const cpu_op cpu_matmul_op = {.kernel_size = sizeof(matmul_kernel),
                              .prepared_size = sizeof(matmul_prepared),
                              .claim = claim,
                              .create = create,
                              .prepare = prepare,
                              .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// MatMul of float, by oneDNN. One plan serves all batches where it can: if B has one matrix the
// batches of A are rows of one product; if both have the same batch shape the product is
// batched. Otherwise the plan of one matrix is run for each pair.
#include <string.h>

#include "dnnl_operator.h"
#include "ops_table.h"

typedef struct matmul_prepared {
  cpu_dnnl_prepared base;  // plan NULL: the output is empty or, with K = 0, all zero
  int64_t count;           // of output elements
  int32_t batch_rank;      // dimensions to loop over; 0: a single run
  int64_t row;             // elements of a row of the product
  int32_t bias;            // number of the input that is added to each row; negative: none
  int64_t batch_dims[OPS_MAX_RANK];
  int64_t a_strides[OPS_MAX_RANK], b_strides[OPS_MAX_RANK];  // in elements
  int64_t y_stride;
} matmul_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  // With a vector on the right the rows of Y are not those of the product.
  cpu_chain_claim(node, cpu_node_rank(node, 1) >= 2, out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  cpu_dnnl_kernel_init((cpu_dnnl_kernel *)kernel, node);
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

static int same_batch(const operands *o) {
  if (o->a.rank != o->b.rank) return 0;
  return o->a.rank == 2 ||
         memcmp(o->a.dims, o->b.dims, (size_t)(o->a.rank - 2) * sizeof *o->a.dims) == 0;
}

// Chooses how the batches are run. Returns whether constant weights may be packed.
static int choose(const operands *o, matmul_prepared *own, cpu_dnnl_matmul *out) {
  const int64_t a_batch = cpu_product(o->a.dims, 0, o->a.rank - 2);
  const int64_t b_batch = cpu_product(o->b.dims, 0, o->b.rank - 2);
  *out = (cpu_dnnl_matmul){.batch = 1, .m = o->m, .n = o->n, .k = o->k};
  if (b_batch == 1) {
    out->m = a_batch * o->m;
    return 1;
  }
  if (same_batch(o)) {
    out->batch = a_batch;
    return 1;
  }
  own->batch_rank = o->batch.rank;
  own->y_stride = o->m * o->n;
  memcpy(own->batch_dims, o->batch.dims, (size_t)o->batch.rank * sizeof *own->batch_dims);
  set_batch_strides(&o->a, &o->batch, own->a_strides);
  set_batch_strides(&o->b, &o->batch, own->b_strides);
  return 0;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  matmul_prepared *own = (matmul_prepared *)prepared;
  operands o;
  OPS_RETURN_IF_ERROR(read_shapes(kernel, request, &o, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &o.y, error));
  const cpu_chain *chain = &((cpu_dnnl_kernel *)kernel)->chain;
  OPS_RETURN_IF_ERROR(cpu_chain_check(kernel, chain, request, &o.y, error));
  own->base.rest = *chain;
  own->bias = chain->bias;
  own->count = cpu_count(&o.y);
  own->row = o.n;
  if (own->count == 0 || o.k == 0) return OPS_OK;
  cpu_dnnl_matmul desc;
  const int may_pack = choose(&o, own, &desc);
  desc.has_bias = own->bias >= 0;
  cpu_chain_split(chain, 0, &desc.post, &own->base.rest);
  return cpu_dnnl_prepare_matmul((cpu_dnnl_kernel *)kernel, &desc, may_pack, &own->base, reply,
                                 error);
}

static int32_t run_batches(const matmul_prepared *own, const float *a, const float *b,
                           const float *bias, float *y, void *workspace, ops_error *error) {
  int64_t index[OPS_MAX_RANK] = {0};
  const float *end = y + own->count;
  for (; y < end; y += own->y_stride) {
    OPS_RETURN_IF_ERROR(cpu_split_run(own->base.plan, a, b, bias, y, workspace, error));
    for (int32_t d = own->batch_rank - 1; d >= 0; --d) {
      a += own->a_strides[d];
      b += own->b_strides[d];
      if (++index[d] < own->batch_dims[d]) break;
      a -= own->a_strides[d] * index[d];
      b -= own->b_strides[d] * index[d];
      index[d] = 0;
    }
  }
  return OPS_OK;
}

// Nothing was multiplied: each row is the bias, or 0.
static void fill_rows(const matmul_prepared *own, const float *bias, float *y) {
  if (!bias) memset(y, 0, (size_t)own->count * sizeof *y);
  for (int64_t i = 0; bias && i < own->count; i += own->row)
    memcpy(y + i, bias, (size_t)own->row * sizeof *y);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const matmul_prepared *own = (const matmul_prepared *)prepared;
  const float *a = cpu_in_data(request, 0), *b = cpu_in_data(request, 1);
  float *y = cpu_out_data(request, 0);
  void *workspace = cpu_workspace(request);
  const float *bias = own->bias < 0 ? NULL : cpu_in_data(request, (uint64_t)own->bias);
  if (!own->base.plan && own->count > 0)
    fill_rows(own, bias, y);
  else if (own->batch_rank > 0)
    OPS_RETURN_IF_ERROR(run_batches(own, a, b, bias, y, workspace, error));
  else if (own->base.plan)
    OPS_RETURN_IF_ERROR(cpu_split_run(own->base.plan, a, b, bias, y, workspace, error));
  cpu_chain_run(prepared->kernel->device, &own->base.rest, request, own->count);
  return OPS_OK;
}

const cpu_op cpu_matmul_op = {.kernel_size = sizeof(cpu_dnnl_kernel),
                              .prepared_size = sizeof(matmul_prepared),
                              .claim = claim,
                              .create = create,
                              .destroy = cpu_dnnl_kernel_destroy,
                              .prepare = prepare,
                              .prepared_destroy = cpu_dnnl_prepared_destroy,
                              .execute = execute};

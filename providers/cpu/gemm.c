// SPDX-License-Identifier: Apache-2.0
//
// Gemm of float: oneDNN's matrix product. A row vector C is added by oneDNN; alpha, beta and
// any other C are applied in a second pass, in double, rounded once.
#include <string.h>

#include "dnnl_operator.h"
#include "nd.h"
#include "ops_table.h"

typedef struct gemm_kernel {
  cpu_dnnl_kernel base;
  int32_t a_transposed, b_transposed;
  float alpha, beta;
  int32_t equal_c;  // before opset 7 without attribute broadcast: C has the shape of Y
} gemm_kernel;

typedef struct gemm_prepared {
  cpu_dnnl_prepared base;  // plan NULL: the output is empty, or the product is all zero
  int64_t count;
  int32_t fused_bias;
  int32_t second_pass;
  int32_t has_c;
  cpu_nd nd;  // Y, C
} gemm_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_chain_claim(node, 0, out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  gemm_kernel *gemm = (gemm_kernel *)kernel;
  (void)error;
  gemm->a_transposed = ops_node_int(node, "transA", 0) != 0;
  gemm->b_transposed = ops_node_int(node, "transB", 0) != 0;
  gemm->alpha = ops_node_float(node, "alpha", 1);
  gemm->beta = ops_node_float(node, "beta", 1);
  gemm->equal_c = node->opset < 7 && ops_node_int(node, "broadcast", 0) == 0;
  cpu_dnnl_kernel_init(&gemm->base, node);
  return OPS_OK;
}

static int32_t read_shapes(const gemm_kernel *gemm, const ops_prepare_request *request,
                           cpu_dnnl_matmul *out, ops_error *error) {
  cpu_shape a, b;
  cpu_input_shape(request, 0, &a);
  cpu_input_shape(request, 1, &b);
  if (a.rank != 2 || b.rank != 2)
    return cpu_invalid(&gemm->base.base, error, "A and B must have rank 2, found %d, %d",
                       a.rank, b.rank);
  *out = (cpu_dnnl_matmul){.batch = 1,
                           .m = a.dims[gemm->a_transposed],
                           .k = a.dims[!gemm->a_transposed],
                           .n = b.dims[!gemm->b_transposed],
                           .a_transposed = gemm->a_transposed,
                           .b_transposed = gemm->b_transposed};
  if (b.dims[gemm->b_transposed] != out->k)
    return cpu_invalid(&gemm->base.base, error, "K of A is %lld, of B %lld", (long long)out->k,
                       (long long)b.dims[gemm->b_transposed]);
  return OPS_OK;
}

// Plans what is to be done with C.
static int32_t plan_c(const gemm_kernel *gemm, const ops_prepare_request *request,
                      const cpu_shape *y, gemm_prepared *own, ops_error *error) {
  cpu_shape c = {0};
  int64_t dims[OPS_MAX_RANK];
  own->second_pass = gemm->alpha != 1;
  cpu_nd_init(&own->nd, y);
  cpu_nd_add_broadcast(&own->nd, y, sizeof(float));
  if (cpu_dnnl_has_third(&gemm->base.base, request)) {
    cpu_input_shape(request, 2, &c);
    if (gemm->equal_c && (c.rank != 2 || c.dims[0] != y->dims[0] || c.dims[1] != y->dims[1]))
      return cpu_invalid(&gemm->base.base, error, "C must be [%lld, %lld]: broadcast is 0",
                         (long long)y->dims[0], (long long)y->dims[1]);
    if (c.rank > 2 || ops_broadcast_dims(2, y->dims, c.rank, c.dims, dims) != 2 ||
        dims[0] != y->dims[0] || dims[1] != y->dims[1])
      return cpu_invalid(&gemm->base.base, error, "C does not broadcast to [%lld, %lld]",
                         (long long)y->dims[0], (long long)y->dims[1]);
    own->has_c = 1;
    cpu_nd_add_broadcast(&own->nd, &c, sizeof(float));
    const int row =
        c.rank >= 1 && c.dims[c.rank - 1] == y->dims[1] && cpu_count(&c) == y->dims[1];
    own->fused_bias = row && gemm->alpha == 1 && gemm->beta == 1;
    own->second_pass = !own->fused_bias;
  }
  cpu_nd_finish(&own->nd);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  gemm_kernel *gemm = (gemm_kernel *)kernel;
  gemm_prepared *own = (gemm_prepared *)prepared;
  cpu_dnnl_matmul desc;
  OPS_RETURN_IF_ERROR(read_shapes(gemm, request, &desc, error));
  const cpu_shape y = {2, {desc.m, desc.n}};
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &y, error));
  OPS_RETURN_IF_ERROR(plan_c(gemm, request, &y, own, error));
  OPS_RETURN_IF_ERROR(cpu_chain_check(kernel, &gemm->base.chain, request, &y, error));
  own->base.rest = gemm->base.chain;
  own->count = cpu_count(&y);
  if (own->count == 0) return OPS_OK;
  if (desc.k == 0) {
    own->second_pass = 1;
    return OPS_OK;
  }
  desc.has_bias = own->fused_bias;
  if (!own->second_pass) cpu_chain_split(&gemm->base.chain, 0, &desc.post, &own->base.rest);
  return cpu_dnnl_prepare_matmul(&gemm->base, &desc, 1, &own->base, reply, error);
}

static void scale_body(const void *context, char *const *pointers, const int64_t *strides,
                       int64_t count) {
  const gemm_kernel *gemm = context;
  const double alpha = gemm->alpha;
  float *y = (float *)pointers[0];
  const int64_t step = strides[0] / (int64_t)sizeof(float);
  for (int64_t i = 0; i < count; ++i) y[i * step] = (float)(alpha * (double)y[i * step]);
}

static void add_body(const void *context, char *const *pointers, const int64_t *strides,
                     int64_t count) {
  const gemm_kernel *gemm = context;
  const double alpha = gemm->alpha, beta = gemm->beta;
  float *y = (float *)pointers[0];
  const float *c = (const float *)pointers[1];
  const int64_t step = strides[0] / (int64_t)sizeof(float);
  const int64_t c_step = strides[1] / (int64_t)sizeof(float);
  for (int64_t i = 0; i < count; ++i)
    y[i * step] = (float)(alpha * (double)y[i * step] + beta * (double)c[i * c_step]);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const gemm_prepared *own = (const gemm_prepared *)prepared;
  void *const bases[2] = {cpu_out_data(request, 0),
                          (void *)cpu_dnnl_third(prepared->kernel, request)};
  if (own->count == 0) return OPS_OK;
  if (own->base.plan)
    OPS_RETURN_IF_ERROR(cpu_split_run(
        own->base.plan, cpu_in_data(request, 0), cpu_in_data(request, 1),
        own->fused_bias ? bases[1] : NULL, bases[0], cpu_workspace(request), error));
  else
    memset(bases[0], 0, (size_t)own->count * sizeof(float));
  if (own->second_pass)
    cpu_nd_run(prepared->kernel->device, &own->nd, bases, 1, own->has_c ? add_body : scale_body,
               prepared->kernel);
  cpu_chain_run(prepared->kernel->device, &own->base.rest, request, own->count);
  return OPS_OK;
}

const cpu_op cpu_gemm_op = {.kernel_size = sizeof(gemm_kernel),
                            .prepared_size = sizeof(gemm_prepared),
                            .claim = claim,
                            .create = create,
                            .destroy = cpu_dnnl_kernel_destroy,
                            .prepare = prepare,
                            .prepared_destroy = cpu_dnnl_prepared_destroy,
                            .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// Gemm of float. A C that is a row, or as large as Y, is added by the product; alpha, beta and
// any other C are applied in a second pass, in double, rounded once.
#include <string.h>

#include "chain.h"
#include "multiply.h"
#include "nd.h"
#include "ops_table.h"

typedef struct gemm_kernel {
  ops_kernel base;
  cpu_chain chain;
  int32_t a_transposed, b_transposed;
  float alpha, beta;
  int32_t equal_c;  // before opset 7 without attribute broadcast: C has the shape of Y
} gemm_kernel;

typedef struct gemm_prepared {
  ops_prepared base;
  cpu_multiply multiply;
  int64_t count;
  int32_t c_is_bias, c_is_residual;  // what the product adds; neither: a second pass does
  int32_t second_pass;               // before the chain
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
  cpu_chain_read(node, &gemm->chain);
  return OPS_OK;
}

static int32_t read_shapes(const gemm_kernel *gemm, const ops_prepare_request *request,
                           cpu_multiply *out, ops_error *error) {
  cpu_shape a, b;
  cpu_input_shape(request, 0, &a);
  cpu_input_shape(request, 1, &b);
  if (a.rank != 2 || b.rank != 2)
    return cpu_invalid(&gemm->base, error, "A and B must have rank 2, found %d, %d", a.rank,
                       b.rank);
  *out = (cpu_multiply){.m = a.dims[gemm->a_transposed],
                        .k = a.dims[!gemm->a_transposed],
                        .n = b.dims[!gemm->b_transposed],
                        .a_transposed = gemm->a_transposed,
                        .b_transposed = gemm->b_transposed};
  if (b.dims[gemm->b_transposed] != out->k)
    return cpu_invalid(&gemm->base, error, "K of A is %lld, of B %lld", (long long)out->k,
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
  if (gemm->base.own_count > 2 && ops_request_input(request, 2)) {
    cpu_input_shape(request, 2, &c);
    const int equal = c.rank == 2 && c.dims[0] == y->dims[0] && c.dims[1] == y->dims[1];
    if (gemm->equal_c && !equal)
      return cpu_invalid(&gemm->base, error, "C must be [%lld, %lld]: broadcast is 0",
                         (long long)y->dims[0], (long long)y->dims[1]);
    if (c.rank > 2 || ops_broadcast_dims(2, y->dims, c.rank, c.dims, dims) != 2 ||
        dims[0] != y->dims[0] || dims[1] != y->dims[1])
      return cpu_invalid(&gemm->base, error, "C does not broadcast to [%lld, %lld]",
                         (long long)y->dims[0], (long long)y->dims[1]);
    own->has_c = 1;
    cpu_nd_add_broadcast(&own->nd, &c, sizeof(float));
    const int row =
        c.rank >= 1 && c.dims[c.rank - 1] == y->dims[1] && cpu_count(&c) == y->dims[1];
    const int plain = gemm->alpha == 1 && gemm->beta == 1;
    own->c_is_bias = plain && row;
    own->c_is_residual = plain && !row && equal && gemm->chain.residual < 0;
    own->second_pass = !own->c_is_bias && !own->c_is_residual;
  }
  cpu_nd_finish(&own->nd);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const gemm_kernel *gemm = (const gemm_kernel *)kernel;
  gemm_prepared *own = (gemm_prepared *)prepared;
  OPS_RETURN_IF_ERROR(read_shapes(gemm, request, &own->multiply, error));
  const cpu_shape y = {2, {own->multiply.m, own->multiply.n}};
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &y, error));
  OPS_RETURN_IF_ERROR(plan_c(gemm, request, &y, own, error));
  OPS_RETURN_IF_ERROR(cpu_chain_check(kernel, &gemm->chain, request, &y, error));
  own->count = cpu_count(&y);
  return cpu_multiply_prepare(kernel->device, &own->multiply, reply, error);
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

static void apply_c(const gemm_prepared *own, const ops_execute_request *request) {
  const gemm_kernel *gemm = (const gemm_kernel *)own->base.kernel;
  void *const bases[2] = {cpu_out_data(request, 0),
                          own->has_c ? cpu_in_data(request, 2) : NULL};
  cpu_nd_run(gemm->base.device, &own->nd, bases, 1, own->has_c ? add_body : scale_body, gemm);
  cpu_chain_run(gemm->base.device, &gemm->chain, request, own->count);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const gemm_prepared *own = (const gemm_prepared *)prepared;
  const gemm_kernel *gemm = (const gemm_kernel *)prepared->kernel;
  const cpu_chain nothing = CPU_CHAIN_NOTHING;
  cpu_multiply_args args;
  (void)error;
  cpu_chain_args(own->second_pass ? &nothing : &gemm->chain, request, &args);
  if (own->c_is_bias) args.bias = cpu_in_data(request, 2);
  if (own->c_is_residual) args.residual = cpu_in_data(request, 2);
  cpu_multiply_run(prepared->kernel->device, &own->multiply, &args);
  if (own->second_pass) apply_c(own, request);
  return OPS_OK;
}

const cpu_op cpu_gemm_op = {.kernel_size = sizeof(gemm_kernel),
                            .prepared_size = sizeof(gemm_prepared),
                            .claim = claim,
                            .create = create,
                            .prepare = prepare,
                            .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// DepthToSpace: blocks of `block` x `block` channels become squares of pixels. With i and j
// inside a square and c < C / block^2, output (c, h * block + i, w * block + j) is the input's
// channel
//
//   DCR  (i * block + j) * C / block^2 + c        CRD  c * block^2 + i * block + j
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>

#include "npu.h"

enum { kMaxBlock = 1 << 15 };  // its square fits

static int32_t claim(const ops_node *node, ops_claim *out_claim) {
  const int32_t rank = ops_node_input(node, 0)->type->rank;
  if (rank == 4) return OPS_OK;
  return ops_claim_refuse(out_claim, OPS_REASON_SHAPE,
                          "the input has rank %d, the copy engine takes rank 4", rank);
}

static int32_t parse(const ops_node *node, ops_kernel *kernel, ops_error *error) {
  const ops_str dcr = OPS_STR("DCR");
  const ops_str mode = ops_node_string(node, "mode", dcr);
  kernel->depth.block = ops_node_int(node, "blocksize", 0);
  kernel->depth.is_crd = ops_str_equal(mode, "CRD");
  if (kernel->depth.block < 1 || kernel->depth.block > kMaxBlock)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "DepthToSpace: blocksize is %lld, expected 1 to %d",
                         (long long)kernel->depth.block, kMaxBlock);
  if (kernel->depth.is_crd || ops_str_equal(mode, "DCR")) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "DepthToSpace: mode is '%.*s', expected DCR or CRD", OPS_STR_FMT(mode));
}

static int32_t prepare(const ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const int64_t block = kernel->depth.block;
  npu_depth *d = &prepared->depth;
  if (x->rank != 4 || x->dims[1] % (block * block) != 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "DepthToSpace: input of rank %d with %lld channels; expected rank 4 "
                         "and channels that blocksize squared, %lld, divides",
                         x->rank, (long long)(x->rank > 1 ? x->dims[1] : 0),
                         (long long)(block * block));
  *d = (npu_depth){.batch = x->dims[0],
                   .channels = x->dims[1] / (block * block),
                   .in = {x->dims[2], x->dims[3]},
                   .block = block,
                   .is_crd = kernel->depth.is_crd};
  int64_t dims[4] = {d->batch, d->channels};
  for (int i = 0; i < 2; ++i)
    if (__builtin_mul_overflow(d->in[i], block, &dims[2 + i]))
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "DepthToSpace: size %lld times blocksize %lld overflows",
                           (long long)d->in[i], (long long)block);
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, 4, dims);
  return OPS_OK;
}

// One output row: column w * block + j is column w of the channel for (row % block, j).
static void run_row(const npu_depth *d, const float *x, float *y, int64_t n, int64_t c,
                    int64_t row) {
  const int64_t b = d->block, h = row / b, i = row % b;
  for (int64_t j = 0; j < b; ++j) {
    const int64_t corner = i * b + j;
    const int64_t channel = d->is_crd ? c * b * b + corner : corner * d->channels + c;
    const float *from = x + ((n * d->channels * b * b + channel) * d->in[0] + h) * d->in[1];
    for (int64_t w = 0; w < d->in[1]; ++w) y[w * b + j] = from[w];
  }
}

static void run(const ops_prepared *prepared, ops_instance *instance,
                void *const args[kMaxArgs]) {
  const npu_depth *d = &prepared->depth;
  const int64_t rows = d->in[0] * d->block;
  float *y = args[1];
  (void)instance;
  for (int64_t n = 0; n < d->batch; ++n)
    for (int64_t c = 0; c < d->channels; ++c)
      for (int64_t row = 0; row < rows; ++row, y += d->in[1] * d->block)
        run_row(d, args[0], y, n, c, row);
}

const npu_op npu_op_depth_to_space = {
    .name = "DepthToSpace", .claim = claim, .parse = parse, .prepare = prepare, .run = run};

// SPDX-License-Identifier: Apache-2.0
//
// Expand and Tile: one nest over the output in which repeated dimensions have stride 0.
#include <string.h>

#include "nd.h"
#include "ops_table.h"

typedef struct expand_prepared {
  ops_prepared base;
  cpu_nd nd;  // Y, X
  int64_t size;
} expand_prepared;

static void claim_tile(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int32_t rank = cpu_node_rank(node, 0);
  (void)def;
  if (rank < 0 || rank > OPS_MAX_RANK / 2)
    cpu_refuse(out_claim, OPS_REASON_SHAPE, "the rank must be known and at most %d, found %d",
               OPS_MAX_RANK / 2, rank);
}

static int32_t prepare_expand(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepared *prepared, ops_prepare_reply *reply,
                              ops_error *error) {
  expand_prepared *own = (expand_prepared *)prepared;
  cpu_shape x, y;
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(cpu_ints(kernel, request, 1, y.dims, &y.rank, error));
  for (int32_t i = 0; i < y.rank; ++i)
    if (y.dims[i] < 0)
      return cpu_invalid(kernel, error, "shape[%d] is %lld", i, (long long)y.dims[i]);
  y.rank = ops_broadcast_dims(x.rank, x.dims, y.rank, y.dims, y.dims);
  if (y.rank < 0) return cpu_invalid(kernel, error, "the input does not broadcast to shape");
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  own->size = cpu_type_size(type);
  cpu_nd_init(&own->nd, &y);
  cpu_nd_add_broadcast(&own->nd, &y, own->size);
  cpu_nd_add_broadcast(&own->nd, &x, own->size);
  cpu_nd_finish(&own->nd);
  return OPS_OK;
}

// Each dimension becomes two: the repetitions, and the input's own.
static void plan_tile(expand_prepared *own, const cpu_shape *x, const int64_t *repeats) {
  cpu_shape pairs = {.rank = 2 * x->rank};
  int64_t strides[OPS_MAX_RANK], contiguous[OPS_MAX_RANK];
  ops_strides_contiguous(x->rank, x->dims, contiguous);
  for (int32_t i = 0; i < x->rank; ++i) {
    pairs.dims[2 * i] = repeats[i];
    pairs.dims[2 * i + 1] = x->dims[i];
    strides[2 * i] = 0;
    strides[2 * i + 1] = contiguous[i];
  }
  cpu_nd_init(&own->nd, &pairs);
  cpu_nd_add_broadcast(&own->nd, &pairs, own->size);
  cpu_nd_add(&own->nd, strides, own->size);
  cpu_nd_finish(&own->nd);
}

static int32_t prepare_tile(ops_kernel *kernel, const ops_prepare_request *request,
                            ops_prepared *prepared, ops_prepare_reply *reply,
                            ops_error *error) {
  expand_prepared *own = (expand_prepared *)prepared;
  cpu_shape x, y;
  int64_t repeats[OPS_MAX_RANK];
  int32_t count;
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(cpu_ints(kernel, request, 1, repeats, &count, error));
  if (count != x.rank || x.rank > OPS_MAX_RANK / 2)
    return cpu_invalid(kernel, error, "repeats must have %d values, found %d", x.rank, count);
  y = x;
  for (int32_t i = 0; i < x.rank; ++i)
    if (repeats[i] < 0 || __builtin_mul_overflow(x.dims[i], repeats[i], &y.dims[i]))
      return cpu_invalid(kernel, error, "repeats[%d] is %lld", i, (long long)repeats[i]);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  own->size = cpu_type_size(type);
  plan_tile(own, &x, repeats);
  return OPS_OK;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const expand_prepared *own = (const expand_prepared *)prepared;
  (void)error;
  cpu_nd_copy(prepared->kernel->device, &own->nd, cpu_out_data(request, 0),
              cpu_in_data(request, 0), own->size);
  return OPS_OK;
}

const cpu_op cpu_expand_op = {.kernel_size = sizeof(ops_kernel),
                              .prepared_size = sizeof(expand_prepared),
                              .prepare = prepare_expand,
                              .execute = execute};

const cpu_op cpu_tile_op = {.kernel_size = sizeof(ops_kernel),
                            .prepared_size = sizeof(expand_prepared),
                            .claim = claim_tile,
                            .prepare = prepare_tile,
                            .execute = execute};

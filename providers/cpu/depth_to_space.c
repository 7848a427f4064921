// SPDX-License-Identifier: Apache-2.0
//
// DepthToSpace (both modes) and SpaceToDepth: a permutation of six dimensions.
#include "nd.h"
#include "ops_table.h"

typedef struct depth_kernel {
  ops_kernel base;
  int64_t block;
  int32_t to_depth;      // SpaceToDepth
  int32_t column_first;  // mode CRD
} depth_kernel;

typedef struct depth_prepared {
  ops_prepared base;
  cpu_nd nd;  // Y, X
  int64_t size;
} depth_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int64_t block = ops_node_int(node, "blocksize", 0);
  const ops_str mode = ops_node_string(node, "mode", (ops_str)OPS_STR("DCR"));
  (void)def;
  if (block < 1 || block > 65536)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "blocksize must be in [1, 65536], found %lld",
               (long long)block);
  if (!ops_str_equal(mode, "DCR") && !ops_str_equal(mode, "CRD"))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "mode must be DCR or CRD, found '%.*s'",
               OPS_STR_FMT(mode));
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  depth_kernel *own = (depth_kernel *)kernel;
  (void)error;
  own->block = ops_node_int(node, "blocksize", 1);
  own->to_depth = ops_str_equal(kernel->def->op, "SpaceToDepth");
  own->column_first =
      ops_str_equal(ops_node_string(node, "mode", (ops_str)OPS_STR("DCR")), "CRD");
  return OPS_OK;
}

// The nest runs over [N, C, H, B, W, B] of the spatial side; `wide` strides address the spatial
// tensor, `deep` ones the other. depth = C * B * B.
static void plan(depth_prepared *own, const depth_kernel *kernel, const int64_t *spatial) {
  const int64_t b = kernel->block, n = spatial[0], c = spatial[1], h = spatial[2] / b,
                w = spatial[3] / b, plane = h * w;
  const cpu_shape nest = {6, {n, c, h, b, w, b}};
  const int64_t wide[6] = {c * plane * b * b, plane * b * b, w * b * b, w * b, b, 1};
  const int64_t rows_first[6] = {c * plane * b * b, plane, w, b * c * plane, 1, c * plane};
  const int64_t columns_first[6] = {c * plane * b * b, b * b * plane, w, b * plane, 1, plane};
  const int64_t *deep = kernel->column_first ? columns_first : rows_first;
  cpu_nd_init(&own->nd, &nest);
  cpu_nd_add(&own->nd, kernel->to_depth ? deep : wide, own->size);
  cpu_nd_add(&own->nd, kernel->to_depth ? wide : deep, own->size);
  cpu_nd_finish(&own->nd);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const depth_kernel *depth = (depth_kernel *)kernel;
  depth_prepared *own = (depth_prepared *)prepared;
  const int64_t b = depth->block;
  cpu_shape x, y;
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  if (x.rank != 4) return cpu_invalid(kernel, error, "the rank must be 4, found %d", x.rank);
  y = x;
  own->size = cpu_type_size(type);
  if (depth->to_depth) {
    if (x.dims[2] % b != 0 || x.dims[3] % b != 0)
      return cpu_invalid(kernel, error, "[%lld, %lld] is not divisible by blocks of %lld",
                         (long long)x.dims[2], (long long)x.dims[3], (long long)b);
    y.dims[1] = x.dims[1] * b * b;
    y.dims[2] = x.dims[2] / b;
    y.dims[3] = x.dims[3] / b;
  } else {
    if (x.dims[1] % (b * b) != 0)
      return cpu_invalid(kernel, error, "%lld channels are not divisible by blocks of %lld",
                         (long long)x.dims[1], (long long)(b * b));
    y.dims[1] = x.dims[1] / (b * b);
    y.dims[2] = x.dims[2] * b;
    y.dims[3] = x.dims[3] * b;
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  plan(own, depth, depth->to_depth ? x.dims : y.dims);
  return OPS_OK;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const depth_prepared *own = (const depth_prepared *)prepared;
  (void)error;
  cpu_nd_copy(prepared->kernel->device, &own->nd, cpu_out_data(request, 0),
              cpu_in_data(request, 0), own->size);
  return OPS_OK;
}

const cpu_op cpu_depth_to_space_op = {.kernel_size = sizeof(depth_kernel),
                                      .prepared_size = sizeof(depth_prepared),
                                      .claim = claim,
                                      .create = create,
                                      .prepare = prepare,
                                      .execute = execute};

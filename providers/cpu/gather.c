// SPDX-License-Identifier: Apache-2.0
//
// Gather. All indices are checked before the first byte is written.
#include <string.h>

#include "nd.h"
#include "ops_table.h"

typedef struct gather_kernel {
  ops_kernel base;
  int64_t axis;
} gather_kernel;

typedef struct gather_prepared {
  ops_prepared base;
  int64_t rows;   // before the axis
  int64_t dim;    // the axis
  int64_t count;  // of indices
  int64_t bytes;  // of one slice behind the axis
  int32_t wide;   // indices are int64, else int32
} gather_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((gather_kernel *)kernel)->axis = ops_node_int(node, "axis", 0);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  gather_prepared *own = (gather_prepared *)prepared;
  cpu_shape x, indices, y;
  int32_t axis;
  cpu_input_shape(request, 0, &x);
  cpu_input_shape(request, 1, &indices);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, ((gather_kernel *)kernel)->axis, x.rank, &axis, error));
  y.rank = x.rank - 1 + indices.rank;
  if (y.rank > OPS_MAX_RANK)
    return cpu_invalid(kernel, error, "the output would have rank %d", y.rank);
  memcpy(y.dims, x.dims, (size_t)axis * sizeof *y.dims);
  memcpy(y.dims + axis, indices.dims, (size_t)indices.rank * sizeof *y.dims);
  memcpy(y.dims + axis + indices.rank, x.dims + axis + 1,
         (size_t)(x.rank - axis - 1) * sizeof *y.dims);
  own->rows = cpu_product(x.dims, 0, axis);
  own->dim = x.dims[axis];
  own->count = cpu_count(&indices);
  own->bytes = cpu_product(x.dims, axis + 1, x.rank) * cpu_type_size(type);
  own->wide = cpu_input_type(request, 1) == OPS_TYPE_INT64;
  return cpu_set_output(kernel, reply, 0, type, &y, error);
}

typedef struct run {
  const gather_prepared *own;
  const char *x;
  const void *indices;
  char *y;
} run;

static int64_t index_at(const gather_prepared *own, const void *indices, int64_t i) {
  const int64_t index =
      own->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
  return index < 0 ? index + own->dim : index;
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const gather_prepared *own = run->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = i / own->count, index = index_at(own, run->indices, i % own->count);
    const char *from = run->x + (row * own->dim + index) * own->bytes;
    switch (own->bytes) {
      case 4:
        memcpy(run->y + i * 4, from, 4);
        break;
      case 8:
        memcpy(run->y + i * 8, from, 8);
        break;
      default:
        memcpy(run->y + i * own->bytes, from, (size_t)own->bytes);
    }
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const gather_prepared *own = (const gather_prepared *)prepared;
  run run = {own, cpu_in_data(request, 0), cpu_in_data(request, 1), cpu_out_data(request, 0)};
  for (int64_t i = 0; i < own->count; ++i) {
    const int64_t index = index_at(own, run.indices, i);
    if (index < 0 || index >= own->dim)
      return cpu_invalid(prepared->kernel, error,
                         "index %lld at position %lld is not in [-%lld, "
                         "%lld)",
                         (long long)(own->wide ? ((const int64_t *)run.indices)[i]
                                               : ((const int32_t *)run.indices)[i]),
                         (long long)i, (long long)own->dim, (long long)own->dim);
  }
  if (own->bytes > 0)
    cpu_parallel(prepared->kernel->device, own->rows * own->count,
                 cpu_grain(own->bytes / 8 + 4), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_gather_op = {.kernel_size = sizeof(gather_kernel),
                              .prepared_size = sizeof(gather_prepared),
                              .create = create,
                              .prepare = prepare,
                              .execute = execute};

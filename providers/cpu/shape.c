// SPDX-License-Identifier: Apache-2.0
//
// Shape and Size: known when shapes are, written when run.
#include <string.h>

#include "ops_table.h"

typedef struct shape_kernel {
  ops_kernel base;
  int64_t start, end;
  int32_t product;  // Size
} shape_kernel;

typedef struct shape_prepared {
  ops_prepared base;
  cpu_shape result;  // the values to write
} shape_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  shape_kernel *own = (shape_kernel *)kernel;
  (void)error;
  own->start = ops_node_int(node, "start", 0);
  own->end = ops_node_int(node, "end", INT64_MAX);
  own->product = ops_str_equal(kernel->def->op, "Size");
  return OPS_OK;
}

static int64_t clamp(int64_t index, int32_t rank) {
  if (index < 0) index = index < -rank ? 0 : index + rank;
  return index > rank ? rank : index;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const shape_kernel *shape = (shape_kernel *)kernel;
  cpu_shape *result = &((shape_prepared *)prepared)->result, x, y;
  cpu_input_shape(request, 0, &x);
  if (shape->product) {
    result->rank = 1;
    result->dims[0] = cpu_count(&x);
    y.rank = 0;
    return cpu_set_output(kernel, reply, 0, OPS_TYPE_INT64, &y, error);
  }
  const int64_t start = clamp(shape->start, x.rank), end = clamp(shape->end, x.rank);
  result->rank = end > start ? (int32_t)(end - start) : 0;
  memcpy(result->dims, x.dims + start, (size_t)result->rank * sizeof *x.dims);
  y = (cpu_shape){1, {result->rank}};
  return cpu_set_output(kernel, reply, 0, OPS_TYPE_INT64, &y, error);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const cpu_shape *result = &((const shape_prepared *)prepared)->result;
  (void)error;
  if (result->rank > 0)
    memcpy(cpu_out_data(request, 0), result->dims, (size_t)result->rank * sizeof *result->dims);
  return OPS_OK;
}

const cpu_op cpu_shape_op = {.kernel_size = sizeof(shape_kernel),
                             .prepared_size = sizeof(shape_prepared),
                             .create = create,
                             .prepare = prepare,
                             .execute = execute};

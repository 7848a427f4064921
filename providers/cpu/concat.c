// SPDX-License-Identifier: Apache-2.0
//
// Concat: each input is copied into its columns of the output's rows.
#include "channels_last.h"
#include "nd.h"
#include "ops_table.h"

typedef struct concat_kernel {
  ops_kernel base;
  int64_t axis;
} concat_kernel;

typedef struct concat_prepared {
  ops_prepared base;
  int64_t rows;
  int64_t row_bytes;     // of the output
  int64_t *input_bytes;  // per input: bytes of its part of a row
} concat_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((concat_kernel *)kernel)->axis = ops_node_int(node, "axis", 1);
  return OPS_OK;
}

static int32_t add_shape(const ops_kernel *kernel, const cpu_shape *x, int32_t axis,
                         cpu_shape *y, ops_error *error) {
  if (x->rank != y->rank)
    return cpu_invalid(kernel, error, "inputs have ranks %d and %d", y->rank, x->rank);
  for (int32_t i = 0; i < x->rank; ++i)
    if (i != axis && x->dims[i] != y->dims[i])
      return cpu_invalid(kernel, error, "inputs have %lld and %lld elements on dimension %d",
                         (long long)y->dims[i], (long long)x->dims[i], i);
  y->dims[axis] += x->dims[axis];
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  concat_prepared *own = (concat_prepared *)prepared;
  cpu_shape y, x;
  int32_t axis;
  cpu_input_shape(request, 0, &y);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, ((concat_kernel *)kernel)->axis, y.rank, &axis, error));
  if (cpu_is_last(request, 0)) axis = y.rank - 1;  // a view; the axis is that of the channels
  own->input_bytes =
      cpu_alloc(kernel->device, (uint64_t)kernel->input_count * sizeof *own->input_bytes);
  if (!own->input_bytes)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %d inputs",
                         kernel->input_count);
  y.dims[axis] = 0;
  for (int32_t i = 0; i < kernel->input_count; ++i) {
    cpu_input_shape(request, (uint64_t)i, &x);
    OPS_RETURN_IF_ERROR(add_shape(kernel, &x, axis, &y, error));
    own->input_bytes[i] = cpu_product(x.dims, axis, x.rank) * cpu_type_size(type);
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  own->rows = cpu_product(y.dims, 0, axis);
  own->row_bytes = cpu_product(y.dims, axis, y.rank) * cpu_type_size(type);
  return OPS_OK;
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  const ops_type_info *first = ops_request_input(request, 0)->type;
  int32_t axis;
  if (!cpu_may_be_last(first) || cpu_axis(kernel, ((const concat_kernel *)kernel)->axis,
                                          first->rank, &axis, NULL) != OPS_OK)
    return;
  for (int32_t i = 0; i < kernel->input_count; ++i)
    if (ops_request_input(request, (uint64_t)i)->type->rank != first->rank) return;
  if (axis != 1) return;
  cpu_layouts_add(layouts, CPU_LAST_ALL, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_free(prepared->kernel->device, ((concat_prepared *)prepared)->input_bytes);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const concat_prepared *own = (const concat_prepared *)prepared;
  char *y = cpu_out_data(request, 0);
  (void)error;
  for (int32_t i = 0; i < prepared->kernel->input_count; ++i) {
    const int64_t bytes = own->input_bytes[i];
    cpu_copy_rows(prepared->kernel->device, y, own->row_bytes,
                  cpu_in_data(request, (uint64_t)i), bytes, bytes, own->rows);
    y += bytes;
  }
  return OPS_OK;
}

const cpu_op cpu_concat_op = {.kernel_size = sizeof(concat_kernel),
                              .prepared_size = sizeof(concat_prepared),
                              .create = create,
                              .layouts = layouts,
                              .sees_view = 1,
                              .prepare = prepare,
                              .prepared_destroy = prepared_destroy,
                              .execute = execute};

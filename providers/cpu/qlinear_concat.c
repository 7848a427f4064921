// SPDX-License-Identifier: Apache-2.0
//
// QLinearConcat of com.microsoft: tensors side by side along an axis, each quantised in its own
// way, brought to one quantisation. The inputs are scale and zero point of the result, then a
// tensor, its scale and its zero point as often as there are tensors.
#include "byte_table.h"
#include "channels_last.h"
#include "nd.h"
#include "ops_table.h"
#include "quantized.h"

enum { Y_SCALE, Y_ZERO, FIRST, GROUP = 3 };

typedef struct concat_kernel {
  ops_kernel base;
  int64_t axis;
} concat_kernel;

typedef struct concat_prepared {
  ops_prepared base;
  int64_t rows, row_bytes;  // of the output
  int64_t *input_bytes;     // per tensor: bytes of its part of a row
  int32_t type;
} concat_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  if (node->input_count < FIRST + GROUP || (node->input_count - FIRST) % GROUP != 0)
    cpu_refuse(out_claim, OPS_REASON_ARITY, "%llu inputs; 2 and 3 for each tensor are needed",
               (unsigned long long)node->input_count);
  if (!ops_node_attribute(node, "axis"))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "axis is missing");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((concat_kernel *)kernel)->axis = ops_node_int(node, "axis", 0);
  return OPS_OK;
}

static int32_t check_types(const ops_kernel *kernel, const ops_prepare_request *request,
                           uint64_t first, ops_error *error) {
  const int32_t x = cpu_input_type(request, first);
  const int is_byte = x == OPS_TYPE_INT8 || x == OPS_TYPE_UINT8;
  if (!is_byte || cpu_input_type(request, first + 1) != OPS_TYPE_FLOAT ||
      cpu_input_type(request, first + 2) != x)
    return cpu_invalid(kernel, error,
                       "inputs %llu to %llu must be a tensor of int8 or uint8, a float, and a "
                       "number of the tensor's type",
                       (unsigned long long)first, (unsigned long long)first + 2);
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, first + 1, error));
  return cpu_quantized_need_one(kernel, request, first + 2, error);
}

static int32_t add_tensor(const ops_kernel *kernel, const ops_prepare_request *request,
                          uint64_t input, int32_t axis, cpu_shape *y, int64_t *out_bytes,
                          ops_error *error) {
  cpu_shape x;
  OPS_RETURN_IF_ERROR(check_types(kernel, request, input, error));
  cpu_input_shape(request, input, &x);
  if (x.rank != y->rank)
    return cpu_invalid(kernel, error, "tensors have ranks %d and %d", y->rank, x.rank);
  for (int32_t i = 0; i < x.rank; ++i)
    if (i != axis && x.dims[i] != y->dims[i])
      return cpu_invalid(kernel, error, "tensors have %lld and %lld elements on dimension %d",
                         (long long)y->dims[i], (long long)x.dims[i], i);
  y->dims[axis] += x.dims[axis];
  *out_bytes = cpu_product(x.dims, axis, x.rank);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  concat_prepared *own = (concat_prepared *)prepared;
  const uint64_t tensors = (request->input_count - FIRST) / GROUP;
  cpu_shape y;
  int32_t axis;
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, Y_SCALE, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, Y_ZERO, error));
  cpu_input_shape(request, FIRST, &y);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, ((concat_kernel *)kernel)->axis, y.rank, &axis, error));
  if (cpu_is_last(request, FIRST)) axis = y.rank - 1;  // a view; the axis is the channels'
  own->input_bytes = cpu_alloc(kernel->device, tensors * sizeof *own->input_bytes);
  if (!own->input_bytes)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %llu tensors",
                         (unsigned long long)tensors);
  y.dims[axis] = 0;
  for (uint64_t i = 0; i < tensors; ++i)
    OPS_RETURN_IF_ERROR(
        add_tensor(kernel, request, FIRST + i * GROUP, axis, &y, &own->input_bytes[i], error));
  own->type = cpu_input_type(request, Y_ZERO);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, own->type, &y, error));
  own->rows = cpu_product(y.dims, 0, axis);
  own->row_bytes = cpu_product(y.dims, axis, y.rank);
  return OPS_OK;
}

// Along the channels.
static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  const ops_type_info *first = ops_request_input(request, FIRST)->type;
  int32_t axis;
  if (!cpu_may_be_last(first) || cpu_axis(kernel, ((const concat_kernel *)kernel)->axis,
                                          first->rank, &axis, NULL) != OPS_OK)
    return;
  for (uint64_t i = FIRST; i < request->input_count; i += GROUP)
    if (ops_request_input(request, i)->type->rank != first->rank) return;
  if (axis != 1) return;
  cpu_layouts_add(layouts, CPU_LAST_TRIPLES, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_free(prepared->kernel->device, ((concat_prepared *)prepared)->input_bytes);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const concat_prepared *own = (const concat_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  const cpu_byte_scale to = cpu_byte_scale_read(request, Y_SCALE, Y_ZERO, own->type);
  uint8_t *y = cpu_out_data(request, 0);
  (void)error;
  for (uint64_t k = FIRST, i = 0; k < request->input_count; k += GROUP, ++i) {
    const ops_tensor *x = cpu_in(request, k);
    const int64_t bytes = own->input_bytes[i];
    const cpu_byte_scale from = cpu_byte_scale_read(request, k + 1, k + 2, x->type);
    cpu_byte_table table;
    if (cpu_byte_table_requantize(&table, &from, &to))
      cpu_copy_rows(device, y, own->row_bytes, ops_tensor_data(x), bytes, bytes, own->rows);
    else if (bytes > 0)
      cpu_byte_table_rows(device, &table, y, own->row_bytes,
                          (const uint8_t *)ops_tensor_data(x), bytes, bytes, own->rows);
    y += bytes;
  }
  return OPS_OK;
}

const cpu_op cpu_qlinear_concat_op = {.kernel_size = sizeof(concat_kernel),
                                      .prepared_size = sizeof(concat_prepared),
                                      .claim = claim,
                                      .create = create,
                                      .layouts = layouts,
                                      .sees_view = 1,
                                      .prepare = prepare,
                                      .prepared_destroy = prepared_destroy,
                                      .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// QLinearConcat of com.microsoft: tensors side by side along an axis, each quantised in its own
// way, brought to one quantisation. The inputs are scale and zero point of the result, then a
// tensor, its scale and its zero point as often as there are tensors.
#include "byte_table.h"
#include "join.h"
#include "nd.h"
#include "ops_table.h"
#include "quantized.h"

enum { Y_SCALE, Y_ZERO, FIRST, GROUP = 3 };

static const cpu_join_kind kKind = {
    .first = FIRST, .step = GROUP, .last = CPU_LAST_TRIPLES, .noun = "tensors"};

typedef struct concat_prepared {
  cpu_join_prepared join;
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
  cpu_join_create(kernel, node, &kKind);
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

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const int32_t type = cpu_input_type(request, Y_ZERO);
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, Y_SCALE, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, Y_ZERO, error));
  for (uint64_t i = FIRST; i < request->input_count; i += GROUP)
    OPS_RETURN_IF_ERROR(check_types(kernel, request, i, error));
  ((concat_prepared *)prepared)->type = type;
  return cpu_join_prepare(kernel, request, type, prepared, reply, error);
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
    const int64_t bytes = own->join.part_bytes[i];
    const cpu_byte_scale from = cpu_byte_scale_read(request, k + 1, k + 2, x->type);
    cpu_byte_table table;
    if (cpu_byte_table_requantize(&table, &from, &to))
      cpu_copy_rows(device, y, own->join.row_bytes, ops_tensor_data(x), bytes, bytes,
                    own->join.rows);
    else if (bytes > 0)
      cpu_byte_table_rows(device, &table, y, own->join.row_bytes,
                          (const uint8_t *)ops_tensor_data(x), bytes, bytes, own->join.rows);
    y += bytes;
  }
  return OPS_OK;
}

const cpu_op cpu_qlinear_concat_op = {.kernel_size = sizeof(cpu_join_kernel),
                                      .prepared_size = sizeof(concat_prepared),
                                      .claim = claim,
                                      .create = create,
                                      .layouts = cpu_join_layouts,
                                      .sees_view = 1,
                                      .prepare = prepare,
                                      .prepared_destroy = cpu_join_prepared_destroy,
                                      .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// Helpers of cpu.h: refusals, shapes, host memory.
#include <ops_support/checked.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"

void cpu_refuse(ops_claim *claim, int32_t reason, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int size = vsnprintf(claim->text, sizeof claim->text, format, args);
  va_end(args);
  claim->answer = OPS_CLAIM_UNSUPPORTED;
  claim->reason = reason;
  claim->text_size =
      (uint32_t)(size < 0                          ? 0
                 : size < (int)sizeof(claim->text) ? size
                                                   : (int)sizeof claim->text - 1);
}

int32_t cpu_invalid(const ops_kernel *kernel, ops_error *error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ops_error_set_v(error, OPS_ERROR_INVALID_ARGUMENT, format, args);
  va_end(args);
  if (error) ops_error_prefix(error, "%.*s", OPS_STR_FMT(kernel->def->op));
  return OPS_ERROR_INVALID_ARGUMENT;
}

int32_t cpu_contents(const ops_device *device, const ops_constant *constant,
                     const void **out_data, void **out_copy, ops_error *error) {
  const ops_tensor *tensor = &constant->dense.tensor;
  const void *data = ops_tensor_data(tensor);
  *out_data = data;
  *out_copy = NULL;
  const int64_t size = cpu_type_size(tensor->type);
  if (size <= 1 || (uintptr_t)data % (uintptr_t)size == 0) return OPS_OK;
  *out_copy = cpu_alloc(device, tensor->byte_size);
  if (!*out_copy)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory to pack weights");
  *out_data = memcpy(*out_copy, data, tensor->byte_size);
  return OPS_OK;
}

int32_t cpu_node_rank(const ops_node *node, uint64_t index) {
  const ops_operand *operand = ops_node_input(node, index);
  return operand ? operand->type->rank : -1;
}

void cpu_input_shape(const ops_prepare_request *request, uint64_t index, cpu_shape *out_shape) {
  const ops_type_info *type = ops_request_input(request, index)->type;
  out_shape->rank = type->rank;
  if (type->rank > 0)
    memcpy(out_shape->dims, type->dims, (size_t)type->rank * sizeof *type->dims);
}

int32_t cpu_input_type(const ops_prepare_request *request, uint64_t index) {
  return ops_request_input(request, index)->type->type;
}

int64_t cpu_product(const int64_t *dims, int32_t begin, int32_t end) {
  int64_t product = 1;
  for (int32_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

int64_t cpu_count(const cpu_shape *shape) {
  return cpu_product(shape->dims, 0, shape->rank);
}

int32_t cpu_axis(const ops_kernel *kernel, int64_t axis, int32_t rank, int32_t *out_axis,
                 ops_error *error) {
  if (axis < -rank || axis >= rank)
    return cpu_invalid(kernel, error, "axis must be in [%d, %d], found %lld", -rank, rank - 1,
                       (long long)axis);
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return OPS_OK;
}

int32_t cpu_set_output(const ops_kernel *kernel, ops_prepare_reply *reply, uint64_t index,
                       int32_t type, const cpu_shape *shape, ops_error *error) {
  int64_t count;
  uint64_t bytes;
  if (shape->rank > OPS_MAX_RANK)
    return cpu_invalid(kernel, error, "output %llu would have rank %d, at most %d is possible",
                       (unsigned long long)index, shape->rank, OPS_MAX_RANK);
  if (!ops_checked_count(shape->dims, shape->rank, &count) ||
      !ops_type_bytes(type, count, &bytes) || bytes > INT64_MAX)
    return cpu_invalid(kernel, error, "output %llu would be too large",
                       (unsigned long long)index);
  if (index < reply->output_count)
    ops_reply_set_output(reply, index, type, shape->rank, shape->dims);
  return OPS_OK;
}

int32_t cpu_ints(const ops_kernel *kernel, const ops_prepare_request *request, int32_t input,
                 int64_t *out_values, int32_t *out_count, ops_error *error) {
  *out_count = -1;
  const ops_operand *operand = ops_request_input(request, (uint64_t)input);
  if (!operand) return OPS_OK;
  const int64_t count = ops_operand_ints(operand, out_values, OPS_MAX_RANK);
  if (count < 0)
    return cpu_invalid(kernel, error,
                       "the contents of input %d must be known when shapes are, an int32 or "
                       "int64 vector of at most %d elements",
                       input, OPS_MAX_RANK);
  *out_count = (int32_t)count;
  return OPS_OK;
}

void *cpu_alloc(const ops_device *device, uint64_t size) {
  void *memory = size ? device->api->allocate(device->host, size, 64) : NULL;
  if (memory) memset(memory, 0, size);
  return memory;
}

void cpu_free(const ops_device *device, void *memory) {
  if (memory) device->api->free(device->host, memory);
}

int64_t cpu_grain(int64_t cost) {
  const int64_t worthwhile = 16384;  // steps: some ten microseconds
  if (cost < 1) cost = 1;
  return cost >= worthwhile ? 1 : worthwhile / cost;
}

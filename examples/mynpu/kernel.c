// SPDX-License-Identifier: Apache-2.0
//
// What all kernels have in common: objects, argument addresses, launching. The operator itself
// is the npu_op row that the definition's context points to.
#include <ops_support/checked.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"

// 1 if `name` is one of `list`, "Add,Mul", or the list is empty.
static int32_t is_listed(const char *list, const char *name) {
  const size_t size = strlen(name);
  const char *at = list;
  while (at && *at) {
    if (strncmp(at, name, size) == 0 && (at[size] == ',' || at[size] == '\0')) return 1;
    at = strchr(at, ',');
    if (at) ++at;
  }
  return list[0] == '\0';
}

static int32_t kernel_claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                            ops_claim *claim, ops_error *error) {
  (void)error;
  const npu_op *op = def->context;
  if (!is_listed(device->instance->ops, op->name))
    return ops_claim_refuse(claim, OPS_REASON_OPERATOR, "the option ops leaves it out");
  return op->claim ? op->claim(node, claim) : OPS_OK;
}

static int32_t kernel_create(ops_device *device, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->device = device;
  kernel->op = def->context;
  kernel->name = def->name;
  const int32_t status = kernel->op->parse ? kernel->op->parse(node, kernel, error) : OPS_OK;
  if (status != OPS_OK) {
    free(kernel);
    return status;
  }
  npu_device_add(device, 1);
  *out_kernel = kernel;
  return OPS_OK;
}

static void kernel_destroy(ops_kernel *kernel) {
  if (!kernel) return;
  npu_device_add(kernel->device, -1);
  free(kernel);
}

static int32_t kernel_layouts(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_layout_choice *choices, uint64_t capacity, uint64_t stride,
                              uint64_t *out_count, ops_error *error) {
  (void)error;
  *out_count = 0;
  if (!kernel->op->layouts) return OPS_OK;
  return kernel->op->layouts(kernel, request, choices, capacity, stride, out_count);
}

// Bytes that the kernel reads or writes of an argument of this type and shape.
static int32_t arg_bytes(uint32_t layout, int32_t rank, const int64_t *dims,
                         uint64_t *out_bytes, ops_error *error) {
  int64_t count;
  if (layout == kWeightsLayout && (*out_bytes = npu_weights_size(rank, dims)) != 0)
    return OPS_OK;
  if (layout == OPS_LAYOUT_STRIDED && ops_checked_count(dims, rank, &count) &&
      ops_type_bytes(OPS_TYPE_FLOAT, count, out_bytes))
    return OPS_OK;
  return ops_error_set(
      error, OPS_ERROR_INVALID_ARGUMENT,
      "argument of rank %d in layout %u: no such layout, or its size overflows", rank, layout);
}

static int32_t measure_args(const ops_prepare_request *request, const ops_prepare_reply *reply,
                            ops_prepared *prepared, ops_error *error) {
  if (request->input_count >= kMaxArgs)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "%llu inputs, expected at most %d",
                         (unsigned long long)request->input_count, kMaxArgs - 1);
  for (uint64_t i = 0; i < request->input_count; ++i) {
    const ops_operand *input = ops_request_input(request, i);
    if (!input) continue;
    const ops_type_info *type = input->type;
    OPS_RETURN_IF_ERROR(
        arg_bytes(type->layout, type->rank, type->dims, &prepared->arg_bytes[i], error));
  }
  prepared->input_count = request->input_count;
  return arg_bytes(OPS_LAYOUT_STRIDED, reply->outputs->rank, reply->outputs->dims,
                   &prepared->arg_bytes[request->input_count], error);
}

static int32_t kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  prepared->op = kernel->op;
  prepared->name = kernel->name;
  int32_t status = kernel->op->prepare(kernel, request, prepared, reply, error);
  if (status == OPS_OK) status = measure_args(request, reply, prepared, error);
  if (status != OPS_OK) {
    free(prepared);
    return status;
  }
  reply->prepared = prepared;
  reply->implementation = kernel->name;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  free(prepared);
}

static int32_t resolve(ops_device *device, const ops_arg *arg, uint64_t bytes, npu_arg *out_arg,
                       ops_error *error) {
  if (bytes == 0) return OPS_OK;  // empty, or an optional input that prepare knew to be absent
  if (arg->kind != OPS_ARG_TENSOR)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "argument of kind %d, prepared was a tensor of %llu bytes", arg->kind,
                         (unsigned long long)bytes);
  if (arg->memory_kind != OPS_MEMORY_DEVICE)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "argument lies in memory kind %d, expected device memory (%d)",
                         arg->memory_kind, OPS_MEMORY_DEVICE);
  *out_arg = (npu_arg){NULL, arg->tensor.memory, arg->tensor.byte_offset, bytes};
  return npu_address(device, out_arg->handle, out_arg->offset, bytes, &out_arg->address, error);
}

static int32_t kernel_execute(ops_prepared *prepared, const ops_execute_request *request,
                              ops_stream *stream, ops_error *error) {
  npu_arg args[kMaxArgs] = {{NULL, NULL, 0, 0}};
  if (!stream)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "mynpu runs kernels on a stream; found none");
  if (request->input_count != prepared->input_count || request->output_count != 1)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%llu inputs and %llu outputs, prepared were %llu and 1",
                         (unsigned long long)request->input_count,
                         (unsigned long long)request->output_count,
                         (unsigned long long)prepared->input_count);
  ops_device *device = npu_stream_device(stream);
  for (uint64_t i = 0; i < prepared->input_count; ++i)
    OPS_RETURN_IF_ERROR(
        resolve(device, &request->inputs[i], prepared->arg_bytes[i], &args[i], error));
  OPS_RETURN_IF_ERROR(resolve(device, &request->outputs[0],
                              prepared->arg_bytes[prepared->input_count],
                              &args[prepared->input_count], error));
  return npu_stream_launch(stream, prepared, args, request->correlation, error);
}

const ops_kernel_api npu_kernel_api = {
    .struct_size = sizeof(ops_kernel_api),
    .claim = kernel_claim,
    .create = kernel_create,
    .destroy = kernel_destroy,
    .query_layouts = kernel_layouts,
    .prepare = kernel_prepare,
    .prepared_destroy = prepared_destroy,
    .execute = kernel_execute,
};

// SPDX-License-Identifier: Apache-2.0
//
// What all kernels have in common: objects, preparing by a plan, and executing it. The operator
// itself is the gpu_op that the definition's context points to.
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

struct ops_prepared {
  ops_device *device;
  gpu_plan plan;
  ops_str name;
  uint64_t input_count, output_count;
  uint64_t *input_bytes, *output_bytes;  // 0: absent or empty
};

// ---- Claims ----

int32_t gpu_is_claimed(const ops_claim *claim) {
  return claim->answer != OPS_CLAIM_UNSUPPORTED;
}

static void claim_operand(const ops_device *device, const ops_operand *operand,
                          const char *what, uint64_t index, ops_claim *claim) {
  const ops_type_info *type = operand ? operand->type : NULL;
  if (!type || !gpu_is_claimed(claim)) return;
  if (type->type == OPS_TYPE_DOUBLE && !(device->properties.features & GPU_FEATURE_FP64))
    ops_claim_refuse(claim, OPS_REASON_FEATURE, "%s %llu is double, the device lacks fp64",
                     what, (unsigned long long)index);
  else if (type->rank > kGpuMaxDims)
    ops_claim_refuse(claim, OPS_REASON_SHAPE, "%s %llu has rank %d, at most %d", what,
                     (unsigned long long)index, type->rank, kGpuMaxDims);
}

void gpu_claim_common(const ops_device *device, const ops_node *node, ops_claim *claim) {
  for (uint64_t i = 0; i < node->input_count; ++i)
    claim_operand(device, ops_node_input(node, i), "input", i, claim);
  for (uint64_t i = 0; i < node->output_count; ++i)
    claim_operand(device, ops_node_output(node, i), "output", i, claim);
}

static int32_t kernel_claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                            ops_claim *claim, ops_error *error) {
  (void)error;
  const gpu_op *op = def->context;
  claim->answer = OPS_CLAIM_SUPPORTED;
  claim->reason = OPS_REASON_NONE;
  claim->preference = def->preference;
  claim->text_size = 0;
  claim->text[0] = '\0';
  gpu_claim_common(device, node, claim);
  if (gpu_is_claimed(claim) && op->claim) op->claim(device, def, node, claim);
  return OPS_OK;
}

// ---- Creating ----

int32_t gpu_kernel_make(ops_device *device, const gpu_op *op, ops_str name,
                        uint64_t attribute_bytes, ops_kernel **out_kernel, ops_error *error) {
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  if (kernel) kernel->attributes = calloc(1, attribute_bytes ? attribute_bytes : 1);
  if (!kernel || !kernel->attributes) {
    free(kernel);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  }
  kernel->device = device;
  kernel->op = op;
  kernel->name = name;
  gpu_device_add(device, 1);
  *out_kernel = kernel;
  return OPS_OK;
}

static void kernel_destroy(ops_kernel *kernel) {
  if (!kernel) return;
  if (kernel->op->release) kernel->op->release(kernel->attributes);
  gpu_device_add(kernel->device, -1);
  free(kernel->attributes);
  free(kernel);
}

static int32_t kernel_create(ops_device *device, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  const gpu_op *op = def->context;
  ops_kernel *kernel;
  *out_kernel = NULL;
  OPS_RETURN_IF_ERROR(ops_input_struct_check(node, sizeof *node, "node", error));
  OPS_RETURN_IF_ERROR(
      gpu_kernel_make(device, op, def->name, op->attribute_bytes, &kernel, error));
  kernel->def = def;
  kernel->opset = node->opset;
  kernel->input_count = node->input_count;
  kernel->output_count = node->output_count;
  for (uint64_t i = 0; i < node->output_count && i < 64; ++i)
    if (ops_node_output(node, i)) kernel->wanted_outputs |= UINT64_C(1) << i;
  const int32_t status = op->parse ? op->parse(def, node, kernel->attributes, error) : OPS_OK;
  if (status != OPS_OK) {
    kernel_destroy(kernel);
    return status;
  }
  *out_kernel = kernel;
  return OPS_OK;
}

// ---- Preparing ----

static int32_t compile_steps(gpu_plan *plan) {
  for (gpu_step *step = plan->first; step && plan->status == OPS_OK; step = step->next) {
    if (step->defines.failed || step->tail.failed)
      return gpu_plan_fail(plan, OPS_ERROR_OUT_OF_MEMORY, "no memory for a program's text");
    if (step->call || step->grid.groups[0] * step->grid.groups[1] * step->grid.groups[2] == 0)
      continue;
    plan->status =
        gpu_function_find(plan->device, step->defines.data, step->source, step->tail.data,
                          step->function, &step->compiled, plan->error);
    gpu_text_free(&step->defines);
    gpu_text_free(&step->tail);
  }
  return plan->status;
}

static int32_t tensor_bytes(int32_t type, int32_t rank, const int64_t *dims,
                            uint64_t *out_bytes, ops_error *error) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < 0 || __builtin_mul_overflow(count, dims[i], &count)) count = -1;
  if (count >= 0 && ops_type_bytes(type, count, out_bytes)) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "the size of an argument overflows");
}

static int32_t measure(ops_prepared *prepared, const ops_prepare_request *request,
                       const ops_prepare_reply *reply, ops_error *error) {
  prepared->input_count = request->input_count;
  prepared->output_count = reply->output_count;
  prepared->input_bytes = calloc(request->input_count + 1, sizeof(uint64_t));
  prepared->output_bytes = calloc(reply->output_count + 1, sizeof(uint64_t));
  if (!prepared->input_bytes || !prepared->output_bytes)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  for (uint64_t i = 0; i < request->input_count; ++i) {
    const ops_operand *input = ops_request_input(request, i);
    if (!input || ops_type_bits(input->type->type) == 0) continue;
    OPS_RETURN_IF_ERROR(tensor_bytes(input->type->type, input->type->rank, input->type->dims,
                                     &prepared->input_bytes[i], error));
  }
  for (uint64_t i = 0; i < reply->output_count; ++i) {
    const ops_output_info *info =
        OPS_AT(ops_output_info, reply->outputs, reply->output_stride, i);
    if (!((prepared->plan.kernel->wanted_outputs >> i) & 1)) continue;
    OPS_RETURN_IF_ERROR(
        tensor_bytes(info->type, info->rank, info->dims, &prepared->output_bytes[i], error));
  }
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  if (!prepared) return;
  if (prepared->plan.device) gpu_plan_free(&prepared->plan);
  free(prepared->input_bytes);
  free(prepared->output_bytes);
  free(prepared);
}

static int32_t kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  gpu_plan *plan = &prepared->plan;
  reply->prepared = NULL;
  prepared->device = kernel->device;
  prepared->name = kernel->name;
  *plan = (gpu_plan){.device = kernel->device,
                     .kernel = kernel,
                     .request = request,
                     .reply = reply,
                     .error = error};
  kernel->op->plan(kernel, plan);
  if (plan->status == OPS_OK) compile_steps(plan);
  if (plan->status == OPS_OK) plan->status = measure(prepared, request, reply, error);
  if (plan->status != OPS_OK) {
    const int32_t status = plan->status;
    prepared_destroy(prepared);
    return status;
  }
  reply->prepared = prepared;
  reply->implementation = kernel->name;
  reply->workspace_size = plan->workspace_bytes;
  reply->workspace_alignment = 0;
  reply->workspace_memory_kind = OPS_MEMORY_DEVICE;
  ops_reply_set_unread(reply, 0);
  plan->request = NULL;
  plan->reply = NULL;
  plan->error = NULL;
  return OPS_OK;
}

// ---- Executing ----

static int32_t find_tensor(const ops_prepared *prepared, const ops_arg *arg, uint64_t bytes,
                           gpu_arg *out_buffer, uint64_t *out_offset, ops_error *error) {
  const gpu_block *block;
  *out_buffer = (gpu_arg){0};
  *out_offset = 0;
  if (bytes == 0) return OPS_OK;
  if (arg->kind != OPS_ARG_TENSOR || arg->memory_kind != OPS_MEMORY_DEVICE)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "argument of kind %d in memory kind %d, expected a tensor in device "
                         "memory (%d)",
                         arg->kind, arg->memory_kind, OPS_MEMORY_DEVICE);
  OPS_RETURN_IF_ERROR(gpu_block_find(prepared->device, arg->tensor.memory,
                                     arg->tensor.byte_offset, bytes, &block, error));
  out_buffer->buffer = block->memory;
  *out_offset = arg->tensor.byte_offset;
  return OPS_OK;
}

// One tensor slot: the allocation, and the offset in it.
static int32_t bind(const ops_prepared *prepared, const ops_execute_request *request,
                    const gpu_slot *slot, gpu_arg *out_buffer, uint64_t *out_offset,
                    ops_error *error) {
  const gpu_block *block;
  int32_t status = OPS_OK;
  if (slot->kind == kGpuSlotInput) {
    if (slot->index >= prepared->input_count) {  // an optional input that is left out
      *out_buffer = (gpu_arg){0};
      *out_offset = 0;
      return OPS_OK;
    }
    return find_tensor(prepared, &request->inputs[slot->index],
                       prepared->input_bytes[slot->index], out_buffer, out_offset, error);
  }
  if (slot->kind == kGpuSlotOutput) {
    const uint64_t bytes =
        slot->index < prepared->output_count ? prepared->output_bytes[slot->index] : 0;
    return find_tensor(prepared, &request->outputs[slot->index], bytes, out_buffer, out_offset,
                       error);
  }
  if (slot->kind == kGpuSlotConstant) {
    out_buffer->buffer = prepared->plan.constants[slot->index]->memory;
    *out_offset = 0;
    return OPS_OK;
  }
  status = gpu_block_find(prepared->device, request->workspace, request->workspace_offset,
                          prepared->plan.workspace_bytes, &block, error);
  if (status != OPS_OK) return status;
  out_buffer->buffer = block->memory;
  *out_offset = request->workspace_offset + slot->offset;
  return OPS_OK;
}

// The workspace of a library's work lies in the prepared object's.
static int32_t run_call(const ops_prepared *prepared, const gpu_step *step,
                        const ops_execute_request *request, ops_stream *stream,
                        ops_error *error) {
  const gpu_slot workspace = {.kind = kGpuSlotWorkspace, .offset = step->call_workspace};
  gpu_call_places places = {0};
  gpu_place *const all[] = {&places.a, &places.b, &places.c, &places.workspace};
  gpu_arg buffer = {0};
  for (int i = 0; i < 4; ++i) {
    const gpu_slot *slot = i < 3 ? &step->slots[i] : &workspace;
    if (i == 3 && prepared->plan.workspace_bytes == 0) break;
    OPS_RETURN_IF_ERROR(bind(prepared, request, slot, &buffer, &all[i]->offset, error));
    all[i]->memory = buffer.buffer;
    all[i]->is_device = 1;
  }
  ops_error own = OPS_ERROR_INIT;
  const int32_t status =
      prepared->device->driver->call_run(stream->queue, step->call, &places, &own);
  if (status == OPS_OK) return OPS_OK;
  gpu_stream_fail(stream, &own);
  return ops_error_copy(error, status, &own);
}

static int32_t run_step(const ops_prepared *prepared, const gpu_step *step,
                        const ops_execute_request *request, ops_stream *stream,
                        ops_error *error) {
  gpu_arg args[2 * kGpuMaxArgs];
  uint64_t offsets[kGpuMaxArgs];
  uint32_t count = 0;
  for (uint32_t i = 0; i < step->slot_count; ++i) {
    const gpu_slot *slot = &step->slots[i];
    if (slot->kind == kGpuSlotValue) {
      args[count++] = (gpu_arg){step->values + slot->offset, NULL, slot->size};
      continue;
    }
    args[count] = (gpu_arg){0};
    offsets[i] = 0;
    if (slot->kind == kGpuSlotFault)
      args[count].buffer = stream->faults;
    else
      OPS_RETURN_IF_ERROR(bind(prepared, request, slot, &args[count], &offsets[i], error));
    ++count;
    args[count++] = (gpu_arg){&offsets[i], NULL, sizeof offsets[i]};
  }
  ops_error own = OPS_ERROR_INIT;
  const int32_t status = prepared->device->driver->launch(stream->queue, step->compiled,
                                                          &step->grid, args, count, &own);
  if (status == OPS_OK) return OPS_OK;
  gpu_stream_fail(stream, &own);
  return ops_error_copy(error, status, &own);
}

static int32_t kernel_execute(ops_prepared *prepared, const ops_execute_request *request,
                              ops_stream *stream, ops_error *error) {
  if (!stream)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%s runs kernels on a stream; found none",
                         prepared->device->driver->name);
  if (request->input_count != prepared->input_count ||
      request->output_count != prepared->output_count)
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "%llu inputs and %llu outputs, prepared were %llu and %llu",
        (unsigned long long)request->input_count, (unsigned long long)request->output_count,
        (unsigned long long)prepared->input_count, (unsigned long long)prepared->output_count);
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  if (stream->capture) return gpu_capture_execute(stream, prepared, request, error);
  ++stream->work;
  if (prepared->plan.may_fault) {
    stream->may_fault = 1;
    stream->suspect = prepared->name;
  }
  gpu_span *span =
      gpu_span_begin(stream, OPS_PROFILE_KERNEL, prepared->name, request->correlation);
  int32_t status = OPS_OK;
  for (const gpu_step *step = prepared->plan.first; step && status == OPS_OK; step = step->next)
    if (step->call)
      status = run_call(prepared, step, request, stream, error);
    else if (step->compiled)
      status = run_step(prepared, step, request, stream, error);
  gpu_span_end(stream, span);
  OPS_RETURN_IF_ERROR(status);
  return prepared->device->driver->queue_flush(stream->queue, error);
}

const ops_kernel_api gpu_kernel_api = {.struct_size = sizeof(ops_kernel_api),
                                       .claim = kernel_claim,
                                       .create = kernel_create,
                                       .destroy = kernel_destroy,
                                       .prepare = kernel_prepare,
                                       .prepared_destroy = prepared_destroy,
                                       .execute = kernel_execute};

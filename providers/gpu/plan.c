// SPDX-License-Identifier: Apache-2.0
//
// Writing a plan: output shapes, workspace, and launches with their parameters.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

enum { kWorkspaceAlignment = 256, kCallWorkspace = 32 << 20 };

int32_t gpu_plan_fail(gpu_plan *plan, int32_t status, const char *format, ...) {
  va_list args;
  if (plan->status != OPS_OK) return plan->status;
  plan->status = status;
  va_start(args, format);
  ops_error_set_v(plan->error, status, format, args);
  va_end(args);
  return status;
}

static void fail_memory(gpu_plan *plan) {
  gpu_plan_fail(plan, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
}

void gpu_plan_output(gpu_plan *plan, uint64_t index, int32_t type, int32_t rank,
                     const int64_t *dims) {
  int64_t count;
  uint64_t bytes;
  if (index >= plan->reply->output_count || !((plan->kernel->wanted_outputs >> index) & 1))
    return;
  if (!ops_checked_count(dims, rank, &count) || !ops_type_bytes(type, count, &bytes)) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "output %llu: its shape is negative or its size overflows",
                  (unsigned long long)index);
    return;
  }
  ops_reply_set_output(plan->reply, index, type, rank, dims);
}

uint64_t gpu_plan_workspace(gpu_plan *plan, uint64_t size) {
  const uint64_t begin = plan->workspace_bytes;
  uint64_t end;
  if (!ops_checked_add(begin, size, &end) ||
      !ops_checked_align(end, kWorkspaceAlignment, &plan->workspace_bytes))
    gpu_plan_fail(plan, OPS_ERROR_OUT_OF_MEMORY, "workspace of %llu bytes overflows",
                  (unsigned long long)size);
  return begin;
}

static int32_t add_constant(gpu_plan *plan, gpu_block *block) {
  gpu_block **grown =
      realloc(plan->constants, (plan->constant_count + 1) * sizeof *plan->constants);
  if (!grown) return 0;
  plan->constants = grown;
  grown[plan->constant_count++] = block;
  return 1;
}

uint64_t gpu_plan_constant(gpu_plan *plan, const void *data, uint64_t size) {
  void *handle = NULL;
  if (plan->status != OPS_OK) return 0;
  ops_device *device = plan->device;
  plan->status = gpu_memory_api.allocate(device, OPS_MEMORY_DEVICE, size ? size : 1, 1,
                                         OPS_USAGE_WEIGHT, &handle, plan->error);
  if (plan->status != OPS_OK) return 0;
  if (!add_constant(plan, handle)) {
    gpu_memory_api.free(device, OPS_MEMORY_DEVICE, handle);
    fail_memory(plan);
    return 0;
  }
  if (size) plan->status = gpu_copy_now(device, data, handle, size, plan->error);
  return plan->constant_count - 1;
}

gpu_step *gpu_plan_step(gpu_plan *plan, const gpu_source *source, const char *function) {
  gpu_step *step = calloc(1, sizeof *step);
  if (!step) {
    static gpu_step nowhere;  // status says so; its contents are never read
    fail_memory(plan);
    nowhere = (gpu_step){.plan = plan};
    return &nowhere;
  }
  step->plan = plan;
  step->source = source;
  step->function = function;
  if (plan->last)
    plan->last->next = step;
  else
    plan->first = step;
  plan->last = step;
  return step;
}

// ---- Work of a library ----

// What planning answered: a step, NULL where there is none, or the plan's failure.
static gpu_step *add_call(gpu_plan *plan, int32_t status, gpu_call *call, uint64_t workspace,
                          const ops_error *why) {
  if (status != OPS_OK) {
    if (status == OPS_ERROR_OUT_OF_MEMORY || status == OPS_ERROR_DEVICE_LOST)
      gpu_plan_fail(plan, status, "%s", why->message);
    return NULL;
  }
  gpu_step *step = gpu_plan_step(plan, NULL, "a library's");
  if (plan->status != OPS_OK) {
    plan->device->driver->call_destroy(call);
    return step;
  }
  step->call = call;
  step->call_workspace = workspace ? gpu_plan_workspace(plan, workspace) : 0;
  return step;
}

gpu_step *gpu_plan_product(gpu_plan *plan, const gpu_product *product) {
  const gpu_driver *driver = plan->device->driver;
  ops_error why = OPS_ERROR_INIT;
  gpu_call *call = NULL;
  uint64_t workspace = 0;
  if (!driver->product_plan || plan->status != OPS_OK) return NULL;
  const int32_t status = driver->product_plan(plan->device->context, product, kCallWorkspace,
                                              &call, &workspace, &why);
  return add_call(plan, status, call, workspace, &why);
}

gpu_step *gpu_plan_convolution(gpu_plan *plan, const gpu_convolution *convolution) {
  const gpu_driver *driver = plan->device->driver;
  ops_error why = OPS_ERROR_INIT;
  gpu_call *call = NULL;
  uint64_t workspace = 0;
  if (!driver->convolution_plan || plan->status != OPS_OK) return NULL;
  const int32_t status = driver->convolution_plan(plan->device->context, convolution,
                                                  kCallWorkspace, &call, &workspace, &why);
  return add_call(plan, status, call, workspace, &why);
}

void gpu_define(gpu_step *step, const char *name, const char *format, ...) {
  char value[512];
  va_list args;
  va_start(args, format);
  const int size = vsnprintf(value, sizeof value, format, args);
  va_end(args);
  if (size < 0 || (size_t)size >= sizeof value) step->defines.failed = 1;
  gpu_text_add(&step->defines, "#define %s %s\n", name, value);
}

void gpu_define_type(gpu_step *step, const char *name, int32_t type) {
  gpu_define(step, name, "%s", ops_type_name(type));
}

static void add_slot(gpu_step *step, gpu_slot slot) {
  if (step->plan->status != OPS_OK) return;
  if (step->slot_count == kGpuMaxArgs) {
    gpu_plan_fail(step->plan, OPS_ERROR_INTERNAL, "kernel %s has more than %d parameters",
                  step->function, kGpuMaxArgs);
    return;
  }
  step->slots[step->slot_count++] = slot;
}

void gpu_arg_input(gpu_step *step, uint64_t index) {
  add_slot(step, (gpu_slot){.kind = kGpuSlotInput, .index = index});
}

void gpu_arg_output(gpu_step *step, uint64_t index) {
  add_slot(step, (gpu_slot){.kind = kGpuSlotOutput, .index = index});
}

void gpu_arg_absent(gpu_step *step) {
  gpu_arg_input(step, UINT64_MAX);
}

void gpu_arg_workspace(gpu_step *step, uint64_t offset) {
  add_slot(step, (gpu_slot){.kind = kGpuSlotWorkspace, .offset = offset});
}

void gpu_arg_constant(gpu_step *step, uint64_t index) {
  add_slot(step, (gpu_slot){.kind = kGpuSlotConstant, .index = index});
}

void gpu_arg_fault(gpu_step *step) {
  step->plan->may_fault = 1;
  add_slot(step, (gpu_slot){.kind = kGpuSlotFault});
}

void gpu_arg_bytes(gpu_step *step, const void *value, uint32_t size) {
  const uint32_t begin = (step->value_bytes + 15) & ~15u;
  if (size > kGpuValueBytes || begin > kGpuValueBytes - size) {
    gpu_plan_fail(step->plan, OPS_ERROR_INTERNAL,
                  "kernel %s has more than %d bytes of parameters", step->function,
                  kGpuValueBytes);
    return;
  }
  if (step->plan->status != OPS_OK) return;
  memcpy(step->values + begin, value, size);
  step->value_bytes = begin + size;
  add_slot(step, (gpu_slot){.kind = kGpuSlotValue, .offset = begin, .size = size});
}

void gpu_arg_int(gpu_step *step, int32_t value) {
  gpu_arg_bytes(step, &value, sizeof value);
}

void gpu_arg_long(gpu_step *step, int64_t value) {
  gpu_arg_bytes(step, &value, sizeof value);
}

void gpu_arg_float(gpu_step *step, float value) {
  gpu_arg_bytes(step, &value, sizeof value);
}

uint32_t gpu_group_items(const ops_device *device, uint32_t most) {
  uint32_t items = 1;
  while (items * 2 <= most && items * 2 <= device->properties.max_group) items *= 2;
  return items;
}

const ops_type_info *gpu_input_type(const gpu_plan *plan, int64_t input) {
  const ops_operand *operand =
      input < 0 ? NULL : ops_request_input(plan->request, (uint64_t)input);
  return operand ? operand->type : NULL;
}

void gpu_grid_items(gpu_step *step, int64_t items) {
  const uint32_t group = gpu_group_items(step->plan->device, 256);
  gpu_grid_groups(step, (items + group - 1) / group, 1, 1, group, 1);
}

void gpu_grid_groups(gpu_step *step, int64_t groups_x, int64_t groups_y, int64_t groups_z,
                     uint32_t items_x, uint32_t items_y) {
  step->grid = (gpu_grid){{(uint64_t)groups_x, (uint64_t)groups_y, (uint64_t)groups_z},
                          {items_x, items_y, 1}};
}

void gpu_plan_free(gpu_plan *plan) {
  while (plan->first) {
    gpu_step *next = plan->first->next;
    gpu_text_free(&plan->first->defines);
    gpu_text_free(&plan->first->tail);
    if (plan->first->call) plan->device->driver->call_destroy(plan->first->call);
    free(plan->first);
    plan->first = next;
  }
  for (uint64_t i = 0; i < plan->constant_count; ++i)
    gpu_memory_api.free(plan->device, OPS_MEMORY_DEVICE, plan->constants[i]);
  free(plan->constants);
  *plan = (gpu_plan){0};
}

// SPDX-License-Identifier: Apache-2.0
//
// Laying out an instance: one descriptor per buffer, one argument per use of it. Arguments
// differ from the descriptor in the memory kind alone, which is what the kernel asked for.
#include "execution/instance.h"

#include <ops_support/error.h>
#include <stdlib.h>

#include "execution/capture.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running a model");
}

void rt_binding_set_type(rt_binding *binding, const ops_type_info *type, uint64_t bytes) {
  ops_tensor *tensor = &binding->arg.tensor;
  binding->type = type;
  if (type->kind != OPS_VALUE_TENSOR) return;
  tensor->dims = type->dims;
  tensor->strides = type->strides;
  tensor->type = type->type;
  tensor->rank = type->rank;
  tensor->layout = type->layout;
  tensor->byte_size = bytes;
}

void rt_instance_update(rt_instance *instance, uint32_t buffer) {
  instance->generation++;
  const ops_arg *bound = &instance->bindings[buffer].arg;
  for (uint32_t i = instance->first_use[buffer]; i < instance->first_use[buffer + 1]; ++i) {
    ops_arg *arg = &instance->args[instance->uses[i]];
    const int32_t memory_kind = arg->memory_kind;
    *arg = *bound;
    arg->memory_kind = memory_kind;
  }
}

// ---- Prepared objects -----------------------------------------------------------------------

static int32_t prepare(rt_instance *instance, int own, uint64_t *out_prepares,
                       ops_error *error) {
  const rt_plan *plan = instance->plan;
  *out_prepares = 0;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    if (own || action->kind != RT_ACTION_KERNEL || action->reentrant) {
      instance->prepared[i] = action->prepared;
      continue;
    }
    ++*out_prepares;
    OPS_RETURN_IF_ERROR(rt_plan_prepare(action, &instance->prepared[i], error));
  }
  return OPS_OK;
}

// ---- Descriptors ----------------------------------------------------------------------------

static int32_t bind_constant(rt_instance *instance, uint32_t index, void *memory,
                             rt_views *views, ops_error *error) {
  const rt_buffer *buffer = &instance->plan->buffers[index];
  rt_binding *binding = &instance->bindings[index];
  binding->arg.tensor.memory = memory;
  if (buffer->type->kind == OPS_VALUE_TENSOR) return OPS_OK;
  const ops_constant *view = NULL;
  OPS_RETURN_IF_ERROR(rt_views_constant(views, buffer->value, &view, error));
  binding->arg = view->dense;
  if (binding->arg.kind == OPS_ARG_VALUE) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "constant '%s' is sparse and a kernel wants it as an argument",
                       buffer->value->name);
}

// 1 if only a run says where the buffer is, or what shape it has.
static int is_moving(const rt_buffer *buffer) {
  return buffer->late ||
         (buffer->storage != RT_STORAGE_ARENA && buffer->storage != RT_STORAGE_CONSTANT &&
          buffer->storage != RT_STORAGE_CONTENTS);
}

static int32_t describe(rt_instance *instance, void *const *constants, rt_views *views,
                        ops_error *error) {
  const rt_plan *plan = instance->plan;
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    rt_binding *binding = &instance->bindings[i];
    const int object = buffer->type && buffer->type->kind != OPS_VALUE_TENSOR;
    binding->arg.kind = object ? OPS_ARG_VALUE : OPS_ARG_TENSOR;
    binding->arg.memory_kind = rt_place_kind(buffer->place);
    if (buffer->storage == RT_STORAGE_CONSTANT)
      OPS_RETURN_IF_ERROR(bind_constant(instance, i, constants[i], views, error));
    if (buffer->storage == RT_STORAGE_CONTENTS)
      binding->arg.tensor.memory = (void *)buffer->contents;
    if (buffer->type) rt_binding_set_type(binding, buffer->type, buffer->bytes);
    if (is_moving(buffer)) instance->moving[instance->moving_count++] = i;
  }
  return OPS_OK;
}

// ---- Requests -------------------------------------------------------------------------------

static uint32_t arg_count(const rt_action *action) {
  if (action->kind != RT_ACTION_KERNEL) return 0;
  return action->input_count + action->output_count * (action->dims_outputs ? 2 : 1);
}

static void lay_out_request(const rt_action *action, ops_arg *args,
                            ops_execute_request *request) {
  ops_arg *outputs = args + action->input_count;
  *request = (ops_execute_request){
      .struct_size = sizeof *request,
      .inputs = args,
      .input_count = action->input_count,
      .outputs = outputs,
      .output_count = action->output_count,
      .output_dims = action->dims_outputs ? outputs + action->output_count : NULL};
}

// Calls `visit` with each buffer that the action uses as an argument, and the argument.
typedef void (*use_visitor)(rt_instance *instance, uint32_t buffer, uint32_t arg,
                            int32_t memory_kind);

static void visit_uses(rt_instance *instance, use_visitor visit) {
  const rt_plan *plan = instance->plan;
  uint32_t at = 0;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    if (action->kind != RT_ACTION_KERNEL) continue;
    for (uint32_t k = 0; k < action->input_count; ++k, ++at)
      if (action->inputs[k] != RT_NO_BUFFER)
        visit(instance, action->inputs[k], at, rt_unit_input_kind(action->unit, k));
    for (uint32_t k = 0; k < action->output_count; ++k, ++at)
      if (action->outputs[k] != RT_NO_BUFFER)
        visit(instance, action->outputs[k], at,
              rt_place_kind(plan->buffers[action->outputs[k]].place));
    for (uint32_t k = 0; action->dims_outputs && k < action->output_count; ++k, ++at)
      if (action->dims_outputs[k] != RT_NO_BUFFER)
        visit(instance, action->dims_outputs[k], at,
              rt_place_kind(plan->buffers[action->dims_outputs[k]].place));
  }
}

static void count_use(rt_instance *instance, uint32_t buffer, uint32_t arg,
                      int32_t memory_kind) {
  (void)arg, (void)memory_kind;
  instance->first_use[buffer + 1]++;
}

// first_use[i + 1] is where the next use of buffer i goes, and ends as where they end.
static void note_use(rt_instance *instance, uint32_t buffer, uint32_t arg,
                     int32_t memory_kind) {
  instance->uses[instance->first_use[buffer + 1]++] = arg;
  instance->args[arg].memory_kind = memory_kind;
}

static int32_t list_uses(rt_instance *instance, uint32_t args, ops_error *error) {
  const uint32_t count = instance->plan->buffer_count;
  instance->first_use = rt_bump_new(&instance->bump, (uint64_t)count + 2, sizeof(uint32_t));
  instance->uses = rt_bump_new(&instance->bump, args, sizeof *instance->uses);
  if (!instance->first_use || !instance->uses) return exhausted(error);
  visit_uses(instance, count_use);
  uint32_t sum = 0;
  for (uint32_t i = 1; i <= count; ++i) {
    const uint32_t own = instance->first_use[i];
    instance->first_use[i] = sum;
    sum += own;
  }
  visit_uses(instance, note_use);
  for (uint32_t i = 0; i < count; ++i)
    if (instance->plan->buffers[i].storage != RT_STORAGE_LATE) rt_instance_update(instance, i);
  return OPS_OK;
}

static int32_t lay_out(rt_instance *instance, ops_error *error) {
  const rt_plan *plan = instance->plan;
  uint32_t args = 0;
  for (uint32_t i = 0; i < plan->action_count; ++i) args += arg_count(&plan->actions[i]);
  instance->args = rt_bump_new(&instance->bump, args, sizeof *instance->args);
  instance->requests =
      rt_bump_new(&instance->bump, plan->action_count, sizeof *instance->requests);
  if (!instance->args || !instance->requests) return exhausted(error);
  ops_arg *at = instance->args;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    lay_out_request(&plan->actions[i], at, &instance->requests[i]);
    at += arg_count(&plan->actions[i]);
  }
  return list_uses(instance, args, error);
}

// ---- Life -----------------------------------------------------------------------------------

static int32_t init(rt_instance *instance, void *const *constants, rt_views *views, int own,
                    uint64_t *out_prepares, ops_error *error) {
  const rt_plan *plan = instance->plan;
  rt_bump *bump = &instance->bump;
  instance->prepared = rt_bump_new(bump, plan->action_count, sizeof *instance->prepared);
  instance->bindings = rt_bump_new(bump, plan->buffer_count, sizeof *instance->bindings);
  instance->moving = rt_bump_new(bump, plan->buffer_count, sizeof *instance->moving);
  instance->arenas = rt_bump_new(bump, plan->arena_count, sizeof *instance->arenas);
  instance->bases = rt_bump_new(bump, plan->arena_count, sizeof *instance->bases);
  instance->events = rt_bump_new(bump, plan->action_count, sizeof *instance->events);
  if (plan->successors) {
    instance->pending = rt_bump_new(bump, plan->action_count, sizeof *instance->pending);
    instance->ready = rt_bump_new(bump, plan->action_count, sizeof *instance->ready);
  }
  if (bump->failed) return exhausted(error);
  OPS_RETURN_IF_ERROR(prepare(instance, own, out_prepares, error));
  OPS_RETURN_IF_ERROR(describe(instance, constants, views, error));
  return lay_out(instance, error);
}

int32_t rt_instance_create(const rt_plan *plan, void *const *constants, rt_views *views,
                           int own, rt_instance **out_instance, uint64_t *out_prepares,
                           ops_error *error) {
  *out_instance = NULL;
  *out_prepares = 0;
  rt_instance *instance = calloc(1, sizeof *instance);
  if (!instance) return exhausted(error);
  instance->plan = plan;
  const int32_t status = init(instance, constants, views, own, out_prepares, error);
  if (status != OPS_OK) {
    rt_instance_destroy(instance);
    return status;
  }
  *out_instance = instance;
  return OPS_OK;
}

void rt_instance_destroy(rt_instance *instance) {
  if (!instance) return;
  for (uint32_t i = 0; instance->prepared && i < instance->plan->action_count; ++i) {
    const rt_action *action = &instance->plan->actions[i];
    if (instance->prepared[i] && instance->prepared[i] != action->prepared)
      action->unit->api->prepared_destroy(instance->prepared[i]);
  }
  for (uint32_t i = 0; i < instance->region_count; ++i) {
    const rt_region *region = &instance->regions[i];
    if (region->capture) region->device->provider->stream->capture_destroy(region->capture);
  }
  rt_bump_finish(&instance->bump);
  free(instance);
}

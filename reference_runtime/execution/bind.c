// SPDX-License-Identifier: Apache-2.0
//
// From buffers of a plan to addresses of a run. What lies where it lay in the instance's last
// run stays as it is.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "execution/run.h"
#include "loader/value.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running a model");
}

int32_t rt_run_allocate(rt_run *run, uint32_t place, uint64_t size, uint64_t alignment,
                        rt_arena_block *out_block, ops_error *error) {
  rt_arena *arena = NULL;
  if (size == 0) size = 1;
  OPS_RETURN_IF_ERROR(rt_places_arena(run->executor->places, place, &arena, error));
  rt_run_memory *entry = rt_bump_new(&run->bump, 1, sizeof *entry);
  if (!entry) return exhausted(error);
  OPS_RETURN_IF_ERROR(rt_arena_allocate(arena, size, alignment, out_block, error));
  *entry = (rt_run_memory){run->memory, arena, *out_block};
  run->memory = entry;
  return OPS_OK;
}

// Counts host memory that is not the arena's as the session's until the run ends.
static int32_t charge(rt_run *run, uint64_t size, ops_error *error) {
  OPS_RETURN_IF_ERROR(
      rt_allocator_charge(run->executor->places->allocators[RT_PLACE_HOST], size, error));
  run->charged += size;
  return OPS_OK;
}

// Memory for an output, which is the caller's to free.
static int32_t allocate_output(rt_run *run, uint32_t index, uint64_t size, uint64_t alignment,
                               void **out_memory, ops_error *error) {
  rt_allocator *host = run->executor->places->allocators[RT_PLACE_HOST];
  const char *name = run->executor->options.graph->output_names[index];
  if (alignment < RT_MEMORY_HOST_ALIGNMENT) alignment = RT_MEMORY_HOST_ALIGNMENT;
  if (charge(run, size, error) != OPS_OK) return ops_error_prefix(error, "output '%s'", name);
  if (posix_memalign(out_memory, alignment, size ? size : 1) == 0) return OPS_OK;
  *out_memory = NULL;
  rt_shortage shortage;
  rt_allocator_shortage(host, size, &shortage);
  rt_shortage_report(&shortage, error);
  return ops_error_prefix(error, "output '%s'", name);
}

// The caller's memory if it will do; *out_memory NULL if not, in host memory: then the output
// is moved when the run ends.
static int32_t use_target(const rt_run *run, uint32_t index, const rt_output_need *need,
                          void **out_memory, ops_error *error) {
  const rt_run_target *target = run->targets ? &run->targets[index] : NULL;
  *out_memory = NULL;
  if (!target || !target->memory) return OPS_OK;
  if (target->size < need->bytes && (!need->bounded || need->place != RT_PLACE_HOST))
    return rt_run_target_small(run, index, need->bytes, error);
  const int aligned = need->alignment == 0 || (uintptr_t)target->memory % need->alignment == 0;
  const int fits = target->size >= need->bytes && target->size - need->bytes >= need->padding;
  if (need->place != RT_PLACE_HOST || (aligned && fits)) *out_memory = target->memory;
  return OPS_OK;
}

static int32_t find_output(rt_run *run, uint32_t index, const rt_output_need *need,
                           uint64_t size, void **out_memory, ops_error *error) {
  OPS_RETURN_IF_ERROR(use_target(run, index, need, out_memory, error));
  if (*out_memory || !run->sink) return OPS_OK;
  return run->sink->place(run->sink->context, index, size, need->alignment, out_memory, error);
}

int32_t rt_run_allocate_output(rt_run *run, uint32_t index, const rt_output_need *need,
                               void **out_memory, ops_error *error) {
  rt_run_output *output = &run->outputs[index];
  uint64_t size = 0;
  if (!output->lent) free(output->data);
  output->data = *out_memory = NULL;
  output->lent = 0;
  if (!ops_checked_add(need->bytes, need->padding, &size)) return exhausted(error);
  OPS_RETURN_IF_ERROR(find_output(run, index, need, size, out_memory, error));
  output->lent = *out_memory != NULL;
  if (!*out_memory)
    OPS_RETURN_IF_ERROR(allocate_output(run, index, size, need->alignment, out_memory, error));
  output->data = *out_memory;
  return OPS_OK;
}

int32_t rt_run_target_small(const rt_run *run, uint32_t index, uint64_t bytes,
                            ops_error *error) {
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "output '%s' has %llu bytes, but is bound to memory of %llu; bind at "
                       "least as much",
                       run->executor->options.graph->output_names[index],
                       (unsigned long long)bytes, (unsigned long long)run->targets[index].size);
}

int32_t rt_run_deliver(rt_run *run, ops_error *error) {
  const uint32_t count = run->targets ? run->executor->options.graph->output_count : 0;
  for (uint32_t i = 0; i < count; ++i) {
    const rt_run_target *target = &run->targets[i];
    rt_run_output *output = &run->outputs[i];
    if (!target->memory || output->data == target->memory || output->value) continue;
    if (output->size > target->size) return rt_run_target_small(run, i, output->size, error);
    if (output->size) memcpy(target->memory, output->data, output->size);
    if (!output->lent) free(output->data);
    output->data = target->memory;
    output->lent = 1;
  }
  return OPS_OK;
}

// ---- Results of bodies ----------------------------------------------------------------------

static int32_t copy_lent(rt_run_output *output, ops_error *error) {
  void *copy = NULL;
  if (posix_memalign(&copy, RT_CONTROL_ALIGNMENT, output->size ? output->size : 1) != 0)
    return exhausted(error);
  if (output->size) memcpy(copy, output->data, output->size);
  output->data = copy;
  output->lent = 0;
  return OPS_OK;
}

static int32_t adopt_memory(rt_run *run, const rt_buffer *buffer, rt_run_output *output,
                            ops_error *error) {
  const int leaves = buffer->index != RT_NO_BUFFER;
  if (leaves && (output->lent || run->sink || run->targets)) {
    void *memory = NULL;
    const rt_output_need need = {.bytes = output->size};
    OPS_RETURN_IF_ERROR(rt_run_allocate_output(run, buffer->index, &need, &memory, error));
    if (output->size) memcpy(memory, output->data, output->size);
    if (!output->lent) free(output->data);
    output->data = memory;
  } else if (leaves) {
    OPS_RETURN_IF_ERROR(charge(run, output->size, error));
    free(run->outputs[buffer->index].data);
    run->outputs[buffer->index].data = output->data;
  } else if (!output->lent) {
    rt_run_memory *entry = rt_bump_new(&run->bump, 1, sizeof *entry);
    if (!entry) return exhausted(error);
    OPS_RETURN_IF_ERROR(charge(run, output->size, error));
    *entry = (rt_run_memory){.next = run->memory, .block.memory = output->data};
    run->memory = entry;
  }
  output->lent = 1;  // owned by the run now
  return OPS_OK;
}

int32_t rt_run_adopt(rt_run *run, rt_segment *segment, uint32_t number, rt_run_output *output,
                     int keeps, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[number];
  rt_binding *binding = &segment->bindings[number];
  if (buffer->storage == RT_STORAGE_OBJECT) {
    ops_value_release(binding->arg.value);
    binding->arg.value = output->value;
    output->value = NULL;
    rt_instance_update(segment->instance, number);
    return OPS_OK;
  }
  const ops_type_info *type = rt_type_info_tensor(&run->bump, OPS_VALUE_TENSOR, output->type,
                                                  output->rank, output->dims);
  if (!type) return exhausted(error);
  if (output->lent && !keeps && buffer->index == RT_NO_BUFFER)
    OPS_RETURN_IF_ERROR(copy_lent(output, error));
  OPS_RETURN_IF_ERROR(adopt_memory(run, buffer, output, error));
  binding->arg.tensor.memory = output->data;
  binding->arg.tensor.byte_offset = 0;
  rt_binding_set_type(binding, type, output->size);
  return OPS_OK;
}

static int32_t buffer_size(const rt_buffer *buffer, uint64_t *out_size, ops_error *error) {
  if (ops_checked_add(buffer->bytes, buffer->padding, out_size)) return OPS_OK;
  return exhausted(error);
}

// ---- One function per storage ---------------------------------------------------------------

typedef int32_t (*bind_fn)(rt_run *run, rt_segment *segment, uint32_t index,
                           rt_binding *binding, ops_error *error);

uint64_t rt_run_alignment(const rt_buffer *buffer) {
  uint64_t alignment = (uint64_t)ops_type_bits(buffer->type->type) / 8;
  if (alignment > 8) alignment = 8;  // complex numbers are pairs
  if (alignment < buffer->alignment) alignment = buffer->alignment;
  return alignment ? alignment : 1;
}

// The caller's memory, or a copy of it where a kernel needs more alignment or readable bytes
// behind the end.
static int32_t bind_input(rt_run *run, rt_segment *segment, uint32_t index, rt_binding *binding,
                          ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  const rt_run_input *input = &run->inputs[buffer->index];
  if (buffer->type->kind != OPS_VALUE_TENSOR) {
    binding->arg.value = input->value;
    return OPS_OK;
  }
  const uint64_t alignment = rt_run_alignment(buffer);
  binding->arg.tensor.memory = (void *)input->data;
  binding->arg.tensor.byte_offset = 0;
  if (buffer->place != RT_PLACE_HOST) return OPS_OK;
  if ((uintptr_t)input->data % alignment == 0 && buffer->padding == 0) return OPS_OK;
  uint64_t size = 0;
  rt_arena_block copy;
  OPS_RETURN_IF_ERROR(buffer_size(buffer, &size, error));
  OPS_RETURN_IF_ERROR(rt_run_allocate(run, RT_PLACE_HOST, size, alignment, &copy, error));
  binding->arg.tensor.memory = rt_arena_address(&copy);
  if (buffer->bytes) memcpy(binding->arg.tensor.memory, input->data, buffer->bytes);
  return OPS_OK;
}

static int32_t bind_output(rt_run *run, rt_segment *segment, uint32_t index,
                           rt_binding *binding, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  const rt_output_need need = {.place = buffer->place,
                               .bytes = buffer->bytes,
                               .padding = buffer->padding,
                               .alignment = rt_run_alignment(buffer),
                               .bounded = buffer->late};
  return rt_run_allocate_output(run, buffer->index, &need, &binding->arg.tensor.memory, error);
}

static int32_t bind_carried(rt_run *run, rt_segment *segment, uint32_t index,
                            rt_binding *binding, ops_error *error) {
  (void)error;
  const rt_buffer *buffer = &segment->plan->buffers[index];
  binding->arg = run->segments[buffer->segment].bindings[buffer->index].arg;
  return OPS_OK;
}

// set_output_shape does it; until then the kernel has no such argument.
static int32_t bind_late(rt_run *run, rt_segment *segment, uint32_t index, rt_binding *binding,
                         ops_error *error) {
  (void)run, (void)error;
  const rt_instance *instance = segment->instance;
  binding->arg.tensor.memory = NULL;
  for (uint32_t i = instance->first_use[index]; i < instance->first_use[index + 1]; ++i)
    instance->args[instance->uses[i]].kind = OPS_ARG_ABSENT;
  return OPS_OK;
}

// The memory of a bounded output does not move, only its shape does.
static int32_t bind_nothing(rt_run *run, rt_segment *segment, uint32_t index,
                            rt_binding *binding, ops_error *error) {
  (void)run, (void)segment, (void)index, (void)binding, (void)error;
  return OPS_OK;
}

static int32_t bind_object(rt_run *run, rt_segment *segment, uint32_t index,
                           rt_binding *binding, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  (void)run;
  binding->arg.value = NULL;
  return ops_value_create(buffer->type->kind, &binding->arg.value, error);
}

static const bind_fn binders[] = {
    [RT_STORAGE_ARENA] = bind_nothing,    [RT_STORAGE_INPUT] = bind_input,
    [RT_STORAGE_OUTPUT] = bind_output,    [RT_STORAGE_CONSTANT] = bind_nothing,
    [RT_STORAGE_CONTENTS] = bind_nothing, [RT_STORAGE_CARRIED] = bind_carried,
    [RT_STORAGE_LATE] = bind_late,        [RT_STORAGE_OBJECT] = bind_object,
};

static int32_t bind_moving(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  rt_binding *binding = &segment->bindings[index];
  const ops_tensor before = binding->arg.tensor;
  const ops_value *value = binding->arg.value;
  const int32_t status = binders[buffer->storage](run, segment, index, binding, error);
  if (status != OPS_OK) {
    binding->arg.tensor.memory = NULL;  // the next run shall not think that it is bound
    return status;
  }
  if (buffer->type) rt_binding_set_type(binding, buffer->type, buffer->bytes);
  if (buffer->storage == RT_STORAGE_LATE ||
      (binding->arg.tensor.memory == before.memory && binding->arg.value == value &&
       binding->arg.tensor.byte_offset == before.byte_offset))
    return OPS_OK;
  rt_instance_update(segment->instance, index);
  run->rebound++;
  return OPS_OK;
}

void rt_run_release_objects(const rt_segment *segment) {
  const rt_instance *instance = segment->instance;
  for (uint32_t i = 0; i < instance->moving_count; ++i) {
    const uint32_t buffer = instance->moving[i];
    if (segment->plan->buffers[buffer].storage != RT_STORAGE_OBJECT) continue;
    ops_value_release(segment->bindings[buffer].arg.value);
    segment->bindings[buffer].arg.value = NULL;
  }
}

// ---- Arenas ---------------------------------------------------------------------------------

static int32_t acquire_arenas(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_plan *plan = segment->plan;
  for (uint32_t i = 0; i < plan->arena_count; ++i) {
    const rt_plan_arena *arena = &plan->arenas[i];
    rt_arena *source = NULL;
    OPS_RETURN_IF_ERROR(rt_places_arena(run->executor->places, arena->place, &source, error));
    OPS_RETURN_IF_ERROR(rt_arena_allocate(source, arena->stats.planned, arena->alignment,
                                          &segment->instance->arenas[i], error));
  }
  return OPS_OK;
}

static void bind_arena(rt_run *run, rt_segment *segment, uint32_t number) {
  rt_instance *instance = segment->instance;
  const rt_arena_block held = instance->arenas[number];
  rt_arena_block *base = &instance->bases[number];
  if (base->memory == held.memory && base->offset == held.offset) return;
  *base = held;
  for (uint32_t i = 0; i < segment->plan->buffer_count; ++i) {
    const rt_buffer *buffer = &segment->plan->buffers[i];
    if (buffer->storage != RT_STORAGE_ARENA || buffer->bytes == 0 ||
        buffer->place != segment->plan->arenas[number].place)
      continue;
    segment->bindings[i].arg.tensor.memory = held.memory;
    segment->bindings[i].arg.tensor.byte_offset = held.offset + buffer->offset;
    rt_instance_update(instance, i);
    run->rebound++;
  }
}

int32_t rt_run_bind(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_plan *plan = segment->plan;
  rt_instance *instance = segment->instance;
  OPS_RETURN_IF_ERROR(acquire_arenas(run, segment, error));
  for (uint32_t i = 0; i < plan->action_count; ++i) segment->events[i] = RT_NO_EVENT;
  for (uint32_t i = 0; i < plan->arena_count; ++i) bind_arena(run, segment, i);
  for (uint32_t i = 0; i < instance->moving_count; ++i)
    OPS_RETURN_IF_ERROR(bind_moving(run, segment, instance->moving[i], error));
  return OPS_OK;
}

int32_t rt_run_rebind(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_instance *instance = segment->instance;
  rt_run_release_objects(segment);
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) segment->events[i] = RT_NO_EVENT;
  for (uint32_t i = 0; i < instance->moving_count; ++i)
    OPS_RETURN_IF_ERROR(bind_moving(run, segment, instance->moving[i], error));
  return OPS_OK;
}

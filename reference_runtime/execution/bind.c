// SPDX-License-Identifier: Apache-2.0
//
// From buffers of a plan to addresses of a run. Descriptors are laid out once per segment, so
// that issuing an action only copies them.
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

// Memory for an output, which is the caller's to free.
static int32_t allocate_output(rt_run *run, uint32_t index, uint64_t size, uint64_t alignment,
                               void **out_memory, ops_error *error) {
  rt_allocator *host = run->executor->places->allocators[RT_PLACE_HOST];
  const char *name = run->executor->options.graph->output_names[index];
  if (alignment < RT_MEMORY_HOST_ALIGNMENT) alignment = RT_MEMORY_HOST_ALIGNMENT;
  if (rt_allocator_charge(host, size, error) != OPS_OK)
    return ops_error_prefix(error, "output '%s'", name);
  run->charged += size;
  if (posix_memalign(out_memory, alignment, size ? size : 1) == 0) return OPS_OK;
  *out_memory = NULL;
  rt_shortage shortage;
  rt_allocator_shortage(host, size, &shortage);
  rt_shortage_report(&shortage, error);
  return ops_error_prefix(error, "output '%s'", name);
}

int32_t rt_run_allocate_output(rt_run *run, uint32_t index, uint64_t size, uint64_t alignment,
                               void **out_memory, ops_error *error) {
  rt_run_output *output = &run->outputs[index];
  if (!output->lent) free(output->data);
  output->data = *out_memory = NULL;
  output->lent = 0;
  if (run->sink)
    OPS_RETURN_IF_ERROR(
        run->sink->place(run->sink->context, index, size, alignment, out_memory, error));
  if (*out_memory) {
    output->lent = 1;
    output->data = *out_memory;
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(allocate_output(run, index, size, alignment, out_memory, error));
  output->data = *out_memory;
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
  if (leaves && (output->lent || run->sink)) {
    void *memory = NULL;
    OPS_RETURN_IF_ERROR(
        rt_run_allocate_output(run, buffer->index, output->size, 0, &memory, error));
    if (output->size) memcpy(memory, output->data, output->size);
    if (!output->lent) free(output->data);
    output->data = memory;
  } else if (leaves) {
    free(run->outputs[buffer->index].data);
    run->outputs[buffer->index].data = output->data;
  } else if (!output->lent) {
    rt_run_memory *entry = rt_bump_new(&run->bump, 1, sizeof *entry);
    if (!entry) return exhausted(error);
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
  rt_run_set_type(binding, type, output->size);
  return OPS_OK;
}

void rt_run_set_type(rt_binding *binding, const ops_type_info *type, uint64_t bytes) {
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

static int32_t buffer_size(const rt_buffer *buffer, uint64_t *out_size, ops_error *error) {
  if (ops_checked_add(buffer->bytes, buffer->padding, out_size)) return OPS_OK;
  return exhausted(error);
}

// ---- One function per storage ---------------------------------------------------------------

typedef int32_t (*bind_fn)(rt_run *run, rt_segment *segment, uint32_t index,
                           rt_binding *binding, ops_error *error);

static int32_t bind_arena(rt_run *run, rt_segment *segment, uint32_t index, rt_binding *binding,
                          ops_error *error) {
  (void)run, (void)error;
  const rt_buffer *buffer = &segment->plan->buffers[index];
  if (buffer->bytes == 0) return OPS_OK;
  for (uint32_t i = 0; i < segment->plan->arena_count; ++i)
    if (segment->plan->arenas[i].place == buffer->place) {
      binding->arg.tensor.memory = segment->arenas[i].memory;
      binding->arg.tensor.byte_offset = segment->arenas[i].offset + buffer->offset;
    }
  return OPS_OK;
}

// The caller's memory, or a copy of it where a kernel needs more alignment or readable bytes
// behind the end.
static int32_t bind_input(rt_run *run, rt_segment *segment, uint32_t index, rt_binding *binding,
                          ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  const rt_run_input *input = &run->inputs[buffer->index];
  if (buffer->type->kind != OPS_VALUE_TENSOR) {
    binding->arg.kind = OPS_ARG_VALUE;
    binding->arg.value = input->value;
    return OPS_OK;
  }
  uint64_t alignment = (uint64_t)ops_type_bits(buffer->type->type) / 8;
  if (alignment > 8) alignment = 8;  // complex numbers are pairs
  if (alignment < buffer->alignment) alignment = buffer->alignment;
  if (alignment == 0) alignment = 1;
  binding->arg.tensor.memory = (void *)input->data;
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
  uint64_t size = 0;
  OPS_RETURN_IF_ERROR(buffer_size(buffer, &size, error));
  return rt_run_allocate_output(run, buffer->index, size, buffer->alignment,
                                &binding->arg.tensor.memory, error);
}

static int32_t bind_constant(rt_run *run, rt_segment *segment, uint32_t index,
                             rt_binding *binding, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  binding->arg.tensor.memory = segment->cached->constants[index];
  if (buffer->type->kind == OPS_VALUE_TENSOR) return OPS_OK;
  const ops_constant *view = NULL;
  OPS_RETURN_IF_ERROR(
      rt_views_constant(run->executor->options.partition->views, buffer->value, &view, error));
  binding->arg = view->dense;
  if (binding->arg.kind == OPS_ARG_VALUE) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "constant '%s' is sparse and a kernel wants it as an argument",
                       buffer->value->name);
}

static int32_t bind_contents(rt_run *run, rt_segment *segment, uint32_t index,
                             rt_binding *binding, ops_error *error) {
  (void)run, (void)error;
  binding->arg.tensor.memory = (void *)segment->plan->buffers[index].contents;
  return OPS_OK;
}

static int32_t bind_carried(rt_run *run, rt_segment *segment, uint32_t index,
                            rt_binding *binding, ops_error *error) {
  (void)error;
  const rt_buffer *buffer = &segment->plan->buffers[index];
  binding->arg = run->segments[buffer->segment].bindings[buffer->index].arg;
  return OPS_OK;
}

static int32_t bind_late(rt_run *run, rt_segment *segment, uint32_t index, rt_binding *binding,
                         ops_error *error) {
  (void)run, (void)segment, (void)index, (void)binding, (void)error;
  return OPS_OK;  // set_output_shape does it
}

static int32_t bind_object(rt_run *run, rt_segment *segment, uint32_t index,
                           rt_binding *binding, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[index];
  binding->arg.kind = OPS_ARG_VALUE;
  OPS_RETURN_IF_ERROR(ops_value_create(buffer->type->kind, &binding->arg.value, error));
  (void)run;
  return OPS_OK;
}

static const bind_fn binders[] = {
    [RT_STORAGE_ARENA] = bind_arena,       [RT_STORAGE_INPUT] = bind_input,
    [RT_STORAGE_OUTPUT] = bind_output,     [RT_STORAGE_CONSTANT] = bind_constant,
    [RT_STORAGE_CONTENTS] = bind_contents, [RT_STORAGE_CARRIED] = bind_carried,
    [RT_STORAGE_LATE] = bind_late,         [RT_STORAGE_OBJECT] = bind_object,
};

static int32_t acquire_arenas(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_plan *plan = segment->plan;
  segment->arenas = rt_bump_new(&run->bump, plan->arena_count, sizeof *segment->arenas);
  if (!segment->arenas) return exhausted(error);
  for (uint32_t i = 0; i < plan->arena_count; ++i) {
    const rt_plan_arena *arena = &plan->arenas[i];
    rt_arena *source = NULL;
    OPS_RETURN_IF_ERROR(rt_places_arena(run->executor->places, arena->place, &source, error));
    OPS_RETURN_IF_ERROR(rt_arena_allocate(source, arena->stats.planned, arena->alignment,
                                          &segment->arenas[i], error));
  }
  return OPS_OK;
}

int32_t rt_run_bind(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_plan *plan = segment->plan;
  OPS_RETURN_IF_ERROR(acquire_arenas(run, segment, error));
  segment->bindings = rt_bump_new(&run->bump, plan->buffer_count, sizeof *segment->bindings);
  segment->events = rt_bump_new(&run->bump, plan->action_count, sizeof *segment->events);
  if (!segment->bindings || !segment->events) return exhausted(error);
  for (uint32_t i = 0; i < plan->action_count; ++i) segment->events[i] = RT_NO_EVENT;
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    rt_binding *binding = &segment->bindings[i];
    binding->arg.kind = OPS_ARG_TENSOR;
    binding->arg.memory_kind = rt_place_kind(buffer->place);
    OPS_RETURN_IF_ERROR(binders[buffer->storage](run, segment, i, binding, error));
    if (buffer->type) rt_run_set_type(binding, buffer->type, buffer->bytes);
  }
  return OPS_OK;
}

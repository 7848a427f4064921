// SPDX-License-Identifier: Apache-2.0
//
// What only running tells: shapes that kernels state while or after they run, and contents of
// values that decide how the rest is planned.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "execution/run.h"
#include "loader/value.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running a model");
}

// ---- set_output_shape -----------------------------------------------------------------------

static int is_open(const rt_buffer *buffer) {
  return buffer->storage == RT_STORAGE_LATE ||
         (buffer->storage == RT_STORAGE_OBJECT && buffer->late);
}

static int32_t check_call(const ops_call *call, uint64_t index, int32_t rank,
                          const int64_t *dims, ops_error *error) {
  if (!call || index >= call->action->output_count ||
      call->action->outputs[index] == RT_NO_BUFFER ||
      !is_open(&call->segment->plan->buffers[call->action->outputs[index]]))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "set_output_shape: output %llu is not in mode HOST_SYNC",
                         (unsigned long long)index);
  const ops_arg *bound = &call->segment->bindings[call->action->outputs[index]].arg;
  if (bound->kind == OPS_ARG_TENSOR && bound->tensor.memory)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "set_output_shape: output %llu has its shape already",
                         (unsigned long long)index);
  if (rank < 0 || rank > OPS_MAX_RANK)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "set_output_shape: rank %d, expected 0 to %d", rank, OPS_MAX_RANK);
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < 0)
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "set_output_shape: dimension %d is %lld", i, (long long)dims[i]);
  return OPS_OK;
}

int32_t rt_call_set_output_shape(void *context, ops_call *call, uint64_t index, int32_t rank,
                                 const int64_t *dims, ops_arg *out_arg, ops_error *error) {
  (void)context;
  OPS_RETURN_IF_ERROR(check_call(call, index, rank, dims, error));
  rt_run *run = call->run;
  const uint32_t number = call->action->outputs[index];
  const rt_buffer *buffer = &call->segment->plan->buffers[number];
  rt_binding *binding = &call->segment->bindings[number];
  if (buffer->storage == RT_STORAGE_OBJECT) {
    *out_arg = call->outputs[index] = binding->arg;
    return ops_value_accessors.strings_resize(binding->arg.value, rank, dims, error);
  }
  const ops_type_info *type =
      rt_type_info_tensor(&run->bump, OPS_VALUE_TENSOR, buffer->type->type, rank, dims);
  uint64_t bytes = 0;
  rt_arena_block block = {0};
  if (!type) return exhausted(error);
  uint64_t size = 0;
  OPS_RETURN_IF_ERROR(rt_type_info_bytes(type, &bytes, error));
  if (__builtin_add_overflow(bytes, buffer->padding, &size)) return exhausted(error);
  const rt_output_need need = {
      .bytes = bytes, .padding = buffer->padding, .alignment = rt_run_alignment(buffer)};
  if (buffer->index != RT_NO_BUFFER)
    OPS_RETURN_IF_ERROR(
        rt_run_allocate_output(run, buffer->index, &need, &block.memory, error));
  else
    OPS_RETURN_IF_ERROR(
        rt_run_allocate(run, buffer->place, size, buffer->alignment, &block, error));
  binding->arg.tensor.memory = block.memory;
  binding->arg.tensor.byte_offset = block.offset;
  rt_binding_set_type(binding, type, bytes);
  *out_arg = call->outputs[index] = binding->arg;
  return OPS_OK;
}

int32_t rt_call_is_cancelled(void *context, const ops_call *call) {
  (void)context;
  return call && rt_interrupt_status(call->run->interrupt) != OPS_OK;
}

// ---- After a segment ------------------------------------------------------------------------

// The vector that a kernel filled with the shape of a bounded output.
static int32_t read_dims(rt_run *run, const rt_segment *segment, uint32_t vector, int32_t rank,
                         int64_t *out_dims, ops_error *error) {
  const rt_binding *binding = &segment->bindings[vector];
  return rt_places_copy(run->executor->places, segment->plan->buffers[vector].place,
                        binding->arg.tensor.memory, binding->arg.tensor.byte_offset,
                        RT_PLACE_HOST, out_dims, 0, (uint64_t)rank * sizeof *out_dims, error);
}

static int32_t resolve_bounded(rt_run *run, rt_segment *segment, uint32_t number,
                               uint32_t vector, ops_error *error) {
  const rt_buffer *buffer = &segment->plan->buffers[number];
  const ops_type_info *bound = buffer->type;
  int64_t dims[OPS_MAX_RANK];
  uint64_t bytes = 0;
  OPS_RETURN_IF_ERROR(read_dims(run, segment, vector, bound->rank, dims, error));
  for (int32_t i = 0; i < bound->rank; ++i)
    if (dims[i] < 0 || dims[i] > bound->dims[i])
      return ops_error_set(error, OPS_ERROR_INTERNAL,
                           "value '%s': dimension %d came out as %lld, the bound is %lld",
                           buffer->value->name, i, (long long)dims[i],
                           (long long)bound->dims[i]);
  const ops_type_info *type =
      rt_type_info_tensor(&run->bump, bound->kind, bound->type, bound->rank, dims);
  if (!type) return exhausted(error);
  OPS_RETURN_IF_ERROR(rt_type_info_bytes(type, &bytes, error));
  rt_binding_set_type(&segment->bindings[number], type, bytes);
  return OPS_OK;
}

static int32_t resolve_strings(rt_run *run, rt_binding *binding, ops_error *error) {
  int32_t rank = 0;
  const int64_t *dims = NULL;
  OPS_RETURN_IF_ERROR(
      ops_value_accessors.strings_shape(binding->arg.value, &rank, &dims, error));
  binding->type =
      rt_type_info_tensor(&run->bump, OPS_VALUE_STRINGS, OPS_TYPE_STRING, rank, dims);
  return binding->type ? OPS_OK : exhausted(error);
}

static uint32_t dims_vector(const rt_plan *plan, uint32_t number) {
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    for (uint32_t k = 0; action->dims_outputs && k < action->output_count; ++k)
      if (action->outputs[k] == number) return action->dims_outputs[k];
  }
  return RT_NO_BUFFER;
}

int32_t rt_run_resolve(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_plan *plan = segment->plan;
  for (uint32_t i = 0; i < plan->late_count; ++i) {
    const uint32_t number = plan->late[i];
    const uint32_t vector = dims_vector(plan, number);
    rt_binding *binding = &segment->bindings[number];
    if (binding->arg.kind == OPS_ARG_VALUE)
      OPS_RETURN_IF_ERROR(resolve_strings(run, binding, error));
    else if (vector != RT_NO_BUFFER)
      OPS_RETURN_IF_ERROR(resolve_bounded(run, segment, number, vector, error));
  }
  return OPS_OK;
}

// ---- Contents -------------------------------------------------------------------------------

// Bytes where the host can read them.
static int32_t bring(rt_run *run, uint32_t place, const void *memory, uint64_t offset,
                     uint64_t size, const void **out_data, ops_error *error) {
  *out_data = memory ? (const char *)memory + offset : NULL;  // an empty tensor may have none
  if (!rt_memory_kind_is_opaque(rt_place_kind(place))) return OPS_OK;
  void *copy = rt_bump_new(&run->bump, size, 1);
  if (!copy) return exhausted(error);
  *out_data = copy;
  return rt_places_copy(run->executor->places, place, memory, offset, RT_PLACE_HOST, copy, 0,
                        size, error);
}

static int32_t fetch_input(rt_run *run, const rt_value *value, const void **out_data,
                           uint64_t *out_size, ops_error *error) {
  const rt_partition *partition = run->executor->options.partition;
  for (uint32_t i = 0; i < partition->input_count; ++i) {
    if (partition->inputs[i] != value) continue;
    OPS_RETURN_IF_ERROR(rt_type_info_bytes(run->inputs[i].type, out_size, error));
    const rt_run_input *input = &run->inputs[i];
    *out_data = input->data;
    if (*out_size == 0) return OPS_OK;
    if (*out_data) return bring(run, input->place, input->data, 0, *out_size, out_data, error);
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "input '%s' has no data", value->name);
  }
  return ops_error_set(error, OPS_ERROR_INTERNAL, "value '%s' does not exist yet", value->name);
}

// The strided location of a value in host memory if there is one, else any strided one.
static const rt_location *readable(const rt_known *known) {
  const rt_location *found = NULL;
  for (const rt_location *at = known->locations; at; at = at->next) {
    if (at->layout != OPS_LAYOUT_STRIDED) continue;
    if (!rt_memory_kind_is_opaque(rt_place_kind(at->place))) return at;
    found = at;
  }
  return found;
}

int32_t rt_run_fetch(void *context, const rt_value *value, const void **out_data,
                     uint64_t *out_size, ops_error *error) {
  rt_run *run = context;
  if (run->segment_count == 0) return fetch_input(run, value, out_data, out_size, error);
  const rt_segment *last = &run->segments[run->segment_count - 1];
  const rt_location *at = readable(&last->plan->known[value->id]);
  if (!at)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "value '%s' decides shapes but is in a private layout only",
                         value->name);
  const rt_binding *binding = &run->segments[at->segment].bindings[at->buffer];
  const ops_tensor *tensor = &binding->arg.tensor;
  *out_size = tensor->byte_size;
  return bring(run, at->place, tensor->memory, tensor->byte_offset, tensor->byte_size, out_data,
               error);
}

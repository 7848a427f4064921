// SPDX-License-Identifier: Apache-2.0
//
// Memory of callers, and runs that are bound to it. A binding keeps the plan of its last run;
// it lets go of it when a shape or a place changes.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

struct opsrt_buffer {
  opsrt_session *session;
  void *memory;
  uint64_t size;
  uint32_t place;
};

// The type of an input, in place.
typedef struct bound_type {
  ops_type_info info;
  int64_t dims[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK];
  uint64_t bytes;
} bound_type;

struct opsrt_binding {
  opsrt_session *session;
  uint32_t input_count, output_count;
  rt_run_input *inputs;
  bound_type *types;
  rt_run_target *targets;
  rt_run_output *outputs;
  opsrt_value *values;
  uint32_t *places;  // of inputs, then of outputs
  int settled;       // 1: nothing has changed since the inputs were checked together
  int has_outputs;   // 1: the last run succeeded
  rt_kept_plan kept;
};

// ---- Buffers --------------------------------------------------------------------------------

int32_t opsrt_buffer_create(opsrt_session *session, uint64_t memory, uint64_t size,
                            opsrt_buffer **out_buffer, ops_error *error) {
  *out_buffer = NULL;
  if (size == 0) return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "a buffer of 0 bytes");
  opsrt_buffer *buffer = calloc(1, sizeof *buffer);
  if (!buffer) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a buffer");
  const uint32_t index = memory < UINT32_MAX ? (uint32_t)memory : UINT32_MAX;
  const int32_t status = rt_executor_allocate(session->executor, index, size, &buffer->memory,
                                              &buffer->place, error);
  if (status != OPS_OK) {
    free(buffer);
    return status;
  }
  buffer->session = session;
  buffer->size = size;
  *out_buffer = buffer;
  return OPS_OK;
}

void opsrt_buffer_destroy(opsrt_buffer *buffer) {
  if (!buffer) return;
  rt_executor_free(buffer->session->executor, buffer->place, buffer->memory, buffer->size);
  free(buffer);
}

static int32_t check_range(const opsrt_buffer *buffer, uint64_t offset, uint64_t size,
                           ops_error *error) {
  if (offset <= buffer->size && size <= buffer->size - offset) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "bytes [%llu, %llu + %llu) of a buffer of %llu bytes",
                       (unsigned long long)offset, (unsigned long long)offset,
                       (unsigned long long)size, (unsigned long long)buffer->size);
}

int32_t opsrt_buffer_write(opsrt_buffer *buffer, uint64_t offset, const void *data,
                           uint64_t size, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_range(buffer, offset, size, error));
  return rt_executor_copy(buffer->session->executor, RT_PLACE_HOST, data, 0, buffer->place,
                          buffer->memory, offset, size, error);
}

int32_t opsrt_buffer_read(const opsrt_buffer *buffer, uint64_t offset, void *data,
                          uint64_t size, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_range(buffer, offset, size, error));
  return rt_executor_copy(buffer->session->executor, buffer->place, buffer->memory, offset,
                          RT_PLACE_HOST, data, 0, size, error);
}

// ---- Life -----------------------------------------------------------------------------------

int32_t opsrt_binding_create(opsrt_session *session, opsrt_binding **out_binding,
                             ops_error *error) {
  *out_binding = NULL;
  opsrt_binding *b = calloc(1, sizeof *b);
  if (!b) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a binding");
  b->session = session;
  b->input_count = session->graph->input_count;
  b->output_count = session->graph->output_count;
  const size_t outputs = (size_t)b->output_count + 1, inputs = (size_t)b->input_count + 1;
  b->inputs = calloc(inputs, sizeof *b->inputs);
  b->types = calloc(inputs, sizeof *b->types);
  b->targets = calloc(outputs, sizeof *b->targets);
  b->outputs = calloc(outputs, sizeof *b->outputs);
  b->values = calloc(outputs, sizeof *b->values);
  b->places = calloc(inputs + outputs, sizeof *b->places);
  if (!b->inputs || !b->types || !b->targets || !b->outputs || !b->values || !b->places) {
    opsrt_binding_destroy(b);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a binding");
  }
  *out_binding = b;
  return OPS_OK;
}

static void drop_outputs(opsrt_binding *b) {
  b->has_outputs = 0;
  for (uint32_t i = 0; b->outputs && i < b->output_count; ++i)
    rt_run_output_finish(&b->outputs[i]);
}

// What has been planned does not fit any more.
static void unsettle(opsrt_binding *b) {
  b->settled = 0;
  rt_executor_release_kept(b->session->executor, &b->kept);
}

void opsrt_binding_destroy(opsrt_binding *b) {
  if (!b) return;
  drop_outputs(b);
  rt_executor_release_kept(b->session->executor, &b->kept);
  free(b->inputs);
  free(b->types);
  free(b->targets);
  free(b->outputs);
  free(b->values);
  free(b->places);
  free(b);
}

// ---- Inputs ---------------------------------------------------------------------------------

static void copy_type(bound_type *type, const opsrt_value *value) {
  const size_t size = (size_t)value->rank * sizeof type->dims[0];
  if (size) memcpy(type->dims, value->dims, size);
  ops_strides_contiguous(value->rank, type->dims, type->strides);
  type->info = (ops_type_info){.struct_size = sizeof type->info,
                               .kind = OPS_VALUE_TENSOR,
                               .type = value->type,
                               .rank = value->rank,
                               .dims = type->dims,
                               .strides = type->strides};
}

static int is_same_type(const rt_run_input *input, const opsrt_value *value) {
  const ops_type_info *known = input->type;
  return known && known->type == value->type && known->rank == value->rank &&
         (value->rank == 0 ||
          memcmp(known->dims, value->dims, (size_t)value->rank * sizeof known->dims[0]) == 0);
}

static int32_t check_bytes(const opsrt_value *value, const opsrt_buffer *buffer, uint64_t bytes,
                           ops_error *error) {
  const uint64_t given = buffer ? buffer->size : value->size;
  const int fits = buffer ? given >= bytes : given == bytes;
  if (fits && (buffer || value->data || bytes == 0)) return OPS_OK;
  return ops_error_set_cause(
      error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_INPUT_DATA,
      "input '%s' has %llu bytes, its type and shape need %llu", value->name,
      (unsigned long long)(buffer || value->data ? given : 0), (unsigned long long)bytes);
}

static int32_t set_input(opsrt_binding *b, uint32_t index, const opsrt_value *value,
                         const opsrt_buffer *buffer, ops_error *error) {
  rt_run_input *input = &b->inputs[index];
  bound_type *type = &b->types[index];
  const uint32_t place = buffer ? buffer->place : RT_PLACE_HOST;
  if (buffer && buffer->session != b->session)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "input '%s': the buffer belongs to another session", value->name);
  if (!is_same_type(input, value)) {
    OPS_RETURN_IF_ERROR(rt_session_check_tensor(b->session, index, value, error));
    unsettle(b);
    input->type = NULL;
    copy_type(type, value);
    OPS_RETURN_IF_ERROR(rt_type_info_bytes(&type->info, &type->bytes, error));
  }
  OPS_RETURN_IF_ERROR(check_bytes(value, buffer, type->bytes, error));
  if (input->place != place) unsettle(b);
  input->type = &type->info;
  input->data = buffer ? buffer->memory : value->data;
  input->place = place;
  return OPS_OK;
}

int32_t opsrt_binding_set_input(opsrt_binding *binding, const opsrt_value *value,
                                opsrt_buffer *buffer, ops_error *error) {
  uint32_t index = 0;
  OPS_RETURN_IF_ERROR(rt_session_find_input(binding->session, value->name, &index, error));
  return set_input(binding, index, value, buffer, error);
}

static int32_t set_defaults(opsrt_binding *b, ops_error *error) {
  for (uint32_t i = 0; i < b->input_count; ++i) {
    opsrt_value value;
    if (b->inputs[i].type) continue;
    OPS_RETURN_IF_ERROR(rt_session_default(b->session, i, &value, error));
    OPS_RETURN_IF_ERROR(set_input(b, i, &value, NULL, error));
  }
  return OPS_OK;
}

static int32_t settle(opsrt_binding *b, ops_error *error) {
  if (b->settled) return OPS_OK;
  rt_bump scratch = {0};
  int32_t status = set_defaults(b, error);
  if (status == OPS_OK)
    status = rt_session_check_symbols(b->session, b->inputs, &scratch, error);
  rt_bump_finish(&scratch);
  b->settled = status == OPS_OK;
  return status;
}

// ---- Outputs --------------------------------------------------------------------------------

int32_t opsrt_binding_set_output(opsrt_binding *binding, const char *name, void *memory,
                                 uint64_t size, opsrt_buffer *buffer, ops_error *error) {
  const opsrt_session *session = binding->session;
  uint32_t index = 0;
  while (index < binding->output_count && strcmp(session->outputs[index].name, name) != 0)
    index++;
  if (index == binding->output_count)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "output '%s' does not exist; the first is '%s'", name,
                         binding->output_count ? session->outputs[0].name : "");
  if (session->outputs[index].kind && session->outputs[index].kind != OPS_VALUE_TENSOR)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "output '%s' is %s, and only tensors can be bound", name,
                         session->outputs[index].text);
  if (buffer && buffer->session != session)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "output '%s': the buffer belongs to another session", name);
  rt_run_target *target = &binding->targets[index];
  const uint32_t place = buffer ? buffer->place : RT_PLACE_HOST;
  if (target->place != place) unsettle(binding);
  *target = buffer ? (rt_run_target){buffer->memory, buffer->size, place}
                   : (rt_run_target){memory, memory ? size : 0, place};
  return OPS_OK;
}

static int overlap(uint32_t place, const void *a, uint64_t a_size, uint32_t other_place,
                   const void *b, uint64_t b_size) {
  if (place != other_place || !a || !b || a_size == 0 || b_size == 0) return 0;
  if (place != RT_PLACE_HOST) return a == b;
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y ? y - x < a_size : x - y < b_size;
}

static int32_t check_overlaps(const opsrt_binding *b, ops_error *error) {
  const opsrt_session *session = b->session;
  for (uint32_t i = 0; i < b->output_count; ++i) {
    const rt_run_target *target = &b->targets[i];
    const char *other = NULL;
    if (!target->memory) continue;
    for (uint32_t k = 0; k < b->input_count && !other; ++k)
      if (overlap(target->place, target->memory, target->size, b->inputs[k].place,
                  b->inputs[k].data, b->types[k].bytes))
        other = session->inputs[k].name;
    for (uint32_t k = 0; k < i && !other; ++k)
      if (overlap(target->place, target->memory, target->size, b->targets[k].place,
                  b->targets[k].memory, b->targets[k].size))
        other = session->outputs[k].name;
    if (other)
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "output '%s' and '%s' are bound to the same memory; bind two pieces "
                           "and swap them after each run",
                           session->outputs[i].name, other);
  }
  return OPS_OK;
}

// ---- Running --------------------------------------------------------------------------------

// NULL where everything is in host memory, as in runs without a binding.
static const uint32_t *list_places(opsrt_binding *b) {
  int host = 1;
  for (uint32_t i = 0; i < b->input_count; ++i) {
    b->places[i] = b->inputs[i].place;
    host = host && b->places[i] == RT_PLACE_HOST;
  }
  for (uint32_t i = 0; i < b->output_count; ++i) {
    b->places[b->input_count + i] = b->targets[i].place;
    host = host && b->targets[i].place == RT_PLACE_HOST;
  }
  return host ? NULL : b->places;
}

static void describe_outputs(opsrt_binding *b) {
  for (uint32_t i = 0; i < b->output_count; ++i) {
    const rt_run_output *output = &b->outputs[i];
    b->values[i] =
        (opsrt_value){.name = b->session->outputs[i].name,
                      .kind = output->kind,
                      .type = output->type,
                      .rank = output->rank,
                      .dims = output->dims,
                      .data = b->targets[i].place == RT_PLACE_HOST ? output->data : NULL,
                      .size = output->size,
                      .value = output->value};
  }
  b->has_outputs = 1;
}

int32_t opsrt_binding_run(opsrt_binding *binding, const opsrt_run_options *options,
                          ops_error *error) {
  rt_interrupt storage;
  drop_outputs(binding);
  OPS_RETURN_IF_ERROR(settle(binding, error));
  OPS_RETURN_IF_ERROR(check_overlaps(binding, error));
  const rt_run_request request = {.inputs = binding->inputs,
                                  .outputs = binding->outputs,
                                  .targets = binding->targets,
                                  .places = list_places(binding),
                                  .interrupt = rt_session_interrupt(options, &storage),
                                  .kept = &binding->kept};
  OPS_RETURN_IF_ERROR(rt_executor_run(binding->session->executor, &request, error));
  describe_outputs(binding);
  return OPS_OK;
}

const opsrt_value *opsrt_binding_output(const opsrt_binding *binding, uint64_t index) {
  return binding->has_outputs && index < binding->output_count ? &binding->values[index] : NULL;
}

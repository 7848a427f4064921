// SPDX-License-Identifier: Apache-2.0
//
// Argument memory and runs.
#include "runner/launch.h"

#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "ops_support/error.h"
#include "runner/result.h"

// ---- Memory ---------------------------------------------------------------------------------

static uint64_t element_alignment(int32_t type) {
  const int32_t bits = oc_element_bits(type);
  const uint64_t bytes = bits >= 8 ? (uint64_t)bits / 8 : 1;
  return bytes > 8 ? 8 : bytes;
}

// A compiled group, which declares nothing, finds its arguments where the device computes.
static int32_t kind_of(const oc_kernel *kernel, const ops_arg_def *def) {
  const uint32_t kinds = kernel->target->info.memory_kinds;
  if (def) return def->memory_kind;
  const bool own =
      kernel->def == &kernel->compiled && (kinds & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE));
  return own ? OPS_MEMORY_DEVICE : OPS_MEMORY_HOST;
}

static oc_block_spec spec_of(const oc_kernel *kernel, const ops_arg_def *def, int32_t type,
                             uint64_t bytes) {
  oc_block_spec spec = {.memory_kind = kind_of(kernel, def),
                        .size = bytes,
                        .alignment = element_alignment(type),
                        .padding = def ? def->read_padding : 0};
  if (def && def->alignment > spec.alignment) spec.alignment = def->alignment;
  return spec;
}

static void fill_strides(int32_t rank, const int64_t *dims, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i] ? dims[i] : 1;
  }
}

static ops_arg tensor_arg(const oc_block *block, int32_t type, int32_t rank,
                          const int64_t *dims, const int64_t *strides, uint64_t bytes) {
  return (ops_arg){.kind = OPS_ARG_TENSOR,
                   .memory_kind = block->memory_kind,
                   .tensor = {.dims = dims,
                              .strides = strides,
                              .memory = block->handle,
                              .byte_offset = block->offset,
                              .byte_size = bytes,
                              .type = type,
                              .rank = rank}};
}

// Makes `arg` say that it is of a private layout, and `spec` be as large as that needs.
static int32_t apply_layout(oc_launch *launch, uint32_t layout, const oc_array *array,
                            oc_block_spec *spec, ops_error *error) {
  oc_target *target = launch->kernel->target;
  if (layout == OPS_LAYOUT_STRIDED) return OPS_OK;
  spec->size = 0;
  return target->provider->memory->layout_size(target->device, layout, array->type, array->rank,
                                               array->dims, &spec->size, error);
}

static void mark_layout(ops_arg *arg, uint32_t layout, uint64_t bytes) {
  if (layout == OPS_LAYOUT_STRIDED) return;
  arg->tensor.layout = layout;
  arg->tensor.strides = NULL;
  arg->tensor.byte_size = bytes;
}

static const oc_arrangement *arrangement_of(const oc_launch *launch, size_t i) {
  const oc_arrangement *all = launch->kernel->arrangements;
  return all && all[i].span > 0 ? &all[i] : NULL;
}

// Makes the block of an arranged input as large as that needs.
static void stretch(oc_launch *launch, size_t i, const oc_array *array, oc_block_spec *spec) {
  const oc_arrangement *arrangement = arrangement_of(launch, i);
  if (!arrangement) return;
  spec->size = (uint64_t)arrangement->span * (uint64_t)oc_element_bits(array->type) / 8;
}

static void mark_arranged(oc_launch *launch, size_t i, const oc_array *array) {
  const oc_arrangement *arrangement = arrangement_of(launch, i);
  ops_tensor *tensor = &launch->input_args[i].tensor;
  if (!arrangement) return;
  const uint64_t origin =
      (uint64_t)arrangement->origin * (uint64_t)oc_element_bits(array->type) / 8;
  memcpy(launch->input_strides[i], arrangement->strides, sizeof launch->input_strides[i]);
  tensor->byte_offset += origin;
  tensor->byte_size = launch->inputs[i].size - origin;
}

static int32_t init_inputs(oc_launch *launch, ops_error *error) {
  const oc_inputs *inputs = launch->kernel->inputs;
  for (size_t i = 0; i < inputs->count; ++i) {
    const oc_array *array = &inputs->items[i];
    launch->input_args[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (!array->present) continue;
    oc_block_spec spec = spec_of(launch->kernel, oc_kernel_input_def(launch->kernel, i),
                                 array->type, array->bytes);
    spec.place = launch->place;
    spec.role = launch->kernel->constants >> i & 1 ? OC_ROLE_CONSTANT : OC_ROLE_INPUT;
    spec.index = (int32_t)i;
    spec.usage = OPS_USAGE_IO;
    const uint32_t layout = launch->kernel->input_layouts[i];
    stretch(launch, i, array, &spec);
    OPS_RETURN_IF_ERROR(apply_layout(launch, layout, array, &spec, error));
    OPS_RETURN_IF_ERROR(
        oc_block_init(&launch->inputs[i], launch->kernel->target, &spec, error));
    fill_strides(array->rank, array->dims, launch->input_strides[i]);
    launch->input_args[i] = tensor_arg(&launch->inputs[i], array->type, array->rank,
                                       array->dims, launch->input_strides[i], array->bytes);
    mark_layout(&launch->input_args[i], layout, spec.size);
    mark_arranged(launch, i, array);
  }
  return OPS_OK;
}

// Memory for an output of a given shape.
static int32_t init_output(oc_launch *launch, size_t i, int32_t rank, const int64_t *dims,
                           ops_error *error) {
  const oc_kernel *kernel = launch->kernel;
  const int32_t type = kernel->outputs[i].type;
  oc_array shape;
  OPS_RETURN_IF_ERROR(oc_array_init(&shape, type, rank, dims, "output", error));
  oc_block_spec spec = spec_of(kernel, oc_kernel_output_def(kernel, i), type, shape.bytes);
  spec.place = launch->place;
  spec.role = OC_ROLE_OUTPUT;
  spec.index = (int32_t)i;
  spec.usage = OPS_USAGE_IO;
  memcpy(launch->output_dims_host[i], shape.dims, sizeof shape.dims);
  fill_strides(rank, shape.dims, launch->output_strides[i]);
  const uint32_t layout = kernel->output_layouts[i];
  int32_t status = apply_layout(launch, layout, &shape, &spec, error);
  const bool alias = launch->alias_input >= 0 && launch->alias_output == (int32_t)i;
  if (!alias && status == OPS_OK)
    status = oc_block_init(&launch->outputs[i], kernel->target, &spec, error);
  const oc_block *block = alias ? &launch->inputs[launch->alias_input] : &launch->outputs[i];
  if (status == OPS_OK) {
    launch->output_args[i] = tensor_arg(block, type, rank, launch->output_dims_host[i],
                                        launch->output_strides[i], shape.bytes);
    mark_layout(&launch->output_args[i], layout, spec.size);
  }
  oc_array_finish(&shape);
  return status;
}

static int32_t init_dims(oc_launch *launch, size_t i, ops_error *error) {
  const int32_t rank = launch->kernel->outputs[i].rank;
  const oc_block_spec spec = {.memory_kind = OPS_MEMORY_HOST,
                              .size = (uint64_t)rank * sizeof(int64_t),
                              .alignment = sizeof(int64_t),
                              .place = launch->place,
                              .role = OC_ROLE_DIMS,
                              .index = (int32_t)i,
                              .usage = OPS_USAGE_IO};
  static const int64_t strides[1] = {1};
  launch->output_strides[i][OPS_MAX_RANK - 1] = rank;  // the length of the vector
  OPS_RETURN_IF_ERROR(oc_block_init(&launch->dims[i], launch->kernel->target, &spec, error));
  launch->dims_args[i] =
      tensor_arg(&launch->dims[i], OPS_TYPE_INT64, 1,
                 &launch->output_strides[i][OPS_MAX_RANK - 1], strides, spec.size);
  return OPS_OK;
}

static int32_t init_outputs(oc_launch *launch, ops_error *error) {
  const oc_kernel *kernel = launch->kernel;
  for (size_t i = 0; i < kernel->output_count; ++i) {
    const ops_output_info *info = &kernel->outputs[i];
    launch->output_args[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    launch->dims_args[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (info->mode == OPS_SHAPE_HOST_SYNC) continue;
    OPS_RETURN_IF_ERROR(init_output(launch, i, info->rank, info->dims, error));
    if (info->mode == OPS_SHAPE_BOUNDED) OPS_RETURN_IF_ERROR(init_dims(launch, i, error));
  }
  return OPS_OK;
}

static int32_t init_workspace(oc_launch *launch, ops_error *error) {
  const oc_kernel *kernel = launch->kernel;
  const ops_prepare_reply *reply = &kernel->reply;
  if (reply->workspace_size == 0) return OPS_OK;
  const uint64_t least = kernel->target->info.min_alignment;
  const oc_block_spec spec = {
      .memory_kind = reply->workspace_memory_kind,
      .size = reply->workspace_size,
      .alignment = reply->workspace_alignment ? reply->workspace_alignment : least,
      .place = launch->place,
      .role = OC_ROLE_WORKSPACE,
      .usage = OPS_USAGE_WORKSPACE};
  return oc_block_init(&launch->workspace, kernel->target, &spec, error);
}

int32_t oc_launch_init(oc_launch *launch, oc_kernel *kernel, oc_place place,
                       const ops_alias *alias, ops_error *error) {
  launch->kernel = kernel;
  launch->place = place;
  launch->poison = 0;
  launch->enqueued = false;
  launch->allocated = 0;
  launch->alias_input = alias ? alias->input : -1;
  launch->alias_output = alias ? alias->output : -1;
  int32_t status = init_inputs(launch, error);
  if (status == OPS_OK) status = init_outputs(launch, error);
  if (status == OPS_OK) status = init_workspace(launch, error);
  if (status != OPS_OK) oc_launch_finish(launch);
  return status;
}

void oc_launch_finish(oc_launch *launch) {
  if (!launch->kernel) return;
  for (size_t i = 0; i < OC_CASE_MAX_TENSORS; ++i) oc_block_finish(&launch->inputs[i]);
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    oc_block_finish(&launch->outputs[i]);
    oc_block_finish(&launch->dims[i]);
  }
  oc_block_finish(&launch->workspace);
  launch->kernel = NULL;
}

// ---- Contents -------------------------------------------------------------------------------

static int32_t poison_block(oc_block *block, unsigned pattern, ops_error *error) {
  if (block->size == 0) return OPS_OK;
  void *bytes = malloc(block->size);
  if (!bytes) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for poison");
  oc_block_poison(bytes, block->size, pattern);
  const int32_t status = oc_block_write(block, bytes, error);
  free(bytes);
  return status;
}

// ---- Private layouts ------------------------------------------------------------------------

// A row-major copy of a tensor beside its private form, and the device's way between them.
static int32_t reorder(const oc_launch *launch, const ops_arg *private_arg, bool to_private,
                       void *data, uint64_t bytes, ops_error *error) {
  oc_target *target = launch->kernel->target;
  const ops_tensor *tensor = &private_arg->tensor;
  const oc_block_spec spec = {.memory_kind = private_arg->memory_kind,
                              .size = bytes,
                              .alignment = element_alignment(tensor->type),
                              .usage = OPS_USAGE_STAGING};
  int64_t strides[OPS_MAX_RANK];
  oc_block staging;
  OPS_RETURN_IF_ERROR(oc_block_init(&staging, target, &spec, error));
  fill_strides(tensor->rank, tensor->dims, strides);
  const ops_arg plain =
      tensor_arg(&staging, tensor->type, tensor->rank, tensor->dims, strides, bytes);
  int32_t status = to_private ? oc_block_write(&staging, data, error) : OPS_OK;
  if (status == OPS_OK) {
    status = target->provider->memory->reorder(target->device, NULL,
                                               to_private ? &plain : private_arg,
                                               to_private ? private_arg : &plain, error);
  }
  if (status == OPS_OK && !to_private) status = oc_block_read(&staging, data, error);
  oc_block_finish(&staging);
  return status;
}

// The block of an arranged input: poison with the elements at their places. Owned.
static void *arranged_bytes(const oc_launch *launch, size_t i, const oc_array *array) {
  const uint64_t size = launch->inputs[i].size;
  void *bytes = malloc(size);
  if (!bytes) return NULL;
  oc_block_poison(bytes, size, launch->poison);
  oc_arrange_scatter(arrangement_of(launch, i), array, bytes);
  return bytes;
}

static int32_t write_input(oc_launch *launch, size_t i, const oc_array *array,
                           ops_error *error) {
  if (launch->kernel->input_layouts[i] != OPS_LAYOUT_STRIDED) {
    return reorder(launch, &launch->input_args[i], true, array->data, array->bytes, error);
  }
  if (!arrangement_of(launch, i)) return oc_block_write(&launch->inputs[i], array->data, error);
  void *bytes = arranged_bytes(launch, i, array);
  if (!bytes) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an input");
  const int32_t status = oc_block_write(&launch->inputs[i], bytes, error);
  free(bytes);
  return status;
}

int32_t oc_launch_load(oc_launch *launch, const oc_inputs *inputs, unsigned poison,
                       ops_error *error) {
  launch->poison = poison;
  for (size_t i = 0; i < inputs->count; ++i) {
    if (!inputs->items[i].present) continue;
    oc_block *block = &launch->inputs[i];
    OPS_RETURN_IF_ERROR(oc_block_protect(block, OC_ACCESS_WRITE, error));
    OPS_RETURN_IF_ERROR(write_input(launch, i, &inputs->items[i], error));
    if (launch->alias_input == (int32_t)i) continue;
    OPS_RETURN_IF_ERROR(oc_block_protect(block, OC_ACCESS_READ, error));
  }
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    OPS_RETURN_IF_ERROR(poison_block(&launch->outputs[i], poison, error));
    OPS_RETURN_IF_ERROR(poison_block(&launch->dims[i], poison, error));
  }
  return poison_block(&launch->workspace, poison, error);
}

// ---- Running --------------------------------------------------------------------------------

static int32_t wait_for(oc_launch *launch, int32_t number, ops_error *error) {
  const oc_target *target = launch->kernel->target;
  const ops_stream_api *api = target->provider->stream;
  ops_stream *stream = target->streams[number], *other = target->streams[1 - number];
  if (number != 0) return api->synchronize(stream, error);
  // The long way: an event, another stream that waits for it, and the host that waits for both.
  ops_event *event = NULL;
  OPS_RETURN_IF_ERROR(api->event_create(target->device, &event, error));
  int32_t status = api->event_record(event, stream, error);
  if (status == OPS_OK) status = api->wait(other, event, error);
  if (status == OPS_OK) status = api->event_synchronize(event, error);
  if (status == OPS_OK) status = api->event_query(event, error);
  const int32_t drained = api->synchronize(other, status == OPS_OK ? error : NULL);
  api->event_destroy(event);
  return status != OPS_OK ? status : drained;
}

int32_t oc_launch_enqueue(oc_launch *launch, ops_stream *stream, ops_error *error) {
  oc_kernel *kernel = launch->kernel;
  bool bounded = false;
  for (size_t i = 0; i < kernel->output_count; ++i) {
    bounded = bounded || kernel->outputs[i].mode == OPS_SHAPE_BOUNDED;
    if (kernel->outputs[i].mode != OPS_SHAPE_HOST_SYNC) continue;
    oc_block_finish(&launch->outputs[i]);
    launch->output_args[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
  }
  for (size_t i = 0; i < kernel->argument_count; ++i) {
    launch->arguments[i] = launch->input_args[kernel->arguments[i]];
  }
  const ops_execute_request request = {.struct_size = sizeof request,
                                       .inputs = launch->arguments,
                                       .input_count = kernel->argument_count,
                                       .outputs = launch->output_args,
                                       .output_count = kernel->output_count,
                                       .output_dims = bounded ? launch->dims_args : NULL,
                                       .workspace = launch->workspace.handle,
                                       .workspace_offset = launch->workspace.offset,
                                       .workspace_size = launch->workspace.size,
                                       .call = (ops_call *)launch};
  oc_beacon_phase(kernel->beacon, OC_PHASE_EXECUTE);
  const int32_t status = kernel->def->api->execute(kernel->prepared, &request, stream, error);
  launch->enqueued = status == OPS_OK;
  return status;
}

int32_t oc_launch_execute(oc_launch *launch, int32_t stream, ops_error *error) {
  oc_kernel *kernel = launch->kernel;
  ops_stream *queue = kernel->target->streams[stream % OC_TARGET_STREAMS];
  const uint64_t before = atomic_load(&kernel->target->allocations_made);
  int32_t status = oc_launch_enqueue(launch, queue, error);
  if (status == OPS_OK && queue) {
    oc_beacon_phase(kernel->beacon, OC_PHASE_COMPLETE);
    status = wait_for(launch, stream % OC_TARGET_STREAMS, error);
  }
  launch->allocated = atomic_load(&kernel->target->allocations_made) - before;
  return status;
}

int32_t oc_launch_execute_alone(oc_launch *launch, int32_t stream, ops_error *error) {
  const oc_target *target = launch->kernel->target;
  ops_stream *queue = target->streams[stream % OC_TARGET_STREAMS];
  OPS_RETURN_IF_ERROR(oc_launch_enqueue(launch, queue, error));
  return queue ? target->provider->stream->synchronize(queue, error) : OPS_OK;
}

int32_t oc_launch_set_output_shape(void *context, ops_call *call, uint64_t index, int32_t rank,
                                   const int64_t *dims, ops_arg *out_arg, ops_error *error) {
  (void)context;
  oc_launch *launch = (oc_launch *)call;
  if (!launch || index >= launch->kernel->output_count ||
      launch->kernel->outputs[index].mode != OPS_SHAPE_HOST_SYNC) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "set_output_shape: output %llu is not one in mode HOST_SYNC of a "
                         "running execute",
                         (unsigned long long)index);
  }
  oc_block_finish(&launch->outputs[index]);
  OPS_RETURN_IF_ERROR(init_output(launch, (size_t)index, rank, dims, error));
  OPS_RETURN_IF_ERROR(poison_block(&launch->outputs[index], launch->poison, error));
  launch->kernel->outputs[index].rank = rank;
  *out_arg = launch->output_args[index];
  return OPS_OK;
}

static int32_t revoke_input(oc_launch *launch, size_t i, oc_revoke how, ops_error *error) {
  oc_block *block = &launch->inputs[i];
  if (launch->alias_input == (int32_t)i || block->size == 0) return OPS_OK;
  if (how == OC_REVOKE_ACCESS && block->guard.map) {
    return oc_block_protect(block, OC_ACCESS_NONE, error);
  }
  OPS_RETURN_IF_ERROR(oc_block_protect(block, OC_ACCESS_WRITE, error));
  return poison_block(block, launch->poison + 1, error);
}

int32_t oc_launch_hide_input(oc_launch *launch, size_t index, ops_error *error) {
  return revoke_input(launch, index, OC_REVOKE_ACCESS, error);
}

int32_t oc_launch_revoke(oc_launch *launch, oc_revoke how, ops_error *error) {
  for (size_t i = 0; i < launch->kernel->inputs->count; ++i) {
    OPS_RETURN_IF_ERROR(revoke_input(launch, i, how, error));
  }
  return OPS_OK;
}

static int32_t arm_blocks(oc_block *blocks, size_t count, oc_trap *trap, ops_error *error) {
  for (size_t i = 0; i < count; ++i) {
    oc_guard *guard = &blocks[i].guard;
    if (!guard->map || (!trap && !guard->trap)) continue;
    OPS_RETURN_IF_ERROR(trap ? oc_guard_arm(guard, trap, error)
                             : oc_guard_disarm(guard, error));
  }
  return OPS_OK;
}

int32_t oc_launch_arm(oc_launch *launch, bool inputs, oc_trap *trap, ops_error *error) {
  if (inputs || !trap) {
    OPS_RETURN_IF_ERROR(arm_blocks(launch->inputs, launch->kernel->inputs->count, trap, error));
  }
  return inputs ? OPS_OK : arm_blocks(launch->outputs, OC_NODE_MAX_OUTPUTS, trap, error);
}

// ---- Looking at what happened ---------------------------------------------------------------

static int32_t real_shape(const oc_launch *launch, size_t index, int64_t *dims,
                          ops_error *error) {
  const ops_output_info *info = &launch->kernel->outputs[index];
  const int64_t *bounds = launch->output_dims_host[index];
  memcpy(dims, bounds, sizeof launch->output_dims_host[index]);
  if (info->mode != OPS_SHAPE_BOUNDED) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_block_read(&launch->dims[index], dims, error));
  for (int32_t i = 0; i < info->rank; ++i) {
    if (dims[i] >= 0 && dims[i] <= bounds[i]) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "output %zu: dimension %d of the shape that arrived with the "
                         "completion is %lld, expected 0 to %lld as prepare bounded it",
                         index, i, (long long)dims[i], (long long)bounds[i]);
  }
  return OPS_OK;
}

int32_t oc_launch_read(const oc_launch *launch, size_t index, oc_array *out_array,
                       ops_error *error) {
  memset(out_array, 0, sizeof *out_array);
  const ops_output_info *info = &launch->kernel->outputs[index];
  if (launch->output_args[index].kind != OPS_ARG_TENSOR) {
    return ops_error_set(
        error, OPS_ERROR_PRECONDITION,
        "output %zu: execute returned without set_output_shape, which the mode "
        "HOST_SYNC asks for",
        index);
  }
  int64_t dims[OPS_MAX_RANK];
  OPS_RETURN_IF_ERROR(real_shape(launch, index, dims, error));
  OPS_RETURN_IF_ERROR(oc_array_init(out_array, info->type, info->rank, dims, "output", error));
  const bool alias = launch->alias_input >= 0 && launch->alias_output == (int32_t)index;
  const oc_block *block =
      alias ? &launch->inputs[launch->alias_input] : &launch->outputs[index];
  if (launch->kernel->output_layouts[index] != OPS_LAYOUT_STRIDED) {
    const int32_t done = reorder(launch, &launch->output_args[index], false, out_array->data,
                                 out_array->bytes, error);
    if (done != OPS_OK) oc_array_finish(out_array);
    return done;
  }
  void *whole = malloc(block->size ? block->size : 1);

  int32_t status = whole ? oc_block_read(block, whole, error)
                         : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to read");
  if (status == OPS_OK) memcpy(out_array->data, whole, out_array->bytes);
  if (status != OPS_OK) oc_array_finish(out_array);
  free(whole);
  return status;
}

typedef struct block_list {
  const char *what;
  const oc_block *blocks;
  size_t count;
} block_list;

int32_t oc_launch_find_damage(const oc_launch *launch, bool *out_damaged, const char **out_what,
                              int32_t *out_index, int64_t *out_offset, ops_error *error) {
  const size_t outputs = launch->kernel->output_count;
  const block_list lists[] = {{"output", launch->outputs, outputs},
                              {"workspace", &launch->workspace, 1},
                              {"output shape", launch->dims, outputs},
                              {"input", launch->inputs, launch->kernel->inputs->count}};
  *out_damaged = false;
  for (size_t k = 0; k < sizeof lists / sizeof *lists; ++k) {
    for (size_t i = 0; i < lists[k].count; ++i) {
      bool intact;
      const oc_guard *guard = &lists[k].blocks[i].guard;
      if (guard->map && guard->access == OC_ACCESS_NONE) continue;  // it was read-only before
      OPS_RETURN_IF_ERROR(oc_block_intact(&lists[k].blocks[i], &intact, out_offset, error));
      if (intact) continue;
      *out_damaged = true;
      *out_what = lists[k].what;
      *out_index = (int32_t)i;
      return OPS_OK;
    }
  }
  return OPS_OK;
}

int32_t oc_launch_input_changed(const oc_launch *launch, size_t index, const oc_array *expected,
                                bool *out_changed, ops_error *error) {
  *out_changed = false;
  const oc_block *block = &launch->inputs[index];
  const bool layout = launch->kernel->input_layouts[index] != OPS_LAYOUT_STRIDED;
  if (!expected->present || block->guard.map || block->size == 0 || layout) return OPS_OK;

  void *bytes = malloc(block->size);
  void *arranged =
      arrangement_of(launch, index) ? arranged_bytes(launch, index, expected) : NULL;
  const void *want = arranged ? arranged : expected->data;
  int32_t status = OPS_ERROR_OUT_OF_MEMORY;
  if (bytes && (arranged || !arrangement_of(launch, index))) {
    status = oc_block_read(block, bytes, error);
    *out_changed = status == OPS_OK && memcmp(bytes, want, block->size) != 0;
  } else {
    ops_error_set(error, status, "no memory to read");
  }
  free(bytes);
  free(arranged);
  return status;
}

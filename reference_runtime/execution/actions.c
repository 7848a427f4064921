// SPDX-License-Identifier: Apache-2.0
//
// Issuing actions in order: wait for what the plan says, hand over to the queue or run at once,
// record an event. Events also tell which action failed when an asynchronous error comes back:
// the first whose event is neither passed nor pending.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "execution/run.h"

static rt_stream_set *set_of(const rt_run *run, const rt_action *action) {
  return run->streams[action->device->number];
}

static ops_stream *stream_of(const rt_run *run, const rt_action *action) {
  return action->queue == RT_QUEUE_NONE ? NULL : set_of(run, action)->streams[action->queue];
}

// ---- Errors ---------------------------------------------------------------------------------

// Control flow has named itself, or the node in its body.
static int32_t blame(const rt_action *action, ops_error *error) {
  const char *device = action->device ? action->device->name : "host";
  if (action->kind == RT_ACTION_CONTROL) return error ? error->code : OPS_ERROR_INTERNAL;
  if (action->unit) return ops_error_prefix(error, "%s on %s", action->unit->where, device);
  return ops_error_prefix(error, "copy of '%s' on %s", action->name, device);
}

// The first action of the device that did not complete: its error is the one that stuck.
static const rt_action *find_culprit(const rt_run *run, const rt_segment *segment,
                                     const rt_stream_set *set) {
  const ops_stream_api *api = set->device->provider->stream;
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) {
    const rt_action *action = &segment->plan->actions[i];
    if (segment->events[i] == RT_NO_EVENT || set_of(run, action) != set) continue;
    const int32_t status = api->event_query(set->events[segment->events[i]], NULL);
    if (status != OPS_OK && status != OPS_ERROR_NOT_READY) return action;
  }
  return NULL;
}

// An error of a device with queues: name the action that caused it, which may be an earlier one
// than `present` (NULL: none).
static int32_t blame_device(const rt_run *run, const rt_segment *segment, rt_stream_set *set,
                            const rt_action *present, int32_t status, ops_error *error) {
  set->failed = 1;
  set->device->provider->stream->synchronize(set->streams[RT_QUEUE_COMPUTE], NULL);
  set->device->provider->stream->synchronize(set->streams[RT_QUEUE_COPY], NULL);
  const rt_action *culprit = find_culprit(run, segment, set);
  if (!culprit) culprit = present;
  if (culprit)
    blame(culprit, error);
  else
    ops_error_prefix(error, "%s", set->device->name);
  return status;
}

// ---- Waiting --------------------------------------------------------------------------------

static int32_t wait_for(rt_run *run, rt_segment *segment, const rt_action *action,
                        uint32_t earlier, ops_error *error) {
  const rt_action *before = &segment->plan->actions[earlier];
  rt_stream_set *set = set_of(run, before);
  const ops_stream_api *api = set->device->provider->stream;
  ops_event *event = set->events[segment->events[earlier]];
  const int same_device = action->queue != RT_QUEUE_NONE && action->device == before->device;
  const int32_t status = same_device ? api->wait(stream_of(run, action), event, error)
                                     : api->event_synchronize(event, error);
  return status == OPS_OK ? OPS_OK : blame_device(run, segment, set, before, status, error);
}

// ---- Kernels --------------------------------------------------------------------------------

static void fill_args(const rt_segment *segment, const rt_action *action, ops_arg *inputs,
                      ops_arg *outputs) {
  for (uint32_t i = 0; i < action->input_count; ++i) {
    inputs[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (action->inputs[i] == RT_NO_BUFFER) continue;
    inputs[i] = segment->bindings[action->inputs[i]].arg;
    if (inputs[i].kind == OPS_ARG_TENSOR)
      inputs[i].memory_kind = rt_unit_input_kind(action->unit, i);
  }
  for (uint32_t i = 0; i < action->output_count; ++i) {
    outputs[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (action->outputs[i] == RT_NO_BUFFER) continue;
    const rt_buffer *buffer = &segment->plan->buffers[action->outputs[i]];
    if (buffer->storage != RT_STORAGE_LATE)
      outputs[i] = segment->bindings[action->outputs[i]].arg;
  }
}

static void fill_dims_outputs(const rt_segment *segment, const rt_action *action,
                              ops_arg *vectors) {
  for (uint32_t i = 0; i < action->output_count; ++i) {
    vectors[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (action->dims_outputs[i] != RT_NO_BUFFER)
      vectors[i] = segment->bindings[action->dims_outputs[i]].arg;
  }
}

// Every output in mode HOST_SYNC must have got a shape.
static int32_t check_late(const rt_segment *segment, const rt_action *action,
                          ops_error *error) {
  for (uint32_t i = 0; i < action->output_count; ++i) {
    const uint32_t number = action->outputs[i];
    if (number == RT_NO_BUFFER) continue;
    const int late = segment->plan->buffers[number].storage == RT_STORAGE_LATE;
    if (late && !segment->bindings[number].arg.tensor.memory)
      return ops_error_set(error, OPS_ERROR_INTERNAL,
                           "the kernel returned without set_output_shape for output %u", i);
  }
  return OPS_OK;
}

static int32_t run_kernel(rt_run *run, rt_segment *segment, uint32_t index,
                          uint64_t correlation, ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  const uint32_t count = action->input_count + 2 * action->output_count;
  ops_arg small[16];
  ops_arg *args = count <= 16 ? small : calloc(count, sizeof *args);
  if (!args) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "arguments of a kernel");
  ops_arg *outputs = args + action->input_count, *vectors = outputs + action->output_count;
  fill_args(segment, action, args, outputs);
  if (action->dims_outputs) fill_dims_outputs(segment, action, vectors);
  ops_call call = {run, segment, action, outputs};
  ops_execute_request request = {.struct_size = sizeof request,
                                 .inputs = args,
                                 .input_count = action->input_count,
                                 .outputs = outputs,
                                 .output_count = action->output_count,
                                 .output_dims = action->dims_outputs ? vectors : NULL,
                                 .call = &call,
                                 .correlation = correlation};
  if (action->workspace != RT_NO_BUFFER) {
    const ops_tensor *workspace = &segment->bindings[action->workspace].arg.tensor;
    request.workspace = workspace->memory;
    request.workspace_offset = workspace->byte_offset;
    request.workspace_size = segment->plan->buffers[action->workspace].bytes;
  }
  int32_t status = action->unit->api->execute(segment->set->prepared[index], &request,
                                              stream_of(run, action), error);
  if (status == OPS_OK) status = check_late(segment, action, error);
  if (args != small) free(args);
  return status;
}

// ---- Copies ---------------------------------------------------------------------------------

static int32_t run_copy(rt_run *run, rt_segment *segment, uint32_t index, uint64_t correlation,
                        ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  const ops_arg *from = &segment->bindings[action->inputs[0]].arg;
  const ops_arg *to = &segment->bindings[action->outputs[0]].arg;
  const uint64_t size = segment->plan->buffers[action->outputs[0]].bytes;
  run->copies++;
  run->copied_bytes += size;
  if (!action->device) {
    if (size) memcpy(ops_tensor_data(&to->tensor), ops_tensor_data(&from->tensor), size);
    return OPS_OK;
  }
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = from->tensor.memory,
                         .source_offset = from->tensor.byte_offset,
                         .target = to->tensor.memory,
                         .target_offset = to->tensor.byte_offset,
                         .size = size,
                         .source_kind = from->memory_kind,
                         .target_kind = to->memory_kind,
                         .correlation = correlation};
  return action->device->provider->stream->copy(action->device->device, stream_of(run, action),
                                                &copy, error);
}

static int32_t run_reorder(rt_run *run, rt_segment *segment, uint32_t index,
                           uint64_t correlation, ops_error *error) {
  (void)correlation;
  const rt_action *action = &segment->plan->actions[index];
  return action->device->provider->memory->reorder(
      action->device->device, stream_of(run, action), &segment->bindings[action->inputs[0]].arg,
      &segment->bindings[action->outputs[0]].arg, error);
}

// ---- Control flow ---------------------------------------------------------------------------

// What was issued before must be over: bodies use the same streams, and an error of an earlier
// action must not be taken for one of theirs.
static int32_t run_control(rt_run *run, rt_segment *segment, uint32_t index,
                           uint64_t correlation, ops_error *error) {
  (void)correlation;
  OPS_RETURN_IF_ERROR(rt_run_drain(run, segment, error));
  return rt_run_control(run, segment, &segment->plan->actions[index], error);
}

// ---- Issuing --------------------------------------------------------------------------------

typedef int32_t (*action_fn)(rt_run *run, rt_segment *segment, uint32_t index,
                             uint64_t correlation, ops_error *error);

static const action_fn runners[] = {[RT_ACTION_KERNEL] = run_kernel,
                                    [RT_ACTION_COPY] = run_copy,
                                    [RT_ACTION_REORDER] = run_reorder,
                                    [RT_ACTION_CONTROL] = run_control};

static int32_t record(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  rt_stream_set *set = set_of(run, action);
  OPS_RETURN_IF_ERROR(rt_stream_new_event(set, &segment->events[index], error));
  return set->device->provider->stream->event_record(set->events[segment->events[index]],
                                                     stream_of(run, action), error);
}

static void note_span(const rt_run *run, const rt_segment *segment, const rt_action *action,
                      uint64_t correlation, uint64_t start_ns) {
  static const int32_t kinds[] = {[RT_ACTION_KERNEL] = OPS_PROFILE_KERNEL,
                                  [RT_ACTION_COPY] = OPS_PROFILE_COPY,
                                  [RT_ACTION_REORDER] = OPS_PROFILE_COPY};
  static const char *const names[] = {
      [RT_ACTION_COPY] = "(copy)", [RT_ACTION_REORDER] = "(reorder)"};
  const rt_profile_span span = {
      .kind = kinds[action->kind],
      .run = run->number,
      .name = action->name,
      .op = action->unit ? action->unit->op : names[action->kind],
      .origins = action->unit ? action->unit->origins : NULL,
      .provider = action->device ? action->device->name : "host",
      .correlation = correlation,
      .start_ns = start_ns,
      .end_ns = rt_profile_now(),
      .bytes = action->unit ? 0 : segment->plan->buffers[action->outputs[0]].bytes};
  rt_profile_add(run->executor->options.profile, &span);
}

static int32_t issue(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  rt_profile *profile = run->executor->options.profile;
  for (uint32_t i = 0; i < action->wait_count; ++i)
    OPS_RETURN_IF_ERROR(wait_for(run, segment, action, action->waits[i], error));
  const uint64_t correlation = profile ? rt_profile_launch(profile) : 0;
  const uint64_t start_ns = profile ? rt_profile_now() : 0;
  int32_t status = runners[action->kind](run, segment, index, correlation, error);
  if (status == OPS_OK && action->queue != RT_QUEUE_NONE)
    status = record(run, segment, index, error);
  // The kernels of bodies have spans of their own.
  if (status == OPS_OK && profile && action->kind != RT_ACTION_CONTROL)
    note_span(run, segment, action, correlation, start_ns);
  if (status == OPS_OK) return OPS_OK;
  if (action->queue == RT_QUEUE_NONE) {
    blame(action, error);
    return status;
  }
  return blame_device(run, segment, set_of(run, action), action, status, error);
}

int32_t rt_run_actions(rt_run *run, rt_segment *segment, ops_error *error) {
  for (uint32_t i = 0; i < segment->plan->action_count; ++i)
    OPS_RETURN_IF_ERROR(issue(run, segment, i, error));
  return OPS_OK;
}

static int32_t drain_set(rt_run *run, rt_segment *segment, rt_stream_set *set,
                         ops_error *error) {
  rt_profile *profile = run->executor->options.profile;
  const uint64_t start_ns = profile ? rt_profile_now() : 0;
  const int32_t status = rt_stream_synchronize(set, error);
  if (profile)
    rt_profile_add(profile, &(rt_profile_span){.kind = OPS_PROFILE_WAIT,
                                               .run = run->number,
                                               .name = "synchronize",
                                               .op = "",
                                               .provider = set->device->name,
                                               .start_ns = start_ns,
                                               .end_ns = rt_profile_now()});
  return status == OPS_OK ? OPS_OK : blame_device(run, segment, set, NULL, status, error);
}

int32_t rt_run_drain(rt_run *run, rt_segment *segment, ops_error *error) {
  int32_t status = OPS_OK;
  for (uint32_t i = 0; i < run->executor->options.device_count; ++i) {
    rt_stream_set *set = run->streams[i];
    if (!set || set->failed) continue;
    const int32_t own = drain_set(run, segment, set, status == OPS_OK ? error : NULL);
    if (status == OPS_OK) status = own;
  }
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Issuing actions in order: wait for what the plan says, hand over to the queue or run at once,
// record an event.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "execution/capture.h"

static rt_stream_set *set_of(const rt_run *run, const rt_action *action) {
  return run->streams[action->device->number];
}

static ops_stream *stream_of(const rt_run *run, const rt_action *action) {
  if (run->capturing) return run->capturing;
  return action->queue == RT_QUEUE_NONE ? NULL : set_of(run, action)->streams[action->queue];
}

// ---- Waiting --------------------------------------------------------------------------------

// Blocks until the event is passed, or the run is to end.
static int32_t await_event(rt_run *run, const rt_stream_set *set, ops_event *event,
                           ops_error *error) {
  const ops_stream_api *api = set->device->provider->stream;
  if (!run->interrupt) return api->event_synchronize(event, error);
  for (uint64_t pause = 0;; rt_interrupt_pause(&pause)) {
    const int32_t status = api->event_query(event, error);
    if (status != OPS_ERROR_NOT_READY) return status;
    if (rt_interrupt_status(run->interrupt) != OPS_OK) return OPS_ERROR_NOT_READY;
  }
}

int32_t rt_run_wait_for(rt_run *run, rt_segment *segment, const rt_action *action,
                        uint32_t earlier, ops_error *error) {
  const rt_action *before = &segment->plan->actions[earlier];
  rt_stream_set *set = set_of(run, before);
  ops_event *event = set->events[segment->events[earlier]];
  const int same_device = action->queue != RT_QUEUE_NONE && action->device == before->device;
  const int32_t status =
      same_device ? set->device->provider->stream->wait(stream_of(run, action), event, error)
                  : await_event(run, set, event, error);
  if (status == OPS_OK) return OPS_OK;
  if (status == OPS_ERROR_NOT_READY) return rt_run_interrupted(run, before, error);
  return rt_run_blame_device(run, segment, set, NULL, status, error);
}

// ---- Kernels --------------------------------------------------------------------------------

// Every output in mode HOST_SYNC must have got a shape.
static int32_t check_late(const rt_segment *segment, const rt_action *action,
                          ops_error *error) {
  for (uint32_t i = 0; i < action->output_count; ++i) {
    const uint32_t number = action->outputs[i];
    if (number == RT_NO_BUFFER) continue;
    const int late = segment->plan->buffers[number].storage == RT_STORAGE_LATE;
    if (late && !segment->bindings[number].arg.tensor.memory)
      return ops_error_set_cause(error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
                                 "the kernel returned without set_output_shape for output %u",
                                 i);
  }
  return OPS_OK;
}

static int32_t run_kernel(rt_run *run, rt_segment *segment, uint32_t index,
                          uint64_t correlation, ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  ops_execute_request request = segment->instance->requests[index];
  ops_call call = {run, segment, action, (ops_arg *)request.outputs};
  request.call = &call;
  request.correlation = correlation;
  if (action->workspace != RT_NO_BUFFER) {
    const ops_tensor *workspace = &segment->bindings[action->workspace].arg.tensor;
    request.workspace = workspace->memory;
    request.workspace_offset = workspace->byte_offset;
    request.workspace_size = segment->plan->buffers[action->workspace].bytes;
  }
  OPS_RETURN_IF_ERROR(action->unit->api->execute(segment->instance->prepared[index], &request,
                                                 stream_of(run, action), error));
  return check_late(segment, action, error);
}

// ---- Copies ---------------------------------------------------------------------------------

static int32_t run_copy(rt_run *run, rt_segment *segment, uint32_t index, uint64_t correlation,
                        ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  const ops_arg *from = &segment->bindings[action->inputs[0]].arg;
  const ops_arg *to = &segment->bindings[action->outputs[0]].arg;
  const uint64_t size = segment->plan->buffers[action->outputs[0]].bytes;
  // Branches may copy at once.
  __atomic_fetch_add(&run->copies, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&run->copied_bytes, size, __ATOMIC_RELAXED);
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

// A kernel that has been asked to end says CANCELLED, whatever the reason is.
static int32_t fail(rt_run *run, rt_segment *segment, const rt_action *action, int32_t status,
                    ops_error *error) {
  if (run->singly) return status;
  if (action->kind == RT_ACTION_CONTROL) return rt_run_blame(action, error);
  if (status == OPS_ERROR_CANCELLED && rt_interrupt_status(run->interrupt) != OPS_OK)
    return rt_run_interrupted(run, action, error);
  if (action->queue == RT_QUEUE_NONE) {
    rt_run_blame(action, error);
    if (status == OPS_ERROR_DEVICE_LOST)
      rt_executor_lose_device(run->executor, action->device, error);
    return status;
  }
  return rt_run_blame_device(run, segment, set_of(run, action), action, status, error);
}

int32_t rt_run_issue(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error) {
  const rt_action *action = &segment->plan->actions[index];
  rt_profile *profile = run->singly ? NULL : run->executor->options.profile;
  for (uint32_t i = 0; i < action->wait_count; ++i)
    OPS_RETURN_IF_ERROR(rt_run_wait_for(run, segment, action, action->waits[i], error));
  const uint64_t correlation = profile ? rt_profile_launch(profile) : 0;
  const uint64_t start_ns = profile ? rt_profile_now() : 0;
  int32_t status = runners[action->kind](run, segment, index, correlation, error);
  if (status == OPS_OK && action->queue != RT_QUEUE_NONE)
    status = record(run, segment, index, error);
  if (status == OPS_OK && profile)
    rt_run_note_action(run, segment, index, correlation, start_ns);
  return status == OPS_OK ? OPS_OK : fail(run, segment, action, status, error);
}

int32_t rt_run_execute(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error) {
  const uint64_t copies = run->copies, copied_bytes = run->copied_bytes;
  const int32_t status =
      runners[segment->plan->actions[index].kind](run, segment, index, 0, error);
  run->copies = copies;
  run->copied_bytes = copied_bytes;
  return status;
}

int32_t rt_run_step(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error) {
  const int32_t status = rt_interrupt_status(run->interrupt);
  if (status == OPS_OK) return rt_run_issue(run, segment, index, error);
  rt_interrupt_error(run->interrupt, status, "before it began", error);
  rt_run_blame(&segment->plan->actions[index], error);
  return status;
}

int32_t rt_run_actions(rt_run *run, rt_segment *segment, ops_error *error) {
  if (rt_team_suits(run, segment)) return rt_team_run(run, segment, error);
  if (run->executor->options.profile) rt_run_note_segment(run, segment);
  rt_guard_arenas(run, segment);
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) {
    rt_region *region = rt_capture_region(run, segment, i);
    int done = 0;
    if (region) OPS_RETURN_IF_ERROR(rt_capture_run(run, segment, region, &done, error));
    if (done) {
      i = region->end - 1;
      continue;
    }
    rt_guard_begin(run, segment, i);
    OPS_RETURN_IF_ERROR(rt_run_step(run, segment, i, error));
    rt_guard_end(run, segment, i);
  }
  return OPS_OK;
}

// ---- Draining -------------------------------------------------------------------------------

int32_t rt_run_interrupted(rt_run *run, const rt_action *action, ops_error *error) {
  const int32_t status = rt_interrupt_status(run->interrupt);
  rt_interrupt_error(run->interrupt, status, "while it ran", error);
  if (action) rt_run_blame(action, error);
  return status;
}

// Ends what is pending, by force where the provider can. Everything is over afterwards.
static void cancel_set(rt_stream_set *set) {
  const ops_stream_api *api = set->device->provider->stream;
  for (int queue = 0; queue < RT_QUEUES_PER_DEVICE; ++queue)
    if (api->cancel) api->cancel(set->streams[queue], NULL);
  set->failed |= rt_stream_synchronize(set, NULL) != OPS_OK;
}

static int32_t await_set(rt_run *run, rt_segment *segment, rt_stream_set *set,
                         ops_error *error) {
  if (!run->interrupt) return rt_stream_synchronize(set, error);
  for (uint64_t pause = 0;; rt_interrupt_pause(&pause)) {
    if (!rt_run_find_event(run, segment, set, 1)) return rt_stream_synchronize(set, error);
    if (rt_interrupt_status(run->interrupt) != OPS_OK) return OPS_ERROR_NOT_READY;
  }
}

static int32_t drain_set(rt_run *run, rt_segment *segment, rt_stream_set *set,
                         ops_error *error) {
  rt_profile *profile = run->executor->options.profile;
  const uint64_t start_ns = profile ? rt_profile_now() : 0;
  const int32_t status = await_set(run, segment, set, error);
  if (profile)
    rt_profile_add(profile, &(rt_profile_span){.kind = OPS_PROFILE_WAIT,
                                               .run = run->number,
                                               .name = "synchronize",
                                               .op = "",
                                               .provider = set->device->name,
                                               .start_ns = start_ns,
                                               .end_ns = rt_profile_now()});
  if (status == OPS_OK) return OPS_OK;
  if (status != OPS_ERROR_NOT_READY)
    return rt_run_blame_device(run, segment, set, NULL, status, error);
  const int32_t ended = rt_run_interrupted(run, rt_run_find_event(run, segment, set, 1), error);
  cancel_set(set);
  return ended;
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

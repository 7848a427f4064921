// SPDX-License-Identifier: Apache-2.0
//
// A region runs on the device's compute stream alone, in the order of its actions, so that it
// needs no events inside: before it that stream waits for whatever the actions wait for, and
// for the copy stream; behind it one event stands for all of them, and the copy stream waits
// for it.
#include "execution/capture.h"

#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ACTIONS 2u

// ---- What can be captured -------------------------------------------------------------------

static int is_capturable_unit(const rt_unit *unit) {
  return unit->def && (unit->def->flags & OPS_KERNEL_CAPTURABLE);
}

// Shapes that a kernel sets on the calling thread would be set once only.
static int is_capturable(const rt_plan *plan, const rt_action *action) {
  if (action->queue == RT_QUEUE_NONE || !action->device->provider->stream->capture_begin)
    return 0;
  if (action->kind == RT_ACTION_COPY) return 1;
  if (action->kind != RT_ACTION_KERNEL || !is_capturable_unit(action->unit)) return 0;
  for (uint32_t i = 0; i < action->output_count; ++i)
    if (action->outputs[i] != RT_NO_BUFFER &&
        plan->buffers[action->outputs[i]].storage == RT_STORAGE_LATE)
      return 0;
  return 1;
}

static uint32_t region_end(const rt_plan *plan, uint32_t begin) {
  uint32_t end = begin;
  while (end < plan->action_count && is_capturable(plan, &plan->actions[end]) &&
         plan->actions[end].device == plan->actions[begin].device)
    end++;
  return end;
}

static void note_buffer(rt_region *region, uint32_t buffer) {
  if (buffer == RT_NO_BUFFER) return;
  for (uint32_t i = 0; i < region->buffer_count; ++i)
    if (region->buffers[i] == buffer) return;
  region->buffers[region->buffer_count++] = buffer;
}

static void note_buffers(rt_region *region, const rt_action *action) {
  for (uint32_t i = 0; i < action->input_count; ++i) note_buffer(region, action->inputs[i]);
  for (uint32_t i = 0; i < action->output_count; ++i) note_buffer(region, action->outputs[i]);
  for (uint32_t i = 0; action->dims_outputs && i < action->output_count; ++i)
    note_buffer(region, action->dims_outputs[i]);
  note_buffer(region, action->workspace);
}

// 0 if memory is exhausted: then there is no region.
static int add_region(rt_instance *instance, uint32_t begin, uint32_t end) {
  const rt_plan *plan = instance->plan;
  rt_bump *bump = &instance->bump;
  rt_region *region = &instance->regions[instance->region_count];
  uint64_t most = 0;
  for (uint32_t i = begin; i < end; ++i)
    most += plan->actions[i].input_count + 2 * plan->actions[i].output_count + 1;
  *region = (rt_region){.begin = begin, .end = end, .device = plan->actions[begin].device};
  region->buffers = rt_bump_new(bump, most, sizeof *region->buffers);
  if (!region->buffers) return 0;
  for (uint32_t i = begin; i < end; ++i) {
    const rt_action *action = &plan->actions[i];
    note_buffers(region, action);
    if (action->kind != RT_ACTION_COPY) continue;
    region->copies++;
    region->copied_bytes += plan->buffers[action->outputs[0]].bytes;
  }
  region->places = rt_bump_new(bump, region->buffer_count, sizeof *region->places);
  region->rebinds = rt_bump_new(bump, region->buffer_count, sizeof *region->rebinds);
  if (!region->places || !region->rebinds) return 0;
  instance->region_count++;
  return 1;
}

static void find_regions(rt_instance *instance) {
  const rt_plan *plan = instance->plan;
  uint32_t count = 0;
  instance->scanned = 1;
  for (uint32_t i = 0; i < plan->action_count; ++i)
    count += is_capturable(plan, &plan->actions[i]) != 0;
  if (count < LEAST_ACTIONS) return;
  instance->regions =
      rt_bump_new(&instance->bump, count / LEAST_ACTIONS, sizeof *instance->regions);
  for (uint32_t begin = 0; instance->regions && begin < plan->action_count;) {
    const uint32_t end = region_end(plan, begin);
    if (end - begin >= LEAST_ACTIONS && !add_region(instance, begin, end)) return;
    begin = end > begin ? end : begin + 1;
  }
}

// A profile times each node, and a run that may end early names the node it ended at.
rt_region *rt_capture_region(rt_run *run, const rt_segment *segment, uint32_t index) {
  const rt_executor_options *options = &run->executor->options;
  rt_instance *instance = segment->instance;
  if (options->no_capture || options->profile || run->interrupt) return NULL;
  if (!instance->scanned) find_regions(instance);
  for (uint32_t i = 0; i < instance->region_count; ++i)
    if (instance->regions[i].begin == index)
      return instance->regions[i].refused ? NULL : &instance->regions[i];
  return NULL;
}

// ---- Recording ------------------------------------------------------------------------------

static void remember_places(const rt_segment *segment, rt_region *region) {
  for (uint32_t i = 0; i < region->buffer_count; ++i) {
    const ops_tensor *tensor = &segment->bindings[region->buffers[i]].arg.tensor;
    region->places[i] =
        (rt_arena_block){.memory = tensor->memory, .offset = tensor->byte_offset};
  }
  region->generation = segment->instance->generation;
  region->rebind_count = 0;
}

static int32_t record(rt_run *run, rt_segment *segment, rt_region *region, ops_error *error) {
  const ops_stream_api *api = region->device->provider->stream;
  ops_stream *stream = run->streams[region->device->number]->streams[RT_QUEUE_COMPUTE];
  OPS_RETURN_IF_ERROR(api->capture_begin(stream, error));
  run->capturing = stream;
  int32_t status = OPS_OK;
  for (uint32_t i = region->begin; status == OPS_OK && i < region->end; ++i)
    status = rt_run_execute(run, segment, i, error);
  run->capturing = NULL;
  const int32_t ended =
      api->capture_end(stream, &region->capture, status == OPS_OK ? error : NULL);
  if (status == OPS_OK) status = ended;
  if (status == OPS_OK) {
    remember_places(segment, region);
    run->captures++;
    return OPS_OK;
  }
  api->capture_destroy(region->capture);
  region->capture = NULL;
  return status;
}

// ---- Rebinding ------------------------------------------------------------------------------

// Adds "what was at `from` is at `to`"; 0 if it contradicts what is there.
static int add_rebind(rt_region *region, void *from, void *to) {
  for (uint32_t i = 0; i < region->rebind_count; ++i)
    if (region->rebinds[i].captured == from) return region->rebinds[i].replacement == to;
  region->rebinds[region->rebind_count++] =
      (ops_rebind){.struct_size = sizeof(ops_rebind), .captured = from, .replacement = to};
  return 1;
}

// 0 if a replay cannot follow: an offset has changed, or what was one handle is two now.
static int rebind(const rt_segment *segment, rt_region *region) {
  region->rebind_count = 0;
  for (uint32_t i = 0; i < region->buffer_count; ++i) {
    const ops_tensor *tensor = &segment->bindings[region->buffers[i]].arg.tensor;
    const rt_arena_block *old = &region->places[i];
    if (tensor->byte_offset != old->offset || !old->memory != !tensor->memory) return 0;
    if (old->memory && !add_rebind(region, old->memory, tensor->memory)) return 0;
  }
  // Those that stay were only there to be compared.
  uint32_t kept = 0;
  for (uint32_t i = 0; i < region->rebind_count; ++i)
    if (region->rebinds[i].captured != region->rebinds[i].replacement)
      region->rebinds[kept++] = region->rebinds[i];
  region->rebind_count = kept;
  region->generation = segment->instance->generation;
  return 1;
}

// ---- Replaying ------------------------------------------------------------------------------

// Everything that the region's actions rely on, seen from the compute stream.
static int32_t wait_before(rt_run *run, rt_segment *segment, const rt_region *region,
                           ops_error *error) {
  const rt_action *actions = segment->plan->actions;
  rt_action on_compute = actions[region->begin];
  on_compute.queue = RT_QUEUE_COMPUTE;
  for (uint32_t i = region->begin; i < region->end; ++i)
    for (uint32_t k = 0; k < actions[i].wait_count; ++k)
      if (actions[i].waits[k] < region->begin)
        OPS_RETURN_IF_ERROR(
            rt_run_wait_for(run, segment, &on_compute, actions[i].waits[k], error));
  for (uint32_t i = region->begin; i-- > 0;)
    if (actions[i].queue == RT_QUEUE_COPY && actions[i].device == region->device)
      return rt_run_wait_for(run, segment, &on_compute, i, error);
  return OPS_OK;
}

static int32_t replay(rt_run *run, rt_segment *segment, rt_region *region, ops_error *error) {
  const ops_stream_api *api = region->device->provider->stream;
  rt_stream_set *set = run->streams[region->device->number];
  ops_stream *compute = set->streams[RT_QUEUE_COMPUTE], *copy = set->streams[RT_QUEUE_COPY];
  uint32_t event = 0;
  OPS_RETURN_IF_ERROR(api->replay(region->capture, compute, region->rebinds,
                                  region->rebind_count, sizeof *region->rebinds, error));
  OPS_RETURN_IF_ERROR(rt_stream_new_event(set, &event, error));
  OPS_RETURN_IF_ERROR(api->event_record(set->events[event], compute, error));
  if (copy != compute) OPS_RETURN_IF_ERROR(api->wait(copy, set->events[event], error));
  for (uint32_t i = region->begin; i < region->end; ++i) segment->events[i] = event;
  run->replays++;
  run->copies += region->copies;
  run->copied_bytes += region->copied_bytes;
  return OPS_OK;
}

static void refuse(rt_run *run, rt_region *region, const char *what, const ops_error *error) {
  char text[300];
  snprintf(text, sizeof text, "%s: %.200s", what, error->message);
  region->refused = 1;
  rt_executor_note_capture(run->executor, region->device, text);
}

// A capture that fits this run, or none.
static void obtain(rt_run *run, rt_segment *segment, rt_region *region) {
  const ops_stream_api *api = region->device->provider->stream;
  ops_error error = OPS_ERROR_INIT;
  if (region->capture && region->generation != segment->instance->generation &&
      !rebind(segment, region)) {
    api->capture_destroy(region->capture);
    region->capture = NULL;
  }
  if (!region->capture && record(run, segment, region, &error) != OPS_OK)
    refuse(run, region, "recording failed", &error);
}

int32_t rt_capture_run(rt_run *run, rt_segment *segment, rt_region *region, int *out_done,
                       ops_error *error) {
  *out_done = 0;
  const int first = !region->warm;
  region->warm = 1;
  if (first) return OPS_OK;
  obtain(run, segment, region);
  if (!region->capture) return OPS_OK;
  *out_done = 1;
  OPS_RETURN_IF_ERROR(wait_before(run, segment, region, error));
  segment->replayed = 1;
  const int32_t status = replay(run, segment, region, error);
  if (status == OPS_OK) return OPS_OK;
  return rt_run_blame_device(run, segment, run->streams[region->device->number], NULL, status,
                             error);
}

// ---- Reporting ------------------------------------------------------------------------------

void rt_executor_note_capture(rt_executor *executor, const rt_device *device,
                              const char *text) {
  while (executor->parent) executor = executor->parent;
  char *copy = strdup(text);
  pthread_mutex_lock(&executor->mutex);
  char *old = executor->capture_notes[device->number];
  if (copy) executor->capture_notes[device->number] = copy;
  pthread_mutex_unlock(&executor->mutex);
  if (copy) free(old);
}

static const char *general_reason(const rt_executor_options *options, const rt_device *device) {
  if (!device->provider->stream) return "works on the calling thread";
  if (!device->provider->stream->capture_begin) return "offers no capture";
  if (options->no_capture) return "capture is switched off";
  return options->profile ? "a profile times each node" : NULL;
}

uint32_t rt_executor_capture_at(rt_executor *executor, uint32_t number, uint32_t *out_kernels,
                                char *text, size_t size) {
  const rt_partition *partition = executor->options.partition;
  const rt_device *device = executor->options.devices[number];
  const char *general = general_reason(&executor->options, device);
  const rt_unit *other = NULL;
  uint32_t capturable = 0;
  *out_kernels = 0;
  for (uint32_t i = 0; i < partition->unit_count; ++i) {
    const rt_unit *unit = &partition->units[i];
    if (unit->device != device) continue;
    ++*out_kernels;
    if (!general && is_capturable_unit(unit))
      capturable++;
    else if (!other)
      other = unit;
  }
  pthread_mutex_lock(&executor->mutex);
  const char *note = executor->capture_notes[number];
  if (general || note)
    snprintf(text, size, "%s", general ? general : note);
  else if (other)
    snprintf(text, size, "%s: its kernel is not capturable", other->where);
  else
    snprintf(text, size, "%s", "");
  pthread_mutex_unlock(&executor->mutex);
  return capturable;
}

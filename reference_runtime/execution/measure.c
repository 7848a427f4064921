// SPDX-License-Identifier: Apache-2.0
//
// What a run tells the profile: spans of plans, actions and the run itself, with the bytes and
// arithmetic of each kernel, and how much memory is live. A value is live from the action that
// writes it to the last that reads it; what the caller receives, and what earlier segments
// left, to the end of the run.
#include <stdlib.h>

#include "execution/run.h"
#include "profile/flops.h"

#define MAX_ARGUMENTS 32u

// ---- Kernels --------------------------------------------------------------------------------

static uint64_t argument_bytes(const rt_segment *segment, const uint32_t *buffers,
                               uint32_t count) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (buffers[i] == RT_NO_BUFFER) continue;
    const ops_arg *arg = &segment->bindings[buffers[i]].arg;
    if (arg->kind == OPS_ARG_TENSOR) sum += arg->tensor.byte_size;
  }
  return sum;
}

static void bound_types(const rt_segment *segment, const uint32_t *buffers, uint32_t count,
                        const ops_type_info **out_types) {
  for (uint32_t i = 0; i < count; ++i)
    out_types[i] = buffers[i] == RT_NO_BUFFER ? NULL : segment->bindings[buffers[i]].type;
}

// A single node is counted with the shapes of this run.
static double node_flops(const rt_segment *segment, const rt_action *action,
                         const ops_node *view) {
  const ops_type_info *inputs[MAX_ARGUMENTS], *outputs[MAX_ARGUMENTS];
  if (action->input_count > MAX_ARGUMENTS || action->output_count > MAX_ARGUMENTS ||
      view->input_count > action->input_count || view->output_count > action->output_count)
    return RT_PROFILE_FLOPS_UNKNOWN;
  bound_types(segment, action->inputs, action->input_count, inputs);
  bound_types(segment, action->outputs, action->output_count, outputs);
  return rt_profile_flops(view, inputs, outputs);
}

// A node in a group, with the shapes that inference gave: the run does not see the group's own.
static double inner_flops(const ops_node *view) {
  const ops_type_info *inputs[MAX_ARGUMENTS], *outputs[MAX_ARGUMENTS];
  if (view->input_count > MAX_ARGUMENTS || view->output_count > MAX_ARGUMENTS)
    return RT_PROFILE_FLOPS_UNKNOWN;
  for (uint64_t i = 0; i < view->input_count; ++i)
    inputs[i] =
        ((const ops_operand *)((const char *)view->inputs + i * view->input_stride))->type;
  for (uint64_t i = 0; i < view->output_count; ++i)
    outputs[i] =
        ((const ops_operand *)((const char *)view->outputs + i * view->output_stride))->type;
  return rt_profile_flops(view, inputs, outputs);
}

static double unit_flops(const rt_run *run, const rt_segment *segment,
                         const rt_action *action) {
  const rt_views *views = run->executor->options.partition->views;
  const rt_unit *unit = action->unit;
  double sum = 0;
  for (uint32_t i = 0; i < unit->node_count; ++i) {
    // Made when the node was placed: this only reads it.
    const ops_node *view = views->nodes[unit->nodes[i]->id];
    const double flops = !view                   ? RT_PROFILE_FLOPS_UNKNOWN
                         : unit->node_count == 1 ? node_flops(segment, action, view)
                                                 : inner_flops(view);
    if (flops == RT_PROFILE_FLOPS_UNKNOWN) return flops;
    sum += flops;
  }
  return sum;
}

// ---- Memory ---------------------------------------------------------------------------------

typedef struct lifetime {
  uint32_t first, last;  // actions
  uint64_t bytes;
  uint32_t place;
} lifetime;

static int is_activation(const rt_buffer *buffer) {
  return buffer->storage == RT_STORAGE_ARENA || buffer->storage == RT_STORAGE_OUTPUT ||
         buffer->storage == RT_STORAGE_LATE;
}

// Buffers of one block share memory; the others have their own, to the end of the run.
static void touch(const rt_segment *segment, lifetime *lives, uint32_t number,
                  uint32_t action) {
  if (number == RT_NO_BUFFER || !is_activation(&segment->plan->buffers[number])) return;
  const rt_plan *plan = segment->plan;
  const rt_buffer *buffer = &plan->buffers[number];
  const int shared = buffer->storage == RT_STORAGE_ARENA;
  lifetime *life = &lives[shared ? buffer->block : plan->buffer_count + number];
  if (life->bytes == 0) *life = (lifetime){.first = action, .place = buffer->place};
  if (buffer->bytes > life->bytes) life->bytes = buffer->bytes;
  life->last = shared ? action : plan->action_count - 1;
}

static void find_lifetimes(const rt_segment *segment, lifetime *lives) {
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) {
    const rt_action *action = &segment->plan->actions[i];
    for (uint32_t k = 0; k < action->input_count; ++k)
      touch(segment, lives, action->inputs[k], i);
    for (uint32_t k = 0; k < action->output_count; ++k)
      touch(segment, lives, action->outputs[k], i);
    if (action->kind == RT_ACTION_KERNEL) touch(segment, lives, action->workspace, i);
  }
}

// What earlier segments hold in `place`.
static uint64_t held_before(const rt_run *run, const rt_segment *segment, uint32_t place) {
  uint64_t sum = 0;
  for (const rt_segment *at = run->segments; at != segment; ++at)
    for (uint32_t i = 0; i < at->plan->arena_count; ++i)
      if (at->plan->arenas[i].place == place) sum += at->plan->arenas[i].stats.planned;
  return sum;
}

// Differences first, then their running sum, which wraps around in between.
static void fill_live(const lifetime *lives, uint64_t life_count, uint32_t place,
                      uint64_t before, uint64_t *out_live, uint32_t action_count) {
  out_live[0] = before;
  for (uint64_t i = 0; i < life_count; ++i) {
    if (lives[i].bytes == 0 || lives[i].place != place) continue;
    out_live[lives[i].first] += lives[i].bytes;
    if (lives[i].last + 1 < action_count) out_live[lives[i].last + 1] -= lives[i].bytes;
  }
  for (uint32_t i = 1; i < action_count; ++i) out_live[i] += out_live[i - 1];
}

void rt_run_note_segment(rt_run *run, rt_segment *segment) {
  const rt_executor *executor = run->executor;
  const rt_plan *plan = segment->plan;
  // Blocks are fewer than buffers.
  const uint64_t life_count = 2 * (uint64_t)plan->buffer_count;
  if (executor->parent || plan->action_count == 0) return;
  lifetime *lives = calloc(life_count + 1, sizeof *lives);
  segment->live = rt_bump_new(&run->bump, (uint64_t)executor->place_count * plan->action_count,
                              sizeof *segment->live);
  if (lives && segment->live) {
    find_lifetimes(segment, lives);
    for (uint32_t i = 0; i < executor->place_count; ++i)
      fill_live(lives, life_count, executor->place_list[i],
                held_before(run, segment, executor->place_list[i]),
                &segment->live[(uint64_t)i * plan->action_count], plan->action_count);
  }
  free(lives);
}

static void add_sample(const rt_run *run, uint32_t place_index, uint64_t time_ns,
                       uint64_t live) {
  const rt_executor *executor = run->executor;
  rt_allocator *allocator = executor->places->allocators[executor->place_list[place_index]];
  rt_profile_add_sample(executor->options.profile,
                        &(rt_profile_sample){
                            .device = rt_allocator_name(allocator),
                            .kind = rt_allocator_kind(allocator),
                            .run = run->number,
                            .time_ns = time_ns,
                            .live = live,
                            .allocated = rt_allocator_stats(allocator).bytes_in_use,
                        });
}

static void sample_memory(const rt_run *run, const rt_segment *segment, uint32_t index,
                          uint64_t time_ns) {
  const uint32_t count = segment->plan->action_count;
  for (uint32_t i = 0; segment->live && i < run->executor->place_count; ++i) {
    const uint64_t *live = &segment->live[(uint64_t)i * count];
    if (index == 0 || live[index] != live[index - 1]) add_sample(run, i, time_ns, live[index]);
  }
}

// ---- Spans ----------------------------------------------------------------------------------

static void note(const rt_run *run, rt_profile_span span) {
  span.run = run->number;
  if (!span.op) span.op = "";
  if (!span.provider) span.provider = "host";
  rt_profile_add(run->executor->options.profile, &span);
}

void rt_run_note_plan(const rt_run *run, const rt_plan *plan, uint64_t start_ns) {
  note(run, (rt_profile_span){.kind = OPS_PROFILE_COMPILE,
                              .name = "plan and prepare",
                              .start_ns = start_ns,
                              .end_ns = rt_profile_now()});
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    if (action->kind != RT_ACTION_KERNEL) continue;
    note(run, (rt_profile_span){.kind = OPS_PROFILE_COMPILE,
                                .name = action->name,
                                .op = action->unit->op,
                                .origins = action->unit->origins,
                                .provider = action->device->name,
                                .start_ns = action->prepare_start_ns,
                                .end_ns = action->prepare_end_ns});
  }
}

static rt_profile_span movement(const rt_segment *segment, const rt_action *action,
                                const char *op, int32_t kind) {
  const ops_arg *from = &segment->bindings[action->inputs[0]].arg;
  const ops_arg *to = &segment->bindings[action->outputs[0]].arg;
  return (rt_profile_span){.kind = kind,
                           .op = op,
                           .bytes = segment->plan->buffers[action->outputs[0]].bytes,
                           .memory_from = from->memory_kind,
                           .memory_to = to->memory_kind,
                           .bytes_read = from->tensor.byte_size,
                           .bytes_written = to->tensor.byte_size};
}

static rt_profile_span computation(const rt_run *run, const rt_segment *segment,
                                   const rt_action *action) {
  return (rt_profile_span){
      .kind = OPS_PROFILE_KERNEL,
      .op = action->unit->op,
      .origins = action->unit->origins,
      .bytes_read = argument_bytes(segment, action->inputs, action->input_count),
      .bytes_written = argument_bytes(segment, action->outputs, action->output_count),
      .flops = unit_flops(run, segment, action)};
}

static rt_profile_span describe(const rt_run *run, const rt_segment *segment,
                                const rt_action *action) {
  switch (action->kind) {
    case RT_ACTION_COPY:
      return movement(segment, action, "(copy)", OPS_PROFILE_COPY);
    case RT_ACTION_REORDER:
      return movement(segment, action, "(reorder)", RT_PROFILE_REORDER);
    case RT_ACTION_CONTROL:
      return (rt_profile_span){.kind = RT_PROFILE_CONTROL, .op = action->unit->op};
    default:
      return computation(run, segment, action);
  }
}

void rt_run_note_action(rt_run *run, const rt_segment *segment, uint32_t index,
                        uint64_t correlation, uint64_t start_ns) {
  const uint64_t end_ns = rt_profile_now();
  const rt_action *action = &segment->plan->actions[index];
  rt_profile_span span = describe(run, segment, action);
  span.name = action->name;
  span.provider = action->device ? action->device->name : "host";
  span.start_ns = start_ns;
  span.end_ns = end_ns;
  if (action->kind != RT_ACTION_CONTROL) span.correlation = correlation;
  note(run, span);
  sample_memory(run, segment, index, start_ns);
  run->noted_ns += rt_profile_now() - end_ns;
}

void rt_run_note_end(const rt_run *run, uint64_t start_ns) {
  const uint64_t end_ns = rt_profile_now();
  for (uint32_t i = 0; i < run->executor->place_count; ++i) add_sample(run, i, end_ns, 0);
  note(run, (rt_profile_span){.kind = RT_PROFILE_RUN,
                              .name = "run",
                              .start_ns = start_ns,
                              .end_ns = end_ns,
                              .own_ns = run->noted_ns});
}

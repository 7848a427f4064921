// SPDX-License-Identifier: Apache-2.0
//
// A run: obtain the plan of a segment, bind it, issue its actions, drain, see what shapes came
// out, and go on with the next segment until one is the last. Everything a run holds is given
// back in one place, after all queues are idle.
#include "execution/executor.h"

#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execution/run.h"
#include "loader/value.h"
#include "plan/fullest.h"

// ---- Create and destroy ---------------------------------------------------------------------

static int32_t open_streams(rt_executor *executor, ops_error *error) {
  for (uint32_t i = 0; i < executor->options.device_count; ++i) {
    const rt_device *device = executor->options.devices[i];
    if (device->provider->stream)
      OPS_RETURN_IF_ERROR(rt_stream_pool_create(device, &executor->streams[i], error));
  }
  return OPS_OK;
}

// What the executor of the main graph lends to those of bodies.
static int32_t open_shared(rt_executor *executor, ops_error *error) {
  const rt_executor_options *options = &executor->options;
  executor->places = calloc(1, sizeof *executor->places);
  if (!executor->places) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an executor");
  OPS_RETURN_IF_ERROR(rt_places_init(executor->places, options->devices, options->device_count,
                                     &options->memory, error));
  for (uint32_t place = 0; place < RT_PLACE_COUNT; ++place)
    if (executor->places->allocators[place])
      executor->place_list[executor->place_count++] = place;
  OPS_RETURN_IF_ERROR(rt_weights_create(executor->places, options->partition->views,
                                        &executor->weights, error));
  if (options->branch_threads > 1) {
    executor->pool = ops_pool_create(options->branch_threads);
    if (!executor->pool) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an executor");
  }
  return open_streams(executor, error);
}

static int32_t create(const rt_executor_options *options, rt_executor *parent,
                      rt_executor **out_executor, ops_error *error);

static int32_t open_unit_bodies(rt_executor *executor, const rt_unit *unit, ops_error *error) {
  rt_executor **bodies = calloc((size_t)unit->body_count + 1, sizeof *bodies);
  if (!bodies) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an executor");
  executor->bodies[unit->index] = bodies;
  for (uint32_t i = 0; i < unit->body_count; ++i) {
    rt_executor_options options = executor->options;
    options.partition = unit->bodies[i];
    options.graph = unit->bodies[i]->graph;
    OPS_RETURN_IF_ERROR(create(&options, executor, &bodies[i], error));
  }
  return OPS_OK;
}

static int32_t open_bodies(rt_executor *executor, ops_error *error) {
  const rt_partition *partition = executor->options.partition;
  executor->bodies = calloc((size_t)partition->unit_count + 1, sizeof *executor->bodies);
  if (!executor->bodies) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an executor");
  for (uint32_t i = 0; i < partition->unit_count; ++i)
    if (partition->units[i].control)
      OPS_RETURN_IF_ERROR(open_unit_bodies(executor, &partition->units[i], error));
  return OPS_OK;
}

static void mark_devices(const rt_partition *partition, uint8_t *used) {
  for (uint32_t i = 0; i < partition->unit_count; ++i) {
    const rt_unit *unit = &partition->units[i];
    if (unit->device) used[unit->device->number] = 1;
    for (uint32_t k = 0; k < unit->body_count; ++k) mark_devices(unit->bodies[k], used);
  }
}

static int32_t open_parts(rt_executor *executor, ops_error *error) {
  if (executor->parent) {
    executor->places = executor->parent->places;
    executor->weights = executor->parent->weights;
  } else {
    OPS_RETURN_IF_ERROR(open_shared(executor, error));
  }
  OPS_RETURN_IF_ERROR(rt_plan_cache_create(executor->weights, executor->options.max_plans,
                                           &executor->cache, error));
  mark_devices(executor->options.partition, executor->used);
  return open_bodies(executor, error);
}

// Recursive over bodies, which are nested RT_PARTITION_MAX_DEPTH deep at most.
static int32_t create(const rt_executor_options *options, rt_executor *parent,
                      rt_executor **out_executor, ops_error *error) {
  rt_executor *executor = calloc(1, sizeof *executor);
  if (!executor) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an executor");
  executor->options = *options;
  executor->parent = parent;
  pthread_mutex_init(&executor->mutex, NULL);
  const int32_t status = open_parts(executor, error);
  if (status != OPS_OK) {
    rt_executor_destroy(executor);
    return status;
  }
  *out_executor = executor;
  return OPS_OK;
}

int32_t rt_executor_create(const rt_executor_options *options, rt_executor **out_executor,
                           ops_error *error) {
  *out_executor = NULL;
  return create(options, NULL, out_executor, error);
}

// Calls `visit` for the executors of all bodies right below.
typedef void (*body_visitor)(rt_executor *body, void *context);

static void visit_bodies(const rt_executor *executor, body_visitor visit, void *context) {
  const rt_partition *partition = executor->options.partition;
  for (uint32_t i = 0; executor->bodies && i < partition->unit_count; ++i)
    for (uint32_t k = 0; executor->bodies[i] && k < partition->units[i].body_count; ++k)
      if (executor->bodies[i][k]) visit(executor->bodies[i][k], context);
}

static void destroy_body(rt_executor *body, void *context) {
  (void)context;
  rt_executor_destroy(body);
}

void rt_executor_destroy(rt_executor *executor) {
  if (!executor) return;
  visit_bodies(executor, destroy_body, NULL);
  for (uint32_t i = 0; executor->bodies && i < executor->options.partition->unit_count; ++i)
    free(executor->bodies[i]);
  free(executor->bodies);
  free(executor->layout_rows);
  rt_plan_cache_destroy(executor->cache);
  if (!executor->parent) {
    for (uint32_t i = 0; i < RT_MAX_DEVICES; ++i) rt_stream_pool_destroy(executor->streams[i]);
    for (uint32_t i = 0; i < RT_MAX_DEVICES; ++i) free(executor->lost[i]);
    for (uint32_t i = 0; i < RT_MAX_DEVICES; ++i) free(executor->capture_notes[i]);
    ops_pool_destroy(executor->pool);
    rt_weights_destroy(executor->weights);
    if (executor->places) rt_places_finish(executor->places);
    free(executor->places);
  }
  pthread_mutex_destroy(&executor->mutex);
  free(executor);
}

void rt_run_output_finish(rt_run_output *output) {
  if (!output->lent) free(output->data);
  ops_value_release(output->value);
  *output = (rt_run_output){0};
}

// ---- Segments -------------------------------------------------------------------------------

#define FEW_TYPES 32

static int32_t obtain(rt_run *run, rt_cached_plan **out_plan, ops_error *error) {
  const rt_executor_options *options = &run->executor->options;
  const rt_segment *last = run->segment_count ? &run->segments[run->segment_count - 1] : NULL;
  const uint32_t count = last ? last->plan->late_count : options->partition->input_count;
  const ops_type_info *few[FEW_TYPES], **types = few;
  if (count > FEW_TYPES) types = rt_bump_new(&run->bump, count, sizeof *types);
  if (!types) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running a model");
  for (uint32_t i = 0; i < count; ++i)
    types[i] = last ? last->bindings[last->plan->late[i]].type : run->inputs[i].type;
  const rt_plan_request request = {.graph = options->graph,
                                   .partition = options->partition,
                                   .parent = last ? (rt_plan *)last->plan : NULL,
                                   .types = types,
                                   .type_count = count,
                                   .places = run->places,
                                   .fetch = rt_run_fetch,
                                   .context = run,
                                   .parallel = options->branch_threads > 1,
                                   .no_reuse = options->no_reuse,
                                   .layouts = options->layouts};
  const uint64_t start_ns = options->profile ? rt_profile_now() : 0;
  int built = 0;
  run->lookups++;
  OPS_RETURN_IF_ERROR(
      rt_plan_cache_obtain(run->executor->cache, &request, out_plan, &built, error));
  if (built && options->profile) rt_run_note_plan(run, (*out_plan)->plan, start_ns);
  return OPS_OK;
}

static int32_t reserve_segment(rt_run *run, ops_error *error) {
  if (!run->segments) {
    run->segments = run->few;
    run->segment_capacity = sizeof run->few / sizeof run->few[0];
  }
  if (run->segment_count < run->segment_capacity) return OPS_OK;
  const uint32_t capacity = run->segment_capacity * 2;
  const int moves = run->segments == run->few;
  rt_segment *grown = realloc(moves ? NULL : run->segments, capacity * sizeof *grown);
  if (!grown) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running a model");
  if (moves) memcpy(grown, run->few, sizeof run->few);
  run->segments = grown;
  run->segment_capacity = capacity;
  return OPS_OK;
}

// Takes over `cached` and `instance` (NULL: one is taken).
static int32_t add_segment(rt_run *run, rt_cached_plan *cached, rt_instance *instance,
                           rt_segment **out_segment, ops_error *error) {
  rt_plan_cache *cache = run->executor->cache;
  int32_t status = reserve_segment(run, error);
  if (status == OPS_OK && !instance)
    status = rt_plan_cache_take_instance(cache, cached, &instance, error);
  if (status != OPS_OK) {
    rt_plan_cache_release(cache, cached);
    return status;
  }
  *out_segment = &run->segments[run->segment_count++];
  **out_segment = (rt_segment){.cached = cached,
                               .plan = cached->plan,
                               .instance = instance,
                               .bindings = instance->bindings,
                               .events = instance->events};
  return OPS_OK;
}

static int32_t next_segment(rt_run *run, rt_segment **out_segment, ops_error *error) {
  rt_cached_plan *cached = NULL;
  rt_instance *instance = NULL;
  if (run->kept && run->kept->plan && run->segment_count == 0) {
    cached = run->kept->plan;
    instance = run->kept->instance;
    *run->kept = (rt_kept_plan){0};
  } else {
    OPS_RETURN_IF_ERROR(obtain(run, &cached, error));
  }
  return add_segment(run, cached, instance, out_segment, error);
}

// The devices that the graph runs on, and those whose memory the caller has bound.
static void mark_needed(const rt_run *run, uint8_t *needed) {
  const rt_executor_options *options = &run->executor->options;
  memcpy(needed, run->executor->used, RT_MAX_DEVICES);
  if (!run->places) return;
  const uint32_t count = options->partition->input_count + options->graph->output_count;
  for (uint32_t i = 0; i < count; ++i)
    if (run->places[i] != RT_PLACE_HOST) needed[rt_place_device(run->places[i])] = 1;
}

static int32_t check_devices(rt_executor *executor, const uint8_t *needed, ops_error *error) {
  int32_t status = OPS_OK;
  pthread_mutex_lock(&executor->mutex);
  for (uint32_t i = 0; status == OPS_OK && i < executor->options.device_count; ++i)
    if (needed[i] && executor->lost[i])
      status = ops_error_set(error, OPS_ERROR_DEVICE_LOST,
                             "the device of %s is lost since an earlier run (%s); open a new "
                             "session",
                             executor->options.devices[i]->name, executor->lost[i]);
  pthread_mutex_unlock(&executor->mutex);
  return status;
}

void rt_executor_lose_device(rt_executor *executor, const rt_device *device,
                             const ops_error *error) {
  while (executor->parent) executor = executor->parent;
  char *text = strdup(error && error->message_size ? error->message : "no reason is known");
  pthread_mutex_lock(&executor->mutex);
  char **lost = &executor->lost[device->number];
  if (!*lost) {
    *lost = text;
    text = NULL;
  }
  pthread_mutex_unlock(&executor->mutex);
  free(text);
}

static int32_t acquire_streams(rt_run *run, ops_error *error) {
  uint8_t needed[RT_MAX_DEVICES];
  mark_needed(run, needed);
  OPS_RETURN_IF_ERROR(check_devices(run->executor, needed, error));
  for (uint32_t i = 0; i < run->executor->options.device_count; ++i)
    if (needed[i] && run->executor->streams[i])
      OPS_RETURN_IF_ERROR(
          rt_stream_acquire(run->executor->streams[i], &run->streams[i], error));
  return OPS_OK;
}

static int32_t run_segment(rt_run *run, int *out_finished, ops_error *error) {
  rt_segment *segment = NULL;
  OPS_RETURN_IF_ERROR(next_segment(run, &segment, error));
  *out_finished = segment->plan->finished;
  OPS_RETURN_IF_ERROR(rt_run_bind(run, segment, error));
  int32_t status = rt_run_actions(run, segment, error);
  // Also after a failure nothing may be pending when memory is given back.
  const int32_t drained = rt_run_drain(run, segment, status == OPS_OK ? error : NULL);
  if (status == OPS_OK) status = drained;
  return status == OPS_OK ? rt_run_resolve(run, segment, error) : status;
}

// ---- Results --------------------------------------------------------------------------------

static int32_t hand_over(rt_run *run, uint32_t index, ops_error *error) {
  const rt_segment *last = &run->segments[run->segment_count - 1];
  const rt_plan_output *where = &last->plan->outputs[index];
  rt_binding *binding = &run->segments[where->segment].bindings[where->buffer];
  rt_run_output *output = &run->outputs[index];
  output->kind = binding->type->kind;
  output->type = binding->type->type;
  if (binding->arg.kind == OPS_ARG_VALUE) {
    output->value = ops_value_retain(binding->arg.value);
    return OPS_OK;
  }
  output->rank = binding->type->rank;
  if (output->rank > 0)
    memcpy(output->dims, binding->type->dims, (size_t)output->rank * sizeof output->dims[0]);
  output->size = binding->arg.tensor.byte_size;
  const rt_buffer *buffer = &run->segments[where->segment].plan->buffers[where->buffer];
  if (buffer->storage == RT_STORAGE_INPUT || buffer->storage == RT_STORAGE_CONSTANT) {
    output->lent = 1;
    output->data = buffer->storage == RT_STORAGE_INPUT ? (void *)run->inputs[buffer->index].data
                                                       : binding->arg.tensor.memory;
    return OPS_OK;
  }
  if (output->data == binding->arg.tensor.memory) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INTERNAL, "output '%s' is not where it was planned",
                       run->executor->options.graph->output_names[index]);
}

static int32_t hand_over_all(rt_run *run, ops_error *error) {
  for (uint32_t i = 0; i < run->executor->options.graph->output_count; ++i)
    OPS_RETURN_IF_ERROR(hand_over(run, i, error));
  return OPS_OK;
}

// ---- Runs -----------------------------------------------------------------------------------

static void release_arenas(rt_run *run, const rt_segment *segment) {
  for (uint32_t i = segment->plan->arena_count; i-- > 0;) {
    rt_arena_block *block = &segment->instance->arenas[i];
    rt_arena_free(run->executor->places->arenas[segment->plan->arenas[i].place], *block);
    *block = (rt_arena_block){0};
  }
}

// What depends on shapes and places alone can be kept.
static int can_keep(const rt_run *run, const rt_plan *plan) {
  return run->kept && !run->kept->plan && !plan->parent && plan->finished &&
         plan->guard_count == 0;
}

void rt_executor_release_kept(rt_executor *executor, rt_kept_plan *kept) {
  if (!kept->plan) return;
  rt_plan_cache_return_instance(executor->cache, kept->plan, kept->instance);
  rt_plan_cache_release(executor->cache, kept->plan);
  *kept = (rt_kept_plan){0};
}

static void release_segment(rt_run *run, rt_segment *segment) {
  rt_plan_cache *cache = run->executor->cache;
  rt_run_release_objects(segment);
  release_arenas(run, segment);
  if (can_keep(run, segment->plan)) {
    *run->kept = (rt_kept_plan){segment->cached, segment->instance};
    return;
  }
  rt_plan_cache_return_instance(cache, segment->cached, segment->instance);
  rt_plan_cache_release(cache, segment->cached);
}

static void release_run(rt_run *run) {
  for (uint32_t i = run->segment_count; i-- > 0;) release_segment(run, &run->segments[i]);
  for (rt_run_memory *at = run->memory; at; at = at->next) {
    if (at->arena)
      rt_arena_free(at->arena, at->block);
    else
      free(at->block.memory);
  }
  rt_allocator_discharge(run->executor->places->allocators[RT_PLACE_HOST], run->charged);
  if (run->segments != run->few) free(run->segments);
  rt_bump_finish(&run->bump);
}

static void release_streams(rt_run *run) {
  rt_executor *executor = run->executor;
  for (uint32_t i = 0; i < executor->options.device_count; ++i)
    rt_stream_release(executor->streams[i], run->streams[i]);
}

// Adds the arenas of a plan to the sums of their places.
static void add_plan_stats(rt_offsets_stats *sums, const rt_plan *plan) {
  for (uint32_t k = 0; k < plan->arena_count; ++k) {
    rt_offsets_stats *sum = &sums[plan->arenas[k].place];
    sum->planned += plan->arenas[k].stats.planned;
    sum->naive += plan->arenas[k].stats.naive;
    sum->lower_bound += plan->arenas[k].stats.lower_bound;
  }
}

static void count_run(rt_run *run) {
  rt_executor *executor = run->executor;
  rt_offsets_stats stats[RT_PLACE_COUNT] = {{0}};
  for (uint32_t i = 0; i < run->segment_count; ++i)
    add_plan_stats(stats, run->segments[i].plan);
  pthread_mutex_lock(&executor->mutex);
  executor->counters.copies += run->copies;
  executor->counters.copied_bytes += run->copied_bytes;
  executor->counters.captures += run->captures;
  executor->counters.replays += run->replays;
  executor->counters.lookups += run->lookups;
  executor->counters.rebound += run->rebound;
  memcpy(executor->plan_stats, stats, sizeof stats);
  pthread_mutex_unlock(&executor->mutex);
}

static uint32_t next_number(rt_executor *executor) {
  pthread_mutex_lock(&executor->mutex);
  const uint32_t number = (uint32_t)executor->counters.runs++;
  pthread_mutex_unlock(&executor->mutex);
  return number;
}

static int32_t run_segments(rt_run *run, ops_error *error) {
  int finished = 0;
  while (!finished) OPS_RETURN_IF_ERROR(run_segment(run, &finished, error));
  OPS_RETURN_IF_ERROR(hand_over_all(run, error));
  return rt_run_deliver(run, error);
}

static void drop_outputs(const rt_run *run) {
  for (uint32_t i = 0; i < run->executor->options.graph->output_count; ++i)
    rt_run_output_finish(&run->outputs[i]);
}

static void clear_outputs(const rt_run *run) {
  for (uint32_t i = 0; i < run->executor->options.graph->output_count; ++i)
    run->outputs[i] = (rt_run_output){0};
}

int32_t rt_executor_run(rt_executor *executor, const rt_run_request *request,
                        ops_error *error) {
  rt_run run = {.executor = executor,
                .number = next_number(executor),
                .inputs = request->inputs,
                .outputs = request->outputs,
                .targets = request->targets,
                .places = request->places,
                .kept = request->kept,
                .interrupt = request->interrupt};
  const uint64_t start_ns = executor->options.profile ? rt_profile_now() : 0;
  clear_outputs(&run);
  int32_t status = acquire_streams(&run, error);
  if (status == OPS_OK) status = run_segments(&run, error);
  if (status == OPS_OK) count_run(&run);
  release_streams(&run);
  release_run(&run);
  if (executor->options.memory.shrink_after_run) rt_places_shrink(executor->places);
  if (status != OPS_OK) drop_outputs(&run);
  if (executor->options.profile) rt_run_note_end(&run, start_ns);
  return status;
}

// Everything issued has completed when a body ends, so its events can be used again.
static void give_back_events(rt_run *outer, const uint32_t *used) {
  for (uint32_t i = 0; i < RT_MAX_DEVICES; ++i)
    if (outer->streams[i]) outer->streams[i]->events_used = used[i];
}

// Kernels were chosen for the types that the body's graph has.
static int32_t check_types(const rt_executor *body, const rt_run_input *inputs,
                           ops_error *error) {
  const rt_partition *partition = body->options.partition;
  for (uint32_t i = 0; i < partition->input_count; ++i) {
    const rt_value *value = partition->inputs[i];
    const ops_type_info *given = inputs[i].type;
    if (!given)
      return ops_error_set_cause(
          error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
          "nobody gives the body its input '%s'; expected as many inputs as the "
          "operator passes on",
          value->name);
    const int typed = value->type.kind == RT_TYPE_TENSOR && value->type.elem_type;
    if (typed && given->type != value->type.elem_type)
      return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                                 "'%s', which enters the body, is %s; expected %s", value->name,
                                 ops_type_name(given->type),
                                 ops_type_name(value->type.elem_type));
  }
  return OPS_OK;
}

int32_t rt_run_body(rt_run *outer, rt_executor *body, const rt_run_input *inputs,
                    const rt_run_sink *sink, rt_run_output *outputs, ops_error *error) {
  rt_run run = {.executor = body,
                .sink = sink,
                .interrupt = outer->interrupt,
                .number = outer->number,
                .inputs = inputs,
                .outputs = outputs};
  uint32_t used[RT_MAX_DEVICES] = {0};
  memcpy(run.streams, outer->streams, sizeof run.streams);
  for (uint32_t i = 0; i < RT_MAX_DEVICES; ++i)
    if (run.streams[i]) used[i] = run.streams[i]->events_used;
  clear_outputs(&run);
  int32_t status = check_types(body, inputs, error);
  if (status == OPS_OK) status = run_segments(&run, error);
  outer->copies += run.copies;
  outer->copied_bytes += run.copied_bytes;
  outer->captures += run.captures;
  outer->replays += run.replays;
  outer->lookups += run.lookups;
  outer->rebound += run.rebound;
  outer->noted_ns += run.noted_ns;
  release_run(&run);
  give_back_events(outer, used);
  if (status != OPS_OK) drop_outputs(&run);
  return status;
}

static void note_warm_up(rt_executor *executor, const rt_plan *plan) {
  rt_offsets_stats stats[RT_PLACE_COUNT] = {{0}};
  add_plan_stats(stats, plan);
  pthread_mutex_lock(&executor->mutex);
  memcpy(executor->plan_stats, stats, sizeof stats);
  rt_executor_note_layouts(executor, plan);
  pthread_mutex_unlock(&executor->mutex);
}

int32_t rt_executor_warm_up(rt_executor *executor, const rt_run_input *inputs,
                            ops_error *error) {
  rt_run run = {.executor = executor, .inputs = inputs};
  rt_cached_plan *cached = NULL;
  const int32_t status = obtain(&run, &cached, error);
  if (status == OPS_OK) note_warm_up(executor, cached->plan);
  rt_plan_cache_release(executor->cache, cached);
  rt_bump_finish(&run.bump);
  // A plan that needs data cannot be made yet, which is no failure.
  return status == OPS_ERROR_PRECONDITION ? OPS_OK : status;
}

// ---- Memory of callers ----------------------------------------------------------------------

int32_t rt_executor_allocate(rt_executor *executor, uint32_t index, uint64_t size,
                             void **out_memory, uint32_t *out_place, ops_error *error) {
  *out_memory = NULL;
  if (index >= executor->place_count)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "memory %u does not exist; the session has %u", index,
                         executor->place_count);
  *out_place = executor->place_list[index];
  return rt_allocator_allocate(executor->places->allocators[*out_place], size,
                               RT_CALLER_ALIGNMENT, OPS_USAGE_IO, out_memory, error);
}

void rt_executor_free(rt_executor *executor, uint32_t place, void *memory, uint64_t size) {
  rt_allocator_free(executor->places->allocators[place], memory, size);
}

int32_t rt_executor_copy(rt_executor *executor, uint32_t from_place, const void *from,
                         uint64_t from_offset, uint32_t to_place, void *to, uint64_t to_offset,
                         uint64_t size, ops_error *error) {
  return rt_places_copy(executor->places, from_place, from, from_offset, to_place, to,
                        to_offset, size, error);
}

// ---- Numbers --------------------------------------------------------------------------------

static void add_counters(rt_executor *executor, void *context) {
  rt_cache_counters *sum = context;
  const rt_cache_counters own = rt_plan_cache_counters(executor->cache);
  sum->built += own.built;
  sum->evicted += own.evicted;
  sum->prepares += own.prepares;
  sum->laid_out_alike += own.laid_out_alike;
  visit_bodies(executor, add_counters, sum);
}

rt_executor_counters rt_executor_count(rt_executor *executor) {
  rt_cache_counters cache = {0};
  add_counters(executor, &cache);
  pthread_mutex_lock(&executor->mutex);
  rt_executor_counters counters = executor->counters;
  pthread_mutex_unlock(&executor->mutex);
  counters.plans_built = cache.built;
  counters.plans_evicted = cache.evicted;
  counters.prepares = cache.prepares;
  counters.plans_alike = cache.laid_out_alike;
  return counters;
}

uint32_t rt_executor_memory_count(const rt_executor *executor) {
  return executor->place_count;
}

void rt_executor_memory_at(rt_executor *executor, uint32_t index,
                           rt_executor_memory *out_memory) {
  const uint32_t place = executor->place_list[index];
  rt_allocator *allocator = executor->places->allocators[place];
  const rt_memory_stats stats = rt_allocator_stats(allocator);
  const rt_arena_stats arena = rt_arena_count(executor->places->arenas[place]);
  pthread_mutex_lock(&executor->mutex);
  const rt_offsets_stats plan = executor->plan_stats[place];
  pthread_mutex_unlock(&executor->mutex);
  *out_memory = (rt_executor_memory){.device = rt_allocator_name(allocator),
                                     .kind = rt_allocator_kind(allocator),
                                     .memory = stats,
                                     .arena = arena,
                                     .plan = plan};
}

// The lock is for the graph's symbols.
static int32_t describe_fullest(rt_executor *executor, const rt_plan *plan, uint32_t arena,
                                char *buffer, uint64_t size, ops_error *error) {
  const rt_graph *graph = executor->options.graph;
  rt_plan_fullest fullest;
  char bytes[512];
  pthread_mutex_lock(&executor->mutex);
  const int32_t status = rt_plan_find_fullest(plan, graph, arena, &fullest, error);
  if (status == OPS_OK) rt_dim_format(graph->root->symbols, fullest.bytes, bytes, sizeof bytes);
  pthread_mutex_unlock(&executor->mutex);
  OPS_RETURN_IF_ERROR(status);
  const rt_action *action = fullest.action;
  const char *where = !action        ? "no single node"
                      : action->unit ? action->unit->where
                                     : action->name;
  snprintf(buffer, size, "%s: %s", where, bytes);
  return OPS_OK;
}

int32_t rt_executor_fullest(rt_executor *executor, uint32_t index, char *buffer, uint64_t size,
                            ops_error *error) {
  const uint32_t place = executor->place_list[index];
  rt_cached_plan *cached = rt_plan_cache_latest(executor->cache);
  int32_t status = OPS_OK;
  if (size) buffer[0] = 0;
  for (uint32_t i = 0; cached && status == OPS_OK && i < cached->plan->arena_count; ++i)
    if (cached->plan->arenas[i].place == place)
      status = describe_fullest(executor, cached->plan, i, buffer, size, error);
  rt_plan_cache_release(executor->cache, cached);
  return status;
}

void rt_executor_shrink(rt_executor *executor) {
  rt_places_shrink(executor->places);
}

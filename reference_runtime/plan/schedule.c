// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes of blocks, their offsets, and the waits that asynchronous queues need.
//
// Actions are numbered in the order in which the host issues them. On one queue that order
// holds by itself; across queues an action waits for the action that wrote what it reads, and
// before it writes memory it waits for every earlier access to that memory, also through
// another buffer that lay at the same offset. Waits that an earlier wait implies are left out.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

#define NEVER UINT32_MAX

// ---- Lifetimes and offsets ------------------------------------------------------------------

typedef struct schedule {
  rt_builder *b;
  rt_plan *plan;
  rt_block *blocks;  // by block number
  uint32_t *block_place;
} schedule;

static void touch(schedule *s, uint32_t buffer, uint32_t step) {
  if (buffer == RT_NO_BUFFER || s->plan->buffers[buffer].storage != RT_STORAGE_ARENA) return;
  rt_block *block = &s->blocks[s->plan->buffers[buffer].block];
  if (step < block->first) block->first = step;
  if (step > block->last || block->last == NEVER) block->last = step;
}

static void touch_actions(schedule *s) {
  const rt_plan *plan = s->plan;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    const uint32_t step = s->b->levels ? s->b->levels[i] : i;
    for (uint32_t k = 0; k < action->input_count; ++k) touch(s, action->inputs[k], step);
    for (uint32_t k = 0; k < action->output_count; ++k) touch(s, action->outputs[k], step);
    touch(s, action->workspace, step);
    for (uint32_t k = 0; action->dims_outputs && k < action->output_count; ++k) {
      touch(s, action->dims_outputs[k], step);
      touch(s, action->dims_outputs[k], plan->action_count);  // read after the segment
    }
  }
}

// What later segments read stays until the end of the run.
static void keep_for_later(schedule *s) {
  const rt_plan *plan = s->plan;
  if (plan->finished) return;
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    if (buffer->value && s->b->last_reader[buffer->value->id] > plan->end_unit)
      touch(s, i, plan->action_count);
  }
}

static int32_t size_blocks(schedule *s, ops_error *error) {
  for (uint32_t i = 0; i < s->plan->buffer_count; ++i) {
    const rt_buffer *buffer = &s->plan->buffers[i];
    if (buffer->storage != RT_STORAGE_ARENA || buffer->bytes == 0) continue;
    rt_block *block = &s->blocks[buffer->block];
    uint64_t size;
    if (block->first == NEVER) continue;  // nobody uses it
    if (!ops_checked_add(buffer->bytes, buffer->padding, &size))
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a buffer of %llu bytes",
                           (unsigned long long)buffer->bytes);
    if (size > block->size) block->size = size;
    if (buffer->alignment > block->alignment) block->alignment = buffer->alignment;
    s->block_place[buffer->block] = buffer->place;
  }
  return OPS_OK;
}

// The layout of the same arena for other shapes, if its blocks are the same ones. `offsets` is
// scratch.
static int find_hint(const schedule *s, uint32_t place, uint64_t *offsets,
                     rt_offsets_hint *out_hint) {
  const rt_plan *like = s->b->request->like;
  if (!like || like->block_count != s->b->block_count) return 0;
  for (uint32_t i = 0; i < like->block_count; ++i) {
    if (s->blocks[i].size && like->blocks[i].place != s->block_place[i]) return 0;
    offsets[i] = like->blocks[i].offset;
  }
  for (uint32_t i = 0; i < like->arena_count; ++i)
    if (like->arenas[i].place == place) {
      *out_hint = (rt_offsets_hint){offsets, like->arenas[i].stats};
      return 1;
    }
  return 0;
}

static int32_t plan_offsets(const schedule *s, rt_block *blocks, rt_plan_arena *arena,
                            ops_error *error) {
  const uint32_t count = s->b->block_count;
  rt_offsets_hint hint;
  uint64_t *offsets = malloc(((size_t)count + 1) * sizeof *offsets);
  if (!offsets) return rt_builder_exhausted(error);
  const int found = find_hint(s, arena->place, offsets, &hint);
  const int32_t status =
      rt_offsets_plan(blocks, count, !s->b->request->no_reuse, found ? &hint : NULL,
                      &arena->kept, &arena->stats, error);
  free(offsets);
  return status;
}

// Places the blocks of one place; blocks of other places have size 0 meanwhile.
static int32_t plan_place(schedule *s, uint32_t place, rt_block *scratch, ops_error *error) {
  const uint32_t count = s->b->block_count;
  rt_plan_arena arena = {.place = place, .alignment = 1};
  for (uint32_t i = 0; i < count; ++i) {
    scratch[i] = s->blocks[i];
    if (s->block_place[i] != place) scratch[i].size = 0;
    if (scratch[i].size && scratch[i].alignment > arena.alignment)
      arena.alignment = scratch[i].alignment;
  }
  OPS_RETURN_IF_ERROR(plan_offsets(s, scratch, &arena, error));
  for (uint32_t i = 0; i < count; ++i)
    if (scratch[i].size) s->blocks[i].offset = scratch[i].offset;
  if (arena.stats.planned) s->plan->arenas[s->plan->arena_count++] = arena;
  return OPS_OK;
}

static int32_t plan_places(schedule *s, ops_error *error) {
  const uint32_t count = s->b->block_count;
  uint8_t used[RT_PLACE_COUNT] = {0};
  rt_block *scratch = malloc(((size_t)count + 1) * sizeof *scratch);
  int32_t status = scratch ? OPS_OK : rt_builder_exhausted(error);
  s->plan->arenas = rt_bump_new(s->b->bump, RT_PLACE_COUNT, sizeof *s->plan->arenas);
  if (!s->plan->arenas) status = rt_builder_exhausted(error);
  for (uint32_t i = 0; i < count; ++i)
    if (s->blocks[i].size) used[s->block_place[i]] = 1;
  for (uint32_t place = 0; status == OPS_OK && place < RT_PLACE_COUNT; ++place)
    if (used[place]) status = plan_place(s, place, scratch, error);
  free(scratch);
  return status;
}

static int32_t keep_blocks(schedule *s, ops_error *error) {
  const uint32_t count = s->b->block_count;
  rt_plan_block *blocks = rt_bump_new(s->b->bump, count, sizeof *blocks);
  if (!blocks) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < count; ++i)
    blocks[i] = (rt_plan_block){.offset = s->blocks[i].offset,
                                .size = s->blocks[i].size,
                                .first = s->blocks[i].first,
                                .last = s->blocks[i].last,
                                .place = s->block_place[i]};
  s->plan->blocks = blocks;
  s->plan->block_count = count;
  return OPS_OK;
}

// Blocks begin where cache lines and vector loads like it.
#define BLOCK_ALIGNMENT 64u

static int32_t plan_memory(schedule *s, ops_error *error) {
  for (uint32_t i = 0; i < s->b->block_count; ++i)
    s->blocks[i] = (rt_block){.alignment = BLOCK_ALIGNMENT, .first = NEVER, .last = NEVER};
  touch_actions(s);
  keep_for_later(s);
  OPS_RETURN_IF_ERROR(size_blocks(s, error));
  OPS_RETURN_IF_ERROR(plan_places(s, error));
  for (uint32_t i = 0; i < s->plan->buffer_count; ++i) {
    rt_buffer *buffer = &s->plan->buffers[i];
    if (buffer->storage != RT_STORAGE_ARENA) continue;
    buffer->offset = s->blocks[buffer->block].offset;
    if (buffer->alignment < BLOCK_ALIGNMENT) buffer->alignment = BLOCK_ALIGNMENT;
  }
  return keep_blocks(s, error);
}

// ---- Waits ----------------------------------------------------------------------------------

#define QUEUES ((uint32_t)RT_MAX_DEVICES * RT_QUEUES_PER_DEVICE)
#define HOST_QUEUE QUEUES  // waits of synchronous actions

typedef struct waits {
  schedule *s;
  uint32_t *writer;    // by buffer: the action that wrote it last, or NEVER
  uint32_t *accesses;  // by buffer and queue: the last action that touched it, or NEVER
  uint32_t *owners;    // buffers in arenas whose memory no later one has taken over whole
  uint32_t owner_count;
  uint32_t passed[QUEUES + 1][QUEUES];  // [waiter][queue]: 1 + last action known complete
  uint32_t needed[QUEUES];              // of the present action: 1 + action to wait for
} waits;

static uint32_t queue_of(const rt_action *action) {
  if (action->queue == RT_QUEUE_NONE) return HOST_QUEUE;
  return action->device->number * RT_QUEUES_PER_DEVICE + (uint32_t)action->queue;
}

static void need(waits *w, uint32_t action) {
  if (action == NEVER) return;
  const uint32_t queue = queue_of(&w->s->plan->actions[action]);
  if (queue != HOST_QUEUE && action + 1 > w->needed[queue]) w->needed[queue] = action + 1;
}

static void need_accesses(waits *w, uint32_t buffer) {
  for (uint32_t q = 0; q < QUEUES; ++q) need(w, w->accesses[(size_t)buffer * QUEUES + q]);
}

int rt_buffer_overlaps(const rt_buffer *a, const rt_buffer *b) {
  return a->storage == RT_STORAGE_ARENA && b->storage == RT_STORAGE_ARENA &&
         a->place == b->place && a->offset < b->offset + b->bytes + b->padding &&
         b->offset < a->offset + a->bytes + a->padding;
}

int rt_buffer_covers(const rt_buffer *a, const rt_buffer *b) {
  return a->offset <= b->offset &&
         b->offset + b->bytes + b->padding <= a->offset + a->bytes + a->padding;
}

// Before `buffer` is written: every access to memory that it shares must be over. Owners that
// it covers are forgotten, since who waits for `buffer` later has waited for them too.
static void need_memory(waits *w, uint32_t buffer) {
  if (buffer == RT_NO_BUFFER) return;
  const rt_buffer *target = &w->s->plan->buffers[buffer];
  uint32_t kept = 0;
  need_accesses(w, buffer);
  for (uint32_t i = 0; i < w->owner_count; ++i) {
    const uint32_t owner = w->owners[i];
    const rt_buffer *other = &w->s->plan->buffers[owner];
    const int shares = owner != buffer && rt_buffer_overlaps(target, other);
    if (shares) need_accesses(w, owner);
    if (owner != buffer && !(shares && rt_buffer_covers(target, other)))
      w->owners[kept++] = owner;
  }
  w->owner_count = kept;
  if (target->storage == RT_STORAGE_ARENA) w->owners[w->owner_count++] = buffer;
}

static void access(waits *w, uint32_t buffer, uint32_t action, int writes) {
  if (buffer == RT_NO_BUFFER) return;
  buffer = rt_builder_root(w->s->plan, buffer);
  const uint32_t queue = queue_of(&w->s->plan->actions[action]);
  if (queue != HOST_QUEUE) w->accesses[(size_t)buffer * QUEUES + queue] = action;
  if (writes) w->writer[buffer] = action;
}

// Turns what the action needs into waits, less what is known to be over.
static int32_t settle(waits *w, uint32_t index, ops_error *error) {
  rt_action *action = &w->s->plan->actions[index];
  const uint32_t own = queue_of(action);
  uint32_t list[QUEUES], count = 0;
  for (uint32_t q = 0; q < QUEUES; ++q) {
    if (q == own || w->needed[q] <= w->passed[own][q]) continue;
    list[count++] = w->needed[q] - 1;
    // What the host has seen complete is complete for everybody after.
    const uint32_t first = own == HOST_QUEUE ? 0 : own, last = own;
    for (uint32_t waiter = first; waiter <= last; ++waiter)
      if (w->passed[waiter][q] < w->needed[q]) w->passed[waiter][q] = w->needed[q];
  }
  action->waits = rt_bump_copy(w->s->b->bump, list, count, sizeof *list);
  action->wait_count = count;
  return action->waits ? OPS_OK : rt_builder_exhausted(error);
}

static int32_t plan_action_waits(waits *w, uint32_t index, ops_error *error) {
  const rt_action *action = &w->s->plan->actions[index];
  memset(w->needed, 0, sizeof w->needed);
  for (uint32_t i = 0; i < action->input_count; ++i)
    if (action->inputs[i] != RT_NO_BUFFER)
      need(w, w->writer[rt_builder_root(w->s->plan, action->inputs[i])]);
  for (uint32_t i = 0; i < action->output_count; ++i) {
    need_memory(w, action->outputs[i]);
    if (action->dims_outputs) need_memory(w, action->dims_outputs[i]);
  }
  need_memory(w, action->workspace);
  OPS_RETURN_IF_ERROR(settle(w, index, error));
  for (uint32_t i = 0; i < action->input_count; ++i) access(w, action->inputs[i], index, 0);
  for (uint32_t i = 0; i < action->output_count; ++i) {
    access(w, action->outputs[i], index, 1);
    if (action->dims_outputs) access(w, action->dims_outputs[i], index, 1);
  }
  access(w, action->workspace, index, 1);
  return OPS_OK;
}

static int any_queue(const rt_plan *plan) {
  for (uint32_t i = 0; i < plan->action_count; ++i)
    if (plan->actions[i].queue != RT_QUEUE_NONE) return 1;
  return 0;
}

static int32_t plan_waits(schedule *s, ops_error *error) {
  const rt_plan *plan = s->plan;
  if (plan->synchronous) return OPS_OK;
  const size_t count = plan->buffer_count;
  waits *w = calloc(1, sizeof *w);
  uint32_t *writer = malloc((count + 1) * sizeof *writer);
  uint32_t *accesses = malloc((count + 1) * (size_t)QUEUES * sizeof *accesses);
  uint32_t *owners = malloc((count + 1) * sizeof *owners);
  int32_t status = w && writer && accesses && owners ? OPS_OK : rt_builder_exhausted(error);
  if (status == OPS_OK) {
    memset(writer, 0xff, count * sizeof *writer);
    memset(accesses, 0xff, count * (size_t)QUEUES * sizeof *accesses);
    *w = (waits){.s = s, .writer = writer, .accesses = accesses, .owners = owners};
  }
  for (uint32_t i = 0; status == OPS_OK && i < plan->action_count; ++i)
    status = plan_action_waits(w, i, error);
  free(w);
  free(writer);
  free(accesses);
  free(owners);
  return status;
}

int32_t rt_builder_schedule(rt_builder *b, ops_error *error) {
  schedule s = {.b = b, .plan = b->plan};
  s.blocks = malloc(((size_t)b->block_count + 1) * sizeof *s.blocks);
  s.block_place = calloc((size_t)b->block_count + 1, sizeof *s.block_place);
  int32_t status = s.blocks && s.block_place ? OPS_OK : rt_builder_exhausted(error);
  if (status == OPS_OK) status = rt_builder_level(b, error);
  if (status == OPS_OK) status = plan_memory(&s, error);
  b->plan->synchronous = !any_queue(b->plan);
  if (status == OPS_OK) status = plan_waits(&s, error);
  if (status == OPS_OK) status = rt_builder_follow(b, error);
  free(s.blocks);
  free(s.block_place);
  return status;
}

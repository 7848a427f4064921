// SPDX-License-Identifier: Apache-2.0
//
// Branches that run at once. Actions get levels: one more than what they read, and than every
// earlier access to memory that they write by intent (in-place). They are put in the order of
// their levels, and blocks live from the first to the last level that touches them, so that
// actions of one level never share memory by chance. What remains of order is a graph: an
// action follows who wrote what it reads, and every earlier access to memory that it writes.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

#define NEVER UINT32_MAX

// Calls `visit` for every buffer that the action writes.
typedef int32_t (*write_visitor)(void *context, uint32_t buffer, ops_error *error);

static int32_t visit_writes(const rt_action *action, write_visitor visit, void *context,
                            ops_error *error) {
  for (uint32_t i = 0; i < action->output_count; ++i) {
    if (action->outputs[i] != RT_NO_BUFFER)
      OPS_RETURN_IF_ERROR(visit(context, action->outputs[i], error));
    if (action->dims_outputs && action->dims_outputs[i] != RT_NO_BUFFER)
      OPS_RETURN_IF_ERROR(visit(context, action->dims_outputs[i], error));
  }
  if (action->workspace == RT_NO_BUFFER) return OPS_OK;
  return visit(context, action->workspace, error);
}

// ---- Levels ---------------------------------------------------------------------------------

// Kernels on the calling thread, whose shapes are all known.
static int is_suitable(const rt_plan *plan) {
  if (!plan->finished || plan->late_count) return 0;
  for (uint32_t i = 0; i < plan->action_count; ++i)
    if (plan->actions[i].queue != RT_QUEUE_NONE || plan->actions[i].kind == RT_ACTION_CONTROL)
      return 0;
  for (uint32_t i = 0; i < plan->buffer_count; ++i)
    if (plan->buffers[i].storage == RT_STORAGE_OBJECT) return 0;
  return 1;
}

typedef struct leveller {
  const rt_plan *plan;
  uint32_t *written;  // by buffer: level of its writer, 0: none here
  uint32_t *touched;  // by block: highest level so far
  uint32_t level;
} leveller;

static uint32_t *touched_of(const leveller *l, uint32_t buffer) {
  const rt_buffer *b = &l->plan->buffers[buffer];
  return b->storage == RT_STORAGE_ARENA ? &l->touched[b->block] : NULL;
}

static int32_t rise(void *context, uint32_t buffer, ops_error *error) {
  leveller *l = context;
  (void)error;
  const uint32_t *touched = touched_of(l, buffer);
  if (touched && *touched >= l->level) l->level = *touched + 1;
  return OPS_OK;
}

static void touch(leveller *l, uint32_t buffer) {
  uint32_t *touched = touched_of(l, buffer);
  if (touched && *touched < l->level) *touched = l->level;
}

static int32_t settle(void *context, uint32_t buffer, ops_error *error) {
  leveller *l = context;
  (void)error;
  l->written[buffer] = l->level;
  touch(l, buffer);
  return OPS_OK;
}

static uint32_t level_of(leveller *l, const rt_action *action) {
  l->level = 1;
  for (uint32_t i = 0; i < action->input_count; ++i) {
    if (action->inputs[i] == RT_NO_BUFFER) continue;
    const uint32_t written = l->written[rt_builder_root(l->plan, action->inputs[i])];
    if (written >= l->level) l->level = written + 1;
  }
  visit_writes(action, rise, l, NULL);
  for (uint32_t i = 0; i < action->input_count; ++i)
    if (action->inputs[i] != RT_NO_BUFFER) touch(l, action->inputs[i]);
  visit_writes(action, settle, l, NULL);
  return l->level;
}

// Stable: actions of one level keep their order. Levels count from 0 afterwards.
static int32_t sort_by_level(rt_plan *plan, uint32_t *levels, uint32_t most, ops_error *error) {
  const uint32_t count = plan->action_count;
  rt_action *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
  uint32_t *next = calloc((size_t)most + 2, sizeof *next);
  uint32_t *sorted_levels = malloc(((size_t)count + 1) * sizeof *sorted_levels);
  const int good = sorted && next && sorted_levels;
  for (uint32_t i = 0; good && i < count; ++i) next[levels[i] + 1]++;
  for (uint32_t i = 1; good && i < most + 2; ++i) next[i] += next[i - 1];
  for (uint32_t i = 0; good && i < count; ++i) {
    const uint32_t at = next[levels[i]]++;
    sorted[at] = plan->actions[i];
    sorted_levels[at] = levels[i] - 1;
  }
  if (good) {
    memcpy(plan->actions, sorted, count * sizeof *sorted);
    memcpy(levels, sorted_levels, count * sizeof *levels);
  }
  free(sorted);
  free(next);
  free(sorted_levels);
  return good ? OPS_OK : rt_builder_exhausted(error);
}

int32_t rt_builder_level(rt_builder *b, ops_error *error) {
  rt_plan *plan = b->plan;
  if (!b->request->parallel || !is_suitable(plan)) return OPS_OK;
  leveller l = {.plan = plan};
  uint32_t most = 0;
  l.written = calloc((size_t)plan->buffer_count + 1, sizeof *l.written);
  l.touched = calloc((size_t)b->block_count + 1, sizeof *l.touched);
  b->levels = malloc(((size_t)plan->action_count + 1) * sizeof *b->levels);
  int32_t status = l.written && l.touched && b->levels ? OPS_OK : rt_builder_exhausted(error);
  for (uint32_t i = 0; status == OPS_OK && i < plan->action_count; ++i) {
    b->levels[i] = level_of(&l, &plan->actions[i]);
    if (b->levels[i] > most) most = b->levels[i];
  }
  free(l.written);
  free(l.touched);
  if (status == OPS_OK && most < plan->action_count)
    return sort_by_level(plan, b->levels, most, error);
  free(b->levels);  // a chain: nothing to gain
  b->levels = NULL;
  return status;
}

// ---- What follows what ----------------------------------------------------------------------

// An access to a buffer since it was written.
typedef struct reader {
  uint32_t action;
  uint32_t next;  // in the list of the buffer; NEVER: the last
} reader;

typedef struct edge {
  uint32_t from, to;
} edge;

typedef struct follower {
  const rt_plan *plan;
  uint32_t *writer;   // by buffer, or NEVER
  uint32_t *readers;  // by buffer: the first of its list, or NEVER
  reader *list;
  uint32_t list_count, list_capacity;
  uint32_t *owners;  // arena buffers whose memory no later one has taken over whole
  uint32_t owner_count;
  uint32_t *seen;  // by action: 1 + the last action that follows it
  edge *edges;
  uint32_t edge_count, edge_capacity;
  uint32_t action;  // the present one
} follower;

static int grow(void **items, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return 1;
  const uint32_t larger = *capacity ? *capacity * 2 : 64;
  void *grown = realloc(*items, larger * size);
  if (!grown) return 0;
  *items = grown;
  *capacity = larger;
  return 1;
}

static int32_t follow(follower *f, uint32_t before, ops_error *error) {
  if (before == NEVER || before == f->action || f->seen[before] == f->action + 1) return OPS_OK;
  if (!grow((void **)&f->edges, f->edge_count, &f->edge_capacity, sizeof *f->edges))
    return rt_builder_exhausted(error);
  f->seen[before] = f->action + 1;
  f->edges[f->edge_count++] = (edge){before, f->action};
  return OPS_OK;
}

static int32_t follow_accesses(follower *f, uint32_t buffer, ops_error *error) {
  OPS_RETURN_IF_ERROR(follow(f, f->writer[buffer], error));
  for (uint32_t at = f->readers[buffer]; at != NEVER; at = f->list[at].next)
    OPS_RETURN_IF_ERROR(follow(f, f->list[at].action, error));
  return OPS_OK;
}

// Owners that the buffer covers are forgotten: who follows it follows them.
static int32_t follow_memory(void *context, uint32_t buffer, ops_error *error) {
  follower *f = context;
  const rt_buffer *target = &f->plan->buffers[buffer];
  uint32_t kept = 0;
  OPS_RETURN_IF_ERROR(follow_accesses(f, buffer, error));
  if (target->storage != RT_STORAGE_ARENA) return OPS_OK;
  for (uint32_t i = 0; i < f->owner_count; ++i) {
    const uint32_t owner = f->owners[i];
    const rt_buffer *other = &f->plan->buffers[owner];
    const int shares = owner != buffer && rt_buffer_overlaps(target, other);
    if (shares) OPS_RETURN_IF_ERROR(follow_accesses(f, owner, error));
    if (owner != buffer && !(shares && rt_buffer_covers(target, other)))
      f->owners[kept++] = owner;
  }
  f->owner_count = kept;
  f->owners[f->owner_count++] = buffer;
  return OPS_OK;
}

static int32_t note_write(void *context, uint32_t buffer, ops_error *error) {
  follower *f = context;
  (void)error;
  f->writer[buffer] = f->action;
  f->readers[buffer] = NEVER;
  return OPS_OK;
}

static int32_t note_read(follower *f, uint32_t buffer, ops_error *error) {
  if (!grow((void **)&f->list, f->list_count, &f->list_capacity, sizeof *f->list))
    return rt_builder_exhausted(error);
  f->list[f->list_count] = (reader){f->action, f->readers[buffer]};
  f->readers[buffer] = f->list_count++;
  return OPS_OK;
}

static uint32_t root(const follower *f, uint32_t buffer) {
  return rt_builder_root(f->plan, buffer);
}

static int32_t follow_action(follower *f, ops_error *error) {
  const rt_action *action = &f->plan->actions[f->action];
  for (uint32_t i = 0; i < action->input_count; ++i)
    if (action->inputs[i] != RT_NO_BUFFER)
      OPS_RETURN_IF_ERROR(follow(f, f->writer[root(f, action->inputs[i])], error));
  OPS_RETURN_IF_ERROR(visit_writes(action, follow_memory, f, error));
  for (uint32_t i = 0; i < action->input_count; ++i)
    if (action->inputs[i] != RT_NO_BUFFER)
      OPS_RETURN_IF_ERROR(note_read(f, root(f, action->inputs[i]), error));
  return visit_writes(action, note_write, f, error);
}

static int32_t keep_edges(rt_builder *b, const follower *f, ops_error *error) {
  rt_plan *plan = b->plan;
  const uint32_t count = plan->action_count;
  uint32_t *first = rt_bump_new(b->bump, (uint64_t)count + 2, sizeof *first);
  uint32_t *successors = rt_bump_new(b->bump, f->edge_count, sizeof *successors);
  uint32_t *predecessors = rt_bump_new(b->bump, count, sizeof *predecessors);
  if (!first || !successors || !predecessors) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < f->edge_count; ++i) {
    first[f->edges[i].from + 2]++;
    predecessors[f->edges[i].to]++;
  }
  for (uint32_t i = 2; i < count + 2; ++i) first[i] += first[i - 1];
  for (uint32_t i = 0; i < f->edge_count; ++i)
    successors[first[f->edges[i].from + 1]++] = f->edges[i].to;
  plan->first_successor = first;
  plan->successors = successors;
  plan->predecessors = predecessors;
  return OPS_OK;
}

static int32_t follow_all(rt_builder *b, follower *f, ops_error *error) {
  const rt_plan *plan = b->plan;
  const size_t buffers = (size_t)plan->buffer_count + 1;
  f->writer = malloc(buffers * sizeof *f->writer);
  f->readers = malloc(buffers * sizeof *f->readers);
  f->owners = malloc(buffers * sizeof *f->owners);
  f->seen = calloc((size_t)plan->action_count + 1, sizeof *f->seen);
  if (!f->writer || !f->readers || !f->owners || !f->seen) return rt_builder_exhausted(error);
  memset(f->writer, 0xff, buffers * sizeof *f->writer);
  memset(f->readers, 0xff, buffers * sizeof *f->readers);
  for (f->action = 0; f->action < plan->action_count; ++f->action)
    OPS_RETURN_IF_ERROR(follow_action(f, error));
  return keep_edges(b, f, error);
}

int32_t rt_builder_follow(rt_builder *b, ops_error *error) {
  if (!b->levels) return OPS_OK;
  follower f = {.plan = b->plan};
  const int32_t status = follow_all(b, &f, error);
  free(f.writer);
  free(f.readers);
  free(f.owners);
  free(f.seen);
  free(f.list);
  free(f.edges);
  return status;
}

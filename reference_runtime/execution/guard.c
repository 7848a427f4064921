// SPDX-License-Identifier: Apache-2.0
//
// Inside an arena blocks follow each other without a gap, and their memory changes hands with
// every action. AddressSanitizer is told: a kernel that reads a value after its end, or writes
// behind it, is stopped in the act. Only memory that the host allocated, and only where each
// action is over when the next begins, in one order. Nothing without the sanitizer.
#include "execution/run.h"
#include "memory/poison.h"

#if RT_POISON_WORKS

static void *address_of(const rt_run *run, const rt_segment *segment, uint32_t place) {
  const rt_plan *plan = segment->plan;
  if (!plan->synchronous || plan->successors ||
      !rt_allocator_is_host(run->executor->places->allocators[place]))
    return NULL;
  for (uint32_t i = 0; i < plan->arena_count; ++i)
    if (plan->arenas[i].place == place) return rt_arena_address(&segment->instance->arenas[i]);
  return NULL;
}

void rt_guard_arenas(const rt_run *run, const rt_segment *segment) {
  for (uint32_t i = 0; i < segment->plan->arena_count; ++i) {
    void *memory = address_of(run, segment, segment->plan->arenas[i].place);
    if (memory) RT_POISON(memory, segment->instance->arenas[i].size);
  }
}

static void change(const rt_run *run, const rt_segment *segment, uint32_t buffer,
                   uint32_t action, int begins) {
  if (buffer == RT_NO_BUFFER || segment->plan->buffers[buffer].storage != RT_STORAGE_ARENA)
    return;
  const rt_plan_block *block = &segment->plan->blocks[segment->plan->buffers[buffer].block];
  if (block->size == 0 || (begins ? block->first : block->last) != action) return;
  char *memory = address_of(run, segment, block->place);
  if (!memory) return;
  if (begins)
    RT_UNPOISON(memory + block->offset, block->size);
  else
    RT_POISON(memory + block->offset, block->size);
}

static void change_all(const rt_run *run, const rt_segment *segment, uint32_t index,
                       int begins) {
  const rt_action *action = &segment->plan->actions[index];
  for (uint32_t i = 0; i < action->input_count; ++i)
    change(run, segment, action->inputs[i], index, begins);
  for (uint32_t i = 0; i < action->output_count; ++i) {
    change(run, segment, action->outputs[i], index, begins);
    if (action->dims_outputs) change(run, segment, action->dims_outputs[i], index, begins);
  }
  change(run, segment, action->workspace, index, begins);
}

void rt_guard_begin(const rt_run *run, const rt_segment *segment, uint32_t action) {
  change_all(run, segment, action, 1);
}

void rt_guard_end(const rt_run *run, const rt_segment *segment, uint32_t action) {
  change_all(run, segment, action, 0);
}

#else

void rt_guard_arenas(const rt_run *run, const rt_segment *segment) {
  (void)run, (void)segment;
}

void rt_guard_begin(const rt_run *run, const rt_segment *segment, uint32_t action) {
  (void)run, (void)segment, (void)action;
}

void rt_guard_end(const rt_run *run, const rt_segment *segment, uint32_t action) {
  (void)run, (void)segment, (void)action;
}

#endif

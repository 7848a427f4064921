// SPDX-License-Identifier: Apache-2.0
//
// What one run at a time uses of a plan: prepared objects, where each buffer is, and the
// requests of all kernels, laid out once. A run binds again only what lies elsewhere than in
// the run before; where nothing does, running neither looks anything up nor allocates.
#ifndef RT_EXECUTION_INSTANCE_H_
#define RT_EXECUTION_INSTANCE_H_

#include "memory/arena.h"
#include "plan/plan.h"

// Where one buffer is in this run.
typedef struct rt_binding {
  ops_arg arg;                // as kernels get it
  const ops_type_info *type;  // complete once known
} rt_binding;

// Actions that are captured together; see capture.h.
typedef struct rt_region rt_region;

typedef struct rt_instance {
  struct rt_instance *next;
  const rt_plan *plan;
  rt_bump bump;
  ops_prepared **prepared;        // by action
  ops_execute_request *requests;  // by action; of kernels
  ops_arg *args;                  // of all requests
  rt_binding *bindings;           // by buffer
  uint32_t *first_use;            // by buffer: uses [first_use[i], first_use[i + 1])
  uint32_t *uses;                 // numbers in `args`
  uint32_t *moving;               // buffers that each run brings along, or whose shape it tells
  uint32_t moving_count;
  rt_arena_block *arenas;  // by number of plan->arenas: what this run holds
  rt_arena_block *bases;   // likewise: where the bindings say that they are
  uint32_t *events;        // by action: number in the device's stream set
  uint32_t *pending;       // by action: for team.c; NULL if the plan has no successors
  uint32_t *ready;         // likewise
  uint64_t generation;     // changes with every address
  rt_region *regions;      // once `scanned`
  uint32_t region_count;
  int scanned;
} rt_instance;

// `constants`: by buffer, memory of those with storage CONSTANT. `own`: the prepared objects
// are the plan's; else kernels that are not re-entrant are prepared once more, which
// *out_prepares counts.
int32_t rt_instance_create(const rt_plan *plan, void *const *constants, rt_views *views,
                           int own, rt_instance **out_instance, uint64_t *out_prepares,
                           ops_error *error);
void rt_instance_destroy(rt_instance *instance);  // accepts NULL

// Carries what the binding of a buffer says to the kernels that use it.
void rt_instance_update(rt_instance *instance, uint32_t buffer);
// Gives a buffer its type and the descriptor that follows from it.
void rt_binding_set_type(rt_binding *binding, const ops_type_info *type, uint64_t bytes);

#endif  // RT_EXECUTION_INSTANCE_H_

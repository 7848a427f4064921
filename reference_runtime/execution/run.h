// SPDX-License-Identifier: Apache-2.0
//
// Private to execution/: a run in progress.
#ifndef RT_EXECUTION_RUN_H_
#define RT_EXECUTION_RUN_H_

#include <pthread.h>

#include "execution/cache.h"
#include "execution/executor.h"
#include "execution/streams.h"

struct rt_executor {
  rt_executor_options options;
  rt_places places;
  rt_weights *weights;
  rt_plan_cache *cache;
  rt_stream_pool *streams[RT_MAX_DEVICES];  // NULL: a synchronous provider
  uint32_t place_list[RT_PLACE_COUNT];      // places that exist
  uint32_t place_count;
  pthread_mutex_t mutex;
  rt_offsets_stats plan_stats[RT_PLACE_COUNT];  // of the last run
  rt_executor_counters counters;
};

// Memory that is freed when the run ends.
typedef struct rt_run_memory {
  struct rt_run_memory *next;
  rt_allocator *allocator;
  void *memory;
  uint64_t size;
} rt_run_memory;

// Where one buffer is in this run.
typedef struct rt_binding {
  ops_arg arg;                // as kernels get it
  const ops_type_info *type;  // complete once known
} rt_binding;

typedef struct rt_segment {
  rt_cached_plan *cached;
  const rt_plan *plan;
  rt_prepared_set *set;
  rt_arena *arenas;      // by number of plan->arenas
  rt_binding *bindings;  // by buffer
  uint32_t *events;      // by action: number in the device's stream set
} rt_segment;

typedef struct rt_run {
  rt_executor *executor;
  uint32_t number;
  const rt_run_input *inputs;
  rt_run_output *outputs;
  rt_segment *segments;
  uint32_t segment_count;
  uint32_t segment_capacity;
  rt_stream_set *streams[RT_MAX_DEVICES];
  rt_run_memory *memory;
  rt_bump bump;
  uint64_t copies;
  uint64_t copied_bytes;
} rt_run;

// One execute in progress.
struct ops_call {
  rt_run *run;
  rt_segment *segment;
  const rt_action *action;
  ops_arg *outputs;  // of the request, by number
};

#define RT_NO_EVENT UINT32_MAX

// ---- bind.c: memory for a segment's buffers ----
int32_t rt_run_bind(rt_run *run, rt_segment *segment, ops_error *error);
// Memory of `place` until the end of the run; at least one byte.
int32_t rt_run_allocate(rt_run *run, uint32_t place, uint64_t size, uint64_t alignment,
                        void **out_memory, ops_error *error);
// Memory of output number `index`.
int32_t rt_run_allocate_output(rt_run *run, uint32_t index, uint64_t size, uint64_t alignment,
                               void **out_memory, ops_error *error);
// Gives a buffer its type and the descriptor that follows from it.
void rt_run_set_type(rt_binding *binding, const ops_type_info *type, uint64_t bytes);

// ---- actions.c: issuing actions ----
int32_t rt_run_actions(rt_run *run, rt_segment *segment, ops_error *error);
// Waits until everything issued has completed.
int32_t rt_run_drain(rt_run *run, rt_segment *segment, ops_error *error);

// ---- late.c: shapes and contents that running tells ----
int32_t rt_run_resolve(rt_run *run, rt_segment *segment, ops_error *error);
int32_t rt_run_fetch(void *run, const rt_value *value, const void **out_data,
                     uint64_t *out_size, ops_error *error);

#endif  // RT_EXECUTION_RUN_H_

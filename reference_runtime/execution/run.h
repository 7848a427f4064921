// SPDX-License-Identifier: Apache-2.0
//
// Private to execution/: a run in progress.
#ifndef RT_EXECUTION_RUN_H_
#define RT_EXECUTION_RUN_H_

#include <pthread.h>

#include "execution/cache.h"
#include "execution/executor.h"
#include "execution/interrupt.h"
#include "execution/streams.h"
#include "loader/parallel.h"

struct rt_executor {
  rt_executor_options options;
  rt_executor *parent;  // NULL: of the main graph, which owns places, weights and streams
  rt_places *places;
  rt_weights *weights;
  rt_plan_cache *cache;
  rt_stream_pool *streams[RT_MAX_DEVICES];  // NULL: a synchronous provider
  char *lost[RT_MAX_DEVICES];               // NULL, or how the device was lost; under `mutex`
  char *capture_notes[RT_MAX_DEVICES];      // NULL, or why capturing failed; under `mutex`
  ops_pool *pool;  // of the main graph: threads that run branches at once; NULL: one by one
  rt_executor ***bodies;                // by unit: NULL, or one executor for each of its bodies
  uint8_t used[RT_MAX_DEVICES];         // 1: by the graph or its bodies
  uint32_t place_list[RT_PLACE_COUNT];  // places that exist
  uint32_t place_count;
  pthread_mutex_t mutex;
  rt_offsets_stats plan_stats[RT_PLACE_COUNT];  // of the last run
  rt_executor_counters counters;
  rt_layout_row *layout_rows;  // of the plan that a warm-up made last
  uint32_t layout_row_count;
};

// Keeps what the plan does with layouts; under `mutex`.
void rt_executor_note_layouts(rt_executor *executor, const rt_plan *plan);

// Memory that is given back when the run ends; with free() if there is no arena.
typedef struct rt_run_memory {
  struct rt_run_memory *next;
  rt_arena *arena;
  rt_arena_block block;
} rt_run_memory;

typedef struct rt_segment {
  rt_cached_plan *cached;
  const rt_plan *plan;
  rt_instance *instance;
  rt_binding *bindings;  // of the instance, by buffer
  uint32_t *events;      // of the instance, by action
  int replayed;          // 1: some events stand for several actions
  uint64_t *live;        // of a profile: bytes by place of executor->place_list, then by action
} rt_segment;

// Gives memory to outputs of a body before they are computed. *out_memory NULL: the run takes
// memory of its own.
typedef struct rt_run_sink {
  int32_t (*place)(void *context, uint32_t output, uint64_t size, uint64_t alignment,
                   void **out_memory, ops_error *error);
  void *context;
} rt_run_sink;

typedef struct rt_run {
  rt_executor *executor;
  const rt_run_sink *sink;        // or NULL
  const rt_run_target *targets;   // or NULL
  const uint32_t *places;         // or NULL
  rt_kept_plan *kept;             // or NULL
  const rt_interrupt *interrupt;  // or NULL
  int singly;                     // 1: actions complete one by one, to find the one that fails
  uint32_t number;
  const rt_run_input *inputs;
  rt_run_output *outputs;
  rt_segment *segments;  // `few` while they fit
  rt_segment few[2];
  uint32_t segment_count;
  uint32_t segment_capacity;
  rt_stream_set *streams[RT_MAX_DEVICES];
  rt_run_memory *memory;
  uint64_t charged;  // bytes of outputs, which count as the session's until the run ends
  rt_bump bump;
  uint64_t copies;
  uint64_t copied_bytes;
  ops_stream *capturing;  // NULL, or where all actions go to be recorded
  uint64_t captures;
  uint64_t replays;
  uint64_t lookups;   // of plans
  uint64_t rebound;   // buffers that lay elsewhere than in the run before
  uint64_t noted_ns;  // that telling the profile took
} rt_run;

// One execute in progress.
struct ops_call {
  rt_run *run;
  rt_segment *segment;
  const rt_action *action;
  ops_arg *outputs;  // of the request, by number; the instance's
};

#define RT_NO_EVENT UINT32_MAX

// ---- team.c: branches at once ----
int rt_team_suits(const rt_run *run, const rt_segment *segment);
int32_t rt_team_run(rt_run *run, rt_segment *segment, ops_error *error);

// ---- capture.c ----
void rt_executor_note_capture(rt_executor *executor, const rt_device *device, const char *text);

// ---- executor.c ----
// Every run that needs the device fails from now on, with the message of `error`.
void rt_executor_lose_device(rt_executor *executor, const rt_device *device,
                             const ops_error *error);
// Runs the body that `body` is the executor of, on the streams of `outer`. Errors begin with
// the path of the node in the body. On failure no output is set.
int32_t rt_run_body(rt_run *outer, rt_executor *body, const rt_run_input *inputs,
                    const rt_run_sink *sink, rt_run_output *outputs, ops_error *error);

// ---- control.c: nodes with bodies ----
int32_t rt_run_control(rt_run *run, rt_segment *segment, const rt_action *action,
                       ops_error *error);

// ---- bind.c: memory for a segment's buffers ----
int32_t rt_run_bind(rt_run *run, rt_segment *segment, ops_error *error);
// Memory of `place` until the end of the run; at least one byte.
int32_t rt_run_allocate(rt_run *run, uint32_t place, uint64_t size, uint64_t alignment,
                        rt_arena_block *out_block, ops_error *error);
// What an output needs: `bytes`, or at most so many if they are a bound.
typedef struct rt_output_need {
  uint32_t place;
  uint64_t bytes;
  uint64_t padding;  // readable behind them
  uint64_t alignment;
  int bounded;
} rt_output_need;
// What kernels need of the caller's memory: their own alignment, and the element's.
uint64_t rt_run_alignment(const rt_buffer *buffer);
// Memory of output number `index`.
int32_t rt_run_allocate_output(rt_run *run, uint32_t index, const rt_output_need *need,
                               void **out_memory, ops_error *error);
int32_t rt_run_target_small(const rt_run *run, uint32_t index, uint64_t bytes,
                            ops_error *error);
// Moves outputs that could not be computed in the caller's memory there.
int32_t rt_run_deliver(rt_run *run, ops_error *error);
// Makes `output`, the result of a body, what buffer `number` is bound to, and takes over what
// it owns. Lent data stay where they are if `keeps` says that the plan keeps them to its end,
// and are copied if they leave the run.
int32_t rt_run_adopt(rt_run *run, rt_segment *segment, uint32_t number, rt_run_output *output,
                     int keeps, ops_error *error);

// Gives back the host objects that binding made.
void rt_run_release_objects(const rt_segment *segment);
// Binds what moves anew, for running the segment once more.
int32_t rt_run_rebind(rt_run *run, rt_segment *segment, ops_error *error);

// ---- actions.c: issuing actions ----
int32_t rt_run_actions(rt_run *run, rt_segment *segment, ops_error *error);
int32_t rt_run_issue(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error);
// The same unless the run is to end.
int32_t rt_run_step(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error);
// The kernel or copy alone, without waits, events and copies counted.
int32_t rt_run_execute(rt_run *run, rt_segment *segment, uint32_t index, ops_error *error);
// Makes the queue of `action`, or the host, wait for action `earlier`.
int32_t rt_run_wait_for(rt_run *run, rt_segment *segment, const rt_action *action,
                        uint32_t earlier, ops_error *error);
// The error of a run that ends early, while `action` (NULL: unknown) ran.
int32_t rt_run_interrupted(rt_run *run, const rt_action *action, ops_error *error);
// Waits until everything issued has completed.
int32_t rt_run_drain(rt_run *run, rt_segment *segment, ops_error *error);

// ---- blame.c: who failed ----
// Puts the name of the action's node, with its origins, before the error.
int32_t rt_run_blame(const rt_action *action, ops_error *error);
// The first action of the device whose event is pending (1), or has failed (0); NULL if none.
const rt_action *rt_run_find_event(const rt_run *run, const rt_segment *segment,
                                   const rt_stream_set *set, int pending);
// The device failed with `status`, at the latest while `present` (NULL: none) was issued: names
// the action that caused it. Returns the status of the run.
int32_t rt_run_blame_device(rt_run *run, rt_segment *segment, rt_stream_set *set,
                            const rt_action *present, int32_t status, ops_error *error);

// ---- measure.c: what the profile is told; called only if there is one ----
// A plan that was built from `start_ns` until now, and its kernels prepared.
void rt_run_note_plan(const rt_run *run, const rt_plan *plan, uint64_t start_ns);
// Before the actions of a segment: what of its memory is live at each of them.
void rt_run_note_segment(rt_run *run, rt_segment *segment);
// An action that the host issued, or did, from `start_ns` until now.
void rt_run_note_action(rt_run *run, const rt_segment *segment, uint32_t index,
                        uint64_t correlation, uint64_t start_ns);
void rt_run_note_end(const rt_run *run, uint64_t start_ns);

// ---- guard.c: planned memory that is not in use, for AddressSanitizer ----
// Before a segment's first action: nothing in its arenas may be touched.
void rt_guard_arenas(const rt_run *run, const rt_segment *segment);
// What the action is the first to use may be touched now; what it is the last to use no longer.
void rt_guard_begin(const rt_run *run, const rt_segment *segment, uint32_t action);
void rt_guard_end(const rt_run *run, const rt_segment *segment, uint32_t action);

// ---- late.c: shapes and contents that running tells ----
int32_t rt_run_resolve(rt_run *run, rt_segment *segment, ops_error *error);
int32_t rt_run_fetch(void *run, const rt_value *value, const void **out_data,
                     uint64_t *out_size, ops_error *error);

#endif  // RT_EXECUTION_RUN_H_

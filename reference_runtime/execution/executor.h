// SPDX-License-Identifier: Apache-2.0
//
// Running a partitioned graph: plans from the cache, memory, streams, actions in order,
// results.
#ifndef RT_EXECUTION_EXECUTOR_H_
#define RT_EXECUTION_EXECUTOR_H_

#include "execution/interrupt.h"
#include "execution/places.h"
#include "partition/partition.h"
#include "plan/offsets.h"
#include "profile/profile.h"

typedef struct rt_executor rt_executor;

typedef struct rt_executor_options {
  const rt_graph *graph;
  rt_partition *partition;
  rt_device *const *devices;  // by number
  uint32_t device_count;
  rt_profile *profile;  // NULL: none
  int32_t no_reuse;
  int32_t branch_threads;  // that run independent branches at once; 0 or 1: one by one
  int32_t no_capture;      // 1: devices get every action by itself
  int32_t layouts;         // 1: activations in private layouts, see rt_plan_request
  uint32_t max_plans;
  rt_memory_options memory;
} rt_executor_options;

// Everything in the options must outlive the executor.
int32_t rt_executor_create(const rt_executor_options *options, rt_executor **out_executor,
                           ops_error *error);
void rt_executor_destroy(rt_executor *executor);  // accepts NULL; no run may be in progress

// A value that enters a run, dense and row-major.
typedef struct rt_run_input {
  const ops_type_info *type;  // complete
  const void *data;           // TENSOR: an address, or a handle of the memory of `place`
  ops_value *value;           // other kinds, borrowed
  uint32_t place;             // RT_PLACE_…; of other kinds the host
} rt_run_input;

// Memory that the caller lends for an output. In host memory any alignment will do; handles of
// devices are aligned to RT_CALLER_ALIGNMENT.
typedef struct rt_run_target {
  void *memory;  // NULL: the run allocates
  uint64_t size;
  uint32_t place;
} rt_run_target;

// What a caller keeps from run to run, so that a run with inputs of the same types and places
// looks nothing up. Zero-initialise; release with rt_executor_release_kept.
typedef struct rt_kept_plan {
  struct rt_cached_plan *plan;
  struct rt_instance *instance;
} rt_kept_plan;

// A value that leaves a run, owned by the caller: `data` is freed with free(), `value` with
// ops_value_release. Outputs of bodies may be lent.
typedef struct rt_run_output {
  int32_t kind;  // OPS_VALUE_…
  int32_t type;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  void *data;  // TENSOR: never NULL, also if size is 0
  uint64_t size;
  int32_t lent;  // 1: `data` belongs to an input, a constant, or whoever gave the memory
  ops_value *value;
} rt_run_output;

typedef struct rt_run_request {
  const rt_run_input *inputs;     // one per element of partition->inputs
  rt_run_output *outputs;         // one per output of the graph; on failure none is set
  const rt_run_target *targets;   // NULL, or one per output
  const uint32_t *places;         // as in rt_plan_request
  const rt_interrupt *interrupt;  // NULL: nothing ends it early
  rt_kept_plan *kept;             // NULL: nothing is kept
} rt_run_request;

// Any number of threads may run at once.
int32_t rt_executor_run(rt_executor *executor, const rt_run_request *request, ops_error *error);
void rt_executor_release_kept(rt_executor *executor, rt_kept_plan *kept);

// Memory for callers, aligned to RT_CALLER_ALIGNMENT, of the place number `index` of
// rt_executor_memory_count; and copies between it and the host, which block.
int32_t rt_executor_allocate(rt_executor *executor, uint32_t index, uint64_t size,
                             void **out_memory, uint32_t *out_place, ops_error *error);
void rt_executor_free(rt_executor *executor, uint32_t place, void *memory, uint64_t size);
int32_t rt_executor_copy(rt_executor *executor, uint32_t from_place, const void *from,
                         uint64_t from_offset, uint32_t to_place, void *to, uint64_t to_offset,
                         uint64_t size, ops_error *error);
// Plans the first segment for inputs whose data are not needed, and loads its weights.
int32_t rt_executor_warm_up(rt_executor *executor, const rt_run_input *inputs,
                            ops_error *error);
void rt_run_output_finish(rt_run_output *output);

// For ops_host_options.set_output_shape.
int32_t rt_call_set_output_shape(void *context, ops_call *call, uint64_t index, int32_t rank,
                                 const int64_t *dims, ops_arg *out_arg, ops_error *error);
// For ops_host_options.is_cancelled.
int32_t rt_call_is_cancelled(void *context, const ops_call *call);

typedef struct rt_executor_counters {
  uint64_t runs;
  uint64_t plans_built;
  uint64_t plans_evicted;
  uint64_t plans_alike;  // of those built: laid out like one for other shapes
  uint64_t prepares;
  uint64_t copies;
  uint64_t copied_bytes;
  uint64_t captures;  // recorded, by complete runs
  uint64_t replays;
  uint64_t lookups;  // of plans, by complete runs
  uint64_t rebound;  // buffers that lay elsewhere than in the run before
} rt_executor_counters;

rt_executor_counters rt_executor_count(rt_executor *executor);

// How many kernels of the main graph on a device can be captured, of *out_kernels; and to
// `text` why not all, "" if all can.
uint32_t rt_executor_capture_at(rt_executor *executor, uint32_t number, uint32_t *out_kernels,
                                char *text, size_t size);

// Memory by place; out of [0, rt_executor_memory_count).
typedef struct rt_executor_memory {
  const char *device;
  int32_t kind;
  rt_memory_stats memory;
  rt_arena_stats arena;
  rt_offsets_stats plan;  // sum over the segments of the last complete run
} rt_executor_memory;

uint32_t rt_executor_memory_count(const rt_executor *executor);
void rt_executor_memory_at(rt_executor *executor, uint32_t index,
                           rt_executor_memory *out_memory);
// A node of which the first input or output is in a private layout, or a change of layout (op
// NULL; name is the value's), in the plan that a warm-up made last. Borrowed until the next.
typedef struct rt_layout_row {
  const char *name;
  const char *op;
  const char *device;
  uint32_t from, to;  // layouts of the first input and output
  uint64_t bytes;     // that are reordered
} rt_layout_row;

uint32_t rt_executor_layout_count(const rt_executor *executor);
const rt_layout_row *rt_executor_layout_at(const rt_executor *executor, uint32_t index);

// The moment at which the plan used last has most alive in that memory, as text: "Add 'plus':
// 64*N + 128". "" if there is no plan, or nothing in it.
int32_t rt_executor_fullest(rt_executor *executor, uint32_t index, char *buffer, uint64_t size,
                            ops_error *error);
// Gives memory that no run uses back to the system.
void rt_executor_shrink(rt_executor *executor);

#endif  // RT_EXECUTION_EXECUTOR_H_

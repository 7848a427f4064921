// SPDX-License-Identifier: Apache-2.0
//
// A plan: for concrete input shapes, the actions of a run in order (kernels, copies between
// memories, layout changes), every buffer's place in memory, and what must wait for what.
//
// A run is a chain of plans, its *segments*. One segment is the rule; where a shape, or the
// contents of a shape input, depend on data that the run itself computes, the segment ends
// before the first unit that needs them, and the next segment is planned with what the run then
// knows. Each segment has arenas of its own, which live until the run ends.
//
// Integer tensors whose contents follow from shapes alone (Shape -> Gather -> Concat) are not
// computed: their contents are part of the plan.
//
// A plan is immutable once built and may serve any number of runs, except for prepared objects
// of kernels that are not re-entrant: see rt_plan_prepare.
#ifndef RT_PLAN_PLAN_H_
#define RT_PLAN_PLAN_H_

#include <stdatomic.h>

#include "partition/partition.h"
#include "plan/offsets.h"

#define RT_NO_BUFFER UINT32_MAX

// Places: memories that buffers live in. Host memory of every device is one place.
#define RT_PLACE_HOST 0u
#define RT_PLACE_COUNT (1u + RT_MAX_DEVICES * (OPS_MEMORY_KIND_COUNT - 1))
uint32_t rt_place(const rt_device *device, int32_t memory_kind);
int32_t rt_place_kind(uint32_t place);     // OPS_MEMORY_…
uint32_t rt_place_device(uint32_t place);  // number of the device; not for the host

// ---- Buffers --------------------------------------------------------------------------------

#define RT_STORAGE_ARENA 0     // `offset` in the segment's arena of its place
#define RT_STORAGE_INPUT 1     // the caller's: number `index` of rt_partition.inputs
#define RT_STORAGE_OUTPUT 2    // the result's: output number `index` of the graph
#define RT_STORAGE_CONSTANT 3  // a weight, in `place` and `layout`
#define RT_STORAGE_CONTENTS 4  // `contents`, which are the plan's
#define RT_STORAGE_CARRIED 5   // buffer `index` of the earlier segment `segment`
#define RT_STORAGE_LATE \
  6                          // allocated when the kernel states the shape; `index` as OUTPUT's,
                             // or RT_NO_BUFFER if it is no output
#define RT_STORAGE_OBJECT 7  // a host object (strings, sequence …) that the run creates

// A value in one place and one layout, or a workspace.
typedef struct rt_buffer {
  const rt_value *value;      // NULL: a workspace or a vector of dims
  const ops_type_info *type;  // complete, strides and layout included; dims NULL if `late`
  const rt_device *device;    // whose private layout type->layout is; else NULL
  int32_t storage;            // RT_STORAGE_…
  int32_t late;               // 1: running tells the shape
  uint32_t place;
  uint32_t index;
  uint32_t segment;
  uint32_t block;  // ARENA: buffers of one block share memory (in-place, views)
  uint32_t
      viewed;  // 1 + number of the buffer of this segment whose bytes these are; 0: no view
  const void *contents;
  uint64_t bytes;      // of the tensor; if late, an upper bound or 0
  uint64_t alignment;  // that readers and the writer need
  uint64_t padding;    // bytes behind the end that readers may read
  uint64_t offset;
  int32_t unread;  // 1: a constant that every kernel has packed; its bytes need no place
} rt_buffer;

// ---- Actions --------------------------------------------------------------------------------

#define RT_ACTION_KERNEL 0
#define RT_ACTION_COPY 1     // inputs[0] → outputs[0], between places
#define RT_ACTION_REORDER 2  // inputs[0] → outputs[0], between layouts of one device
#define RT_ACTION_CONTROL 3  // bodies of a control-flow node, on the calling thread

// Of tensors that control flow makes, in bytes.
#define RT_CONTROL_ALIGNMENT 64u

#define RT_QUEUE_NONE (-1)  // synchronous, on the calling thread
#define RT_QUEUE_COMPUTE 0
#define RT_QUEUE_COPY 1
#define RT_QUEUES_PER_DEVICE 2

typedef struct rt_action {
  int32_t kind;
  int32_t queue;            // RT_QUEUE_…, of `device`
  const rt_device *device;  // NULL: the host copies
  const rt_unit *unit;      // KERNEL, CONTROL
  const char *name;         // of the node, or of the copied value
  const uint32_t *inputs;   // buffers; RT_NO_BUFFER: absent
  uint32_t input_count;
  uint64_t unread_inputs;  // KERNEL: as the kernel replied
  const uint32_t *outputs;
  uint32_t output_count;
  uint32_t workspace;            // buffer, or RT_NO_BUFFER
  const uint32_t *dims_outputs;  // NULL, or per output: the vector for a bounded shape
  const uint32_t *waits;         // earlier actions on other queues
  uint32_t wait_count;
  const ops_prepare_request *request;  // KERNEL
  ops_prepared *prepared;              // of the plan; shared by runs if re-entrant
  uint64_t prepare_start_ns;           // when it was prepared, CLOCK_MONOTONIC
  uint64_t prepare_end_ns;
  int32_t reentrant;
} rt_action;

// The arena of one place.
typedef struct rt_plan_arena {
  uint32_t place;
  int32_t kept;  // 1: laid out in the order of an earlier plan, without a search
  uint64_t alignment;
  rt_offsets_stats stats;  // stats.planned is its size
} rt_plan_arena;

// A block of an arena, by rt_buffer.block: in use from action `first` to action `last` (from
// level to level where there are successors), which is the number of actions if it stays to the
// end of the run. Size 0: nobody uses it.
typedef struct rt_plan_block {
  uint64_t offset;
  uint64_t size;
  uint32_t first;
  uint32_t last;
  uint32_t place;
} rt_plan_block;

// ---- Plans ----------------------------------------------------------------------------------

// Where a value can be found.
typedef struct rt_location {
  const struct rt_location *next;
  const rt_device *device;  // whose private layout it is in; NULL: strided
  uint32_t place;
  uint32_t layout;
  uint32_t segment;
  uint32_t buffer;
} rt_location;

// What is known of a value at the end of a segment.
typedef struct rt_known {
  const ops_type_info *type;  // NULL: not yet
  const void *contents;       // dense bytes in host memory, or NULL: not known
  const rt_location *locations;
} rt_known;

// Contents that the segment took from the run and relies on.
typedef struct rt_guard {
  const rt_value *value;
  const void *bytes;
  uint64_t size;
} rt_guard;

// Where an output of the graph is. In a body it may be an input or a constant, which the body
// does not own; the main graph's outputs are always the result's.
typedef struct rt_plan_output {
  uint32_t segment;
  uint32_t buffer;
} rt_plan_output;

typedef struct rt_plan {
  struct rt_plan *parent;  // retained; NULL: the first segment
  uint32_t segment;        // 0 for the first
  uint32_t end_unit;       // the first unit that is not part of it
  int32_t finished;        // 1: the last segment; `outputs` is valid
  rt_buffer *buffers;
  uint32_t buffer_count;
  rt_action *actions;
  uint32_t action_count;
  rt_plan_arena *arenas;
  uint32_t arena_count;
  const rt_plan_block *blocks;
  uint32_t block_count;
  int32_t synchronous;   // 1: no action has a queue
  const uint32_t *late;  // buffers whose shapes the next segment asks for
  uint32_t late_count;
  const rt_guard *guards;
  uint32_t guard_count;
  const rt_plan_output *outputs;      // per output of the graph
  rt_known *known;                    // by value id
  const ops_type_info *const *types;  // the shapes it was built for, as requested
  uint32_t type_count;
  const uint32_t *places;  // as requested; NULL: all in host memory
  uint32_t place_count;
  // Which actions follow action i: successors [first_successor[i], first_successor[i + 1]); and
  // how many it follows. Any order that keeps to it computes the same. NULL: as they are.
  const uint32_t *first_successor;
  const uint32_t *successors;
  const uint32_t *predecessors;
  uint32_t prepares;  // how many prepares building it took
  atomic_uint references;
  rt_bump bump;
} rt_plan;

// Reads the contents of a value that exists before the segment begins. *out_data is borrowed
// until the plan is built. PRECONDITION if there are no data, which fails the build.
typedef int32_t (*rt_plan_fetch_fn)(void *context, const rt_value *value, const void **out_data,
                                    uint64_t *out_size, ops_error *error);

typedef struct rt_plan_request {
  const rt_graph *graph;
  const rt_partition *partition;
  rt_plan *parent;  // NULL: the first segment
  // First segment: the types of partition->inputs. Later ones: those of parent->late.
  const ops_type_info *const *types;
  uint32_t type_count;
  // Where the caller's memory is: of partition->inputs, then of the graph's outputs, the same
  // for all segments. NULL: all in host memory. What is in another place is aligned to
  // RT_CALLER_ALIGNMENT, and not padded.
  const uint32_t *places;
  rt_plan_fetch_fn fetch;
  void *context;
  int32_t parallel;  // 1: where a plan allows it, actions are ordered by successors
  int32_t no_reuse;  // 1: no two buffers share memory
  // A plan of the same segment for other shapes, whose arenas are laid out again for these: the
  // symbolic plan. NULL: none.
  const rt_plan *like;
  int32_t layouts;  // 1: activations in private layouts where the whole is cheaper so
} rt_plan_request;

#define RT_CALLER_ALIGNMENT 64u

// Plans one segment. Errors begin with the node's name. The caller owns one reference.
int32_t rt_plan_build(const rt_plan_request *request, rt_plan **out_plan, ops_error *error);
rt_plan *rt_plan_retain(rt_plan *plan);
void rt_plan_release(rt_plan *plan);  // accepts NULL; destroys prepared objects with the last

// A further prepared object for an action whose kernel is not re-entrant.
int32_t rt_plan_prepare(const rt_action *action, ops_prepared **out_prepared, ops_error *error);

// 1 if the types are equal in kind, element type and shape.
int rt_type_info_equal(const ops_type_info *a, const ops_type_info *b);
// A complete type of a tensor in layout 0, in `bump`; NULL if memory is exhausted.
const ops_type_info *rt_type_info_tensor(rt_bump *bump, int32_t kind, int32_t type,
                                         int32_t rank, const int64_t *dims);
// Bytes of a dense tensor of that type. INVALID_ARGUMENT if they overflow.
int32_t rt_type_info_bytes(const ops_type_info *type, uint64_t *out_bytes, ops_error *error);

#endif  // RT_PLAN_PLAN_H_

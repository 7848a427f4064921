// SPDX-License-Identifier: Apache-2.0
//
// Who runs what: the graph cut into units, each with a kernel on a device, in execution order.
//
// Devices are asked in order of preference. Each is first shown all nodes that are still free
// and may propose groups, then asked for single nodes. A group that would close a cycle is cut
// and its parts are proposed again; one that declines to compile is given up for good.
#ifndef RT_PARTITION_PARTITION_H_
#define RT_PARTITION_PARTITION_H_

#include "graph/graph.h"
#include "partition/device.h"
#include "partition/view.h"

// Operators with bodies that the runtime runs itself where no provider claims the node.
#define RT_CONTROL_NONE 0
#define RT_CONTROL_IF 1
#define RT_CONTROL_LOOP 2
#define RT_CONTROL_SCAN 3
#define RT_CONTROL_SEQUENCE_MAP 4
int32_t rt_control_kind(const rt_op *op);

// Bodies inside of bodies, at most.
#define RT_PARTITION_MAX_DEPTH 32u

// One kernel, or one control-flow node, and the values it reads and writes.
typedef struct rt_unit {
  uint32_t index;  // in rt_partition.units: execution order
  const char
      *name;  // of the node; of a group "first … last"; in a body after its node's: "l/a"
  const char *op;             // operator; of a group "group"
  const char *origins;        // "a, b": the model's nodes that a rewritten one stands for
  const char *where;          // for messages: "node 'a' (Add)", in a body "Loop 'l' / Add 'a'"
  const rt_device *device;    // NULL: the runtime itself
  const ops_kernel_def *def;  // NULL: a compiled group, or control flow
  const ops_kernel_api *api;
  ops_kernel *kernel;
  rt_node *const *nodes;
  uint32_t node_count;
  rt_value *const *inputs;  // NULL elements: absent
  uint32_t input_count;
  rt_value *const *outputs;
  uint32_t output_count;
  int32_t group;  // number of the group, -1: a single node
  // Control flow. The inputs are the node's operands, without captured constants.
  int32_t control;               // RT_CONTROL_…
  struct rt_partition **bodies;  // without the branch that a constant condition rules out
  uint32_t body_count;
  int32_t lends;  // 1: an output may be an input, a capture or a constant as it is
} rt_unit;

// Where one node went.
typedef struct rt_placement {
  const rt_node *node;
  const char *name;  // of the node; in a body after the name of its node: "l/a"
  const rt_unit *unit;
  const char *reason;  // why no more preferred device took it; "" for the first
} rt_placement;

typedef struct rt_partition {
  const rt_graph *graph;
  // What a run takes: inputs of the graph, then captures that are no constants.
  rt_value **inputs;
  uint32_t input_count;
  rt_unit *units;
  uint32_t unit_count;
  rt_placement *placements;  // of the graph's nodes, in their order; bodies have their own
  uint32_t placement_count;
  uint32_t declined;  // groups that were claimed and then not compiled
  rt_views *views;    // of the whole tree; the main graph's partition owns them
  uint32_t depth;     // 0: the main graph
  rt_bump bump;
} rt_partition;

// What to do with nodes that nobody takes, and that are no control flow: those of which
// `wanted` says 1 are listed, and the caller changes the graph and places it anew.
typedef struct rt_unplaced {
  int (*wanted)(const rt_op *op);
  rt_node **nodes;  // of the main graph and of bodies; freed by the caller with free
  uint32_t count, capacity;
} rt_unplaced;

// Fails with UNSUPPORTED if nobody takes a node: the message names the node, its types and each
// device's reason. Control flow that nobody takes is the runtime's, and its bodies are placed
// in the same way. `graph`, the main graph, and `devices` must outlive the partition.
// `unplaced` may be NULL. Where it lists a node, the result is OK without a partition.
int32_t rt_partition_create(const rt_graph *graph, rt_device *const *devices,
                            uint32_t device_count, rt_unplaced *unplaced,
                            rt_partition **out_partition, ops_error *error);
void rt_partition_destroy(rt_partition *partition);  // accepts NULL

// The definition of an argument; NULL for compiled groups and beyond the definition.
const ops_arg_def *rt_unit_input_def(const rt_unit *unit, uint32_t index);
const ops_arg_def *rt_unit_output_def(const rt_unit *unit, uint32_t index);
// Where the argument must be: OPS_MEMORY_….
int32_t rt_unit_input_kind(const rt_unit *unit, uint32_t index);
int32_t rt_unit_output_kind(const rt_unit *unit, uint32_t index);

#endif  // RT_PARTITION_PARTITION_H_

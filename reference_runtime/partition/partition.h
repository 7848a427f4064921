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

// One kernel and the values it reads and writes.
typedef struct rt_unit {
  uint32_t index;    // in rt_partition.units: execution order
  const char *name;  // of the node; of a group "first … last"
  const char *op;    // operator; of a group "group"
  const rt_device *device;
  const ops_kernel_def *def;  // NULL: a compiled group
  const ops_kernel_api *api;
  ops_kernel *kernel;
  rt_node *const *nodes;
  uint32_t node_count;
  rt_value *const *inputs;  // NULL elements: absent
  uint32_t input_count;
  rt_value *const *outputs;
  uint32_t output_count;
  int32_t group;  // number of the group, -1: a single node
} rt_unit;

// Where one node went.
typedef struct rt_placement {
  const rt_node *node;
  const rt_unit *unit;
  const char *reason;  // why no more preferred device took it; "" for the first
} rt_placement;

typedef struct rt_partition {
  rt_unit *units;
  uint32_t unit_count;
  rt_placement *placements;  // of the main graph's nodes, in their order
  uint32_t placement_count;
  uint32_t declined;  // groups that were claimed and then not compiled
  rt_views views;
  rt_bump bump;
} rt_partition;

// Fails with UNSUPPORTED if nobody takes a node: the message names the node, its types and each
// device's reason. `graph` and `devices` must outlive the partition.
int32_t rt_partition_create(const rt_graph *graph, rt_device *const *devices,
                            uint32_t device_count, rt_partition **out_partition,
                            ops_error *error);
void rt_partition_destroy(rt_partition *partition);  // accepts NULL

// The definition of an argument; NULL for compiled groups and beyond the definition.
const ops_arg_def *rt_unit_input_def(const rt_unit *unit, uint32_t index);
const ops_arg_def *rt_unit_output_def(const rt_unit *unit, uint32_t index);
// Where the argument must be: OPS_MEMORY_….
int32_t rt_unit_input_kind(const rt_unit *unit, uint32_t index);
int32_t rt_unit_output_kind(const rt_unit *unit, uint32_t index);

#endif  // RT_PARTITION_PARTITION_H_

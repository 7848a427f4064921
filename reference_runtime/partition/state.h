// SPDX-License-Identifier: Apache-2.0
//
// Private to partition/: the work in progress.
#ifndef RT_PARTITION_STATE_H_
#define RT_PARTITION_STATE_H_

#include "partition/partition.h"

#define RT_UNPLACED UINT32_MAX

typedef struct rt_partition_state {
  rt_partition *partition;
  const rt_graph *graph;
  const char *path;   // "": the main graph; of a body "Loop 'l' / "
  const char *names;  // "": the main graph; of a body "l/"
  rt_device *const *devices;
  uint32_t device_count;
  rt_unplaced *unplaced;  // may be NULL
  rt_node **nodes;        // of the main graph, in topological order
  uint32_t node_count;
  uint32_t *position;  // by node id: index into nodes
  uint32_t *unit_of;   // by position: index into units, or RT_UNPLACED
  char **reasons;      // by position: refusals so far, or NULL
  uint8_t *declined;   // by position: not to be grouped again by the present device
  rt_unit *units;      // in order of creation
  uint32_t unit_count;
} rt_partition_state;

// partition.c: the partition of `body`, which belongs to a node of `state`.
int32_t rt_partition_create_body(const rt_partition_state *state, const rt_graph *body,
                                 const char *path, const char *names,
                                 rt_partition **out_partition, ops_error *error);
// partition.c: the texts of a unit of one node.
int32_t rt_partition_name_unit(const rt_partition_state *state, const rt_node *node,
                               rt_unit *unit, ops_error *error);

// control.c: makes a unit of the runtime's own of the node at `position`.
int32_t rt_partition_control(rt_partition_state *state, uint32_t position, ops_error *error);

// group.c: lets `device` propose groups over the free nodes and compiles them.
int32_t rt_partition_groups(rt_partition_state *state, const rt_device *device,
                            ops_error *error);

// order.c: cuts `count` members (positions, ascending) into parts that close no cycle, when
// every unit so far and each part count as one node. part_of[i] is the part of member i.
int32_t rt_partition_cut(const rt_partition_state *state, const uint32_t *members,
                         uint32_t count, uint32_t *part_of, uint32_t *out_part_count,
                         ops_error *error);
// order.c: the units in an order that respects every edge. out_order has unit_count elements.
int32_t rt_partition_order(const rt_partition_state *state, uint32_t *out_order,
                           ops_error *error);

#endif  // RT_PARTITION_STATE_H_

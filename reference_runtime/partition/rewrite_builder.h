// SPDX-License-Identifier: Apache-2.0
//
// Private to partition/: what a rewrite rule builds, until it is known to hold.
#ifndef RT_PARTITION_REWRITE_BUILDER_H_
#define RT_PARTITION_REWRITE_BUILDER_H_

#include <ops/rewrite.h>

#include "graph/graph.h"
#include "partition/bump.h"
#include "partition/device.h"

struct ops_rewrite_builder {
  rt_graph *graph;
  rt_node *const *matched;  // in the order of the pattern; the last one is replaced
  uint32_t matched_count;
  rt_device *const *devices;  // whose schemas give the types of their operators
  uint32_t device_count;
  rt_node *before;  // where new nodes go
  rt_node **nodes;  // new ones
  uint32_t node_count, node_room;
  rt_value **constants;  // new ones
  uint32_t constant_count, constant_room;
  rt_value **results;  // by output of the last matched node; NULL: not stated
  rt_bump scratch;
};

extern const ops_rewrite_api rt_rewrite_api;

// Set graph, matched and devices before. Fails with OUT_OF_MEMORY.
int32_t rt_rewrite_builder_init(ops_rewrite_builder *builder, ops_error *error);
// Takes back what was added, unless it was kept.
int32_t rt_rewrite_builder_undo(ops_rewrite_builder *builder, ops_error *error);
// What reads the last matched node reads the results; the matched nodes go, and constants that
// nothing reads any more.
int32_t rt_rewrite_builder_keep(ops_rewrite_builder *builder, ops_error *error);
void rt_rewrite_builder_finish(ops_rewrite_builder *builder);

#endif  // RT_PARTITION_REWRITE_BUILDER_H_

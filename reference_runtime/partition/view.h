// SPDX-License-Identifier: Apache-2.0
//
// The graph as providers see it: nodes, bodies and groups as plain data of <ops/node.h>.
//
// Views, and the constants in them, live until rt_views_finish, which is longer than any kernel
// made from them; the graph must live as long and must not be edited meanwhile.
#ifndef RT_PARTITION_VIEW_H_
#define RT_PARTITION_VIEW_H_

#include <ops/node.h>

#include "graph/graph.h"
#include "partition/bump.h"
#include "partition/device.h"

typedef struct rt_views {
  const rt_graph *graph;      // the root
  rt_device *const *devices;  // whose schemas give defaults; may be NULL
  uint32_t device_count;
  rt_bump bump;
  uint64_t node_room, value_room;  // ids that the arrays below have places for
  const ops_node **nodes;          // by id; NULL: not made yet
  const ops_type_info **types;     // of values, by id
  const ops_constant **constants;  // of values, by id
  ops_value **owned;               // string constants
  uint64_t owned_count;
  uint64_t owned_capacity;
} rt_views;

int32_t rt_views_init(rt_views *views, const rt_graph *root, ops_error *error);
void rt_views_finish(rt_views *views);
// For a graph that is still edited between views: the arrays have places for `room` more nodes
// and values, and the views of a node without bodies are made anew once they are forgotten.
// What was made before stays until rt_views_finish.
int32_t rt_views_init_room(rt_views *views, const rt_graph *root, uint32_t room,
                           ops_error *error);
int rt_views_have_room(const rt_views *views);
void rt_views_forget(rt_views *views, const rt_node *node);

// The view of a node, attributes completed with the schema's defaults. Made once.
int32_t rt_views_node(rt_views *views, const rt_node *node, const ops_node **out_node,
                      ops_error *error);
// The view of a set of nodes of one graph, in topological order, with the given interface.
int32_t rt_views_group(rt_views *views, const char *name, rt_node *const *nodes,
                       uint64_t node_count, rt_value *const *inputs, uint64_t input_count,
                       rt_value *const *outputs, uint64_t output_count,
                       const ops_graph **out_graph, ops_error *error);
// The constant behind a value, or NULL in *out_constant if it is none.
int32_t rt_views_constant(rt_views *views, const rt_value *value,
                          const ops_constant **out_constant, ops_error *error);
// A type with unknown dimensions as -1. Of the value `value` as far as the graph knows.
int32_t rt_views_type(rt_views *views, const rt_value *value, const ops_type_info **out_type,
                      ops_error *error);

// OPS_VALUE_… for a type of the graph; 0 if it is unknown.
int32_t rt_view_kind(const rt_type *type);

#endif  // RT_PARTITION_VIEW_H_

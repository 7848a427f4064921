// SPDX-License-Identifier: Apache-2.0
//
// From the decoded model to the graph.
//
// - Initializers and the results of Constant nodes become constants, dense or sparse; their
//   bytes stay the model's.
// - Before IR version 4 an initializer that is also an input is a constant; from then on it is
//   an input with a default.
// - If, Loop, Scan … keep their bodies as graphs; what a body reads from outside is a capture.
// - A call of a model-local function is replaced by the function's nodes. Each is named
//   "call/inner", and its origins and path say where it is from.
// - Types given by the model (inputs, outputs, value_info) are taken over as first knowledge.
#ifndef RT_GRAPH_BUILD_H_
#define RT_GRAPH_BUILD_H_

#include "graph/graph.h"
#include "model/model.h"

#define RT_GRAPH_DEFAULT_MAX_NODES ((uint32_t)1 << 22)
#define RT_GRAPH_DEFAULT_MAX_DEPTH 64u
// A file of 2 KB can hold functions that call each other 2^30 times: nodes that inlining makes
// are bounded apart from those that the file pays for with bytes of its own.
#define RT_GRAPH_DEFAULT_MAX_INLINED ((uint32_t)1 << 18)
#define RT_GRAPH_MAX_DENSE_BYTES ((uint64_t)1 << 30)  // of all sparse initializers, written out
#define RT_GRAPH_MAX_INLINED_TEXT ((uint64_t)256 << 20)  // bytes of their names and origins

// Zero-initialise, then set what differs from the default.
typedef struct rt_graph_options {
  uint32_t max_nodes;    // of the whole tree, after inlining
  uint32_t max_depth;    // of function calls and bodies inside each other
  uint32_t max_inlined;  // nodes of functions, once for each call, and the calls themselves
} rt_graph_options;

// `model` must outlive the graph and every constant retained from it. `options` may be NULL.
// Fails with INVALID_MODEL (undefined or doubly defined name, cycle, recursive function,
// missing opset import; the message names the node), UNSUPPORTED (a limit above) or
// OUT_OF_MEMORY.
int32_t rt_graph_from_model(const rt_model *model, const rt_graph_options *options,
                            rt_graph **out_graph, ops_error *error);

// A call of a function by a node of the graph.
typedef struct rt_function_call {
  const rt_model_function *function;  // outlives the graph and constants retained from it
  const rt_node *node;                // whose attributes and bodies the function refers to
  const char *name;                   // of the call: new nodes are named "name/inner"
  const char *path;                   // calls around it, as in rt_node
  rt_value *const *inputs;            // values of the graph; NULL elements: omitted
  uint32_t input_count;               // at most the function's
  rt_node *before;                    // where the nodes go; NULL: at the end
} rt_function_call;

// Adds the nodes of a function; *out_results has room for all its outputs. A node of the
// function with the operator "@attr" stands for the body that call->node has as attribute
// `attr`. `options` may be NULL. Fails as rt_graph_from_model does; the graph is then fit for
// rt_graph_destroy only.
int32_t rt_graph_call_function(rt_graph *graph, const rt_function_call *call,
                               const rt_graph_options *options, rt_value **out_results,
                               ops_error *error);

// Replaces `node` by the nodes of `function`, whose outputs take over the names and uses of the
// node's. What only omitted outputs need is left out. Fails likewise.
int32_t rt_node_expand(rt_node *node, const rt_model_function *function,
                       const rt_graph_options *options, ops_error *error);

// A copy of some nodes of a graph in the same graph.
typedef struct rt_node_copy {
  rt_node *const *nodes;  // in topological order
  uint32_t count;
  // By id of a value: what the copies read instead of it, NULL: itself. Receives the copies'
  // outputs. `map_count` elements, as many as the root's value_limit says.
  rt_value **map;
  uint32_t map_count;
  const rt_node *origin;  // who wants the copies
  const char *name;       // copies are named "name/node"
  const char *path;       // of the copies, as in rt_node
  rt_node *before;        // where they go; NULL: at the end
} rt_node_copy;

// Fails as rt_graph_add_node does.
int32_t rt_graph_copy_nodes(rt_graph *graph, const rt_node_copy *copy, ops_error *error);

// Removes, from the last to the first, the nodes after `first` (NULL: from the start of the
// graph) and before `last` (NULL: to the end) that nothing reads and whose ids are not below
// `first_id`.
int32_t rt_graph_remove_unread(rt_graph *graph, rt_node *first, rt_node *last,
                               uint32_t first_id, ops_error *error);

// Zeroed memory that lives as long as the tree, for functions; NULL if it is exhausted.
void *rt_graph_alloc(rt_graph *graph, uint64_t count, uint64_t size);

// A constant that borrows the tensor of a model.
int32_t rt_constant_from_tensor(const rt_model_tensor *tensor, rt_constant **out_constant,
                                ops_error *error);

#endif  // RT_GRAPH_BUILD_H_

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
//   "call/inner", and its origins say both.
// - Types given by the model (inputs, outputs, value_info) are taken over as first knowledge.
#ifndef RT_GRAPH_BUILD_H_
#define RT_GRAPH_BUILD_H_

#include "graph/graph.h"
#include "model/model.h"

#define RT_GRAPH_DEFAULT_MAX_NODES ((uint32_t)1 << 22)
#define RT_GRAPH_DEFAULT_MAX_DEPTH 64u

// Zero-initialise, then set what differs from the default.
typedef struct rt_graph_options {
  uint32_t max_nodes;  // of the whole tree, after inlining
  uint32_t max_depth;  // of function calls and bodies inside each other
} rt_graph_options;

// `model` must outlive the graph and every constant retained from it. `options` may be NULL.
// Fails with INVALID_MODEL (undefined or doubly defined name, cycle, recursive function,
// missing opset import; the message names the node), UNSUPPORTED (a limit above) or
// OUT_OF_MEMORY.
int32_t rt_graph_from_model(const rt_model *model, const rt_graph_options *options,
                            rt_graph **out_graph, ops_error *error);

// A constant that borrows the tensor of a model.
int32_t rt_constant_from_tensor(const rt_model_tensor *tensor, rt_constant **out_constant,
                                ops_error *error);

#endif  // RT_GRAPH_BUILD_H_

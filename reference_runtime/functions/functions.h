// SPDX-License-Identifier: Apache-2.0
//
// Operators that ONNX defines as functions of other operators. A node that nobody runs as a
// whole is replaced by its function's nodes, so that whoever has those can run it.
//
// Bodies come from two places: function_table.c, generated from the onnx package, has those
// that are the same for every node; a builder per operator (build_*.c) writes those that depend
// on the node's attributes, types and arguments. Both are text (text.h), and both go through
// the calls of functions of graph/build.h: names, origins and messages are as for functions
// that a model brings along.
#ifndef RT_FUNCTIONS_FUNCTIONS_H_
#define RT_FUNCTIONS_FUNCTIONS_H_

#include "graph/graph.h"

// Rounds of expansion: functions whose bodies use functions, at most this deep.
#define RT_FUNCTIONS_MAX_DEPTH 16u

// 1 if ONNX defines this version of the operator as a function that is known here.
int rt_function_exists(const rt_op *op);

// Replaces `node` by its function's nodes, named "node/inner". The types of new values are
// unknown until inference runs again. Needs the types of the node's inputs where the body
// depends on them. Fails with UNSUPPORTED if there is no function or a needed type is unknown,
// INVALID_MODEL or OUT_OF_MEMORY.
int32_t rt_function_expand(rt_node *node, ops_error *error);

// Replaces every function of the tree, and those in their bodies, until none is left; types are
// inferred in between. Whoever claims one is not asked: for tests and comparisons.
int32_t rt_functions_expand_all(rt_graph *graph, ops_error *error);

#endif  // RT_FUNCTIONS_FUNCTIONS_H_

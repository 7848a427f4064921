// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.preview.training.Gradient: reverse-mode differentiation as a rewrite of the graph.
//
// A Gradient node names values of its graph: `y`, and the independent variables `xs` and `zs`.
// The nodes between them are the function; the rewrite puts the nodes that compute dy/dx for
// each x in place of the Gradient node. They read the values of the function where the node's
// inputs are the named values themselves, and those of a copy of the function where they are
// others (the point at which the derivative is taken). A y with several elements counts as
// their sum. Since what comes out are ordinary nodes, a later Gradient node may name an output
// of this one: derivatives of any order.
//
// rules.c has a derivative rule per operator. An operator without a rule that ONNX defines as a
// function is differentiated through a copy of its function.
#ifndef RT_GRADIENT_GRADIENT_H_
#define RT_GRADIENT_GRADIENT_H_

#include "graph/graph.h"

// Gradient nodes whose functions contain other Gradient nodes, at most this deep.
#define RT_GRADIENT_MAX_ORDER 16u

// Nodes that the Gradient nodes of one graph may become: each order multiplies them, so that a
// small file could ask for any number.
#define RT_GRADIENT_MAX_NODES ((uint32_t)1 << 16)

// Replaces every Gradient node of the tree; types are inferred before and after as needed.
// Fails with INVALID_MODEL for names that the graph does not have or counts that do not fit,
// and UNSUPPORTED for an operator without a rule, which the message names, or a limit above.
int32_t rt_gradient_expand(rt_graph *graph, ops_error *error);

#endif  // RT_GRADIENT_GRADIENT_H_

// SPDX-License-Identifier: Apache-2.0
//
// A case as the provider sees it: ops_node with attributes, operands and constants.
#ifndef OC_RUNNER_NODE_VIEW_H_
#define OC_RUNNER_NODE_VIEW_H_

#include <ops/ops.h>

#include "cases/array.h"
#include "cases/case.h"

#define OC_NODE_MAX_OUTPUTS OC_CONTRACT_MAX_PARAMS

typedef struct oc_node_options {
  uint64_t constants;  // bit i: input i is a constant of the graph
  // The outputs' shapes as far as they are known, one per output; NULL: none is.
  const oc_array *outputs;
  bool absolute;      // float attributes by their absolute value
  bool unknown_dims;  // for the claim and create: ranks are known, dimensions are not
  uint32_t flags;     // OPS_NODE_…
  // Operators behind the node, whose operands are the last `chain_operands` of the inputs. They
  // are the node's chain or, in a group, nodes of their own. Borrowed until destroy.
  const ops_post_op *posts;
  size_t post_count;
  size_t chain_operands;
  bool group;  // the view is a graph to be claimed and compiled as a whole
} oc_node_options;

#define OC_NODE_MAX_POSTS 4

typedef struct oc_node_view oc_node_view;

// Borrows the case and the arrays: they must stay where they are until destroy.
int32_t oc_node_view_create(const oc_case *item, const oc_inputs *inputs,
                            const oc_node_options *options, oc_node_view **out_view,
                            ops_error *error);
void oc_node_view_destroy(oc_node_view *view);  // accepts NULL

// Overwrites what a kernel has to copy: names, attributes and operands of the node. Contents of
// constants stay. The view is good for nothing but destroy then.
void oc_node_view_spoil(oc_node_view *view);

const ops_node *oc_node_view_node(const oc_node_view *view);

// With `group`: the node and what is behind it as a graph, whose inputs are those of the case
// that are given and no constants. NULL without.
const ops_graph *oc_node_view_graph(const oc_node_view *view);
// The inputs of the case that are inputs of a kernel, in its order; all of them for a single
// node.
size_t oc_node_view_arguments(const oc_node_view *view, size_t *out_indices);

// The layout that the host has chosen for input `index`, for the operands of prepare.
void oc_node_view_set_layout(oc_node_view *view, size_t index, uint32_t layout);

// How input `index` lies in memory, for the operands of prepare; NULL: contiguous. Borrowed.
void oc_node_view_set_strides(oc_node_view *view, size_t index, const int64_t *strides);

// Moves the contents of input `index`, as a constant, to `memory`, which holds the same bytes.
void oc_node_view_move_constant(oc_node_view *view, size_t index, void *memory);

// Operands for prepare: as those of the node, with the contents of the inputs in `known` too.
// Valid until the next call or destroy.
const ops_operand *oc_node_view_prepare_inputs(oc_node_view *view, uint64_t known);

#endif  // OC_RUNNER_NODE_VIEW_H_

// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: a node that does its work in another type, casts around it.
#ifndef RT_PASSES_RETYPE_H_
#define RT_PASSES_RETYPE_H_

#include "passes/pass.h"

typedef struct rt_retype {
  int32_t from, to;  // OPS_TYPE_…
  uint32_t flags;    // RT_NODE_… that the new node gets
  // 1: type parameters that an output has, too, stay, and the node must go to a more preferred
  // provider than before; 0: to one no less preferred.
  int indices_only;
} rt_retype;

// Finds out which inputs change: those of type `from` whose type parameter allows `to`. NULL if
// there are some, else why not, static. `change` has node->input_count elements.
const char *rt_pass_retype_inputs(const rt_node *node, const rt_retype *how, uint8_t *change);

// Replaces the node, if providers take it so: *out_why is NULL then, else why not, static, and
// the graph is as before.
int32_t rt_pass_retype(rt_pass_context *context, rt_node *node, const rt_retype *how,
                       const char **out_why, ops_error *error);

#endif  // RT_PASSES_RETYPE_H_

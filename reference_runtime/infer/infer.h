// SPDX-License-Identifier: Apache-2.0
//
// Types and shapes of values, before the model runs with symbolic dimensions, and at each run
// with the real ones. Both go through the same rules: one function per operator and range of
// versions, listed in one table (rules.c).
//
// A rule sees the types of the inputs, and of small integer inputs the contents as far as they
// are known, which may be symbolic too ("N", "2*H"). It yields types, and contents for what
// shape computations produce, so that Shape -> Gather -> Concat -> Reshape stays known.
#ifndef RT_INFER_INFER_H_
#define RT_INFER_INFER_H_

#include "graph/graph.h"

// Contents of at most this many elements are followed.
#define RT_INFER_MAX_CONTENTS 64

// What is known of one operand. A NULL type is an omitted argument.
typedef struct rt_infer_input {
  const rt_type *type;
  const rt_dim *contents;  // elements in row-major order; NULL: not known
  int64_t contents_count;
  const rt_constant *constant;  // the data, if they are at hand; NULL: not
} rt_infer_input;

// An optional, a sequence in it, tensors in that.
#define RT_INFER_ELEMENTS 2

// What a rule found out about one output. The type's dims point to `dims`; the type is
// RT_TYPE_UNKNOWN where nothing is known, a dimension is unknown where it depends on data.
typedef struct rt_infer_output {
  rt_type type;
  rt_dim dims[OPS_MAX_RANK];
  rt_type elements[RT_INFER_ELEMENTS];  // what the type holds, outermost first
  rt_dim element_dims[OPS_MAX_RANK];    // of the tensors inside
  int64_t contents_count;               // -1: not known
  rt_dim contents[RT_INFER_MAX_CONTENTS];
} rt_infer_output;

// Applies the rule of the node's operator, and then those of its post-operations.
// `inputs`: node->operand_count of them, in the order of node->operands; `outputs`:
// node->output_count, to be filled. `symbols` is NULL at run time, when dimensions are numbers.
// Allocates nothing but symbols, and is thread-safe if `symbols` is NULL.
// An operator without a rule is no error: its outputs are unknown.
// Fails with INVALID_MODEL; the message names node, operator, input, expected and found.
int32_t rt_infer_node(const rt_node *node, rt_symbols *symbols, const rt_infer_input *inputs,
                      rt_infer_output *outputs, ops_error *error);

// Applies the rule to a node that was added or changed, and stores what it finds in the
// outputs; dimensions that stay open become symbols. Bodies are left as they are.
int32_t rt_infer_outputs(rt_node *node, ops_error *error);
// Stores the contents of a constant that was added, if it is a small integer tensor.
int32_t rt_infer_constant(rt_value *value, ops_error *error);

// 1 if there is a rule for this operator and version.
int rt_infer_has_rule(const rt_op *op);

// Called for what is no error but worth knowing: an operator without a rule, a type that the
// model declares wrongly. `node` may be NULL.
typedef void (*rt_infer_note_fn)(void *user, const rt_node *node, const char *text);

// Zero-initialise, then set what differs from the default.
typedef struct rt_infer_options {
  int32_t strict;  // 1: a wrong declaration is an error
  rt_infer_note_fn note;
  void *user;
} rt_infer_options;

// Infers the types of all values of the tree, bodies included, and stores them in the values
// (rt_value.type, rt_value.contents). Starts from the types of the main graph's inputs, which
// may be set before, and of constants. What the model declares fills what inference leaves
// open; every dimension that stays open becomes a symbol of its own. `options` may be NULL. May
// be called again after edits. A branch of If that a constant condition rules out cannot make
// it fail. Fails with INVALID_MODEL or OUT_OF_MEMORY.
int32_t rt_infer_graph(rt_graph *graph, const rt_infer_options *options, ops_error *error);

#endif  // RT_INFER_INFER_H_

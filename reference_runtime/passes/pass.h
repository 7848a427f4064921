// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: what a pass is, and what all of them share.
//
// A pass is a constant of one file and a line in pass_table.h. It either visits nodes one by
// one
// (`visit`, called for the operators in `roots`, in topological order, bodies included), or
// does as it likes with one graph of the tree (`run`). It must leave the graph sound at every
// return, gives every value it makes a type, says rt_pass_hit for each rewrite, and
// rt_pass_miss where the operators fit and a condition does not.
#ifndef RT_PASSES_PASS_H_
#define RT_PASSES_PASS_H_

#include <math.h>
#include <ops_support/error.h>

#include "passes/passes.h"

typedef struct rt_pass_context rt_pass_context;

typedef struct rt_pass {
  const char *const *roots;  // names of operators, NULL at the end; NULL: every node
  int32_t (*visit)(rt_pass_context *context, rt_node *node, ops_error *error);
  int32_t (*run)(rt_pass_context *context, rt_graph *graph, ops_error *error);
} rt_pass;

struct rt_pass_context {
  const rt_passes_options *options;
  rt_graph *root;
  uint32_t pass;   // number of the one that runs now
  uint64_t *hits;  // of each pass
  uint64_t *ns;    // of each pass
  struct rt_pass_misses *misses;
};

#define RT_PASS(name, level, doc) extern const rt_pass rt_pass_##name;
#include "passes/pass_table.h"
#undef RT_PASS

// --- Notes -----------------------------------------------------------------------------------

// "Conv 'c3'" and the like go into the text by themselves: write it as a sentence.
void rt_pass_hit(rt_pass_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// "Conv 'c3' + BatchNormalization 'b3': not folded, scale is not constant".
void rt_pass_miss(rt_pass_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Why rt_value_constant gave NULL, as the end of a sentence: "is not constant", or for an input
// with a default how to make it one. Static.
const char *rt_pass_not_constant(const rt_value *value);

// --- Looking ---------------------------------------------------------------------------------

// 1 if the node is operator `name` of ONNX's own domain, with no chain of post-operations.
int rt_pass_is(const rt_node *node, const char *name);
// The node that makes the value, if it is operator `name`; else NULL.
rt_node *rt_pass_producer(const rt_value *value, const char *name);
// The only reader of output 0 (its other outputs unused), if it is operator `name`; else NULL.
rt_node *rt_pass_next(const rt_node *node, const char *name);
// 1 if output 0 is the only one that anything reads.
int rt_pass_one_output(const rt_node *node);

// Rank, or -1 if it is not known or the value is no tensor or NULL.
int32_t rt_pass_rank(const rt_value *value);
int32_t rt_pass_elem(const rt_value *value);
// The dimension `axis` (negative: from the end), -1 if it is not a known number.
int64_t rt_pass_dim(const rt_value *value, int32_t axis);
// 1 if both are tensors of one element type and provably one shape.
int rt_pass_same_type(const rt_value *a, const rt_value *b);
int rt_pass_same_shape(const rt_value *a, const rt_value *b);

// The only element of a constant as double: 1 if it has one element and it is a number.
int rt_pass_scalar(const rt_value *value, double *out_value);
// Integers of attribute `name`, or of constant input `input` where there is no such attribute.
// Their number, or -1 if neither is there or the input is not constant.
int64_t rt_pass_ints(const rt_node *node, const char *name, uint32_t input, int64_t *out_values,
                     int64_t capacity);
// 1 if the value is a dense constant all of whose elements equal `wanted`, zeros of one sign.
int rt_pass_all_equal(const rt_value *value, double wanted);
// The permutation of a Transpose whose input has a known rank; returns the rank, or -1.
int32_t rt_pass_perm(const rt_node *transpose, int64_t *out_perm);
// Axis in [0, rank), or -1.
int32_t rt_pass_axis(int64_t axis, int32_t rank);

// --- Changing --------------------------------------------------------------------------------

// Adds a node of ONNX's own domain before `before`, with types inferred and the origins of the
// `origins` (count of them). `desc->opset` 0: that of origins[0].
int32_t rt_pass_add_node(rt_pass_context *context, const rt_node_desc *desc, rt_node *before,
                         rt_node *const *origins, uint32_t origin_count, rt_node **out_node,
                         ops_error *error);
// `node` now stands for `other`, too: its origins are its own name, then those of `other`.
int32_t rt_pass_absorb(rt_node *node, const rt_node *other, ops_error *error);
// Infers the outputs of a node whose inputs or attributes were changed.
int32_t rt_pass_infer(rt_pass_context *context, rt_node *node, ops_error *error);
// A constant of the graph; takes over the reference.
int32_t rt_pass_add_constant(rt_graph *graph, const char *name, rt_constant *constant,
                             rt_value **out_value, ops_error *error);
int32_t rt_pass_add_ints(rt_graph *graph, const char *name, const int64_t *values,
                         int64_t count, rt_value **out_value, ops_error *error);
// A constant of rank 0 (`rank1`: of shape [1]) of a floating-point or integer type. Types that
// cannot hold the value exactly round it. UNSUPPORTED for other types.
int32_t rt_pass_add_scalar(rt_graph *graph, const char *name, int32_t elem_type, int rank1,
                           double value, rt_value **out_value, ops_error *error);
// All that reads output 0 of `node` reads `value` instead; `node`, and what only it read, goes.
int32_t rt_pass_replace(rt_pass_context *context, rt_node *node, rt_value *value,
                        ops_error *error);
// Removes the node if nothing reads its outputs, then whatever that leaves unread.
int32_t rt_pass_drop(rt_pass_context *context, rt_node *node, ops_error *error);
// Removes a constant or capture that nothing reads.
int32_t rt_pass_drop_value(rt_value *value, ops_error *error);

// --- Gating (level 2) ------------------------------------------------------------------------

// NULL in *out_why if a provider claims `node` that is at least as preferred as each of those
// that claim the `replaced` nodes; else the reason, as the end of a sentence. Static.
int32_t rt_pass_claimed(rt_pass_context *context, const rt_node *node, rt_node *const *replaced,
                        uint32_t count, const char **out_why, ops_error *error);

#endif  // RT_PASSES_PASS_H_

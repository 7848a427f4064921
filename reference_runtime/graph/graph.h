// SPDX-License-Identifier: Apache-2.0
//
// The intermediate representation: graphs of nodes and values, that every later stage reads and
// that passes and partitioning edit.
//
// Reading is direct: the fields of the structs below are public and read-only. Writing goes
// through the functions, which keep both directions of every link (operand and use, output and
// producer, capture and outer value) in step; rt_graph_verify proves it.
//
// - A tree of graphs (the main graph and the bodies of If, Loop, Scan …) shares one arena:
//   pointers to graphs, nodes, values, names and types stay valid until rt_graph_destroy of the
//   root, even after removal. Ids are unique in the tree and never used again, so that a stage
//   can keep what it knows of nodes and values in its own arrays of root->node_limit and
//   root->value_limit elements.
// - The node list of a graph is in topological order at all times.
// - A body names the outer values it reads: each is a *capture*, a value of the body that
// stands
//   for a value of the parent graph, and an operand of the node that owns the body. Lifetimes,
//   copies and casts thus see every read.
// - Not thread-safe while edited. A graph that is only read may be shared.
#ifndef RT_GRAPH_GRAPH_H_
#define RT_GRAPH_GRAPH_H_

#include <ops/base.h>
#include <ops/status.h>
#include <stdio.h>

#include "graph/attribute.h"
#include "graph/constant.h"
#include "graph/symbol.h"
#include "graph/type.h"

typedef struct rt_graph rt_graph;
typedef struct rt_node rt_node;
typedef struct rt_value rt_value;

// --- Values --------------------------------------------------------------------------------

#define RT_VALUE_INPUT 1     // input of the graph; `constant` is its default, or NULL
#define RT_VALUE_CONSTANT 2  // initializer or folded: `constant` is never NULL
#define RT_VALUE_OUTPUT 3    // of `producer`
#define RT_VALUE_CAPTURE 4   // stands for `outer`, a value of graph->parent

// One place that reads a value: node->operands[operand].
typedef struct rt_use {
  rt_node *node;
  uint32_t operand;
} rt_use;

struct rt_value {
  uint32_t id;       // unique in the tree
  int32_t kind;      // RT_VALUE_*
  const char *name;  // not empty, unique in its graph
  rt_graph *graph;
  rt_type type;      // what is known of it; see infer/
  rt_type declared;  // what the model says of it, if anything

  rt_node *producer;  // OUTPUT, else NULL
  uint32_t output_index;
  rt_constant *constant;  // CONSTANT; INPUT with a default; else NULL
  rt_value *outer;        // CAPTURE, else NULL

  // Known contents of a small integer tensor (a shape, a list of axes), in row-major order,
  // filled by inference; contents_count is -1 if nothing is known, an element may be unknown.
  const rt_dim *contents;
  int64_t contents_count;

  rt_use *uses;  // in no particular order; a node that reads it twice appears twice
  uint32_t use_count;
  uint32_t output_count;  // how many outputs of the graph it is

  rt_value *prev, *next;  // all values of the graph, in order of creation
  uint32_t use_capacity;  // private
  uint32_t removed;       // 1: no longer part of the graph
};

// --- Nodes ---------------------------------------------------------------------------------

// A post-operation: applied to the (first) output of the node, or of the item before it, in the
// same kernel. Its inputs are `input_count` values of which number `chained` is that result;
// the others are, in order, node->operands[first_operand …], input_count - 1 of them.
typedef struct rt_post {
  rt_op op;
  uint32_t input_count;
  uint32_t chained;
  uint32_t first_operand;
} rt_post;

// rt_node.flags
#define RT_NODE_REQUIRE_FP32_ACCUMULATION ((uint32_t)1 << 0)  // as in ops_node.flags

struct rt_node {
  uint32_t id;       // unique in the tree
  const char *name;  // not empty; from the model, or made from the operator and a number
  rt_graph *graph;
  rt_op op;

  // All values that the node reads, in three ranges: its inputs, the operands of its
  // post-operations, the captures of its bodies. NULL: an omitted optional argument.
  rt_value **operands;
  uint32_t operand_count;
  uint32_t input_count;         // operands[0, input_count)
  uint32_t post_operand_count;  // the next ones
  uint32_t capture_count;       // the last ones, body by body; see rt_node_first_capture

  rt_value **outputs;  // NULL: an omitted output
  uint32_t output_count;

  const rt_post *posts;
  uint32_t post_count;

  uint32_t flags;  // RT_NODE_…; a node that stands for others has theirs, too

  // Names of the model's nodes that this one came from by fusion, rewriting or inlining.
  // Empty for a node that is as the model has it.
  const char *const *origins;
  uint32_t origin_count;

  // The calls of functions that it came from, for messages: "Mish 'm' / "; "" for none.
  const char *path;

  rt_node *prev, *next;  // topological order
  uint64_t order;        // grows along the list; compare, do not store
  uint32_t removed;
};

// --- Graphs --------------------------------------------------------------------------------

struct rt_graph {
  const char *name;
  rt_graph *root;    // of the tree; itself for the main graph
  rt_graph *parent;  // NULL for the main graph
  rt_node *owner;    // the node of `parent` that has this body as an attribute

  rt_node *first, *last;  // in topological order, linked by next and prev
  uint32_t node_count;
  rt_value *first_value, *last_value;
  uint32_t value_count;

  rt_value **inputs;
  uint32_t input_count;
  // An output has its own name, so that replacing the value keeps the model's interface.
  rt_value **outputs;
  const char **output_names;
  rt_type *output_types;  // as the model declares them
  uint32_t output_count;
  rt_value **captures;  // values of kind CAPTURE
  uint32_t capture_count;

  // Of the whole tree, valid in the root:
  ops_regions *regions;  // for weights that passes make
  uint32_t node_limit;   // one more than the largest node id
  uint32_t value_limit;  // one more than the largest value id
  rt_symbols *symbols;

  struct rt_graph_store *store;  // private: arena and tables
};

// --- Creating ------------------------------------------------------------------------------

// An empty main graph. Fails with OUT_OF_MEMORY.
int32_t rt_graph_create(const char *name, rt_graph **out_graph, ops_error *error);
// Of the main graph: destroys the whole tree. NULL is fine.
void rt_graph_destroy(rt_graph *graph);

// An empty body, to be given to rt_graph_add_node in an attribute of kind GRAPH of a node of
// `parent`. Destroyed with the tree.
int32_t rt_graph_create_body(rt_graph *parent, const char *name, rt_graph **out_body,
                             ops_error *error);

// The functions below copy every name, type and attribute they are given into the arena, and
// retain constants. A name that is NULL, empty or taken is replaced by one that is free and
// begins with it. They fail with OUT_OF_MEMORY, or INVALID_ARGUMENT where a rule is broken
// (a value of another graph, for instance); then the graph is as before.

int32_t rt_graph_add_input(rt_graph *graph, const char *name, const rt_type *type,
                           rt_value **out_value, ops_error *error);
int32_t rt_graph_add_constant(rt_graph *graph, const char *name, rt_constant *constant,
                              rt_value **out_value, ops_error *error);
// The capture of `outer`, a value of graph->parent, in a body; an existing one is reused.
int32_t rt_graph_add_capture(rt_graph *body, rt_value *outer, rt_value **out_value,
                             ops_error *error);
// Appends an output of the graph; `declared` may be NULL.
int32_t rt_graph_add_output(rt_graph *graph, const char *name, rt_value *value,
                            const rt_type *declared, ops_error *error);
int32_t rt_graph_set_input_default(rt_value *input, rt_constant *constant, ops_error *error);
// Makes an input of the main graph that has a default a constant: it is no input any more.
int32_t rt_graph_freeze_input(rt_graph *graph, rt_value *input, ops_error *error);

typedef struct rt_node_desc {
  const char *name;    // NULL: made from the operator
  const char *op;      // "Conv"
  const char *domain;  // NULL: ""
  int32_t opset;
  rt_value *const *inputs;  // an element may be NULL
  uint32_t input_count;
  const char *const *output_names;  // NULL: all made up; an element "" is an omitted output
  uint32_t output_count;
  const rt_attr *attrs;  // bodies among them become this node's
  uint32_t attr_count;
} rt_node_desc;

// The description of a node like `node`: its operator with attributes, name and operands; the
// outputs get new names. Borrowed from the node. Bodies cannot be described twice.
rt_node_desc rt_node_describe(const rt_node *node);

// Adds a node before `before` (NULL: at the end), with new values as outputs. The inputs must
// be defined before that place.
int32_t rt_graph_add_node(rt_graph *graph, const rt_node_desc *desc, rt_node *before,
                          rt_node **out_node, ops_error *error);

// --- Editing -------------------------------------------------------------------------------

// Removes a node and its outputs. Nothing may read them any more. Its bodies go with it.
int32_t rt_graph_remove_node(rt_graph *graph, rt_node *node, ops_error *error);
// Removes a constant, or a capture, that nothing reads.
int32_t rt_graph_remove_value(rt_graph *graph, rt_value *value, ops_error *error);
// Moves a node in the list; the order must stay topological.
int32_t rt_graph_move_node(rt_graph *graph, rt_node *node, rt_node *before, ops_error *error);

// Makes the node read `value` (NULL: omitted) at operand number `operand`.
int32_t rt_node_set_operand(rt_node *node, uint32_t operand, rt_value *value, ops_error *error);
// Appends inputs, or drops inputs at the end.
int32_t rt_node_set_input_count(rt_node *node, uint32_t count, ops_error *error);
// Appends an output with a new value, for instance when a fusion makes one of an inner node's.
int32_t rt_node_add_output(rt_node *node, const char *name, rt_value **out_value,
                           ops_error *error);
// Makes output `index` omitted; nothing may read it.
int32_t rt_node_omit_output(rt_node *node, uint32_t index, ops_error *error);
// Everything that reads `from`, outputs of the graph included, reads `to` instead.
int32_t rt_value_replace_uses(rt_value *from, rt_value *to, ops_error *error);
// Output number `index` of the graph becomes `value`.
int32_t rt_graph_set_output(rt_graph *graph, uint32_t index, rt_value *value, ops_error *error);
// Puts a node with one input and one output on an edge: a cast, a copy, a layout change. The
// node is made from `desc` (inputs and outputs of which are ignored) just before use.node,
// reads what use.node read there, and use.node reads its output.
int32_t rt_graph_insert_on_use(rt_graph *graph, rt_use use, const rt_node_desc *desc,
                               rt_node **out_node, ops_error *error);
// The same at output number `index` of the graph.
int32_t rt_graph_insert_on_output(rt_graph *graph, uint32_t index, const rt_node_desc *desc,
                                  rt_node **out_node, ops_error *error);
// Renames a value; a name that is taken gets a suffix.
int32_t rt_value_rename(rt_value *value, const char *name, ops_error *error);

// Changes what a node computes: operator, domain and opset stay if NULL or 0.
int32_t rt_node_set_op(rt_node *node, const char *op, const char *domain, int32_t opset,
                       ops_error *error);
// Adds the attribute or replaces the one of that name. Not for bodies.
int32_t rt_node_set_attr(rt_node *node, const rt_attr *attr, ops_error *error);
int32_t rt_node_set_attr_int(rt_node *node, const char *name, int64_t value, ops_error *error);
int32_t rt_node_set_attr_ints(rt_node *node, const char *name, const int64_t *values,
                              uint32_t count, ops_error *error);
int32_t rt_node_set_attr_float(rt_node *node, const char *name, float value, ops_error *error);
int32_t rt_node_set_attr_string(rt_node *node, const char *name, const char *value,
                                ops_error *error);
// Does nothing if there is none. Not for bodies.
int32_t rt_node_remove_attr(rt_node *node, const char *name, ops_error *error);

// Appends a post-operation. `operands` are its inputs but the chained one, `operand_count` of
// them; input number `chained` (<= operand_count) is the result so far. op->attrs is copied.
int32_t rt_node_append_post(rt_node *node, const rt_op *op, rt_value *const *operands,
                            uint32_t operand_count, uint32_t chained, ops_error *error);
int32_t rt_node_clear_posts(rt_node *node, ops_error *error);
// Post-operations become nodes behind the node; the last one's output takes over the name and
// the uses of the node's first output.
int32_t rt_node_detach_posts(rt_node *node, ops_error *error);

int32_t rt_node_add_origin(rt_node *node, const char *name, ops_error *error);
// Adds the origins of `from`, or its name if it has none, and its flags.
int32_t rt_node_add_origins_of(rt_node *node, const rt_node *from, ops_error *error);

int32_t rt_node_set_path(rt_node *node, const char *path, ops_error *error);

// Sets what is known of a value; dims and elements are copied into the arena.
int32_t rt_value_set_type(rt_value *value, const rt_type *type, ops_error *error);
// Likewise what the model declares; becomes the type too if that is unknown.
int32_t rt_value_set_declared(rt_value *value, const rt_type *type, ops_error *error);
// count -1: nothing is known.
int32_t rt_value_set_contents(rt_value *value, const rt_dim *contents, int64_t count,
                              ops_error *error);

// --- Looking things up ---------------------------------------------------------------------

rt_value *rt_graph_find_value(const rt_graph *graph, const char *name);  // or NULL
rt_node *rt_graph_find_node(const rt_graph *graph, const char *name);    // or NULL; linear

// Input number `index`, or NULL if it is omitted or beyond the last.
rt_value *rt_node_input(const rt_node *node, uint32_t index);
// Likewise an output.
rt_value *rt_node_output(const rt_node *node, uint32_t index);
// The constant behind a value, through captures; NULL if it is none (inputs with a default are
// none: the caller of the model may replace them).
rt_constant *rt_value_constant(const rt_value *value);
// 1 if a node or an output of the graph reads it.
int rt_value_is_used(const rt_value *value);
// The only node that reads `value`, once and not as a capture, if it is no output of the graph;
// else NULL. What a fusion asks before it swallows the producer.
rt_node *rt_value_sole_consumer(const rt_value *value);

// The bodies of a node, in the order of its attributes.
uint32_t rt_node_body_count(const rt_node *node);
rt_graph *rt_node_body(const rt_node *node, uint32_t index);
// The number of the operand that is the first capture of `body`; the others follow.
uint32_t rt_node_first_capture(const rt_node *node, const rt_graph *body);

// 1 if `a` comes before `b`; both in the same graph.
int rt_node_precedes(const rt_node *a, const rt_node *b);

// --- Proving and showing -------------------------------------------------------------------

// Checks every invariant of the tree below `graph`: links in both directions, order, names,
// captures, ids, counts. Fails with INTERNAL, naming the node or value and the broken rule.
int32_t rt_graph_verify(const rt_graph *graph, ops_error *error);

// Prints the tree, one node a line with the types of its outputs:
//   %y: float[N,64,112,112] = Conv@13 "conv1"(%x, %w) {strides=[2,2]} |> Relu@14()
void rt_graph_print(const rt_graph *graph, FILE *file);

#endif  // RT_GRAPH_GRAPH_H_

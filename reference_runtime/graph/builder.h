// SPDX-License-Identifier: Apache-2.0
//
// Private to graph/: what build.c (models), call.c (functions) and clone.c (bodies) share while
// nodes are built. A scope gives names their meaning; a frame is a call of a function that is
// being replaced by the function's nodes.
#ifndef RT_GRAPH_BUILDER_H_
#define RT_GRAPH_BUILDER_H_

#include "graph/build.h"
#include "graph/store.h"

typedef struct rt_scope rt_scope;

// A call is a node of the model or, where a node of the graph is expanded, a node of the graph.
typedef struct rt_call_frame {
  const rt_model_function *function;
  ops_str op, name;            // of the call; the name may be empty
  const rt_model_node *model;  // whose attributes the function refers to, or NULL …
  const rt_node *node;         // … and then this one's
  rt_scope *caller;            // in which `model` has its meaning; NULL for `node`
  const char *prefix;          // path of calls: "outer/inner"
  const char *path;            // for messages: "Outer 'outer' / Inner 'outer/inner' / "
} rt_call_frame;

struct rt_scope {
  rt_names names;  // name -> rt_value, or &rt_build_omitted
  rt_graph *graph;
  rt_node *before;  // where nodes are added; NULL: at the end
  rt_scope *outer;  // of a body; NULL for the main graph and for functions
  const rt_call_frame *frame;
  const rt_model_opset *opsets;
  size_t opset_count;
  uint32_t depth;
};

typedef struct rt_builder {
  int64_t ir_version;
  rt_graph_options limits;
  rt_store_arena scratch;  // terminated copies of names, lists of operands
  rt_names functions;      // key -> rt_model_function
  uint32_t inlined;        // nodes of functions and calls so far
  uint64_t dense_bytes;    // of sparse initializers so far
  uint64_t inlined_text;   // bytes that name them
  ops_error *error;
} rt_builder;

// Stands in a scope for an optional input that the caller of a function omitted.
extern const rt_value rt_build_omitted;

// Fills in the default limits.
void rt_builder_init(rt_builder *b, const rt_graph_options *options, int64_t ir_version,
                     ops_error *error);
void rt_builder_finish(rt_builder *b);

// ---- build.c: names in scopes, lists of nodes ----
int32_t rt_build_no_memory(rt_builder *b);
// A terminated copy that lives until the build ends; NULL if memory is exhausted.
const char *rt_build_text(rt_builder *b, ops_str string);
// How messages call a node, without the opening quote: its name, or its first output.
const char *rt_build_label(rt_builder *b, const rt_scope *s, const rt_model_node *node);
// "call/inner" in a function, the model's own name otherwise. An empty name stays empty.
const char *rt_build_full_name(rt_builder *b, const rt_scope *s, ops_str name);
// The value `value` of `graph` or of a graph around it, as `graph` sees it.
int32_t rt_build_bring_into(rt_builder *b, rt_graph *graph, rt_value *value,
                            rt_value **out_value);
// NULL with status OK if the name is that of an omitted optional argument.
int32_t rt_build_look_up(rt_builder *b, rt_scope *s, const char *name, const char *reader,
                         rt_value **out_value);
int32_t rt_build_bind(rt_builder *b, rt_scope *s, const char *name, rt_value *value);
int32_t rt_build_inputs(rt_builder *b, rt_scope *s, const rt_model_node *node,
                        rt_value ***out_inputs);
int32_t rt_build_check_size(rt_builder *b, const rt_scope *s);
int32_t rt_build_nodes(rt_builder *b, rt_scope *s, const rt_model_node *nodes, size_t count);
// Takes over the types that the model gives of values computed in this scope.
int32_t rt_build_declare(rt_builder *b, rt_scope *s, const rt_model_value_info *infos,
                         size_t count);

// ---- call.c ----
int32_t rt_build_index_functions(rt_builder *b, const rt_model *model);
// The function that a node calls; NULL if it is an operator.
int32_t rt_build_find_function(rt_builder *b, const rt_model_node *node,
                               const rt_model_function **out_function);
int32_t rt_build_call(rt_builder *b, rt_scope *s, const rt_model_node *node,
                      const rt_model_function *function);

// ---- clone.c ----
// In an expanded node: 1 if `node` stands for a body of it ("@score_mod"), whose nodes
// rt_build_body_call puts in its place.
int rt_build_is_body_call(const rt_scope *s, const rt_model_node *node);
int32_t rt_build_body_call(rt_builder *b, rt_scope *s, const rt_model_node *node);
// A copy of `body`, a body of a node of the graph around `parent` or of `parent` itself.
int32_t rt_build_clone_body(rt_builder *b, rt_graph *body, rt_graph *parent,
                            rt_graph **out_body);

#endif  // RT_GRAPH_BUILDER_H_

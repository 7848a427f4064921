// SPDX-License-Identifier: Apache-2.0
//
// Private memory of graphs: an arena that a tree shares, and tables from names to pointers.
// Nothing outside this folder includes it.
#ifndef RT_GRAPH_STORE_H_
#define RT_GRAPH_STORE_H_

#include <stddef.h>

#include "graph/graph.h"

// --- Arena: bump allocation, freed as a whole ------------------------------------------------

typedef struct rt_store_chunk rt_store_chunk;
typedef struct rt_store_arena {
  rt_store_chunk *chunks;
} rt_store_arena;

// Zeroed, aligned for any type; NULL if memory is exhausted or count * size overflows.
void *rt_store_alloc(rt_store_arena *arena, uint64_t count, uint64_t size);
void *rt_store_copy(rt_store_arena *arena, const void *data, uint64_t count, uint64_t size);
// A terminated copy of the first `size` bytes.
char *rt_store_string(rt_store_arena *arena, const char *text, uint64_t size);
void rt_store_finish(rt_store_arena *arena);

// Makes room for one more element in an array that lives in the arena: returns the array, moved
// if it was full, or NULL. *capacity is updated.
void *rt_store_grow(rt_store_arena *arena, void *array, uint32_t count, uint32_t *capacity,
                    uint64_t size);

// --- Names: open addressing, keys are borrowed -----------------------------------------------

typedef struct rt_names_entry {
  const char *name;
  void *item;
} rt_names_entry;
typedef struct rt_names {
  rt_names_entry *entries;
  uint32_t count;     // used ones, removed ones included
  uint32_t capacity;  // a power of two, or 0
} rt_names;

void *rt_names_find(const rt_names *names, const char *name);  // NULL if there is none
// Adds or replaces. 0 if memory is exhausted. `item` is not NULL.
int rt_names_put(rt_names *names, const char *name, void *item);
void rt_names_remove(rt_names *names, const char *name);
void rt_names_finish(rt_names *names);

// --- What a graph keeps to itself
// --------------------------------------------------------------

typedef struct rt_graph_store {
  rt_store_arena arena;  // of the root only
  rt_names names;        // values of this graph
  uint32_t input_capacity, output_capacity, capture_capacity;
  uint64_t next_suffix;  // of the root: for made-up names

  // Of the root: constants that attributes refer to, and every body.
  rt_constant **held;
  uint32_t held_count, held_capacity;
  rt_graph **bodies;
  uint32_t body_count, body_capacity;
} rt_graph_store;

static inline rt_store_arena *rt_graph_arena(const rt_graph *graph) {
  return &graph->root->store->arena;
}

int32_t rt_graph_no_memory(ops_error *error);

// Copies into the arena of `graph`; tensors are retained until the tree is destroyed. Bodies
// are taken as they are.
int32_t rt_graph_copy_attrs(rt_graph *graph, const rt_attr *attrs, uint32_t count,
                            const rt_attr **out_attrs, ops_error *error);
int32_t rt_graph_copy_type(rt_graph *graph, const rt_type *type, rt_type *out_type,
                           ops_error *error);
// A name that no value of the graph has, beginning with `hint`; NULL if memory is exhausted.
const char *rt_graph_free_name(rt_graph *graph, const char *hint);

// Links one more use, whose room was reserved by rt_value_reserve_uses.
int rt_value_reserve_uses(rt_value *value, uint32_t extra);
void rt_value_link_use(rt_value *value, rt_node *node, uint32_t operand);
void rt_value_unlink_use(rt_value *value, const rt_node *node, uint32_t operand);
// 1 if `value` may be read by a node that stands before `before` (NULL: at the end).
int rt_value_defined_before(const rt_value *value, const rt_graph *graph,
                            const rt_node *before);
// Opens `extra` operands at position `at`; links are updated. 0 if memory is exhausted.
int rt_node_open_operands(rt_node *node, uint32_t at, uint32_t extra);
// Takes out operands [at, at + count), which are unlinked first.
void rt_node_close_operands(rt_node *node, uint32_t at, uint32_t count);
rt_value *rt_graph_new_value(rt_graph *graph, int32_t kind, const char *name);

#endif  // RT_GRAPH_STORE_H_

// SPDX-License-Identifier: Apache-2.0
//
// Cycles, among nodes and among functions: depth-first search with three colours and a stack of
// its own, because the depth is the enemy's to choose. Runs only to explain a fault, and once
// for the calls between functions.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/check_internal.h"

enum { kUnseen, kOpen, kDone };

// Follows edges from `root`. Returns the length of the stack if a node of it was met again,
// with that node in *out_met; 0 otherwise.
static size_t search(size_t root, const size_t *start, const size_t *deps, size_t *next,
                     uint8_t *colour, size_t *stack, size_t *out_met) {
  size_t depth = 0;
  stack[depth++] = root;
  colour[root] = kOpen;
  while (depth > 0) {
    const size_t node = stack[depth - 1];
    if (start[node] + next[node] == start[node + 1]) {
      colour[node] = kDone;
      --depth;
      continue;
    }
    const size_t other = deps[start[node] + next[node]++];
    if (colour[other] == kOpen) {
      *out_met = other;
      return depth;
    }
    if (colour[other] == kDone) continue;
    colour[other] = kOpen;
    stack[depth++] = other;
  }
  return 0;
}

int64_t rt_check_find_cycle(size_t count, const size_t *start, const size_t *deps,
                            size_t *out_cycle) {
  int64_t length = -1;
  uint8_t *colour = calloc(count + 1, 1);
  size_t *next = calloc(count + 1, sizeof *next);
  size_t *stack = calloc(count + 1, sizeof *stack);
  if (!colour || !next || !stack) goto cleanup;
  length = 0;
  for (size_t root = 0; root < count && length == 0; ++root) {
    size_t met = 0;
    if (colour[root] != kUnseen) continue;
    const size_t depth = search(root, start, deps, next, colour, stack, &met);
    if (depth == 0) continue;
    size_t from = depth - 1;
    while (stack[from] != met) --from;
    length = (int64_t)(depth - from);
    memcpy(out_cycle, stack + from, (size_t)length * sizeof *stack);
  }
cleanup:
  free(stack);
  free(next);
  free(colour);
  return length;
}

// --- Edges ---------------------------------------------------------------------------------

// A list of edges that grows; `failed` once there was no memory.
typedef struct edges {
  size_t *items;
  size_t count;
  size_t capacity;
  int failed;
} edges;

static void add_edge(edges *list, size_t to) {
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity ? list->capacity * 2 : 256;
    size_t *items = realloc(list->items, capacity * sizeof *items);
    if (!items) {
      list->failed = 1;
      return;
    }
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = to;
}

typedef void (*visit_fn)(const rt_checker *, const rt_model_node *, const rt_name_map *,
                         edges *);

// Visits a node and the nodes of its subgraphs, whose nesting is bounded by loading.
static void visit_deep(const rt_checker *checker, const rt_model_node *node,
                       const rt_name_map *names, visit_fn visit, edges *list) {
  visit(checker, node, names, list);
  for (size_t i = 0; i < node->attribute_count; ++i) {
    const rt_model_attribute *attribute = &node->attributes[i];
    if (attribute->kind != RT_MODEL_ATTRIBUTE_GRAPH &&
        attribute->kind != RT_MODEL_ATTRIBUTE_GRAPHS)
      continue;
    for (size_t k = 0; k < attribute->count; ++k)
      for (size_t n = 0; n < attribute->graphs[k].node_count; ++n)
        visit_deep(checker, &attribute->graphs[k].nodes[n], names, visit, list);
  }
}

static void visit_inputs(const rt_checker *checker, const rt_model_node *node,
                         const rt_name_map *producers, edges *list) {
  (void)checker;
  for (size_t i = 0; i < node->input_count; ++i) {
    const int64_t *producer = rt_name_map_find(producers, rt_name_of(node->inputs[i]));
    if (producer && node->inputs[i].size) add_edge(list, (size_t)*producer);
  }
}

static void visit_calls(const rt_checker *checker, const rt_model_node *node,
                        const rt_name_map *names, edges *list) {
  (void)names;
  const rt_model_function *callee = rt_check_find_function(checker, node);
  if (callee) add_edge(list, (size_t)(callee - checker->model->functions));
}

// --- Nodes ---------------------------------------------------------------------------------

// Writes "node 1 'a' (Add) -> node 2 …" for as many as fit; each arrow points to the user.
static void print_cycle(const rt_model_node *nodes, const size_t *cycle, int64_t length,
                        char *out, size_t room) {
  size_t used = 0;
  for (int64_t i = length; i >= 0 && used + 1 < room; --i) {
    const size_t at = cycle[i % length];
    const int size = snprintf(out + used, room - used, "node %zu '%.*s' (%.*s)%s", at,
                              OPS_STR_FMT(nodes[at].name), OPS_STR_FMT(nodes[at].op_type),
                              i > 0 ? " -> " : "");
    used += size > 0 ? (size_t)size : 0;
  }
}

static int32_t explain(const rt_checker *checker, const rt_model_node *nodes, size_t index,
                       ops_str name, size_t producer, const size_t *cycle, int64_t length) {
  if (length == 0)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_CYCLE,
        "node %zu '%.*s' (%.*s): input '%.*s' is made later, by node %zu '%.*s' "
        "(%.*s); expected nodes in topological order, sort them",
        index, OPS_STR_FMT(nodes[index].name), OPS_STR_FMT(nodes[index].op_type),
        OPS_STR_FMT(name), producer, OPS_STR_FMT(nodes[producer].name),
        OPS_STR_FMT(nodes[producer].op_type));
  char text[700];
  print_cycle(nodes, cycle, length, text, sizeof text);
  return ops_error_set_cause(
      checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_CYCLE,
      "%lld nodes form a cycle: %s; expected an acyclic graph, break the cycle "
      "or use Loop",
      (long long)length, text);
}

int32_t rt_check_explain_order(const rt_checker *checker, const rt_model_node *nodes,
                               size_t count, size_t index, ops_str name,
                               const rt_name_map *producers) {
  int32_t status = OPS_ERROR_OUT_OF_MEMORY;
  edges list = {0};
  size_t *start = calloc(count + 1, sizeof *start);
  size_t *cycle = calloc(count + 1, sizeof *cycle);
  int64_t length = -1;
  if (start && cycle) {
    for (size_t n = 0; n < count; ++n) {
      visit_deep(checker, &nodes[n], producers, visit_inputs, &list);
      start[n + 1] = list.count;
    }
    if (!list.failed) length = rt_check_find_cycle(count, start, list.items, cycle);
  }
  const int64_t *producer = rt_name_map_find(producers, rt_name_of(name));
  if (length >= 0 && producer)
    status = explain(checker, nodes, index, name, (size_t)*producer, cycle, length);
  else
    ops_error_set(checker->error, status, "no memory to look for a cycle");
  free(cycle);
  free(start);
  free(list.items);
  return status;
}

// --- Functions -----------------------------------------------------------------------------

// Writes "'F' -> 'G' -> 'F'" for as many as fit; each arrow points to what is called.
static void print_calls(const rt_model_function *functions, const size_t *cycle, int64_t length,
                        char *out, size_t room) {
  size_t used = 0;
  for (int64_t i = 0; i <= length && used + 1 < room; ++i) {
    const int size =
        snprintf(out + used, room - used, "'%.*s'%s",
                 OPS_STR_FMT(functions[cycle[i % length]].name), i < length ? " -> " : "");
    used += size > 0 ? (size_t)size : 0;
  }
}

int32_t rt_check_function_calls(const rt_checker *checker) {
  const size_t count = checker->model->function_count;
  if (count == 0) return OPS_OK;
  int32_t status = OPS_OK;
  edges list = {0};
  size_t *start = calloc(count + 1, sizeof *start);
  size_t *cycle = calloc(count + 1, sizeof *cycle);
  int64_t length = -1;
  if (start && cycle) {
    for (size_t f = 0; f < count; ++f) {
      const rt_model_function *function = &checker->model->functions[f];
      for (size_t n = 0; n < function->node_count; ++n)
        visit_deep(checker, &function->nodes[n], NULL, visit_calls, &list);
      start[f + 1] = list.count;
    }
    if (!list.failed) length = rt_check_find_cycle(count, start, list.items, cycle);
  }
  if (length < 0) {
    status = ops_error_set(checker->error, OPS_ERROR_OUT_OF_MEMORY,
                           "no memory to check the calls of %zu functions", count);
  } else if (length > 0) {
    char text[600];
    print_calls(checker->model->functions, cycle, length, text, sizeof text);
    status = ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL,
                                 OPS_CAUSE_RECURSIVE_FUNCTION,
                                 "function '%.*s' calls itself: %s; expected functions without "
                                 "recursion, use Loop",
                                 OPS_STR_FMT(checker->model->functions[cycle[0]].name), text);
  }
  free(cycle);
  free(start);
  free(list.items);
  return status;
}

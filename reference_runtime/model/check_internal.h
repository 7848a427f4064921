// SPDX-License-Identifier: Apache-2.0
//
// Private. What the files of the checker share.
#ifndef RT_MODEL_CHECK_INTERNAL_H_
#define RT_MODEL_CHECK_INTERNAL_H_

#include <string.h>

#include "model/check.h"
#include "model/model.h"
#include "model/names.h"

typedef struct rt_checker {
  const rt_model *model;
  const rt_model_function *function;  // whose body is checked; NULL: the main graph
  const rt_model_opset *opsets;       // in force: the function's or the model's
  size_t opset_count;
  rt_name_map functions;  // domain, name, overload -> index
  ops_error *error;
} rt_checker;

static inline int rt_check_equal(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

// One node against its schema or its function: operator, arity, attributes. The caller
// puts the node's name in front of the message.
int32_t rt_check_node(const rt_checker *checker, const rt_model_node *node);

// Whether the bindings of the model's training information name what is there.
int32_t rt_check_trainings(const rt_checker *checker);

// The function that a node calls, or NULL.
const rt_model_function *rt_check_find_function(const rt_checker *checker,
                                                const rt_model_node *node);

// Finds a cycle among `count` nodes, where node n depends on deps[start[n]] to
// deps[start[n+1]-1]. Writes the nodes of a cycle into `out_cycle`, which has room for `count`,
// each followed by one that it depends on, and returns their number; 0 if there is none, -1 if
// there is no memory.
int64_t rt_check_find_cycle(size_t count, const size_t *start, const size_t *deps,
                            size_t *out_cycle);

// Explains why value `name`, an input of node `index`, is not defined yet although a later node
// of the same list makes it: a cycle, which is named, or a wrong order. `producers` maps the
// outputs of all nodes of the list to their indices.
int32_t rt_check_explain_order(const rt_checker *checker, const rt_model_node *nodes,
                               size_t count, size_t index, ops_str name,
                               const rt_name_map *producers);

// "float[2,?]", "any type of any shape": a dimension below 0 is open, as is a rank below 0 and
// an element type of 0. Fills `out`, which has room for 64 bytes or more, and returns it.
char *rt_check_type_text(int32_t elem_type, int32_t rank, const int64_t *dims, char *out,
                         size_t room);

// Functions that call themselves, directly or through others, are refused.
int32_t rt_check_function_calls(const rt_checker *checker);

#endif  // RT_MODEL_CHECK_INTERNAL_H_

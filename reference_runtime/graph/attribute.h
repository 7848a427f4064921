// SPDX-License-Identifier: Apache-2.0
//
// Operators and their attributes, as nodes and post-operations carry them.
#ifndef RT_GRAPH_ATTRIBUTE_H_
#define RT_GRAPH_ATTRIBUTE_H_

#include "graph/constant.h"
#include "graph/type.h"

struct rt_graph;

// The kinds have the numbers of AttributeProto.AttributeType.
#define RT_ATTR_FLOAT 1
#define RT_ATTR_INT 2
#define RT_ATTR_STRING 3
#define RT_ATTR_TENSOR 4
#define RT_ATTR_GRAPH 5
#define RT_ATTR_FLOATS 6
#define RT_ATTR_INTS 7
#define RT_ATTR_STRINGS 8
#define RT_ATTR_TENSORS 9
#define RT_ATTR_GRAPHS 10
#define RT_ATTR_SPARSE_TENSOR 11
#define RT_ATTR_SPARSE_TENSORS 12
#define RT_ATTR_TYPE 13
#define RT_ATTR_TYPES 14

// `count` elements in the member that the kind selects; 1 for the singular kinds.
typedef struct rt_attr {
  const char *name;
  int32_t kind;  // RT_ATTR_*
  uint32_t count;
  union {
    const float *floats;
    const int64_t *ints;
    const ops_str *strings;
    rt_constant *const *tensors;     // dense and sparse ones
    struct rt_graph *const *graphs;  // subgraphs
    const rt_type *types;
  };
} rt_attr;

typedef struct rt_attrs {
  const rt_attr *items;
  uint32_t count;
} rt_attrs;

// An operator as it is used at one place. The domain of ONNX's own operators is "". `opset` is
// the version of the domain that the model imports (a rule for version 13 holds at 15 too);
// 0 if the domain is not imported.
typedef struct rt_op {
  const char *name;    // "Conv"
  const char *domain;  // "" or "com.microsoft" …
  int32_t opset;
  rt_attrs attrs;
} rt_op;

// 1 if `op` is the operator `name` of ONNX's own domain.
int rt_op_is(const rt_op *op, const char *name);

// The attribute called `name`, or NULL.
const rt_attr *rt_attrs_find(const rt_attrs *attrs, const char *name);

// The value, or `missing` if there is no attribute of that name and kind.
int64_t rt_attrs_int(const rt_attrs *attrs, const char *name, int64_t missing);
float rt_attrs_float(const rt_attrs *attrs, const char *name, float missing);
// The array, or NULL with *out_count 0 if there is none; an empty array is not NULL.
const int64_t *rt_attrs_ints(const rt_attrs *attrs, const char *name, uint32_t *out_count);
const float *rt_attrs_floats(const rt_attrs *attrs, const char *name, uint32_t *out_count);
// The string, or {NULL, 0}. Not terminated.
ops_str rt_attrs_string(const rt_attrs *attrs, const char *name);
// 1 if the string attribute is present and equals `text`.
int rt_attrs_string_is(const rt_attrs *attrs, const char *name, const char *text);
// The tensor or the subgraph, or NULL.
rt_constant *rt_attrs_tensor(const rt_attrs *attrs, const char *name);
struct rt_graph *rt_attrs_graph(const rt_attrs *attrs, const char *name);

#endif  // RT_GRAPH_ATTRIBUTE_H_

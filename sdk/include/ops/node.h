// SPDX-License-Identifier: Apache-2.0
//
// Read-only views of nodes and graphs: plain data that the host lays out for a call.
//
// All of them are input structs, borrowed for the call that receives them: a kernel copies what
// it wants to keep. Constants are the exception, see ops_kernel_api.create.
#ifndef OPS_NODE_H_
#define OPS_NODE_H_

#include <ops/tensor.h>
#include <ops/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_graph ops_graph;

// The type of a value.
typedef struct ops_type_info {
  uint64_t struct_size;
  int32_t kind;            // OPS_VALUE_TENSOR, _STRINGS, _SEQUENCE, _OPTIONAL, _MAP, _SPARSE
  int32_t type;            // element type; of a map: the type of its keys
  int32_t rank;            // -1: unknown
  uint32_t layout;         // OPS_LAYOUT_…; in prepare the layout that the host chose
  const int64_t *dims;     // `rank` entries; -1: not known yet (never so in prepare)
  const ops_str *symbols;  // NULL, or `rank` names; equal non-empty names are equal dimensions
  const int64_t *strides;  // in elements; NULL: contiguous, row-major
  const struct ops_type_info *element;  // of a sequence, optional or map, else NULL
} ops_type_info;

// Attribute kinds, numbered as AttributeProto.AttributeType of ONNX numbers them.
#define OPS_ATTRIBUTE_FLOAT 1
#define OPS_ATTRIBUTE_INT 2
#define OPS_ATTRIBUTE_STRING 3
#define OPS_ATTRIBUTE_TENSOR 4
#define OPS_ATTRIBUTE_GRAPH 5
#define OPS_ATTRIBUTE_FLOATS 6
#define OPS_ATTRIBUTE_INTS 7
#define OPS_ATTRIBUTE_STRINGS 8
#define OPS_ATTRIBUTE_TENSORS 9
#define OPS_ATTRIBUTE_GRAPHS 10
#define OPS_ATTRIBUTE_SPARSE_TENSOR 11
#define OPS_ATTRIBUTE_SPARSE_TENSORS 12
#define OPS_ATTRIBUTE_TYPE_PROTO 13
#define OPS_ATTRIBUTE_TYPE_PROTOS 14

// One attribute. Of the pointers, the one that fits `kind` is set; scalar kinds have count 1.
// The host fills in the schema's defaults, so an attribute with a default is always present.
typedef struct ops_attribute {
  uint64_t struct_size;
  ops_str name;
  int32_t kind;
  int32_t reserved;  // 0
  uint64_t count;
  const float *floats;
  const int64_t *ints;
  const ops_str *strings;
  const ops_constant *const *constants;  // tensors, dense and sparse
  const ops_graph *const *graphs;        // bodies of If, Loop, Scan …
  const ops_type_info *const *types;
} ops_attribute;

// An input or output of a node: which value it is, what type it has and, if known, its
// contents.
typedef struct ops_operand {
  uint64_t struct_size;
  int64_t value;                 // number of the value, unique in the graph; -1: absent
  ops_str name;                  // of the value in the model; may be empty
  const ops_type_info *type;     // NULL exactly when value is -1
  const ops_constant *constant;  // contents, if they are constant or (in prepare) a shape input
} ops_operand;

#define OPS_CHAIN_VALUE (-1)

// One operator of a post-operation chain. `inputs` gives the operator's inputs in its own
// order: OPS_CHAIN_VALUE stands for the running result, any other number is an index into the
// inputs of the node, to which further operands have been appended. Conv + Add(residual) + Relu
// is a Conv node with one more input and the chain [Add{-1, 3}, Relu{-1}].
typedef struct ops_post_op {
  uint64_t struct_size;
  ops_str domain;
  ops_str op;
  int32_t opset;
  int32_t input_count;
  const int32_t *inputs;
  const ops_attribute *attributes;
  uint64_t attribute_count;
  uint64_t attribute_stride;
} ops_post_op;

// ops_node.flags
#define OPS_NODE_REQUIRE_FP32_ACCUMULATION ((uint32_t)1 << 0)

// A node of a graph, its post-operation chain in place.
typedef struct ops_node {
  uint64_t struct_size;
  ops_str name;    // as errors and profiles print it
  ops_str domain;  // "" is ai.onnx
  ops_str op;
  ops_str overload;
  int32_t opset;   // version of the domain that the model imports
  uint32_t flags;  // OPS_NODE_…
  const ops_attribute *attributes;
  uint64_t attribute_count;
  uint64_t attribute_stride;
  const ops_operand *inputs;
  uint64_t input_count;
  uint64_t input_stride;
  const ops_operand *outputs;
  uint64_t output_count;
  uint64_t output_stride;
  const ops_post_op *post_ops;
  uint64_t post_op_count;
  uint64_t post_op_stride;
  const ops_str *origins;  // names of the model's nodes that this one stands for
  uint64_t origin_count;
  uint64_t
      chain_operand_count;  // how many of the inputs, at the end, were appended for the chain
} ops_node;

// A graph, a subgraph, or a group that a provider claimed: nodes in topological order. The host
// fixes the order of inputs (captured outer values last) and of outputs (each value used
// outside).
struct ops_graph {
  uint64_t struct_size;
  ops_str name;
  const ops_node *nodes;
  uint64_t node_count;
  uint64_t node_stride;
  const ops_operand *inputs;
  uint64_t input_count;
  uint64_t input_stride;
  uint64_t capture_count;  // how many of the inputs, at the end, are captured from outside
  const ops_operand *outputs;
  uint64_t output_count;
  uint64_t output_stride;
};

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_NODE_H_

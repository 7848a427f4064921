// SPDX-License-Identifier: Apache-2.0
//
// A decoded ONNX model: plain C structs, read by every later stage.
//
// Ownership: everything reachable from an rt_model belongs to it and lives until
// rt_model_destroy. All of it is immutable, so any number of threads may read it.
//
// Conventions:
//   - A list is a pointer and a count; the pointer may be NULL when the count is 0.
//   - A missing string is the empty string. Strings hold no zero byte, except string tensors
//     and string attributes, which are arbitrary bytes.
//   - The domain "ai.onnx" is always written as the empty string.
//   - An empty name in a node's inputs or outputs is an omitted optional argument.
//
// What loading guarantees: the bytes are well formed within the limits below, every attribute
// has a known kind, every tensor has a known element type, at most OPS_MAX_RANK dimensions,
// none negative, and exactly the bytes its shape needs. Everything that concerns names and
// operators (topological order, single assignment, schemas) is the checker's: model/check.h.
#ifndef RT_MODEL_MODEL_H_
#define RT_MODEL_MODEL_H_

#include <ops/base.h>
#include <ops/status.h>
#include <ops/types.h>

// Limits on what is read; an error that refuses a file names the limit.
#define RT_MODEL_MAX_FILE_BYTES ((uint64_t)0x7fffffff)  // protobuf's own limit of 2 GiB - 1
#define RT_MODEL_MAX_NESTING 128                        // messages inside messages
#define RT_MODEL_MAX_MESSAGES ((uint64_t)1 << 24)
#define RT_MODEL_DEFAULT_MAX_MEMORY ((uint64_t)16 << 30)

// The newest IR version this decoder knows. Newer models are refused.
#define RT_MODEL_MAX_IR_VERSION 14

typedef struct rt_model_graph rt_model_graph;
typedef struct rt_model_type rt_model_type;

// --- Types ---------------------------------------------------------------------------------

// A dimension: `value` >= 0 if known; otherwise -1, and `param` may name it ("batch").
typedef struct rt_model_dim {
  int64_t value;
  ops_str param;
  ops_str denotation;
} rt_model_dim;

#define RT_MODEL_TYPE_NONE 0  // the file gives no type
#define RT_MODEL_TYPE_TENSOR 1
#define RT_MODEL_TYPE_SPARSE_TENSOR 2
#define RT_MODEL_TYPE_SEQUENCE 3
#define RT_MODEL_TYPE_OPTIONAL 4
#define RT_MODEL_TYPE_MAP 5
#define RT_MODEL_TYPE_OPAQUE 6

struct rt_model_type {
  int32_t kind;  // RT_MODEL_TYPE_*
  // TENSOR, SPARSE_TENSOR: of the elements; MAP: of the keys. 0: not given, or another kind.
  int32_t elem_type;
  int32_t rank;  // TENSOR, SPARSE_TENSOR: number of dims, -1: no shape given; else -1
  const rt_model_dim *dims;  // `rank` of them
  const rt_model_type
      *element;           // SEQUENCE, OPTIONAL: of the elements; MAP: of the values; else NULL
  ops_str opaque_domain;  // OPAQUE
  ops_str opaque_name;    // OPAQUE
  ops_str denotation;
};

typedef struct rt_model_value_info {
  ops_str name;
  rt_model_type type;
} rt_model_value_info;

// --- Tensors -------------------------------------------------------------------------------

#define RT_MODEL_UNALIGNED_BYTES ((uint64_t)4096)

// Dense data in host layout: little-endian, row-major, narrow types packed as <ops/types.h>
// says, unused bits of the last byte unspecified. `data` is NULL only if `size` is 0, and
// aligned to the element's size (at most 16), but for floating-point data of
// RT_MODEL_UNALIGNED_BYTES and more in a mapped file. Strings are in `strings`, with `data`
// NULL.
typedef struct rt_model_tensor {
  ops_str name;
  int32_t elem_type;  // OPS_TYPE_*
  int32_t rank;
  const int64_t *dims;    // `rank` of them, none negative
  int64_t element_count;  // product of dims
  const void *data;
  uint64_t size;           // bytes at `data`
  const ops_str *strings;  // OPS_TYPE_STRING: element_count of them
  int32_t is_mapped;       // 1: `data` lies in a file that is mapped read-only
} rt_model_tensor;

// COO: `values` has shape [nnz]; `indices` is int64 of shape [nnz] (into the flattened tensor)
// or [nnz, rank]. The name of a sparse initializer is values.name.
typedef struct rt_model_sparse_tensor {
  rt_model_tensor values;
  rt_model_tensor indices;
  int32_t rank;
  const int64_t *dims;
} rt_model_sparse_tensor;

// --- Nodes ---------------------------------------------------------------------------------

// The kinds have the numbers of AttributeProto.AttributeType.
#define RT_MODEL_ATTRIBUTE_FLOAT 1
#define RT_MODEL_ATTRIBUTE_INT 2
#define RT_MODEL_ATTRIBUTE_STRING 3
#define RT_MODEL_ATTRIBUTE_TENSOR 4
#define RT_MODEL_ATTRIBUTE_GRAPH 5
#define RT_MODEL_ATTRIBUTE_FLOATS 6
#define RT_MODEL_ATTRIBUTE_INTS 7
#define RT_MODEL_ATTRIBUTE_STRINGS 8
#define RT_MODEL_ATTRIBUTE_TENSORS 9
#define RT_MODEL_ATTRIBUTE_GRAPHS 10
#define RT_MODEL_ATTRIBUTE_SPARSE_TENSOR 11
#define RT_MODEL_ATTRIBUTE_SPARSE_TENSORS 12
#define RT_MODEL_ATTRIBUTE_TYPE 13
#define RT_MODEL_ATTRIBUTE_TYPES 14

// The value is an array of `count` elements in the member that the kind selects; the singular
// kinds have a count of 1. With ref_attr_name set, inside a function, there is no value
// (count 0): it is the value of the calling node's attribute of that name.
typedef struct rt_model_attribute {
  ops_str name;
  ops_str ref_attr_name;
  int32_t kind;  // RT_MODEL_ATTRIBUTE_*
  size_t count;
  union {
    const float *floats;
    const int64_t *ints;
    const ops_str *strings;
    const rt_model_tensor *tensors;
    const rt_model_graph *graphs;
    const rt_model_sparse_tensor *sparse_tensors;
    const rt_model_type *types;
  };
} rt_model_attribute;

typedef struct rt_model_node {
  ops_str name;
  ops_str op_type;
  ops_str domain;
  ops_str overload;
  const ops_str *inputs;
  size_t input_count;
  const ops_str *outputs;
  size_t output_count;
  const rt_model_attribute *attributes;
  size_t attribute_count;
  const ops_key_value *metadata;
  size_t metadata_count;
} rt_model_node;

// --- Graphs and the model ------------------------------------------------------------------

struct rt_model_graph {
  ops_str name;
  const rt_model_node *nodes;
  size_t node_count;
  const rt_model_tensor *initializers;
  size_t initializer_count;
  const rt_model_sparse_tensor *sparse_initializers;
  size_t sparse_initializer_count;
  const rt_model_value_info *inputs;  // before IR version 4 these include the initializers
  size_t input_count;
  const rt_model_value_info *outputs;
  size_t output_count;
  const rt_model_value_info *value_infos;  // of intermediate values, as far as given
  size_t value_info_count;
  const ops_key_value *metadata;
  size_t metadata_count;
};

typedef struct rt_model_opset {
  ops_str domain;
  int64_t version;
} rt_model_opset;

// A model-local function. Its attributes without default are `attribute_names`; those with a
// default are `attribute_defaults`.
typedef struct rt_model_function {
  ops_str name;
  ops_str domain;
  ops_str overload;
  const ops_str *inputs;
  size_t input_count;
  const ops_str *outputs;
  size_t output_count;
  const ops_str *attribute_names;
  size_t attribute_name_count;
  const rt_model_attribute *attribute_defaults;
  size_t attribute_default_count;
  const rt_model_node *nodes;
  size_t node_count;
  const rt_model_opset *opsets;
  size_t opset_count;
  const rt_model_value_info *value_infos;
  size_t value_info_count;
} rt_model_function;

// How a model is trained: `algorithm` is one step, `initialization` the start. A binding says
// which initializer (key), of the main graph or of the algorithm, gets which output (value) of
// the graph. The runtime executes the main graph only; what trains a model reads this.
typedef struct rt_model_training {
  rt_model_graph initialization;  // without nodes if the file has none
  const ops_key_value *initialization_bindings;
  size_t initialization_binding_count;
  rt_model_graph algorithm;
  const ops_key_value *update_bindings;
  size_t update_binding_count;
} rt_model_training;

typedef struct rt_model {
  int64_t ir_version;
  ops_str producer_name;
  ops_str producer_version;
  ops_str domain;
  int64_t model_version;
  const rt_model_opset *opsets;
  size_t opset_count;
  const ops_key_value *metadata;
  size_t metadata_count;
  const rt_model_function *functions;
  size_t function_count;
  const rt_model_training *trainings;
  size_t training_count;
  rt_model_graph graph;
} rt_model;

// --- Loading -------------------------------------------------------------------------------

// Zero-initialise, then set what differs from the default.
typedef struct rt_model_options {
  uint64_t max_memory;  // bytes that decoding may allocate; 0: RT_MODEL_DEFAULT_MAX_MEMORY
} rt_model_options;

// Reads a model from a file. External data is looked for in the file's folder and below it, and
// is mapped, as is the file itself: none of them may be changed in place while the model lives
// (replacing one by a rename is fine). `options` may be NULL. Fails with IO (file cannot be
// read), INVALID_MODEL (what the bytes say is wrong), UNSUPPORTED (newer IR version or element
// type), OUT_OF_MEMORY; *out_model is then NULL.
int32_t rt_model_load_file(const char *path, const rt_model_options *options,
                           rt_model **out_model, ops_error *error);

// The same from `size` bytes in memory, which are not needed afterwards. `base_dir` is the
// folder of external data; if it is NULL, a model that has external data is refused.
int32_t rt_model_load_bytes(const void *data, uint64_t size, const char *base_dir,
                            const rt_model_options *options, rt_model **out_model,
                            ops_error *error);

void rt_model_destroy(rt_model *model);

// --- Looking things up ---------------------------------------------------------------------

// The version at which `domain` ("" or "ai.onnx", "ai.onnx.ml" …) is imported, 0 if it is not.
int64_t rt_model_opset_find(const rt_model_opset *opsets, size_t count, ops_str domain);

// The attribute called `name`, or NULL.
const rt_model_attribute *rt_model_attribute_find(const rt_model_node *node, const char *name);

// "FLOATS" and the like; "UNDEFINED" for a number that is no kind. Static.
const char *rt_model_attribute_kind_name(int32_t kind);

// "float", "int4" … as <ops/types.h> names element types; "undefined" for others. Static.
const char *rt_model_elem_type_name(int32_t elem_type);

// The bits of one element; 0 for strings and for numbers that are no element type.
uint32_t rt_model_elem_type_bits(int32_t elem_type);

#endif  // RT_MODEL_MODEL_H_

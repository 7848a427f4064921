// SPDX-License-Identifier: Apache-2.0
//
// Schemas of operators in a provider's own domain.
#ifndef OPS_SCHEMA_H_
#define OPS_SCHEMA_H_

#include <ops/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// A formal input or output.
typedef struct ops_param {
  uint64_t struct_size;
  ops_str name;
  ops_str type_param;  // parameters with the same one have the same element type
  uint64_t types;      // set of OPS_TYPE_BIT
  uint32_t flags;      // OPS_ARG_OPTIONAL, OPS_ARG_VARIADIC
  uint32_t reserved;   // 0
} ops_param;

typedef struct ops_attribute_def {
  uint64_t struct_size;
  ops_str name;
  int32_t kind;                        // OPS_ATTRIBUTE_…
  int32_t required;                    // 0 or 1
  const ops_attribute *default_value;  // NULL: none
} ops_attribute_def;

typedef struct ops_schema {
  uint64_t struct_size;
  ops_str domain;
  ops_str op;
  int32_t since;       // opset of the domain from which it holds, until a later one replaces it
  int32_t min_inputs;  // how many must be given
  ops_str doc;
  const ops_param *inputs;
  uint64_t input_count;
  uint64_t input_stride;
  const ops_param *outputs;
  uint64_t output_count;
  uint64_t output_stride;
  const ops_attribute_def *attributes;
  uint64_t attribute_count;
  uint64_t attribute_stride;
  // Optional, thread-safe. Types and shapes of the outputs from those of the node's inputs;
  // unknown dimensions are -1, an unknown rank -1.
  int32_t (*infer)(const ops_node *node, ops_output_info *out_outputs, uint64_t output_count,
                   uint64_t output_stride, ops_error *error);
  // Optional. A serialised ONNX FunctionProto that defines the operator by standard ones: the
  // host uses it where no kernel exists, and the harness as oracle.
  const void *function;
  uint64_t function_size;
} ops_schema;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SCHEMA_H_

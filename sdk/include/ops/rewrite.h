// SPDX-License-Identifier: Apache-2.0
//
// Rewrite rules: a provider replaces operators that it lacks by ones that it has. The host
// applies them in its own copy of the graph; the model is not touched.
#ifndef OPS_REWRITE_H_
#define OPS_REWRITE_H_

#include <ops/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where an input of a pattern node comes from.
#define OPS_PATTERN_ANY (-1)  // any value; the same value is not required elsewhere

// One node of a pattern. inputs[i] is OPS_PATTERN_ANY or the index of an earlier pattern node
// whose output 0 feeds input i. Inputs beyond input_count are free.
typedef struct ops_pattern_node {
  uint64_t struct_size;
  ops_str domain;
  ops_str op;
  int32_t since;
  int32_t until;
  const int32_t *inputs;
  uint64_t input_count;
} ops_pattern_node;

typedef struct ops_rewrite_builder ops_rewrite_builder;

// The host's side of a rewrite. All slots are filled; legal only inside ops_rewrite.apply.
// Values are the numbers of ops_operand.value, or those that these functions return.
typedef struct ops_rewrite_api {
  uint64_t struct_size;
  // Adds a node (domain, op, opset, attributes and input values of `node` count; its outputs
  // say only how many). Writes the numbers of its outputs.
  int32_t (*add_node)(ops_rewrite_builder *builder, const ops_node *node, int64_t *out_values,
                      uint64_t output_count, ops_error *error);
  // Adds a constant; its contents are copied.
  int32_t (*add_constant)(ops_rewrite_builder *builder, const ops_constant *constant,
                          int64_t *out_value, ops_error *error);
  // States that `value` replaces output `index` of the matched pattern's last node.
  int32_t (*set_output)(ops_rewrite_builder *builder, uint64_t index, int64_t value,
                        ops_error *error);
} ops_rewrite_api;

typedef struct ops_rewrite {
  uint64_t struct_size;
  ops_str name;
  const ops_pattern_node *pattern;  // in topological order; the last one's outputs are replaced
  uint64_t pattern_count;
  uint64_t pattern_stride;
  // Required, thread-safe, without side effects. nodes[i] matched pattern node i; inner values
  // have no other user. UNSUPPORTED: does not apply here (not an error); the graph is left
  // alone.
  int32_t (*apply)(ops_device *device, const ops_node *const *nodes, uint64_t node_count,
                   const ops_rewrite_api *api, ops_rewrite_builder *builder, ops_error *error);
} ops_rewrite;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_REWRITE_H_

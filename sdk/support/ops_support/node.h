// SPDX-License-Identifier: Apache-2.0
//
// Reading node views: attributes by name, inputs and outputs by index.
#ifndef OPS_SUPPORT_NODE_H_
#define OPS_SUPPORT_NODE_H_

#include <ops/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// The name of an OPS_REASON_… constant, "unknown reason" for any other number. Static.
const char *ops_reason_name(int32_t reason);

// Element `index` of an array of structs with a stride.
#define OPS_AT(type, array, stride, index) \
  ((const type *)((const char *)(array) + (uint64_t)(index) * (stride)))

// 1 if `text` equals the terminated string `other`.
int32_t ops_str_equal(ops_str text, const char *other);

// Input or output `index`; NULL if it is absent or the node has fewer.
const ops_operand *ops_node_input(const ops_node *node, uint64_t index);
const ops_operand *ops_node_output(const ops_node *node, uint64_t index);
// Likewise for an input of a prepare request.
const ops_operand *ops_request_input(const ops_prepare_request *request, uint64_t index);

// The attribute, or NULL.
const ops_attribute *ops_node_attribute(const ops_node *node, const char *name);

// The value of an attribute, or `fallback` if it is absent or of another kind.
int64_t ops_node_int(const ops_node *node, const char *name, int64_t fallback);
float ops_node_float(const ops_node *node, const char *name, float fallback);
ops_str ops_node_string(const ops_node *node, const char *name, ops_str fallback);

// The values of a list attribute, borrowed; NULL and *out_count 0 if it is absent or of another
// kind.
const int64_t *ops_node_ints(const ops_node *node, const char *name, uint64_t *out_count);
const float *ops_node_floats(const ops_node *node, const char *name, uint64_t *out_count);

// The dense tensor of a constant or shape input; NULL if the operand is absent, unknown or
// sparse.
const ops_tensor *ops_operand_contents(const ops_operand *operand);

// Copies the contents of an int32 or int64 shape input. Returns how many there are, or -1 if
// they are not known or exceed `capacity`.
int64_t ops_operand_ints(const ops_operand *operand, int64_t *out_values, int64_t capacity);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_NODE_H_

// SPDX-License-Identifier: Apache-2.0
//
// A tensor of the harness: dense, row-major, in ordinary memory. And the inputs of a case as
// such tensors, in the order of the node.
#ifndef OC_CASES_ARRAY_H_
#define OC_CASES_ARRAY_H_

#include <ops/base.h>

#include "cases/case.h"

typedef struct oc_array {
  bool present;  // false: an optional argument that is not given
  int32_t type;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  int64_t count;
  uint64_t bytes;
  void *data;  // owned; never NULL if present
} oc_array;

// Zeroed contents. INVALID_ARGUMENT for a negative dimension, a rank beyond OPS_MAX_RANK, a
// type without elements, or more bytes than fit; `what` names the tensor in the message.
int32_t oc_array_init(oc_array *array, int32_t type, int32_t rank, const int64_t *dims,
                      const char *what, ops_error *error);
int32_t oc_array_copy(oc_array *array, const oc_array *source, ops_error *error);
void oc_array_finish(oc_array *array);  // accepts a zeroed or finished one

// "[2, 3]" and the like.
void oc_array_print_shape(int32_t rank, const int64_t *dims, char *text, size_t size);

// The inputs of one node.
typedef struct oc_inputs {
  oc_array items[OC_CASE_MAX_TENSORS];
  int32_t params[OC_CASE_MAX_TENSORS];  // the contract's input that each belongs to
  size_t count;
} oc_inputs;

// The inputs of `item`: shapes, types, and contents from the row or drawn by the fill.
int32_t oc_inputs_init(oc_inputs *inputs, const oc_case *item, ops_error *error);
int32_t oc_inputs_copy(oc_inputs *inputs, const oc_inputs *source, ops_error *error);
void oc_inputs_finish(oc_inputs *inputs);

// The types and shapes of the inputs of `item`: "float[2, 3], int64[1], -".
void oc_inputs_print(const oc_case *item, char *text, size_t size);

#endif  // OC_CASES_ARRAY_H_

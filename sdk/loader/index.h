// SPDX-License-Identifier: Apache-2.0
//
// Kernel definitions by operator, found in O(1).
#ifndef OPS_LOADER_INDEX_H_
#define OPS_LOADER_INDEX_H_

#include <ops/ops.h>

typedef struct ops_kernel_index ops_kernel_index;

// Indexes the definitions of a checked provider. Owned by the caller.
int32_t ops_kernel_index_create(const ops_provider *provider, ops_kernel_index **out_index,
                                ops_error *error);
void ops_kernel_index_destroy(ops_kernel_index *index);  // accepts NULL

// All definitions of an operator, most preferred first; see ops_library_kernels.
const ops_kernel_def *const *ops_kernel_index_find(const ops_kernel_index *index,
                                                   ops_str domain, ops_str op,
                                                   uint64_t *out_count);

// "" for "ai.onnx", any other domain as it is.
ops_str ops_domain_canonical(ops_str domain);

#endif  // OPS_LOADER_INDEX_H_

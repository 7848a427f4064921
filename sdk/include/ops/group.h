// SPDX-License-Identifier: Apache-2.0
//
// Claims on groups of nodes, compiled to one kernel.
#ifndef OPS_GROUP_H_
#define OPS_GROUP_H_

#include <ops/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPS_GROUP_NONE (-1)

// A node's place in the provider's proposal. Output struct.
typedef struct ops_group_claim {
  uint64_t struct_size;
  int32_t group;       // number of the group from 0, or OPS_GROUP_NONE
  int32_t preference;  // of the whole group; the highest of its nodes counts
} ops_group_claim;

typedef struct ops_group_api {
  uint64_t struct_size;

  // Required, thread-safe. Proposes disjoint groups over `graph`: claims[i] is for node i. The
  // host splits groups that would close a cycle, and asks again with a smaller graph.
  int32_t (*claim)(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                   uint64_t claim_count, uint64_t claim_stride, ops_error *error);

  // Required, thread-safe. Compiles a claimed group, whose inputs and outputs the host has
  // ordered. The kernel is used through *out_api, which lives as long as the library; its
  // inputs and outputs are those of the graph. DECLINED: the host partitions again without it.
  int32_t (*compile)(ops_device *device, const ops_graph *group, ops_kernel **out_kernel,
                     const ops_kernel_api **out_api, ops_error *error);

  // Optional. Makes the kernel of a blob that ops_kernel_api.save wrote, for the same group.
  // RECOMPILE: stale but harmless; INCOMPATIBLE: of another device, version or group.
  int32_t (*load)(ops_device *device, const ops_graph *group, const void *blob, uint64_t size,
                  ops_kernel **out_kernel, const ops_kernel_api **out_api, ops_error *error);
} ops_group_api;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_GROUP_H_

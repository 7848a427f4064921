// SPDX-License-Identifier: Apache-2.0
//
// Asking devices whether they take a node of a graph that is still edited.
#ifndef RT_PARTITION_CLAIMS_H_
#define RT_PARTITION_CLAIMS_H_

#include "partition/device.h"
#include "partition/view.h"

#define RT_CLAIMS_NOBODY UINT32_MAX

// Set the devices, zero the rest.
typedef struct rt_claims {
  rt_device *const *devices;  // in the order of preference
  uint32_t device_count;
  rt_views views;
  uint32_t asked;  // since the views were opened
  int is_open;
} rt_claims;

// Views of nodes of one tree as they are now, `count` of them. They live until the next call
// with these claims.
int32_t rt_claims_views(rt_claims *claims, const rt_node *const *nodes, uint32_t count,
                        const ops_node **out_views, ops_error *error);
// The place of the first device that claims the node, or RT_CLAIMS_NOBODY.
int32_t rt_claims_first(rt_claims *claims, const rt_node *node, uint32_t *out_place,
                        ops_error *error);
void rt_claims_finish(rt_claims *claims);

#endif  // RT_PARTITION_CLAIMS_H_

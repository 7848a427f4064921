// SPDX-License-Identifier: Apache-2.0
//
// Operators of providers' own domains: their schemas give types, shapes and attribute defaults.
#ifndef RT_PARTITION_CUSTOM_H_
#define RT_PARTITION_CUSTOM_H_

#include "graph/graph.h"
#include "partition/device.h"

// The schema of an operator that ONNX does not define: the newest one up to the operator's
// opset, of the most preferred provider that has one. NULL if there is none.
const ops_schema *rt_custom_schema(rt_device *const *devices, uint32_t device_count,
                                   const rt_op *op);

// Fills the types that rt_infer_graph had to leave open behind such operators, and infers what
// follows from them. For the main graph. Errors name the node.
int32_t rt_custom_infer(rt_graph *graph, rt_device *const *devices, uint32_t device_count,
                        ops_error *error);
// Likewise for one node, whose operands have types; does nothing for operators of ONNX.
int32_t rt_custom_infer_node(rt_node *node, rt_device *const *devices, uint32_t device_count,
                             ops_error *error);

#endif  // RT_PARTITION_CUSTOM_H_

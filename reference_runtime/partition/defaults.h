// SPDX-License-Identifier: Apache-2.0
//
// Attributes that a node does not state and the operator's schema gives a default for.
#ifndef RT_PARTITION_DEFAULTS_H_
#define RT_PARTITION_DEFAULTS_H_

#include <ops/node.h>

#include "graph/attribute.h"

// How many there are; 0 for an operator without schema.
uint32_t rt_defaults_count(const rt_op *op);
// Writes that many views, which live as long as the program, and returns their number.
uint32_t rt_defaults_fill(const rt_op *op, ops_attribute *out_attributes);

#endif  // RT_PARTITION_DEFAULTS_H_

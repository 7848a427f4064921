// SPDX-License-Identifier: Apache-2.0
//
// How many arithmetic operations a node is, by the definition of its operator.
#ifndef RT_PROFILE_FLOPS_H_
#define RT_PROFILE_FLOPS_H_

#include <ops/node.h>

// A multiplication with its addition counts two; a comparison, a division and an elementary
// function (exp, sqrt, tanh …) count one each, whatever a machine needs for them. Operators
// that only move data count 0. RT_PROFILE_FLOPS_UNKNOWN if there is no formula for the
// operator, or a shape that it needs is not known.
//
// `inputs` and `outputs`: the types of the node's arguments; NULL for one that is left out. The
// operators of the node's chain are counted, too.
double rt_profile_flops(const ops_node *node, const ops_type_info *const *inputs,
                        const ops_type_info *const *outputs);

#endif  // RT_PROFILE_FLOPS_H_

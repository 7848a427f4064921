// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: what fusions need to recognise a formula in a graph.
#ifndef RT_PASSES_PATTERN_H_
#define RT_PASSES_PATTERN_H_

#include "passes/pass.h"

// The operand of a node with two inputs that is not `value`; NULL if `value` is none of them or
// both.
rt_value *rt_pass_other(const rt_node *node, const rt_value *value);
// The operand of operator `name` that is no constant, where the other one is a scalar constant
// close to `wanted`; NULL if the value comes from something else. In either order.
rt_value *rt_pass_with_scalar(const rt_value *value, const char *name, double wanted);
// The same with any scalar, which goes to *out_scalar.
rt_value *rt_pass_with_any_scalar(const rt_value *value, const char *name, double *out_scalar);
// 1 if the value is a scalar constant equal to `wanted` up to what its type can say and
// exporters round: 1e-5, or 2e-3 in 16 bits.
int rt_pass_is_near(const rt_value *value, double wanted);
// 1 for float, double, float16 and bfloat16.
int rt_pass_is_real(const rt_value *value);
// x·x or x^2: x; else NULL.
rt_value *rt_pass_square_of(const rt_value *value);
// 1 if nothing but the nodes `inner` (count of them) reads what they give, apart from output 0
// of the last one: the nodes of a formula, so that all but the last can go.
int rt_pass_is_closed(rt_node *const *inner, uint32_t count);

// Adds a node that stands for `replaced` (count of them, the last one gives the result) before
// the last one, if a provider claims it as rt_pass_claimed asks, and makes it the result.
// `desc->opset` may be newer than the model's. *out_node is NULL if it was refused, which is
// noted.
int32_t rt_pass_fuse(rt_pass_context *context, const rt_node_desc *desc,
                     rt_node *const *replaced, uint32_t count, rt_node **out_node,
                     ops_error *error);

#endif  // RT_PASSES_PATTERN_H_

// SPDX-License-Identifier: Apache-2.0
//
// Private to passes/: equality of attributes and of constants, bit by bit.
#ifndef RT_PASSES_EQUAL_H_
#define RT_PASSES_EQUAL_H_

#include "graph/graph.h"

// 1 if both have the same type, shape and bits. Sparse ones only if they are the same object.
int rt_pass_constants_equal(const rt_constant *a, const rt_constant *b);
// 1 if both have the same attributes, in any order. Bodies are never equal.
int rt_pass_attrs_equal(const rt_attrs *a, const rt_attrs *b);

#endif  // RT_PASSES_EQUAL_H_
